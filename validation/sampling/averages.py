"""Do Monte Carlo and molecular dynamics have the same averages, and volume moves the virial's pressure?

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.averages

Liquid argon at one density and temperature. With Axilrod-Teller: energy and virial pressure by moves of
single atoms, by moves of all atoms, and by molecular dynamics with Langevin's thermostat. With pairs alone,
whose energy ends smoothly: single moves, then volume moves at the mean pressure of these; the mean virial
pressure must be the one that is held. The mean volume differs from the one before by a part of order 1/N.
Averages are those of `taichimd mc`: production is found, errors come from the autocorrelation.

The energy of triples jumps at their cutoff, by 0.2 meV or less. The virial lacks that. The pressure by small
changes of the volume has it: p = kT/dV ln <exp(-(E(V + dV) - E(V))/kT) (1 + dV/V)^N>.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from taichimd.core import units
from validation import common
from validation.sampling import systems

TEMPERATURE = 110.0
CELL = 18.2
"""Angstrom, of 108 atoms: 1.19 g/cm^3."""
CHANGE = 0.002
"""Of ln V."""
_KT = units.KB * TEMPERATURE
FORCE_SHIFTED = {"epsilon": 0.0103408, "sigma": 3.4, "cutoff": 8.5, "truncation": "force-shifted"}


def argon(triples: bool) -> tuple[Any, Any]:
    """108 atoms, and Lennard-Jones, with triples within 6 A or without."""
    from ase.build import bulk

    from taichimd import AxilrodTeller, LennardJones

    forcefield = LennardJones(**FORCE_SHIFTED)
    if triples:
        forcefield += AxilrodTeller(nu=systems.NU, cutoff=6.0)
    return bulk("Ar", cubic=True, a=CELL / 3) * 3, forcefield


def mean_of(values: Any) -> dict[str, float | None]:
    """Mean over production, and its error."""
    from taichimd.estimators.average import average_of, production_start

    series = np.array(values)
    found = average_of(series, production_start([series]))
    return {"mean": found.value, "error": found.error}


def collect(
    advance: Callable[[], Any], thermo: Callable[[], Any], samples: int
) -> dict[str, dict[str, float | None]]:
    """Averages of energy (eV/atom), pressure (GPa) and volume (A^3/atom)."""
    rows = []
    for _ in range(samples):
        advance()
        now = thermo()
        rows.append((now.potential / 108, now.pressure, now.volume / 108))
    names = ("energy_eV_per_atom", "pressure_GPa", "volume_A3_per_atom")
    return {name: mean_of(column) for name, column in zip(names, np.array(rows).T, strict=True)}


def chain(
    kind: str, samples: int, every: int, equilibration: int, *, triples: bool = True, **options: Any
) -> Any:
    """Averages of a chain, a row every so many sweeps."""
    from taichimd import Engine
    from taichimd.sampling.chain import MonteCarlo

    system = argon(triples)
    one = MonteCarlo(*system, temperature=TEMPERATURE, kind=kind, equilibration=equilibration, **options)
    one.advance(equilibration)
    other, weights = Engine(*system), []

    def advance() -> None:
        one.advance(every)
        if one.pressure is None and kind == "single":
            weights.append([_weight(one, other, log_ratio) for log_ratio in (-CHANGE, CHANGE)])

    found: dict[str, Any] = collect(advance, one.thermo, samples)
    if weights:
        w, scale = np.array(weights), _KT / (CELL**3 * np.expm1([-CHANGE, CHANGE])) / units.GPA
        # ln <w> as the mean of a series: to first order in the noise of <w>.
        series = scale * (np.log(w.mean(axis=0)) + w / w.mean(axis=0) - 1.0)
        found["pressure_by_volume_GPa"] = mean_of(series.mean(axis=1))
    return found | {"acceptance": one.moves.acceptance, "move_A": one.moves.size, "sweeps": samples * every}


def _weight(chain: Any, other: Any, log_ratio: float) -> float:
    """exp(-dE/kT) (V'/V)^N of a volume change."""
    factor = np.exp(log_ratio / 3)
    other.set_state(positions=chain.positions() * factor, cell=chain.cell * factor)
    return float(np.exp(-(other.thermo().potential - chain.energy) / _KT + chain.n_atoms * log_ratio))


def dynamics(samples: int, every: int) -> dict[str, Any]:
    """Averages of molecular dynamics."""
    from taichimd import Langevin, Simulation

    atoms, forcefield = argon(True)
    thermostat = Langevin(temperature=TEMPERATURE, coupling_time=200.0, seed=1)
    run = Simulation(atoms, forcefield, timestep=4.0, ensemble=thermostat, temperature=2 * TEMPERATURE)
    run.run(3000)
    return collect(lambda: run.run(every), run.thermo, samples)


def main() -> None:
    """Parse the command line, sample, compare, write JSON, print a table last."""
    parser = common.parser(__doc__, "backend", out="mc_averages")
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    from taichimd.core import runtime

    runtime.start(options.backend)
    n = options.samples
    report: dict[str, Any] = {
        **common.provenance(), "temperature_K": TEMPERATURE, "cell_A": CELL, "pairs": FORCE_SHIFTED,
        "triples": {"nu_eV_A9": systems.NU, "cutoff_A": 6.0}, "timestep_fs": 4.0, "precision": "float64",
        "results": {},
    }  # fmt: skip
    found = report["results"]
    found["molecular dynamics"] = dynamics(n, 10)
    common.write_json(options.out, report)
    runs: dict[str, tuple[Any, ...]] = {
        "single moves": ("single", n, 3, 500),
        "moves of all": ("all", n, 30, 4000),
        "single moves, pairs": ("single", n, 3, 500),
    }
    for name, run in runs.items():
        move = 0.3 if run[0] == "single" else 0.03
        found[name] = chain(*run, move=move, triples="pairs" not in name)
        common.write_json(options.out, report)
    pressure = found["single moves, pairs"]["pressure_GPa"]["mean"]
    report["pressure_held_GPa"] = pressure
    found["volume moves, pairs"] = chain("single", 3 * n, 3, 500, move=0.3, triples=False, pressure=pressure)
    common.write_json(options.out, report)
    rows = []
    for name, one in found.items():
        cells = [_cell(one[key]) for key in list(one)[:3]]
        more = one.get("pressure_by_volume_GPa")
        rows.append((name, *cells, "-" if more is None else _cell(more)))
    print(common.table(rows, ("by", "energy, eV/atom", "pressure, GPa", "volume, A^3/atom", "p by dV, GPa")))


def _cell(mean: dict[str, float | None]) -> str:
    error = mean["error"]
    return f"{mean['mean']:.5f} +- {'unknown' if error is None else f'{error:.5f}'}"


if __name__ == "__main__":
    main()
