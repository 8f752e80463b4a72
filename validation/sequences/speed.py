"""How fast are scores, by windows (figure 8 of Yaseen et al.) and by forward terms? Are the bits the same?

    TAICHIMD_THREADS=1 python -m validation.sequences.speed --residues 20000 --out cpu.json
    TAICHIMD_RUNTIME=quadrants python -m validation.sequences.speed --backend cuda --against cpu.json \
        --out gpu.json

Random chains of one length are scored in one call, by each method: milliseconds of a call with the arrays on
the device. "one chain" and "fifty chains" are of examples/protein_chains.csv: there a call is mostly its
launch. With TAICHIMD_THREADS=1 on a CPU the clock is that of the process: other work may run beside it.
The sums of all methods must be equal. Sums of the fifty chains, for several fragments and both
references, must be those of another machine (--against).
"""

import json
import os
import time
from itertools import product
from pathlib import Path

import numpy as np

from validation import common

LENGTHS = (50, 100, 200, 400, 800)
FRAGMENTS = (7, 15)


def cases(options):
    """Name, fragment and chains of each case."""
    from taichimd.sequences.chains import LABELS, RESIDUES, Chain, read_chains

    real = read_chains(common.ROOT / "examples" / "protein_chains.csv")
    yield "one chain", 7, real[:1]
    yield "fifty chains", 7, real
    rng = np.random.default_rng(1)
    for fragment in FRAGMENTS:
        for length in LENGTHS:
            many = options.residues // length
            sequences = rng.integers(20, size=(many, length))
            states = rng.integers(3, size=(many, length))
            letters, labels = np.array(list(RESIDUES))[sequences], np.array(list(LABELS))[states]
            chains = [Chain("random", "".join(a), "".join(b)) for a, b in zip(letters, labels, strict=True)]
            yield f"{many} chains of {length}", fragment, chains


def timed(call, options):
    """Milliseconds of a call: the fastest of many short series, as other work may run beside it."""
    from taichimd.core.runtime import ti

    def series(many):
        ti.sync()
        started = options.clock()
        for _ in range(many):
            call()
        ti.sync()
        return (options.clock() - started) / many

    call()
    started, times = time.perf_counter(), [series(1)]
    many = max(1, int(0.01 / times[0]))
    while time.perf_counter() - started < options.seconds:
        times.append(series(many))
    return 1e3 * min(times)


def hashes(chains):
    """SHA-256 of the sums of chains, by fragment, reference and method."""
    from taichimd.sequences.counts import Shape
    from taichimd.sequences.kernels import METHODS
    from taichimd.sequences.score import Scorer
    from taichimd.sequences.table import REFERENCES, train

    found = {}
    for fragment, reference in product((3, 5, 7, 10, 15), REFERENCES):
        table = train(chains, Shape(fragment), reference=reference)
        for method in METHODS:
            units = Scorer(table, method).units(chains)
            key = f"fragment {fragment}, {reference}, {method}"
            found[key] = common.sha(np.asarray(units, "<i8"))
    return found


def measured(name, fragment, chains, table, options):
    """Times of all methods."""
    from taichimd.sequences.kernels import METHODS
    from taichimd.sequences.score import Scorer

    residues = sum(map(len, chains))
    row = {"case": name, "fragment": fragment, "chains": len(chains), "residues": residues, "ms": {}}
    found = []
    for method in METHODS:
        sums, call = Scorer(table, method).prepared(chains)
        row["ms"][method] = timed(call, options)
        found.append(sums.to_numpy())
    row["methods_equal"] = all(np.array_equal(one, found[0]) for one in found)
    pairs, triplets = fragment - 1, (fragment - 1) * (fragment - 2) // 2
    # Terms near the end of a chain that would reach beyond it.
    beyond = (fragment - 1) * fragment // 2 + fragment * (fragment - 1) * (fragment - 2) // 3
    row["terms"] = residues * (1 + pairs + triplets) - beyond * len(chains)
    row["forward_terms_per_s"] = row["terms"] / row["ms"]["forward"] * 1e3
    row["balanced_over_direct"] = row["ms"]["direct-windows"] / row["ms"]["windows"]
    row["forward_over_windows"] = row["ms"]["windows"] / row["ms"]["forward"]
    return row


def main() -> None:
    """Measure, compare, write JSON, print the table."""
    parser = common.parser(__doc__, "backend")
    parser.add_argument("--residues", type=int, default=1_000_000, help="of each case, about")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each time")
    parser.add_argument("--quick", action="store_true", help="2,000 residues, for a tenth of a second")
    parser.add_argument("--against", type=Path, help="JSON file of another machine")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.quick:
        options.residues, options.seconds = 2000, 0.1
    from taichimd.core.runtime import start
    from taichimd.sequences.chains import read_chains
    from taichimd.sequences.counts import Shape
    from taichimd.sequences.table import train

    alone = start(options.backend) == "cpu" and os.environ.get("TAICHIMD_THREADS") == "1"
    options.clock = time.process_time if alone else time.perf_counter
    real = read_chains(common.ROOT / "examples" / "protein_chains.csv")
    tables = {fragment: train(real, Shape(fragment)) for fragment in FRAGMENTS}
    results = [measured(*case, tables[case[1]], options) for case in cases(options)]
    bits = hashes(real)
    report = {**common.provenance(), "clock": options.clock.__name__, "residues": options.residues}
    report |= {"results": results, "bits": bits}
    if options.against:
        other = json.loads(options.against.read_text())
        equal = sum(bits[key] == other["bits"].get(key) for key in bits)
        report["against"] = {"machine": other["machine"], "runtime": other["runtime"], "equal": equal}
        print(f"{equal} of {len(bits)} sets of sums have the bits of {options.against.name}")
    common.write_json(options.out, report)
    methods = list(results[0]["ms"])
    header = ["case", "S", *(f"{name} ms" for name in methods), "terms/s", "balanced", "forward", "equal"]
    print(common.table([cells(row) for row in results], header))
    print("balanced: direct windows over windows; forward: windows over forward; equal: of all methods")


def cells(row):
    """One line of the last table."""
    times = [f"{ms:.3f}" for ms in row["ms"].values()]
    ratios = [f"{row[name]:.2f}" for name in ("balanced_over_direct", "forward_over_windows")]
    equal = "yes" if row["methods_equal"] else "NO"
    return [row["case"], row["fragment"], *times, f"{row['forward_terms_per_s']:.3g}", *ratios, equal]


if __name__ == "__main__":
    main()
