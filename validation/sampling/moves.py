"""Which moves sample better: independent configurations a second of single moves and of moves of all atoms.

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.moves --backend cpu

For each system a chain of single moves is brought into equilibrium. From there chains of both kinds tune
their step sizes, and then collect the energy after each sweep for `--seconds`. Independent samples are sweeps
divided by the statistical inefficiency of the energy (Chodera 2007). Fewer than ten are an estimate.

The mean energy of the page's first example (docs/howto/monte_carlo.md) is collected over `--sweeps` sweeps.
"""

import time
from typing import Any

import numpy as np

from validation import common
from validation.sampling import systems

EQUILIBRATION = {"single": 200, "all": 400}
"""Sweeps in which step sizes are tuned."""
PIECE = 0.5
"""Seconds that a chain goes on before it is the other's turn."""
PAGE = {"temperature_K": 80.0, "potential": ["Ar.lj", "Ar.atm"], "atoms": "taichimd build argon --cells 3"}


def cases() -> dict[str, tuple[Any, Any, float]]:
    """Structure, force field and temperature (K)."""
    from ase.build import bulk

    from taichimd.forcefields.load import load_forcefield

    return {
        "liquid argon, pairs, 256": (systems.crystal(4, 6.0), systems.pairs(), 110.0),
        "liquid argon, triples within 6 A, 256": (systems.crystal(4, 6.0), systems.triples(6.0), 110.0),
        "droplet of argon, all triples, 125": (systems.droplet(5), systems.triples(None), 60.0),
        "crystal of silicon, Si.sw, 64": (bulk("Si", cubic=True) * 2, load_forcefield("Si.sw"), 600.0),
    }


def page() -> tuple[Any, Any, float]:
    """The first example of the page."""
    from taichimd.forcefields.load import load_forcefield
    from taichimd.system.lattices import build_lattice

    return build_lattice("argon", 3), load_forcefield(PAGE["potential"]), float(PAGE["temperature_K"])


def chain_of(case: tuple[Any, Any, float], kind: str, seed: int = 1) -> Any:
    """A chain that has tuned its step sizes, from the positions of the structure."""
    from taichimd.sampling.chain import MonteCarlo

    atoms, forcefield, temperature = case
    many = EQUILIBRATION[kind]
    one = MonteCarlo(atoms, forcefield, temperature=temperature, kind=kind, equilibration=many, seed=seed)
    one.advance(many)
    return one


def measure(case: tuple[Any, Any, float], seconds: float) -> dict[str, Any]:
    """Independent samples a second of both kinds, from one configuration in equilibrium."""
    from taichimd.estimators.average import inefficiency_of
    from taichimd.sampling.best_moves import best_moves

    atoms, forcefield, temperature = case
    first = chain_of(case, "single", seed=2)
    atoms = atoms.copy()
    atoms.positions = first.positions()
    found: dict[str, Any] = {"atoms": len(atoms), "temperature_K": temperature}
    found["default"] = best_moves(forcefield, atoms, None)[0]
    chains = {kind: chain_of((atoms, forcefield, temperature), kind) for kind in EQUILIBRATION}
    energies: dict[str, list[float]] = {kind: [] for kind in chains}
    times = dict.fromkeys(chains, 0.0)
    # In turn, so that other work on the machine slows both down alike.
    while min(times.values()) < seconds:
        for kind, chain in chains.items():
            begin = time.perf_counter()
            while (now := time.perf_counter()) - begin < PIECE:
                chain.advance(1)
                energies[kind].append(chain.energy)
            times[kind] += now - begin
    for kind, chain in chains.items():
        sweeps, g = len(energies[kind]), inefficiency_of(np.array(energies[kind]))
        found[kind] = {
            "sweeps": sweeps,
            "seconds": times[kind],
            "ms_per_sweep": 1e3 * times[kind] / sweeps,
            "inefficiency_sweeps": g,
            "independent_samples": sweeps / g,
            "independent_samples_per_second": sweeps / g / times[kind],
            "acceptance": chain.moves.acceptance,
            "move_A": chain.moves.size,
        }
    rates = [found[kind]["independent_samples_per_second"] for kind in ("single", "all")]
    return found | {"ratio": rates[0] / rates[1]}


def long_run(sweeps: int) -> dict[str, Any]:
    """The mean energy of the page's example, with its error."""
    from taichimd.estimators.average import average_of, production_start

    chain, energies = chain_of(page(), "single"), []
    for _ in range(sweeps):
        chain.advance(1)
        energies.append(chain.energy)
    series = np.array(energies)
    start = production_start([series])
    mean = average_of(series, start)
    return PAGE | {
        "sweeps": sweeps,
        "production_from_sweep": start,
        "potential_eV": {"mean": mean.value, "error": mean.error},
        "inefficiency_sweeps": mean.inefficiency,
    }


def main() -> None:
    """Parse the command line, measure, write JSON, print a table last."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--backend", default="cpu", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=25.0, help="of each chain")
    parser.add_argument("--sweeps", type=int, default=4000, help="of the page's example")
    options = parser.parse_args()

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"mc_moves_{backend}.json"
    report: dict[str, Any] = {**common.provenance(), "pairs": systems.PAIRS, "nu_eV_A9": systems.NU}
    report["page"] = long_run(options.sweeps)
    report["results"], rows = {}, []
    for name, case in cases().items():
        found = report["results"][name] = measure(case, options.seconds)
        each = [found[kind]["independent_samples_per_second"] for kind in ("single", "all")]
        rows.append((name, found["default"], *(f"{one:.3g}" for one in each), f"{found['ratio']:.3g}"))
        common.write_json(out, report)
    mean = report["page"]["potential_eV"]
    print(f"page: {mean['mean']:.4f} +- {mean['error']:.4f} eV")
    print(common.table(rows, ("independent samples/s", "default", "single", "all", "ratio")))


if __name__ == "__main__":
    main()
