"""Bars of silicon and of amorphous silica are stretched until they break in two.

    python -m validation.physics.fracture                                          (two cores: ten minutes)
    python -m validation.physics.fracture --backend cuda --length 48 --width 6 --rate 1e10       (an H100)

The sides of a bar are free surfaces, because a crystal under pressure 0 becomes thinner everywhere and does
not break: the bar is periodic along x alone. A crystal of silicon along [100] (Tersoff), and a glass of
silica (Vashishta) that is quenched from the melt in a periodic cell, rest at 300 K. Then they are stretched
along x at a constant engineering rate. The stress is the force over the cross section of the first cell.

A bar is in two parts if no chain of bonds goes along the whole bar: if two copies follow each other in one
period, no atom is then connected to its own copy. Each frame is tested. After fracture the stress must be 0.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import units

from validation import common

TEMPERATURE, TIMESTEP, FRAMES = 300.0, 1.0, 100
"""K, fs, frames of a test."""
BOND = {"silicon": 3.0, "silica": 2.2}
"""Longest bond, angstrom: the first minima of g(r) of Si-Si and Si-O."""
VACUUM = 30.0
"""Angstrom beside a bar, for the volume of the cell alone: the sides are not periodic."""
MELT, MELTING, RESTING = 5000.0, 4000, 3000
"""K; steps of the melt, and of a bar before it is stretched."""


def main() -> None:
    """Parse the command line, stretch, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="fracture")
    parser.add_argument(
        "--length", type=int, default=24, help="cubic cells of silicon; of silica 3/4 of this"
    )
    parser.add_argument("--width", type=int, default=3, help="cubic cells of silicon; of silica 3/4 of this")
    parser.add_argument("--rate", type=float, default=1e11, help="engineering rate, 1/s")
    parser.add_argument("--final", type=float, default=0.8, help="engineering strain at the end")
    parser.add_argument("--quench", type=float, default=10.0, help="time of the quench of silica, ps")
    parser.add_argument("--bars", nargs="+", choices=list(BOND), default=list(BOND))
    options = parser.parse_args()
    report: dict[str, Any] = {
        **common.provenance(), "temperature_K": TEMPERATURE, "rate_per_s": options.rate,
        "quench_ps": options.quench, "longest_bond_A": BOND, "bars": {},
    }  # fmt: skip
    frames = {}
    for name in options.bars:
        report["bars"][name], frames[name] = found, _ = stretched(name, options)
        broken = found["strain_of_fracture"]
        print(
            f"{name}: {found['atoms']:,} atoms, strength {found['strength_GPa']:.2f} GPa at strain "
            f"{found['strain_of_strength']:.3f}, "
            + ("not broken" if broken is None else f"in two parts at strain {broken:.3f}")
            + f", stress at the end {found['last_stress_GPa']:.3f} GPa, {found['seconds']:.0f} s",
            flush=True,
        )
        common.write_json(options.out, report)
    draw(report, frames, options.out.with_suffix(".png"))
    print(f"written: {options.out.name}")


def silicon(options: Any) -> tuple[Any, str]:
    """A crystal and its potential."""
    from ase.build import bulk

    cells = options.length, options.width, options.width
    return bulk("Si", cubic=True, a=5.432).repeat(cells), "Si.tersoff"


def silica(options: Any) -> tuple[Any, str]:
    """A glass of 2.2 g/cm^3 and its potential: cristobalite, melted and cooled at constant volume."""
    from taichimd import Bussi, Simulation
    from taichimd.system.lattices import build_lattice

    name = "SiO2_1990.vashishta"
    length, width = (max(round(0.75 * n), 2) for n in (options.length, options.width))
    crystal = build_lattice("silica", 1, a=7.13).repeat((length, width, width))
    steps = round(options.quench * 1000 / TIMESTEP)
    bath = Bussi(MELT, final_temperature=TEMPERATURE, ramp=(MELTING, MELTING + steps))
    simulation = Simulation(crystal, name, timestep=TIMESTEP, ensemble=bath, backend=options.backend)
    simulation.run(MELTING + steps)
    glass = at_rest(simulation)
    # Atoms of the melt have left the cell: its sides will be no longer periodic.
    glass.wrap()
    return glass, name


def at_rest(simulation: Any) -> Any:
    """The structure of a simulation, without a calculator."""
    atoms = simulation.atoms()
    atoms.calc = None
    return atoms


def stretched(name: str, options: Any) -> tuple[dict[str, Any], list[Any]]:
    """The test of one bar: what the JSON has of it; frames at the start, the highest stress and the end."""
    from taichimd import Bussi, Deform, Simulation, combine

    begin = time.perf_counter()
    bar, potential = {"silicon": silicon, "silica": silica}[name](options)
    section = float(np.prod(bar.cell.lengths()[1:]))
    bar.center(vacuum=VACUUM / 2, axis=(1, 2))
    bar.pbc = [True, False, False]
    bath = Bussi(TEMPERATURE)
    given: dict[str, Any] = {"timestep": TIMESTEP, "backend": options.backend}
    simulation = Simulation(bar, potential, temperature=TEMPERATURE, ensemble=bath, **given)
    simulation.run(RESTING)
    calm = at_rest(simulation)
    simulation = Simulation(calm, potential, ensemble=combine(bath, Deform(x=options.rate)), **given)
    each = max(round(options.final / (options.rate * TIMESTEP * 1e-15) / FRAMES / 10), 1) * 10
    rows: dict[str, list[Any]] = {"strain": [], "stress_GPa": [], "in_two": []}
    frames, conserved = [calm], []
    for _ in range(FRAMES):
        simulation.run(each)
        atoms = simulation.atoms()
        length = atoms.cell.lengths()[0]
        stress = atoms.get_stress(voigt=False, include_ideal_gas=True)[0, 0] / units.GPa
        rows["strain"].append(float(length / calm.cell.lengths()[0] - 1.0))
        rows["stress_GPa"].append(float(stress * atoms.get_volume() / length / section))
        rows["in_two"].append(in_two(atoms, BOND[name]))
        frames.append(atoms)
        conserved.append(simulation.thermo().conserved / len(bar))
    found = {
        "potential": potential, "atoms": len(bar), "first_length_A": float(calm.cell.lengths()[0]),
        "section_A2": section, **figures(rows), "conserved_range_eV_per_atom": float(np.ptp(conserved)),
        "seconds": time.perf_counter() - begin, **rows,
    }  # fmt: skip
    highest = 1 + int(np.argmax(rows["stress_GPa"]))
    return found, [frames[0], frames[highest], frames[-1]]


def in_two(atoms: Any, longest: float) -> bool:
    """Whether no chain of bonds goes along the whole bar."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    two = atoms.repeat((2, 1, 1))
    two.wrap()
    # Periodic along x alone.
    near = cKDTree(two.positions, boxsize=(two.cell.lengths()[0], 0.0, 0.0))
    first, second = near.query_pairs(longest, output_type="ndarray").T
    bonds = coo_array((np.ones(len(first)), (first, second)), shape=(len(two), len(two)))
    _, labels = connected_components(bonds, directed=False)
    return not bool(np.any(labels[: len(atoms)] == labels[len(atoms) :]))


def figures(rows: dict[str, list[Any]]) -> dict[str, Any]:
    """Strength and its strain, strain of fracture, and the mean stress of the last tenth."""
    stress, broken = np.array(rows["stress_GPa"]), np.flatnonzero(rows["in_two"])
    highest = int(np.argmax(stress))
    return {
        "strength_GPa": float(stress[highest]),
        "strain_of_strength": float(rows["strain"][highest]),
        "strain_of_fracture": float(rows["strain"][broken[0]]) if len(broken) else None,
        "last_stress_GPa": float(stress[-len(stress) // 10 :].mean()),
    }


def draw(report: dict[str, Any], frames: dict[str, list[Any]], picture: Path) -> None:
    """Stress against strain, and each bar at the start, at the highest stress and at the end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 7.0), dpi=100, layout="constrained")
    curves, *bars = figure.subplots(1 + len(frames), 1, height_ratios=[2.0, *([1.0] * len(frames))])
    for color, (axis, (name, shown)) in zip(
        ("C0", "C1"), zip(bars, frames.items(), strict=True), strict=False
    ):
        found = report["bars"][name]
        curves.plot(found["strain"], found["stress_GPa"], color, label=f"{name}, {found['atoms']:,} atoms")
        if found["strain_of_fracture"] is not None:
            curves.axvline(found["strain_of_fracture"], color=color, linestyle=":")
        for level, atoms in enumerate(shown):
            x, _, z = atoms.positions.T
            wide = 1.3 * np.ptp(shown[0].positions[:, 2])
            axis.scatter(
                x % atoms.cell.lengths()[0], z - z.mean() - level * wide, s=1.0, color=color, linewidths=0
            )
        axis.set(title=f"{name}: at rest, at the highest stress, at the end", aspect="equal")
        axis.set_axis_off()
    curves.axhline(0.0, color="grey", linewidth=0.5)
    title = f"bars with free sides at {report['rate_per_s']:.0e}/s, 300 K (dotted: in two parts)"
    curves.set(xlabel="strain x", ylabel="force over first section (GPa)", title=title)
    curves.legend(frameon=False)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
