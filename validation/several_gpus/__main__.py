"""Has one system on several GPUs the bits of one, how long is a step, and what share has the exchange?

Each case and number of processes is a group with a limit of its own. The file is written after each.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from validation import common

CASES = ("lj-melt", "tersoff-si", "vashishta-sio2")


def run_group(count: int, settings: dict[str, Any], limit: float) -> tuple[dict[str, Any] | None, str]:
    """What a group of processes has found before its limit, and what it has said if it failed."""
    from taichimd.core.processes import mpiexec

    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "settings.json", Path(folder) / "found.json"
        file.write_text(json.dumps({**settings, "out": str(out)}))
        start = [mpiexec(), "-n", str(count)] if count > 1 else []
        command = [*start, sys.executable, "-m", "mpi4py", "-m", "validation.several_gpus.worker", str(file)]
        group = subprocess.Popen(
            command,
            cwd=common.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            told, _ = group.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(group.pid, signal.SIGKILL)
            told = (group.communicate()[0] or "") + f"\nkilled after {limit:g} s"
        found = json.loads(out.read_text()) if out.exists() else None
        return found, "" if group.returncode == 0 else " | ".join(told.strip().splitlines()[-8:])


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    parser.add_argument(
        "--atoms", nargs="+", type=int, default=[500_000, 4_000_000], help="nearest cubes are taken"
    )
    parser.add_argument("--np", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--settle", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit", type=float, default=90.0, help="seconds of each group of processes")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--transport", default="auto", choices=("auto", "host"))
    parser.add_argument("--out", default=str(common.RESULTS / "several_gpus.json"))
    options = parser.parse_args()
    names = ("backend", "transport", "steps", "settle", "repeats", "atoms")
    rows: list[dict[str, Any]] = []
    failed, head = [], None
    for case in options.cases:
        for count in options.np:
            settings = {"case": case, "engine": True, **{name: getattr(options, name) for name in names}}
            found, told = run_group(count, settings, options.limit)
            if told:
                failed.append({"case": case, "processes": count, "told": told})
                print(f"{case}, {count} processes: {told}", flush=True)
            if found and head is None:
                head = {**found["provenance"], "command": common.command_line()}
            rows += found["rows"] if found else []
            _compare(rows)
            common.write_json(options.out, {"provenance": head, "runs": rows, "failed": failed})
    print(common.table([_shown(row) for row in rows], HEADER))
    sys.exit(bool(failed))


HEADER = (
    "case", "atoms", "np", "way", "engine ms", "ms", "exchange ms", "held", "efficiency", "same bits",
    "choices",
)  # fmt: skip


def _compare(rows: list[dict[str, Any]]) -> None:
    """Put beside each run what one engine has."""
    engines = {(row["case"], row["atoms"]): row["engine"] for row in rows if "engine" in row}
    for row in rows:
        engine = engines.get((row["case"], row["atoms"]))
        if engine is None:
            continue
        row["same_bits"] = row["bits"] == engine["bits"]
        row["engine_ms_per_step"] = engine["ms_per_step"]
        row["efficiency"] = engine["ms_per_step"] / row["processes"] / row["ms_per_step"]
        row["exchange_share"] = row["exchange_ms"] / row["ms_per_step"]


def _shown(row: dict[str, Any]) -> list[Any]:
    unknown = float("nan")
    return [
        row["case"], row["atoms"], row["processes"], row["transport"],
        *(f"{row.get(name, unknown):.4g}" for name in ("engine_ms_per_step", "ms_per_step", "exchange_ms")),
        max(row["held_atoms"]), f"{row.get('efficiency', unknown):.3f}",
        row.get("same_bits"), row["choices"],
    ]  # fmt: skip


if __name__ == "__main__":
    main()
