"""Has Monte Carlo the same bits on every backend, and after a restart?

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.bits --backend cpu
    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.bits --backend cuda --against mc_bits_cpu.json

Chains of argon and copper start from the same numbers on every machine. SHA-256 of positions, cell, energy,
and accepted moves says whether ends are the same. The second half is done twice: the second time by a chain
made anew.
"""

from typing import Any

import numpy as np

from validation import common
from validation.sampling import systems

SWEEPS = 40


def cases() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Structure, force field and settings of each chain."""
    npt = {"pressure": 0.02, "volume_move": 0.01}
    one, all_ = {"kind": "single", "move": 0.3}, {"kind": "all", "move": 0.005}
    hot = {"kind": "single", "move": 0.2, "temperature": 900.0}
    return {
        "pairs, single, NVT": (systems.crystal(10), systems.pairs(), one),
        "pairs, single, NPT": (systems.crystal(5), systems.pairs(), one | npt),
        "pairs, all, NPT": (systems.crystal(5), systems.pairs(), all_ | npt),
        "triples, single, NPT": (systems.crystal(5), systems.triples(6.0), one | npt),
        "triples, all, NVT": (systems.crystal(5), systems.triples(6.0), all_),
        "all triples, all, open": (systems.droplet(6), systems.triples(None), all_),
        "all triples, all, NPT between walls": (systems.vessel(6), systems.triples(None), all_ | npt),
        "all triples, single, open": (systems.droplet(6), systems.triples(None), one),
        "embedded atoms, single, NVT": (systems.copper(6), systems.embedded(), hot),
        "embedded atoms, single, NPT": (systems.copper(6), systems.embedded(), hot | npt),
    }


def follow(atoms: Any, forcefield: Any, options: dict[str, Any]) -> dict[str, Any]:
    """A chain, its second half done twice."""
    from taichimd.sampling.chain import MonteCarlo

    def chain() -> MonteCarlo:
        return MonteCarlo(atoms, forcefield, **{"temperature": 90.0, "equilibration": 20, **options})

    first, again = chain(), chain()
    first.advance(SWEEPS // 2)
    state = {
        "positions": first.positions(),
        "cell": first.cell,
        "step": first.step,
        "bath": first.bath_state(),
    }
    first.advance(SWEEPS // 2)
    again.set_state(**state)
    again.advance(SWEEPS // 2)
    return {
        "sha256": digest(first),
        "restart_has_same_bits": digest(first) == digest(again),
        "acceptance": first.moves.acceptance,
        "energy_eV": first.energy,
        "running_less_full_energy_eV": first.compare(),
    }


def digest(chain: Any) -> str:
    """Of all that the chain ends with."""
    numbers = [chain.energy, chain.moves.accepted, chain.volume_moves.accepted]
    return common.sha(chain.positions(), chain.cell, np.array(numbers, float))


def main() -> None:
    """Parse the command line, run everything, compare, write JSON, print a table last."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--against", help="the JSON of another backend, in validation/results")
    options = parser.parse_args()

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    theirs = common.hashes_of(options.against)
    report: dict[str, Any] = {
        **common.provenance(),
        "sweeps": SWEEPS,
        "against": options.against,
        "results": {},
    }
    rows = []
    for name, case in cases().items():
        found = report["results"][name] = follow(*case)
        if name in theirs:
            found["same_bits"] = found["sha256"] == theirs[name]["sha256"]
        rows.append((name, found["sha256"][:16], found.get("same_bits", "-"), found["restart_has_same_bits"]))
        common.write_json(options.out or common.RESULTS / f"mc_bits_{backend}.json", report)
    print(common.table(rows, ("chain", "sha256", "same bits", "restart")))


if __name__ == "__main__":
    main()
