"""Every case in a folder of its own, with this checkout and, beside it, an earlier one.

    python -m validation.everyday --before ../before

A case of `cases.toml` is a few commands, as a user types them. The JSON has the answer of each checkout: the
last line that is printed.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from validation import common

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("cases.toml")
LONGEST = 240
"""Characters of an answer that are kept."""


def main() -> None:
    """Parse the command line, try all cases, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__, out="everyday")
    parser.add_argument("--before", type=Path, help="an earlier checkout, to show what it answers")
    parser.add_argument("--cases", nargs="+", default=[""], help="only those with one of these in a name")
    options = parser.parse_args()
    checkouts = {"now": common.ROOT}
    if options.before is not None:
        checkouts["before"] = options.before.resolve()
    report: dict[str, Any] = {**common.provenance(), "results": []}
    rows = []
    written = tomllib.loads(LIST.read_text(encoding="utf-8"))
    for case in written["case"]:
        name, expected = case["name"], case["answer"]
        if not any(part in name for part in options.cases):
            continue
        script = "".join(written["pieces"][piece] for piece in case.get("begin", ())) + case["script"]
        found: dict[str, Any] = {"case": name, "expected": expected}
        for which, checkout in checkouts.items():
            answer = answer_of(script, checkout)
            found[which] = {"answer": answer[:LONGEST], "right": re.search(expected, answer) is not None}
        report["results"].append(found)
        rows.append((name, *(found[which]["right"] for which in checkouts)))
        print(f"{name}: {found['now']['answer']}", flush=True)
        common.write_json(options.out, report)
    print(common.table(rows, ("case", *checkouts)))
    wrong = [row[0] for row in rows if not row[1]]
    sys.exit(f"{len(wrong)} of {len(rows)} cases are wrong" if wrong else 0)


def answer_of(script: str, checkout: Path) -> str:
    """The last line that a script prints with the taichimd of a checkout."""
    with tempfile.TemporaryDirectory() as programs, tempfile.TemporaryDirectory() as folder:
        for name, command in (("python", ""), ("taichimd", "-m taichimd")):
            program = Path(programs) / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
            program.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
            "PYTHONPATH": str(checkout),
            "CHECKOUT": str(checkout),
            "POTENTIALS": str(checkout / "potentials"),
        }
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, text=True, timeout=600,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        lines = [line.strip().replace(folder, ".") for line in done.stdout.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    main()
