"""Do baths of groups give the heat that they book, and what drifts with constant power?

    python -m validation.physics.group_baths

Argon crystals with a hot and a cold group. For each kind of bath the scatter of the conserved energy at two
time steps, beside the heat that has passed. The drift of the energy with source and sink of constant power,
with and without the correction of eHEX. And two Langevin baths: their powers add up to zero.
"""

from typing import Any

import numpy as np

from validation import common
from validation.physics.ensembles_npt import block_error

TEMPERATURE, TIMESTEPS = 40.0, (8.0, 4.0)
"""K; fs, of the scatter."""
POWER, LONG_TIMESTEP = 0.15, 13.0
"""eV/ps and fs, of the drift: a large power and a long time step in a hot fluid."""


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, "backend", out="group_baths")
    parser.add_argument(
        "--steps", type=int, default=20_000, help="steps of the drift and of the steady state"
    )
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "temperature_K": TEMPERATURE, "scatter": {}, "drift": {}}
    for name in ("Langevin", "Bussi", "NoseHoover", "Berendsen", "Source"):
        report["scatter"][name] = scatter(name)
        print(f"{name}: done", flush=True)
    for correction in (True, False):
        report["drift"]["eHEX" if correction else "HEX"] = drift(options.steps, correction)
    report["steady_state"] = steady_state(options.steps)
    common.write_json(options.out, report)
    rows = [
        (name, *(f"{found['conserved_std_eV'][k]:.2e}" for k in range(2)), f"{found['heat_eV']:.3f}")
        for name, found in report["scatter"].items()
    ]
    print(common.table(rows, ("bath", *(f"scatter at {dt:g} fs, eV" for dt in TIMESTEPS), "heat, eV")))


def forcefield() -> Any:
    """Argon, smooth at the cutoff."""
    from taichimd import LennardJones

    return LennardJones(epsilon=0.0104, sigma=3.40, cutoff=7.0, truncation="force-shifted")


def crystal(long: int, temperature: float, edge: float = 5.3) -> tuple[Any, Any, Any]:
    """Argon, 3 x 3 cells across, with velocities (K); masks of slabs of a cell at 0 and in the middle."""
    from ase.build import bulk

    from taichimd import testing

    atoms = bulk("Ar", cubic=True, a=edge).repeat((long, 3, 3))
    cell = np.floor(atoms.positions[:, 0] / edge + 1e-6)
    return testing.with_velocities(atoms, 2 * temperature, 1), cell == 0, cell == long // 2


def scatter(name: str) -> dict[str, Any]:
    """Scatter of the conserved energy over 8 ps at two time steps, and heat of the hot group, eV."""
    import taichimd

    found = []
    heat = 0.0
    for timestep in TIMESTEPS:
        atoms, hot, cold = crystal(4, TEMPERATURE)
        kind = getattr(taichimd, name)
        values = (0.05, -0.05) if name == "Source" else (1.5 * TEMPERATURE, 0.5 * TEMPERATURE)
        acting = [kind(value, on=on) for value, on in zip(values, (hot, cold), strict=True)]
        simulation = taichimd.Simulation(atoms, forcefield(), timestep=timestep, acting=acting)
        simulation.run(round(1000 / timestep), report_first=False)
        seen = []
        for _ in range(100):
            simulation.run(round(80 / timestep), report_first=False)
            seen.append(simulation.thermo().conserved)
        found.append(float(np.std(seen)))
        heat = simulation.heats()["group1"]
    return {"conserved_std_eV": found, "heat_eV": heat}


def drift(steps: int, correction: bool) -> dict[str, float]:
    """Change of the conserved energy of a hot fluid with source and sink, and heat that has passed, eV."""
    from taichimd import Simulation, Source

    atoms, hot, cold = crystal(6, 300.0, edge=5.9)
    acting = [Source(sign * POWER, on=on, correction=correction) for sign, on in ((1, hot), (-1, cold))]
    simulation = Simulation(atoms, forcefield(), timestep=LONG_TIMESTEP, acting=acting)
    simulation.run(500, report_first=False)
    seen = []
    for _ in range(100):
        simulation.run(steps // 100, report_first=False)
        seen.append(simulation.thermo().conserved)
    tenth = len(seen) // 10
    change = float(np.mean(seen[-tenth:]) - np.mean(seen[:tenth]))
    return {
        "change_eV": change,
        "error_eV": float(np.std(seen) / tenth**0.5),
        "heat_eV": simulation.heats()["group1"],
    }


def steady_state(steps: int) -> dict[str, float]:
    """Power of two Langevin baths of a crystal, eV/ps, with errors."""
    from taichimd import Langevin, Simulation

    atoms, hot, cold = crystal(8, TEMPERATURE)
    acting = [
        Langevin(50.0, coupling_time=500.0, on=hot),
        Langevin(30.0, coupling_time=500.0, seed=2, on=cold),
    ]
    simulation = Simulation(atoms, forcefield(), timestep=5.0, acting=acting)
    simulation.run(steps // 4, report_first=False)
    heats = [list(simulation.heats().values())]
    for _ in range(40):
        simulation.run(steps // 40, report_first=False)
        heats.append(list(simulation.heats().values()))
    powers = np.diff(heats, axis=0) / (steps // 40 * 0.005)
    both = powers.sum(axis=1)
    return {
        "hot_eV_per_ps": float(powers[:, 0].mean()), "hot_error": block_error(powers[:, 0], 10),
        "cold_eV_per_ps": float(powers[:, 1].mean()), "cold_error": block_error(powers[:, 1], 10),
        "sum_eV_per_ps": float(both.mean()), "sum_error": block_error(both, 10),
    }  # fmt: skip


if __name__ == "__main__":
    main()
