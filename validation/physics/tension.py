"""Tension tests of silicon and of amorphous silica to fracture.

    python -m validation.physics.tension                                   (two cores: ten minutes)
    python -m validation.physics.tension --backend cuda --cells 12 --rate 1e9     (an H100)

A crystal of silicon along [100] and a glass of silica, quenched from the melt, are stretched along x at a
constant engineering rate, with pressure 0 along y and z. Stress against strain, Young's modulus from strains
of 2 to 10 % (before, the barostat lags), strength, Poisson's ratio, and how well energy is conserved.
Silicon's modulus at 0 K follows from the elastic constants of the potential: E = C11 - 2 C12^2/(C11 + C12).
"""

from pathlib import Path
from typing import Any

import numpy as np
from ase import units

from validation import common

TEMPERATURE, TIMESTEP, SAMPLES = 300.0, 1.0, 400
"""K, fs, rows of a test."""
ELASTIC = 0.02, 0.1
"""Strains between which the modulus is fitted."""
OTHERS = (0.02, 0.06), (0.04, 0.08), (0.06, 0.1), (0.02, 0.08), (0.04, 0.1)
"""More such ranges: how much the result depends on the choice."""
FINAL = {"silicon": 0.5, "silica": 0.6}
"""Engineering strain at the end."""


def main() -> None:
    """Parse the command line, stretch, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="tension")
    parser.add_argument(
        "--cells", type=int, default=4, help="cubic cells of silicon along each axis; one less of silica"
    )
    parser.add_argument("--rate", type=float, default=2e10, help="engineering rate, 1/s")
    parser.add_argument("--quench", type=float, default=20.0, help="time of the quench of silica, ps")
    options = parser.parse_args()
    report: dict[str, Any] = {
        **common.provenance(), "temperature_K": TEMPERATURE, "rate_per_s": options.rate,
        "quench_ps": options.quench, "silicon_modulus_at_0K_GPa": modulus_at_rest(options.cells), "tests": {},
    }  # fmt: skip
    made = {
        "silicon": silicon(options.cells),
        "silica": silica(options.cells, options.quench, options.backend),
    }
    for name, (atoms, potential, modulus) in made.items():
        rows, seconds = stretched(atoms, potential, FINAL[name], options.rate, modulus, options.backend)
        report["tests"][name] = found = {
            "potential": potential, "atoms": len(atoms), "seconds": seconds, **figures(rows, len(atoms)),
            "strain": rows["strain_x"], "stress_GPa": rows["stress_xx_GPa"],
        }  # fmt: skip
        print(
            f"{name}: E {found['modulus_GPa']:.1f} GPa, strength {found['strength_GPa']:.2f} GPa at strain "
            f"{found['strain_of_strength']:.3f}, Poisson {found['poisson']:.3f}",
            flush=True,
        )
    common.write_json(options.out, report)
    draw(report, options.out.with_suffix(".png"))
    print(f"written: {options.out.name}")


def silicon(cells: int) -> tuple[Any, str, float]:
    """A crystal, its potential and an estimate of its bulk modulus, GPa."""
    from ase.build import bulk

    return bulk("Si", cubic=True, a=5.431).repeat(cells), "Si.sw", 100.0


def modulus_at_rest(cells: int) -> float:
    """Young's modulus of silicon along [100] at 0 K, GPa: C11 - 2 C12^2/(C11 + C12)."""
    from taichimd import Engine, load_forcefield

    atoms, name, _ = silicon(max(cells, 2))
    potential = load_forcefield(name)
    slopes = []
    for strain in (-1e-4, 1e-4):
        there = atoms.copy()
        there.set_cell(atoms.cell.array @ np.diag([1.0 + strain, 1.0, 1.0]), scale_atoms=True)
        slopes.append(Engine(there, potential).evaluate().stress[:2] / units.GPa / 2e-4)
    c11, c12 = slopes[1] - slopes[0]
    return float(c11 - 2 * c12**2 / (c11 + c12))


def silica(cells: int, quench: float, backend: str) -> tuple[Any, str, float]:
    """A glass: cristobalite melted at 5,000 K and cooled to 300 K at pressure 0; time of the quench in ps."""
    from taichimd import Bussi, Simulation, StochasticCellRescaling
    from taichimd.system.lattices import build_lattice

    name = "SiO2_1990.vashishta"
    crystal = build_lattice("silica", max(cells - 1, 2), a=7.13)
    simulation = Simulation(crystal, name, timestep=TIMESTEP, ensemble=Bussi(5000.0), backend=backend)
    simulation.run(5000)
    melt = simulation.atoms()
    melt.calc = None
    steps = round(quench * 1000 / TIMESTEP)
    bath = StochasticCellRescaling(
        5000.0, final_temperature=TEMPERATURE, ramp=(0, steps), bulk_modulus=40.0, coupling_time=100.0
    )
    simulation = Simulation(melt, name, timestep=TIMESTEP, ensemble=bath, backend=backend)
    simulation.run(steps)
    glass = simulation.atoms()
    glass.calc = None
    return glass, name, 40.0


def stretched(
    atoms: Any, potential: str, final: float, rate: float, modulus: float, backend: str
) -> tuple[dict[str, list[float]], float]:
    """Equilibration at pressure 0, then tension along x; rows by the names of columns, and seconds."""
    import tempfile
    import time

    from taichimd import Bussi, Deform, Simulation, StochasticCell, ThermoTable, combine
    from taichimd.io.thermo import read_thermo

    def sides(axes: str) -> Any:
        return StochasticCell(
            control="orthorhombic", axes=axes, bulk_modulus=modulus, pressure_coupling_time=200.0
        )

    ensemble = combine(Bussi(TEMPERATURE), sides("xyz"))
    first = Simulation(atoms, potential, timestep=TIMESTEP, ensemble=ensemble, backend=backend)
    first.run(5000)
    calm = first.atoms()
    calm.calc = None
    ensemble = combine(Bussi(TEMPERATURE), sides("yz"), Deform(x=rate))
    simulation = Simulation(calm, potential, timestep=TIMESTEP, ensemble=ensemble, backend=backend)
    steps = round(final / (rate * TIMESTEP * 1e-15))
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "thermo.csv"
        with ThermoTable(path, every=max(steps // SAMPLES, 1)) as table:
            simulation.run(steps, observers=[table])
        rows = read_thermo(path)
    return {name: column.tolist() for name, column in rows.items()}, time.perf_counter() - begin


def elastic(rows: dict[str, list[float]], between: tuple[float, float]) -> tuple[float, float]:
    """Young's modulus (GPa) and Poisson's ratio, by straight lines between two strains."""
    strain = np.array(rows["strain_x"])
    there = (strain > between[0]) & (strain < between[1])
    slopes = {
        name: np.polyfit(strain[there], np.array(rows[name])[there], 1)[0]
        for name in ("stress_xx_GPa", "strain_y", "strain_z")
    }
    return float(slopes["stress_xx_GPa"]), float(-0.5 * (slopes["strain_y"] + slopes["strain_z"]))


def figures(rows: dict[str, list[float]], n_atoms: int) -> dict[str, Any]:
    """Modulus, strength and its strain, Poisson's ratio, and drift of the conserved energy (eV an atom)."""
    strain, stress = np.array(rows["strain_x"]), np.array(rows["stress_xx_GPa"])
    modulus, poisson = elastic(rows, ELASTIC)
    others = [elastic(rows, between) for between in (ELASTIC, *OTHERS)]
    highest = int(np.argmax(stress))
    conserved = np.array(rows["conserved_eV"]) / n_atoms
    return {
        "modulus_GPa": modulus,
        "poisson": poisson,
        "modulus_of_ranges_GPa": [min(one for one, _ in others), max(one for one, _ in others)],
        "poisson_of_ranges": [min(one for _, one in others), max(one for _, one in others)],
        "strength_GPa": float(stress[highest]),
        "strain_of_strength": float(strain[highest]),
        "work_eV_per_atom": rows["work_deformation_eV"][-1] / n_atoms,
        "conserved_range_eV_per_atom": float(np.ptp(conserved)),
    }


def draw(report: dict[str, Any], picture: Path) -> None:
    """Stress against strain of both."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.2), dpi=100, layout="constrained")
    axis = figure.subplots()
    for name, found in report["tests"].items():
        axis.plot(found["strain"], found["stress_GPa"], label=f"{name}, {found['atoms']} atoms")
    axis.set(
        xlabel="strain x", ylabel="stress xx (GPa)", title=f"tension at {report['rate_per_s']:.0e}/s, 300 K"
    )
    axis.legend(frameon=False)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
