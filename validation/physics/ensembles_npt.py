"""Do the barostats sample the isothermal-isobaric ensemble?

    python -m validation.physics.ensembles_npt

Two runs at two pressures: in that ensemble the logarithm of the ratio of the two volume distributions is a
line of slope (p_1 - p_2)/kT whatever the system (P. T. Merz, M. R. Shirts, PLoS ONE 13, e0202764,
doi:10.1371/journal.pone.0202764). A gas, whose volumes have exactly a gamma distribution of shape N. And
the energy that the sampling ones conserve, beside that of NVE.
"""

from typing import Any

import numpy as np

from validation import common

TEMPERATURE, PRESSURES, TIMESTEP = 300.0, (0.5, 0.6), 5.0
"""K, GPa, fs: hot dense argon."""
KINDS = ("npt-berendsen", "npt-scr", "npt-mtk")
GAS_ATOMS, GAS_PRESSURE = 27, 1e-7


def main() -> None:
    """Parse the command line, sample, write JSON."""
    parser = common.parser(__doc__, "backend", out="ensembles_npt")
    parser.add_argument("--samples", type=int, default=600, help="volumes of each run")
    options = parser.parse_args()

    from taichimd.core import runtime, units

    runtime.start(options.backend)
    expected = (PRESSURES[0] - PRESSURES[1]) * units.GPA / (units.KB * TEMPERATURE)
    report: dict[str, Any] = {
        **common.provenance(), "temperature_K": TEMPERATURE, "pressures_GPa": PRESSURES,
        "slope_expected": expected, "barostats": {},
    }  # fmt: skip
    for name in KINDS:
        volumes = [volumes_of_liquid(name, p, options.samples, options.backend) for p in PRESSURES]
        slope, error = slope_of_log_ratio(*volumes)
        report["barostats"][name] = found = {
            "slope": slope, "slope_error": error,
            "mean_volume_A3": [v.mean() for v in volumes], "variance_A6": [v.var(ddof=1) for v in volumes],
            "correlation_of_samples": [float(np.corrcoef(v[1:], v[:-1])[0, 1]) for v in volumes],
        }  # fmt: skip
        if name == "npt-mtk":
            gas = volumes_of_gas(options.samples, options.backend)
            found["gas_mean"], found["gas_mean_error"] = gas.mean(), block_error(gas)
            found["gas_variance"], found["gas_expected"] = gas.var(ddof=1), GAS_ATOMS
        print(f"{name}: done", flush=True)
    report["energy"] = {name: energies(name, options.backend) for name in ("nve", *KINDS[1:])}
    common.write_json(options.out, report)
    rows = [
        (name, f"{found['slope'] / expected:.3f} ± {found['slope_error'] / abs(expected):.3f}",
         *(f"{v:.4g}" for v in found["variance_A6"]))
        for name, found in report["barostats"].items()
    ]  # fmt: skip
    print(common.table(rows, ("ensemble", "slope/exact", "var(V), 0.5 GPa", "var(V), 0.6 GPa")))
    gas = report["barostats"]["npt-mtk"]
    print(
        f"gas of {GAS_ATOMS} atoms, npt-mtk: <V> p/kT = {gas['gas_mean']:.2f} ± {gas['gas_mean_error']:.2f}"
    )
    rows = [
        (name, *(f"{1e6 * found[key]:.3g}" for key in ("conserved", "total")))
        for name, found in report["energy"].items()
    ]
    print(common.table(rows, ("range of energies, ueV/atom", "conserved", "total")))
    print(f"written: {options.out.name}")


def volumes_of_liquid(
    name: str, pressure: float, samples: int, backend: str = "auto", period: int = 1
) -> np.ndarray:
    """Volumes (angstrom^3) of 32 argon atoms every 40 periods, two of the barostat's coupling times."""
    from ase.build import bulk

    from taichimd import LennardJones
    from taichimd.core import units
    from taichimd.ensembles.registry import BAROSTATS
    from taichimd.program.engine import Engine
    from taichimd.system.velocities import maxwell_boltzmann

    atoms = bulk("Ar", cubic=True, a=5.2) * 2
    forcefield = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
    # A cell that acts every 50 fs lets volumes of so hot a liquid fluctuate more: variance 1.16 ± 0.08 times.
    timestep = TIMESTEP if period == 1 else 0.5 * TIMESTEP
    ensemble = BAROSTATS[name](
        TEMPERATURE,
        coupling_time=50.0,
        pressure=pressure,
        pressure_coupling_time=20 * period * timestep,
        bulk_modulus=3.0,
        seed=7,
        period=period,
    )
    engine = Engine(atoms, forcefield, ensemble=ensemble, backend=backend)
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, TEMPERATURE, 3))
    engine.advance(1000, timestep * units.FS)
    return volumes_along(engine, samples, 40 * period, timestep)


def volumes_of_gas(samples: int, backend: str = "auto", name: str = "npt-mtk") -> np.ndarray:
    """Volumes of atoms that do not feel each other, in units of kT/p; a pressure coupling time of 1 ps."""
    from ase import Atoms

    from taichimd import LennardJones
    from taichimd.core import units
    from taichimd.ensembles.registry import COMBINED
    from taichimd.program.engine import Engine
    from taichimd.system.velocities import maxwell_boltzmann

    unit = units.KB * TEMPERATURE / (GAS_PRESSURE * units.GPA)
    edge = (GAS_ATOMS * unit) ** (1 / 3)
    points = np.random.default_rng(1).random((GAS_ATOMS, 3)) * edge
    atoms = Atoms(f"Ar{GAS_ATOMS}", points, cell=[edge] * 3, pbc=True)
    forcefield = LennardJones(epsilon=1e-300, sigma=0.1, cutoff=6.0, truncation="force-shifted")
    # Slow enough for a cell whose noise must not change it by more than 5 % in a step.
    weak = (
        {} if name == "npt-mtk" else {"bulk_modulus": 15 * GAS_PRESSURE, "period": 1, "coupling_time": 400.0}
    )
    ensemble = COMBINED[name](
        TEMPERATURE,
        **{"coupling_time": 100.0} | weak,
        pressure=GAS_PRESSURE,
        pressure_coupling_time=1000.0,
        seed=5,
    )
    # A wide skin: atoms of a gas go far, and have few neighbours.
    engine = Engine(atoms, forcefield, ensemble=ensemble, skin=200.0, backend=backend)
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, TEMPERATURE, 3))
    engine.advance(1000, 20.0 * units.FS)
    return volumes_along(engine, samples, 50, 20.0) / unit


def energies(name: str, backend: str = "auto") -> dict[str, float]:
    """Of 500 argon atoms over 80 ps, eV an atom: ranges of conserved and total energy, slope of the first."""
    from ase.build import bulk

    from taichimd import LennardJones
    from taichimd.core import units
    from taichimd.ensembles.registry import BAROSTATS, NVE
    from taichimd.program.engine import Engine
    from taichimd.system.velocities import maxwell_boltzmann

    atoms = bulk("Ar", cubic=True, a=5.35) * 5
    forcefield = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5, truncation="force-shifted")
    ensemble: Any = NVE()
    if name != "nve":
        # Pressed: the mean volume changes, and that takes work.
        ensemble = BAROSTATS[name](
            60.0, coupling_time=500.0, pressure=0.2, pressure_coupling_time=1000.0, bulk_modulus=2.0, seed=3
        )
    engine = Engine(atoms, forcefield, ensemble=ensemble, backend=backend)
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, 60.0, 3))
    # Atoms at rest on a lattice have not had their half kick: from the first steps on.
    engine.advance(11, 4.0 * units.FS)
    thermos = []
    for _ in range(20_000 // 37):
        engine.advance(37, 4.0 * units.FS)
        thermos.append(engine.thermo())
    conserved = np.array([t.conserved for t in thermos]) / engine.n_atoms
    total = np.array([t.potential + t.kinetic for t in thermos]) / engine.n_atoms
    slope = np.polyfit(np.arange(len(thermos)) * 37 * 4.0e-6, conserved, 1)[0]
    return {
        "conserved": float(np.ptp(conserved)),
        "total": float(np.ptp(total)),
        "slope_eV_per_ns": float(slope),
    }


def volumes_along(engine: Any, samples: int, every: int, timestep: float) -> np.ndarray:
    """Volumes (angstrom^3) of a run that goes on, every so many steps of so many fs."""
    from taichimd.core import units

    found = np.empty(samples)
    for k in range(samples):
        engine.advance(every, timestep * units.FS)
        found[k] = engine.volume
    return found


def block_error(values: np.ndarray, blocks: int = 20) -> float:
    """Standard error of a mean from the scatter of means over blocks."""
    means = [part.mean() for part in np.array_split(values, blocks)]
    return float(np.std(means, ddof=1) / blocks**0.5)


def slope_of_log_ratio(first: np.ndarray, second: np.ndarray, blocks: int = 20) -> tuple[float, float]:
    """Slope of ln(density of the second / density of the first) in V, by maximum likelihood, and its error.

    The error is that of a jackknife over blocks, so that correlation of the samples is in it.
    """
    parts = [np.array_split(values, blocks) for values in (first, second)]
    left_out = []
    for k in range(blocks):
        rest = [np.concatenate(part[:k] + part[k + 1 :]) for part in parts]
        left_out.append(_logistic_slope(*rest))
    error = np.sqrt((blocks - 1) / blocks * np.square(left_out - np.mean(left_out)).sum())
    return _logistic_slope(first, second), float(error)


def _logistic_slope(first: np.ndarray, second: np.ndarray) -> float:
    values = np.concatenate([first, second])
    shift, scale = values.mean(), values.std()
    x = np.stack([np.ones_like(values), (values - shift) / scale], axis=1)
    of_second = np.repeat([0.0, 1.0], [len(first), len(second)])
    beta = np.zeros(2)
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-x @ beta))
        step = np.linalg.solve((x.T * (p * (1.0 - p))) @ x, x.T @ (of_second - p))
        beta += step
        if abs(step).max() < 1e-12:
            break
    return float(beta[1] / scale)


if __name__ == "__main__":
    main()
