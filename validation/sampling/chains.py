"""Several chains of Monte Carlo in one launch: are their bits those of each alone, and how long do they take?

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.chains --backend cpu
    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.chains --against mc_chains_cpu.json
    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.chains --chains 32 --out mc_chains_32_h100.json

Chains of argon differ in temperatures, step sizes and seeds. They go through the same sweeps together and one
after the other. SHA-256 of positions, cells, energies and accepted moves says whether ends are the same.
Times are the least ones of pieces of a chain, after compilation.
"""

from typing import Any

from validation import common
from validation.sampling import systems
from validation.sampling.bits import digest
from validation.sampling.speed import duration, least

SWEEPS = 20


def cases() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Structure, force field and settings of all chains."""
    npt = {"pressure": 0.02, "volume_move": 0.01}
    one, all_ = {"kind": "single", "move": 0.3}, {"kind": "all", "move": 0.005}
    return {
        "pairs, all, NPT, 256": (systems.crystal(4), systems.pairs(), all_ | npt),
        "triples, all, NVT, 256": (systems.crystal(4), systems.triples(6.0), all_),
        "all triples, all, open, 125": (systems.droplet(5), systems.triples(None), all_),
        "all triples, all, open, 343": (systems.droplet(7), systems.triples(None), all_),
        "all triples, all, NPT between walls, 125": (systems.vessel(5), systems.triples(None), all_ | npt),
        "all triples, single, open, 125": (systems.droplet(5), systems.triples(None), one),
        "all triples, single, open, 343": (systems.droplet(7), systems.triples(None), one),
        "pairs, single, NPT, 256": (systems.crystal(4), systems.pairs(), one | npt),
        "triples, single, NVT, 256": (systems.crystal(4), systems.triples(6.0), one),
    }


def chains_of(case: tuple[Any, Any, dict[str, Any]], many: int) -> list[Any]:
    """So many chains of a case."""
    from taichimd.sampling.chain import MonteCarlo

    atoms, forcefield, options = case
    found = []
    for k in range(many):
        own = {"temperature": 85.0 + 5.0 * k, "seed": k + 1, "move": options["move"] * (1.0 + 0.01 * k)}
        found.append(MonteCarlo(atoms, forcefield, equilibration=SWEEPS // 2, **options | own))
    return found


def measure(case: tuple[Any, Any, dict[str, Any]], many: int, seconds: float) -> dict[str, Any]:
    """Digests of the ends of both ways, and seconds of a sweep of all chains."""
    from taichimd.sampling.tempering import Chains, can_share

    alone, together = chains_of(case, many), chains_of(case, many)
    chains = Chains(together)
    found: dict[str, Any] = {"chains": many, "one_launch": can_share(together)}
    found["first_seconds"] = duration(lambda: chains.advance(1))
    chains.advance(SWEEPS - 1)
    for one in alone:
        one.advance(SWEEPS)
    ends = [[digest(one) for one in both] for both in (together, alone)]
    found["sha256"] = common.sha("".join(ends[0]).encode())
    found["bits_as_alone"] = ends[0] == ends[1]
    found["together_sweep_seconds"] = least(lambda: chains.advance(4), seconds) / 4
    found["alone_sweep_seconds"] = many * least(lambda: alone[0].advance(4), seconds) / 4
    return found


def main() -> None:
    """Parse the command line, run everything, compare, write JSON, print a table last."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each time")
    parser.add_argument("--cases", default="", help="what the names of cases begin with")
    parser.add_argument("--against", help="the JSON of another backend, in validation/results")
    options = parser.parse_args()

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    theirs = common.hashes_of(options.against)
    report: dict[str, Any] = {
        **common.provenance(), "sweeps": SWEEPS, "against": options.against, "results": {}
    }  # fmt: skip
    rows = []
    for name, case in cases().items():
        if not name.startswith(options.cases):
            continue
        found = report["results"][name] = measure(case, options.chains, options.seconds)
        if name in theirs:
            found["same_bits"] = found["sha256"] == theirs[name]["sha256"]
        times = [found[f"{way}_sweep_seconds"] for way in ("together", "alone")]
        ms = [f"{1e3 * time:.2f}" for time in times]
        rows.append(
            (name, found["bits_as_alone"], found.get("same_bits", "-"), *ms, f"{times[1] / times[0]:.1f}")
        )
        common.write_json(options.out or common.RESULTS / f"mc_chains_{backend}.json", report)
    print(
        common.table(rows, ("chains", "as alone", "same bits", "ms together", "ms alone", "alone/together"))
    )


if __name__ == "__main__":
    main()
