"""Valid files with random changes: each is read, or refused in one line.

    python -m validation.everyday.fuzz --cases 1000

A base is a valid file with what taichimd does first with it, up to where kernels would be compiled. Each base
is read once as it is. Then cases change it at random, from a fixed seed. Anything but a result or a
`TaichimdError` of one printable line is a failure, and the JSON has it with the number of its case.
"""

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import TaichimdError
from taichimd.core.printable import printable
from validation import common
from validation.everyday.bases import Base, bases

SEED = 46
LONGEST_SECONDS = 20.0
"""Of one case: a file that is small must not take long."""


def outcome(base: Base, content: bytes, folder: Path) -> tuple[str, str]:
    """What happens with a file: "read", "refused" or "failed", and what was said."""
    path = folder / base.name
    path.write_bytes(content)
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            base.use(path)
        found = "read", ""
    except TaichimdError as error:
        said = str(error)
        fine = said and "\n" not in said and printable(said) == said
        found = ("refused", said) if fine else ("failed", f"not one printable line: {said!r}")
    except (Exception, SystemExit, RecursionError) as error:
        found = "failed", f"{type(error).__name__}: {error} at {_place(error)}"
    if time.perf_counter() - begin > LONGEST_SECONDS:
        found = "failed", "it took too long"
    return found


def _place(error: BaseException) -> str:
    """The innermost frame in this package, for whoever mends it."""
    frame, where = error.__traceback__, ""
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if "taichimd" in name and "site-packages" not in name:
            where = f"{Path(name).name} line {frame.tb_lineno}"
        frame = frame.tb_next
    return where


def try_cases(cases: int, folder: Path, seed: int = SEED, kinds: str = "") -> dict[str, Any]:
    """Try each base as it is, and then so many changed ones in turn; counts of each, and what failed."""
    all_of = [base for base in bases(folder) if kinds in base.name]
    counts: dict[str, Counter[str]] = {base.name: Counter() for base in all_of}
    failed = []
    for base in all_of:
        found, said = outcome(base, base.content, folder)
        if found != "read":
            raise TaichimdError(f"{base.name} as it is: {found}, {said}")
    for number in range(cases):
        base, rng = all_of[number % len(all_of)], np.random.default_rng([seed, number])
        change = base.changes[int(rng.integers(len(base.changes)))]
        found, said = outcome(base, change(base.content, rng), folder)
        counts[base.name][found] += 1
        if found == "failed":
            failed.append({"case": number, "file": base.name, "change": change.__name__, "what": said[:300]})
    return {
        "cases": cases,
        "seed": seed,
        "bases": {name: dict(one) for name, one in counts.items()},
        "failed": failed,
    }


def main() -> None:
    """Parse the command line, try all cases, write JSON."""
    parser = common.parser(__doc__, out="fuzz")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--files", default="", help="only bases with this in their names")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = try_cases(options.cases, Path(folder), options.seed, options.files)
    common.write_json(options.out, {**common.provenance(), **found})
    for one in found["failed"]:
        print(one)
    ends = ("read", "refused", "failed")
    rows = [(name, *(count.get(end, 0) for end in ends)) for name, count in found["bases"].items()]
    print(common.table(rows, ("file", *ends)))
    sys.exit(f"{len(found['failed'])} of {options.cases} cases failed" if found["failed"] else 0)


if __name__ == "__main__":
    main()
