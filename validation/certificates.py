"""Does every shipped force field pass `taichimd validate` here? One certificate for each.

    TAICHIMD_RUNTIME=quadrants python -m validation.certificates
    TAICHIMD_RUNTIME=quadrants python -m validation.certificates --potentials Si.tersoff Ar.lj --add
    python -m validation.certificates --merge A.json B.json --out validation/results/certificates_gpu.json
    python -m validation.certificates --show certificates_cpu.json certificates_h200.json

The suite is that of the command. `--add` keeps the certificates of other potentials that the file has.
`--merge` puts results of several processes of one machine and one commit into one file.
Series for plots stay out of the result file. `--show` prints the table of docs/howto/validate.md.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from taichimd.forcefields.library import shipped
from validation import common


def main() -> int:
    """Parse the command line, validate, write JSON as it grows, print a table last; 1 if a check failed."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--potentials", nargs="+", default=[file.name for file in shipped()])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after so many")
    parser.add_argument("--add", action="store_true", help="keep other certificates of the file")
    parser.add_argument("--show", nargs="+", help="only print the table of the page, from these results")
    parser.add_argument("--merge", nargs="+", help="only put the certificates of these files into --out")
    options = parser.parse_args()
    if options.merge:
        common.write_json(options.out, merged([common.read_json(name) for name in options.merge]))
        return 0
    if options.show:
        print("\n".join(page_rows(*(common.read_json(common.RESULTS / name) for name in options.show))))
        return 0
    from taichimd import validate
    from taichimd.core import runtime

    begun, backend = time.monotonic(), runtime.start(options.backend)
    out = options.out or common.RESULTS / f"certificates_{'quick_' * options.quick}{backend}.json"
    report: dict[str, Any] = {**common.provenance(), "certificates": {}}
    if options.add and out.exists():
        report["certificates"] = common.read_json(out)["certificates"]
    rows, ok = [], True

    def said(title: str) -> None:
        print(f"{time.monotonic() - begun:6.0f} s: {title}", flush=True)

    for name in options.potentials:
        if time.monotonic() - begun > options.seconds:
            break
        found = validate(name, quick=options.quick, on_check=said)
        print(found, flush=True)
        report["certificates"][name] = {"commit": report["commit"], **short(found.record())}
        common.write_json(out, report)
        rows.append((name, *(found.count(status) for status in ("passed", "failed", "not run"))))
        ok = ok and found.ok
    print(common.table(rows, ("potential", "passed", "failed", "not run")))
    return 0 if ok else 1


def merged(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One result with the certificates of several of one commit; its head is that of the first."""
    if any(len({str(report[key]) for report in reports}) > 1 for key in ("commit", "machine")):
        raise ValueError("certificates of several commits or machines stay in files of their own")
    certificates = {name: one for report in reports for name, one in report["certificates"].items()}
    commands = "; ".join(report["command"] for report in reports)
    return {**reports[0], "command": commands, "certificates": certificates}


def page_rows(*reports: dict[str, Any]) -> list[str]:
    """Rows of the table in docs/howto/validate.md: structure, counts, names of failed checks."""
    rows, found = [], {name: one for report in reports for name, one in report["certificates"].items()}
    for name, one in sorted(found.items()):
        count = Counter(outcome["status"] for outcome in one["outcomes"].values())
        failed = [f"`{check}`" for check, outcome in one["outcomes"].items() if outcome["status"] == "failed"]
        counts = " | ".join(str(count[status]) for status in ("passed", "failed", "not run"))
        head = f"| `{name}` | {one['structure']['formula']}"
        rows.append(f"{head} | {counts} | {', '.join(failed)} |")
    return rows


def short(record: dict[str, Any]) -> dict[str, Any]:
    """A certificate without parameters and series."""
    kept = {key: record[key] for key in ("verdict", "level", "seed", "seconds", "structure")}
    kept["fingerprint"] = record["potential"]["fingerprint"]
    kept["outcomes"] = {
        one["name"]: {key: one[key] for key in ("status", "value", "limit", "unit", "detail", "seconds")}
        for one in record["outcomes"]
    }
    return kept


if __name__ == "__main__":
    raise SystemExit(main())
