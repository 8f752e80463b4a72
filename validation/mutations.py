"""Would the tests notice a mistake? Single mutations of the physics, each with its nearest tests.

    python -m validation.mutations
    python -m validation.mutations --only tempering --jobs 2

`mutations.toml` beside this file lists them: a text of a file, what replaces it, and the tests that should
fail. Each mutation is applied to a copy of the tree, and is caught if one of its tests fails there. First,
all of these tests run without a mutation, and must pass.

The file of `--out` is written after each mutation. The same command at the same commit continues it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validation import common

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_suffix(".toml")
COPIED = ("taichimd", "tests", "validation", "docs", "examples", "potentials")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "results", "*.egg-info")
PASSED, FAILED = 0, 1
"""Exit codes of pytest."""
LONGEST = 900
"""Seconds after which tests are ended: a mutation may make a loop that does not end."""


@dataclass(frozen=True)
class Mutation:
    """A mistake in one place, and who should notice it."""

    name: str  # what is wrong
    file: str  # path from the root of the checkout
    old: str  # text that occurs once in the file
    new: str  # text in its place
    tests: tuple[str, ...]  # arguments of pytest: files, or tests of a file


def mutations() -> list[Mutation]:
    """Those of the list."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(**row | {"tests": tuple(row["tests"])}) for row in rows]


def applied(mutation: Mutation, text: str) -> str:
    """The text of its file with the mutation."""
    if (count := text.count(mutation.old)) != 1:
        raise ValueError(
            f"{mutation.file} has {count} times the text of the mutation {mutation.name!r}, expected once"
        )
    changed = text.replace(mutation.old, mutation.new)
    try:
        compile(changed, mutation.file, "exec")
    except SyntaxError as error:
        raise ValueError(
            f"the mutation {mutation.name!r} of {mutation.file} is no Python: {error}"
        ) from error
    return changed


def run_tests(
    folder: Path, tests: tuple[str, ...], jobs: int = 1, longest: float | None = LONGEST
) -> tuple[int | None, str]:
    """Exit code of pytest in a copy of the tree, None if it did not end; and the first test that failed."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "TAICHIMD_QUICK_COMPILE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "not exhaustive", *tests]
    command += ["--numprocesses", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    try:
        found = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=longest
        )
    except subprocess.TimeoutExpired:
        return None, "did not end"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", found.stdout, flags=re.MULTILINE)
    last = (found.stdout + found.stderr).strip().splitlines()[-1:]
    return found.returncode, failed.group(1) if failed else " ".join(last)


def copy_of_tree(folder: Path) -> Path:
    """What tests need of this checkout, in a folder that does not exist yet."""
    folder.mkdir()
    for name in COPIED:
        shutil.copytree(common.ROOT / name, folder / name, ignore=NOT_COPIED)
    (folder / "validation" / "results").symlink_to(common.RESULTS)
    for file in common.ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    return folder


def tried(mutation: Mutation, place: Path, number: int) -> dict[str, Any]:
    """What the nearest tests say of a mutation, in a copy of its own that is removed."""
    begin, folder = time.perf_counter(), copy_of_tree(place / str(number))
    file = folder / mutation.file
    file.write_text(applied(mutation, file.read_text(encoding="utf-8")), encoding="utf-8")
    code, told = run_tests(folder, mutation.tests)
    shutil.rmtree(folder)
    return {
        "mutation": mutation.name,
        "file": mutation.file,
        "caught": code == FAILED or code is None,
        "by": told if code in (FAILED, None) else None,
        # Neither passed nor failed: a name of a test that is wrong, or a module that cannot be imported.
        "broken": None if code in (PASSED, FAILED, None) else told,
        "seconds": round(time.perf_counter() - begin, 1),
    }


def main() -> int:
    """Parse the command line, try all, print a table last; 1 if one is not caught."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--only", nargs="+", default=[""], help="mutations with one of these in name or file")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    options = parser.parse_args()
    chosen = [m for m in mutations() if any(part in m.name + m.file for part in options.only)]
    if not chosen:
        parser.error(f"no mutation has {' or '.join(options.only)} in its name or file")
    report = begun(options.out)
    done = {one["mutation"] for one in report["results"]}
    chosen = [m for m in chosen if m.name not in done]
    with tempfile.TemporaryDirectory(prefix="taichimd-mutations-") as place:
        tests = tuple(sorted({test for mutation in chosen for test in mutation.tests}))
        if tests and not report["passes_unmutated"]:
            code, told = run_tests(copy_of_tree(Path(place, "unmutated")), tests, options.jobs, longest=None)
            if code != PASSED:
                print(f"error: without a mutation the tests do not pass: {told}", file=sys.stderr)
                return 2
            report["passes_unmutated"] = True
            if options.out:
                common.write_json(options.out, report)
        with ThreadPoolExecutor(options.jobs) as pool:
            jobs = [pool.submit(tried, one, Path(place), k) for k, one in enumerate(chosen)]
            for job in jobs:
                found = job.result()
                report["results"].append(found)
                print(f"{answer(found)}: {found['mutation']} ({found['seconds']:.0f} s)", flush=True)
                if options.out:
                    common.write_json(options.out, report)
    results = report["results"]
    print(
        common.table(
            [(one["mutation"], answer(one), one["by"] or "") for one in results], ("mutation", "", "by")
        )
    )
    caught = sum(one["caught"] for one in results)
    print(f"{caught} of {len(results)} mutations caught")
    return int(caught < len(results))


def begun(out: Path | None) -> dict[str, Any]:
    """The report of an earlier run of this command at this commit that did not end, or an empty one."""
    report = {**common.provenance(), "listed": len(mutations()), "passes_unmutated": False, "results": []}
    earlier = common.read_json(out) if out and out.exists() else {}
    same = all(earlier.get(name) == report[name] for name in ("commit", "command"))
    return report | {name: earlier[name] for name in ("passes_unmutated", "results")} if same else report


def answer(found: dict[str, Any]) -> str:
    """A word for a result."""
    return "broken" if found["broken"] else "caught" if found["caught"] else "NOT CAUGHT"


if __name__ == "__main__":
    sys.exit(main())
