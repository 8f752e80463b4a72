"""What every driver shares: where results go, what a result must carry, children with their own runtime.

A process can hold one backend of one runtime, so a driver that compares them never starts a runtime itself:
it starts one child process for each and compares the files that they leave.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation" / "results"
SETTINGS = ("TAICHIMD_RUNTIME", "TAICHIMD_THREADS", "TAICHIMD_DEVICE_LOOPS")
"""Environment variables that a result tells with its command."""
COMPUTES = ("taichimd", "potentials", "examples", "tests/support", "validation", ":!validation/results")
"""What a result depends on: while files differ from the commit there, no result is written to `RESULTS`."""


def parser(doc: str, *takes: str, out: str | None = None, **settings: Any) -> argparse.ArgumentParser:
    """Command line of a driver, which says what the first line of the driver's docstring says.

    `takes`: options that many drivers have: "backend", "out"; `out`: name of the result in `RESULTS`.
    """
    own = _Parser(description=doc.splitlines()[0], **settings)
    if "backend" in takes:
        own.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    if out or "out" in takes:
        own.add_argument("--out", type=Path, default=RESULTS / f"{out}.json" if out else None)
    return own


class _Parser(argparse.ArgumentParser):
    """A parser that refuses at the start what `write_json` would refuse at the end."""

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        found, rest = super().parse_known_args(*arguments, **named)
        try:
            check_commit(getattr(found, "out", None))
        except ValueError as error:
            self.error(str(error))
        return found, rest


def check_commit(target: str | Path | None) -> None:
    """Raise a ValueError for a result in `RESULTS` of files that no commit has."""
    if target is None or Path(target).suffix != ".json" or not Path(target).resolve().is_relative_to(RESULTS):
        return
    if (commit := _commit()) is None:
        raise ValueError(
            f"{Path(target).name}: the commit is unknown; set TAICHIMD_COMMIT, or write elsewhere"
        )
    if commit.endswith("+"):
        raise ValueError(f"{Path(target).name}: files differ from {commit[:-1]}; commit, or write elsewhere")


def use_tests_folder() -> None:
    """Make the LAMMPS oracle and other modules of tests/support importable (they are not installed)."""
    folder = str(ROOT / "tests" / "support")
    if folder not in sys.path:
        sys.path.insert(0, folder)


def current_runtime() -> str:
    """The runtime that TAICHIMD_RUNTIME selects."""
    return os.environ.get("TAICHIMD_RUNTIME", "taichi")


def provenance(runtime_info: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Machine, versions, date and command line: the head of every result file.

    `runtime_info`: `core.runtime.info()` of the process that computed; None asks this process, which starts
    the runtime here.
    """
    if runtime_info is None:
        from taichimd.core import runtime

        runtime_info = runtime.info()
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": command_line(),
        "machine": machine(),
        "runtime": dict(runtime_info),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _commit(),
    }


_PACKAGES = ("taichimd", "taichi", "quadrants", "numpy", "ase", "lammps", "mpich")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@cache
def _commit() -> str | None:
    """The commit when it is first asked for, with "+" if files differ from it; None outside a checkout.

    TAICHIMD_COMMIT says it for a copy of the tree that has no history.
    """
    if named := os.environ.get("TAICHIMD_COMMIT"):
        return named
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        status = subprocess.run(
            [*git, "status", "--porcelain", "--", *COMPUTES], capture_output=True, text=True
        )
    except OSError:
        return None
    if head.returncode or status.returncode:
        return None
    return head.stdout.strip() + ("+" if status.stdout.strip() else "")


def command_line() -> str:
    """The command that started this process, as a shell takes it, without paths of this machine."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    name = f"-m {spec.name.removesuffix('.__main__')}" if spec else Path(sys.argv[0]).name
    arguments = [re.sub(r"(?<![^=])/\S*/", "", argument) for argument in sys.argv[1:]]
    chosen = [f"{key}={os.environ[key]}" for key in SETTINGS if key in os.environ]
    return " ".join([*chosen, "python", name, *map(shlex.quote, arguments)])


def machine() -> dict[str, Any]:
    """Processor, cores and GPU, as far as this machine tells."""
    return {"cpu": _cpu(), "cores": os.cpu_count(), "gpu": _gpu(), "system": platform.platform(terse=True)}


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def _gpu() -> str | None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def device(report: Mapping[str, Any]) -> str:
    """The processor or GPU of a report; older ones name all GPUs of a machine, one line each."""
    return str(report["runtime"]["device"]).splitlines()[0]


def write_json(path: str | Path, payload: Mapping[str, Any]) -> Path:
    """Write a result file, whole or not at all."""
    check_commit(path)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    text = json.dumps(payload, indent=1, default=_plain)
    # Lists of numbers on one line: a thousand energies are one fact, and diffs stay readable.
    text = re.sub(r"\[\n\s*([^\[\]{}]*?)\n\s*\]", lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", text)
    partial.write_text(text + "\n")
    partial.replace(target)
    return target


def read_json(path: str | Path) -> dict[str, Any]:
    """What a result file holds."""
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def sha(*arrays: Any) -> str:
    """SHA-256 of the bits of arrays, one after the other."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest()


def hashes_of(against: str | Path | None, key: str = "results") -> dict[str, Any]:
    """Each run of a result of another backend, by name; empty if none is given."""
    if against is None:
        return {}
    path = Path(against)
    found: dict[str, Any] = read_json(path if path.exists() else RESULTS / path)[key]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return value.name
    raise TypeError(f"{type(value).__name__} does not belong in a result file")


def run_child(
    module: str, arguments: Sequence[str], *, runtime: str | None = None, threads: int | None = None
) -> None:
    """Run `python -m module arguments` under a runtime and a number of CPU threads, and wait for it."""
    environment = dict(os.environ)
    if runtime:
        environment["TAICHIMD_RUNTIME"] = runtime
    if threads:
        environment["TAICHIMD_THREADS"] = str(threads)
    command = [sys.executable, "-m", module, *arguments]
    child = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if child.returncode:
        tail = (child.stderr.strip() or child.stdout.strip()).splitlines()[-6:]
        raise RuntimeError(
            f"{module} {' '.join(arguments)} ended with {child.returncode}: " + " | ".join(tail)
        )


def environment_of_users() -> dict[str, str]:
    """That of this process, in which Python keeps the bytecode of modules, as an installer does."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def table(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    """Plain text columns, for the last lines of a driver's output."""
    text = [[str(item) for item in row] for row in (header, *rows)]
    widths = [max(len(row[n]) for row in text) for n in range(len(header))]
    return "\n".join(
        "  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)) for row in text
    )
