"""How large are frames, and how long do they take to write and to read, as text and in ASE's binary format?

    python -m validation.benchmarks.trajectory_formats

Argon near its sites, with velocities and forces of a run. Each format gets the same frames.
"""

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import ase.io
from ase.build import bulk

from validation import common

FORMATS = ("extxyz", "traj")
COLUMNS: dict[str, tuple[str, ...]] = {
    "frame": (),
    "with energies": ("energy",),
    "with energies and virials": ("energy", "virial"),
}


def main() -> None:
    """Write and read frames, print a table, write JSON."""
    parser = common.parser(__doc__)
    parser.add_argument("--cells", type=int, default=10, help="cubic cells along each side: 4 atoms each")
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    from taichimd import LennardJones, Simulation

    crystal = bulk("Ar", cubic=True, a=5.3) * options.cells
    force_field = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
    simulation = Simulation(crystal, force_field, timestep=4.0, temperature=80, backend="cpu")
    simulation.run(100)
    rows = [
        {"columns": columns, "format": suffix, **_measure(simulation, suffix, more, options.frames)}
        for columns, more in COLUMNS.items()
        for suffix in FORMATS
    ]
    for row in rows:
        print(
            f"{row['columns']:28} {row['format']:8} {row['bytes_per_atom']:8.1f} B/atom  write "
            f"{row['write_ms_per_frame']:7.2f} ms/frame  read {row['read_ms_per_frame']:7.2f} ms/frame"
        )
    common.write_json(
        options.out or common.RESULTS / "trajectory_formats.json",
        {**common.provenance(), "n_atoms": len(crystal), "frames": options.frames, "rows": rows},
    )


def _measure(simulation: Any, suffix: str, per_atom: tuple[str, ...], frames: int) -> dict[str, float]:
    """Bytes, and the median of the seconds of a frame: the state of the simulation, again and again."""
    from taichimd.app.outputs import TrajectoryFile

    # What energies and virials cost the engine is not what the file costs.
    simulation.engine.evaluate()
    thermo = simulation.thermo()
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = Path(folder) / f"t.{suffix}", []
        with TrajectoryFile(path, per_atom=per_atom) as file:
            file.open(simulation)
            for _ in range(frames):
                start = time.perf_counter()
                file._write(simulation, thermo)
                seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        images = ase.io.read(path, ":")
        reading = time.perf_counter() - start
        assert len(images) == frames
        size = path.stat().st_size
    return {
        "bytes_per_atom": size / frames / simulation.engine.n_atoms,
        "write_ms_per_frame": 1e3 * median(seconds),
        "read_ms_per_frame": 1e3 * reading / frames,
    }


if __name__ == "__main__":
    main()
