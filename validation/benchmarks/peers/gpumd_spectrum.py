"""Time HNEMD with and without a spectrum of the heat current, of GPUMD (`compute_shc`) and of taichimd.

    python -m validation.benchmarks.peers.gpumd_spectrum --program gpumd/src/gpumd --version v5.6 --out FILE

Silicon (Tersoff 1989) of 64,000 atoms at 500 K, 1 fs, a driving force of 1e-4 per angstrom along x, a sample
every 10 steps, a window of 1 ps (100 samples), one card. taichimd's part is the case `speed` of
`physics.heat_by_frequency`. GPUMD is built as `benchmarks.peers.gpumd` says. GPUMD sums the heat current in
each step, taichimd when a sample is due.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from ase import Atoms, units

from validation import common
from validation.benchmarks.peers.gpumd import SILICON, prepare, run_gpumd
from validation.physics import heat_by_frequency
from validation.systems import with_velocities

CELLS = 20
"""Cubic cells of silicon in each direction."""
TEMPERATURE = 500.0
"""K."""
SPECTRUM = "compute_shc 10 100 0 500 120"
"""Every 10 steps, 100 of them in a window, along x, 500 frequencies up to 120 rad/ps."""


def main() -> None:
    """Parse the command line, run both programs, write JSON, print the times."""
    parser = common.parser(__doc__, out="gpumd_spectrum")
    parser.add_argument("--program", type=Path, required=True, help="GPUMD's executable")
    parser.add_argument("--version", required=True, help="of GPUMD: tag or commit, for the report")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--settle", type=int, default=2_000, help="steps before the first timed one")
    parser.add_argument("--steps", type=int, default=20_000, help="of a timed run")
    parser.add_argument("--share", type=float, default=1.0, help="of the time of taichimd's runs")
    parser.add_argument("--folder", type=Path, help="where inputs and outputs of GPUMD stay")
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start("cuda")
    of = argparse.Namespace(case="speed", cells=None, share=options.share, backend="cuda")
    report: dict[str, Any] = {**common.provenance(), "gpumd": options.version, "steps": options.steps}
    report |= theirs(heat_by_frequency.silicon(), options)
    report["taichimd"] = heat_by_frequency.cost(heat_by_frequency.silicon(), of)
    common.write_json(options.out, report)
    print(f"GPUMD {options.version}, ms a step: {report['gpumd_ms_per_step']}")
    print(f"taichimd, ms a step: {report['taichimd']['ms_per_step']}")


def theirs(cell: Atoms, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a step of GPUMD without and with `compute_shc`, in turn, and the last temperatures."""
    atoms = with_velocities(cell.repeat(CELLS), 2.0 * TEMPERATURE, seed=1)
    bath = f"ensemble nvt_nhc {TEMPERATURE:g} {TEMPERATURE:g} 100"
    driven = [bath, "compute_hnemd 1000 1e-4 0 0", f"dump_thermo {options.steps}"]
    each: dict[str, list[float]] = {"hnemd": [], "with spectrum": []}
    temperatures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(options.repeats):
            for name, extra in (("hnemd", []), ("with spectrum", [SPECTRUM])):
                folder = (options.folder or Path(scratch)) / f"{name.replace(' ', '-')}-{len(atoms)}"
                runs = [bath, f"run {options.settle}", *driven, *extra, f"run {options.steps}"]
                prepare(folder, SILICON, atoms, units.fs, runs)
                speed, temperatures[name] = run_gpumd(options.program, folder)
                each[name].append(1e3 * len(atoms) / speed)
                (folder / "model.xyz").unlink()
    medians = {name: statistics.median(values) for name, values in each.items()}
    return {
        "n_atoms": len(atoms),
        "gpumd_ms_per_step": medians,
        "gpumd_each_ms_per_step": each,
        "gpumd_ratio": medians["with spectrum"] / medians["hnemd"],
        "gpumd_temperature_K": temperatures,
    }


if __name__ == "__main__":
    main()
