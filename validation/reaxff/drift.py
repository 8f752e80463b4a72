"""Does ReaxFF's NVE keep its energy, by charge tolerance, time step and constants, beside LAMMPS?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.drift

100 water molecules (H2O.ffield) at 1 g/cm^3: on a lattice, then an NVT run at 300 K, whose end is the start
of all runs. A straight line through the total energy gives the drift; what is left is the fluctuation. With
LAMMPS's constants the energy is not stationary in the charges, so it fluctuates whatever the tolerance.
"""

import time
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.validation.drift import reduce_energies, sample, times_of
from validation import common

FILE = "H2O.ffield"
EDGE = 14.41
"""angstrom: 100 molecules at 1 g/cm^3."""
TEMPERATURE, SETTLE = 300.0, 1200
"""K; NVT steps of 0.25 fs."""
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
TIMESTEPS = (0.25, 0.1)
"""fs"""
CONSTANTS = ("lammps", "puremd", "consistent", "LAMMPS")
"""Sets of taichimd, and LAMMPS itself."""
EVERY = 5.0
"""fs between two energies."""


def main() -> None:
    """Parse the command line, run all, write JSON after each run."""
    parser = common.parser(__doc__, out="reaxff_drift")
    parser.add_argument("--picoseconds", type=float, default=0.5)
    parser.add_argument("--constants", nargs="+", default=CONSTANTS, choices=CONSTANTS)
    options = parser.parse_args()
    common.use_tests_folder()

    from taichimd.core import runtime

    runtime.start("cpu")
    report: dict[str, Any] = {**common.provenance(), "file": FILE, "picoseconds": options.picoseconds}
    atoms = start_of_runs()
    report["atoms"], report["runs"] = len(atoms), []
    for constants in options.constants:
        for timestep in TIMESTEPS:
            for tolerance in TOLERANCES:
                report["runs"].append(run(atoms, constants, timestep, tolerance, options.picoseconds))
                common.write_json(options.out, report)
                print(report["runs"][-1], flush=True)


def start_of_runs(backend: str = "cpu") -> Atoms:
    """Water at 300 K; under quadrants its bits do not depend on the backend."""
    from reaxff_samples import water

    from taichimd import testing
    from taichimd.ensembles.thermostats.bussi import Bussi
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.program.engine import Engine

    atoms = testing.with_velocities(water(100, EDGE), TEMPERATURE, 1)
    bath = Bussi(TEMPERATURE, coupling_time=20.0, seed=1)
    engine = Engine(atoms, ReaxFF(FILE), backend=backend, ensemble=bath)
    engine.advance(SETTLE, 0.25 * units.fs)
    atoms.positions = engine.positions()
    atoms.set_velocities(engine.velocities())
    return atoms


def run(
    atoms: Atoms, constants: str, timestep: float, tolerance: float, picoseconds: float
) -> dict[str, Any]:
    """Drift and fluctuation of one run; constants "LAMMPS": by that program."""
    n_steps, every = round(1000 * picoseconds / timestep), round(EVERY / timestep)
    begin = time.perf_counter()
    iterations = None
    if constants == "LAMMPS":
        from taichimd.forcefields import library
        from taichimd.lammps.reaxff import lammps_reaxff_nve

        energies = lammps_reaxff_nve(
            atoms, library.find(FILE), tolerance=tolerance, timestep=timestep, n_steps=n_steps, every=every
        )
    else:
        energies, iterations = ours(atoms, constants, timestep, tolerance, n_steps, every)
    found = reduced(np.asarray(energies) / len(atoms), every, timestep)
    return {
        "program": "LAMMPS" if constants == "LAMMPS" else "taichimd",
        "constants": constants.lower(),
        "timestep_fs": timestep,
        "charge_tolerance": tolerance,
        "steps": n_steps,
        **found,
        "mean_iterations": iterations,
        "seconds": time.perf_counter() - begin,
    }


def reduced(energies: np.ndarray, every: int, timestep: float) -> dict[str, float]:
    """Drift and fluctuation of total energies (eV/atom), so many steps of so many fs apart."""
    found = reduce_energies(times_of(len(energies), every, timestep * units.fs), energies)
    return {
        "drift_meV_per_atom_ps": found["slope_eV_per_atom_ns"],
        "fluctuation_meV_per_atom": 1000 * found["rms_eV_per_atom"],
    }


def ours(
    atoms: Atoms, constants: str, timestep: float, tolerance: float, n_steps: int, every: int
) -> tuple[np.ndarray, float]:
    """Total energies (eV) and iterations of a solve."""
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.program.engine import Engine

    forcefield = ReaxFF(FILE, constants=constants, charge_tolerance=tolerance)
    engine = Engine(atoms, forcefield, backend="cpu")
    _, energies, _ = sample(engine, timestep * units.fs, n_steps, every)
    solve: Any = engine.device.evaluators[0]
    return energies * len(atoms), solve.charges.statistics().mean_iterations


if __name__ == "__main__":
    main()
