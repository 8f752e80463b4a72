"""Time GPUMD and taichimd on one card, in turn, on the same structures with the same velocities.

    python -m validation.benchmarks.peers.gpumd --program gpumd/src/gpumd --version v5.6 --out FILE

GPUMD is not in this repository. Build it from https://github.com/brucefan1983/GPUMD: in its folder `src`,
`make gpumd CFLAGS="-std=c++17 -O3 -arch=sm_90"`. Both run NVE with the time step and the first velocities of
the benchmark system: twice the kinetic energy of 300 K, for copper 1600 K; half of it goes to the bonds.
Positions are float64 in both; GPUMD evaluates embedded atoms in float32. GPUMD computes the virial in each
step and has no setting that leaves it out; taichimd computes it when a row is due. Each program tells the
time of the steps alone, without its start. Inputs and outputs of GPUMD stay in `--folder`.
"""

import argparse
import re
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units

from validation import common
from validation.benchmarks.stepping import seconds, warm_engine
from validation.benchmarks.systems import CASES
from validation.systems import ARGON_EPSILON, ARGON_SIGMA, of_lammps

SILICON = "tersoff_1989 1 Si\n1830.8 471.18 2.4799 1.7322 1.1e-6 0.78734 100390.0 16.217 -0.59825 2.7 3.0\n"
"""Tersoff's parameters of 1989 in GPUMD's format, which for silicon are those of 1988."""


def copper() -> str:
    """`Cu_u3.eam` as a setfl file: the tables from which taichimd makes its splines, for GPUMD's splines."""
    from taichimd.forcefields.formats.funcfl import mixed, read_funcfl

    file = mixed([read_funcfl(of_lammps("Cu_u3.eam"))])
    tables = file.embedding["Cu"], file.density["Cu", "Cu"], file.rphi["Cu", "Cu"]
    grid = f"{len(tables[0])} {file.drho!r} {len(tables[1])} {file.dr!r} {file.cutoff!r}"
    head = ["eam/alloy 1 Cu", f"of {file.path.name}", "", "1 Cu", grid, "29 63.546 3.615 fcc"]
    return "\n".join(head + [f"{value:.16e}" for table in tables for value in table]) + "\n"


POTENTIALS = {
    "tersoff-si": lambda: SILICON,
    "lj-argon": lambda: f"lj 1 Ar\n{ARGON_EPSILON} {ARGON_SIGMA} 10.0\n",
    "eam-cu": copper,
}
"""Parameter files in GPUMD's format."""
SIZES = {
    "tersoff-si": (1_000, 8_000, 64_000, 512_000, 2_744_000),
    "lj-argon": (32_000, 1_048_576),
    "eam-cu": (32_000, 256_000, 2_048_000),
}
ATOM_STEPS = 1.5e9
"""Of a timed run."""
FEWEST, MOST = 500, 20_000
"""Steps of a timed run."""


def main() -> None:
    """Parse the command line, time system after system, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__, out="gpumd_beside")
    parser.add_argument("--program", type=Path, required=True, help="GPUMD's executable")
    parser.add_argument("--version", required=True, help="of GPUMD: tag or commit, for the report")
    parser.add_argument("--cases", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--largest", type=int, default=3_000_000, help="atoms")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--settle", type=int, default=2_000, help="steps before the first timed one")
    parser.add_argument("--folder", type=Path, help="where inputs and outputs of GPUMD stay")
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start("cuda")
    report: dict[str, Any] = {**common.provenance(), "gpumd": options.version, "results": []}
    for case in options.cases:
        for n_atoms in SIZES[case]:
            if n_atoms <= options.largest:
                print(f"{case} {n_atoms} ...", flush=True)
                report["results"].append(measure(case, n_atoms, options))
                common.write_json(options.out, report)
    show(report)
    print(f"written: {options.out.name}")


def measure(case: str, n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """Microseconds a step of both programs, in turn, and their temperatures at the end."""
    system = CASES[case].benchmark(n_atoms)
    steps = int(min(MOST, max(FEWEST, ATOM_STEPS / n_atoms)))
    engine = warm_engine(system, options.settle)
    ours: list[float] = []
    theirs: list[float] = []
    temperatures: list[float] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)) / f"{case}-{n_atoms}"
        nve = "ensemble nve"
        runs = [nve, f"run {options.settle}", nve, f"dump_thermo {steps}", f"run {steps}"]
        prepare(folder, POTENTIALS[case](), system.atoms, system.timestep, runs)
        for _ in range(options.repeats):
            ours.append(1e6 * seconds(lambda: engine.advance(steps, system.timestep)) / steps)
            speed, temperature = run_gpumd(options.program, folder)
            theirs.append(1e6 * n_atoms / speed)
            temperatures.append(temperature)
        (folder / "model.xyz").unlink()
    return {
        "case": case,
        "atoms": n_atoms,
        "steps": steps,
        "taichimd_us": statistics.median(ours),
        "gpumd_us": statistics.median(theirs),
        "taichimd_us_each": ours,
        "gpumd_us_each": theirs,
        "taichimd_temperature_K": engine.thermo().temperature,
        "gpumd_temperature_K": statistics.median(temperatures),
    }


def prepare(folder: Path, potential: str, atoms: Atoms, timestep: float, runs: Sequence[str]) -> None:
    """Write GPUMD's inputs: `model.xyz`, the potential, `run.in` (the time step in ASE's unit)."""
    folder.mkdir(parents=True, exist_ok=True)
    cell = " ".join(f"{x:.10f}" for x in atoms.cell.array.ravel())
    head = f'{len(atoms)}\npbc="T T T" lattice="{cell}" properties=species:S:1:pos:R:3:vel:R:3\n'
    rows = np.hstack([atoms.positions, atoms.get_velocities() * units.fs])
    with (folder / "model.xyz").open("w") as file:
        file.write(head)
        np.savetxt(file, rows, fmt=f"{atoms.symbols[0]} %.10f %.10f %.10f %.12e %.12e %.12e")
    (folder / "potential.txt").write_text(potential)
    lines = ["potential potential.txt", f"time_step {timestep / units.fs:g}", *runs]
    (folder / "run.in").write_text("\n".join(lines) + "\n")


def run_gpumd(program: Path, folder: Path) -> tuple[float, float]:
    """Atom-steps a second of the last run, as GPUMD prints them, and the temperature (K) at its end."""
    (folder / "thermo.out").unlink(missing_ok=True)
    done = subprocess.run([program.resolve()], cwd=folder, capture_output=True, text=True)
    (folder / "gpumd.log").write_text(done.stdout)
    found = re.findall(r"Speed of this run = (\S+) atom\*step/second", done.stdout)
    if done.returncode or len(found) < 2:
        raise RuntimeError(f"GPUMD failed in {folder.name}: {(done.stdout + done.stderr)[-500:]}")
    return float(found[-1]), float(np.loadtxt(folder / "thermo.out", ndmin=2)[-1, 0])


def show(report: dict[str, Any]) -> None:
    """Print the table."""
    print(f"GPUMD {report['gpumd']} beside taichimd, {report['machine']['gpu']}, us a step (K at the end)")
    print(f"{'system':<12}{'atoms':>10}{'taichimd':>18}{'GPUMD':>18}{'ratio':>8}")
    for one in report["results"]:
        ours = f"{one['taichimd_us']:.1f} ({one['taichimd_temperature_K']:.0f})"
        theirs = f"{one['gpumd_us']:.1f} ({one['gpumd_temperature_K']:.0f})"
        ratio = one["gpumd_us"] / one["taichimd_us"]
        print(f"{one['case']:<12}{one['atoms']:>10}{ours:>18}{theirs:>18}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
