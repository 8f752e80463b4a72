"""How long ReaxFF's first start takes on a CPU: all kernels are compiled, and the first step is done.

    python -m validation.reaxff.first_start --data FOLDER --out validation/results/reaxff_first_start.json

FOLDER as in `validation.reaxff.speed`. Both runtimes, each case in a process of its own, without the cache
on the disk.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from validation import common
from validation.reaxff.cpu_speed import CASES, ours

NO_CACHE = {"TI_OFFLINE_CACHE": "0", "QD_OFFLINE_CACHE": "0"}


def main() -> None:
    """Parse the command line; start each case under each runtime, or be one of them."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        began = time.perf_counter()
        ours(options.part, options)(1)
        options.out.write_text(json.dumps(time.perf_counter() - began))
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """JSON, and a table last."""
    os.environ.update(NO_CACHE)
    runtimes, results = common.installed_runtimes(), {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "seconds.json"
        arguments = ["--data", str(options.data.resolve()), "--out", str(out), "--part"]
        for case in CASES:
            results[case] = {}
            for name in runtimes:
                common.run_child("validation.reaxff.first_start", [*arguments, case], runtime=name)
                results[case][name] = json.loads(out.read_text())
    if options.out:
        report = {**common.provenance(), "threads": os.cpu_count(), "start_s": results}
        common.write_json(options.out, report)
    rows = [(case, *(f"{seconds:.1f}" for seconds in found.values())) for case, found in results.items()]
    print(common.table(rows, ("case", *(f"{name} (s)" for name in runtimes))))


if __name__ == "__main__":
    main()
