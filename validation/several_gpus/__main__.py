"""Has one system on several GPUs the bits of one, how long is a step, and what share has the exchange?

    TAICHIMD_RUNTIME=quadrants python -m validation.several_gpus --backend cuda --np 1 2 4 --out FILE

A case is a system and a number of atoms in million, in order of importance. `argon` and `tersoff` are those
of `benchmarks.large`: they run on all GPUs, beside a small system of the same energy. One group of processes
does all other cases. The file is written after each number of processes. If a case takes longer than
`--limit`, or a process ends, a new group does the cases that are left. `phases` has the times of the phases
of a step in each process, of a run after the timed runs.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from validation import common
from validation.several_gpus.worker import LARGE

CASES = (
    "lj-melt:0.032", "lj-melt:4", "vashishta-sio2:4", "tersoff-si:4", "argon:100", "tersoff:100",
    "lj-melt:0.5", "vashishta-sio2:0.5", "tersoff-si:0.5",
)  # fmt: skip


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument(
        "--cases", nargs="+", default=CASES, metavar="NAME:MILLION", help="nearest cubes are taken"
    )
    parser.add_argument("--np", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--settle", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of each case")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of all cases; others are left out")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--transport", default="auto", choices=("auto", "host"))
    parser.add_argument("--out", default=str(common.RESULTS / "several_gpus.json"))
    options = parser.parse_args()
    names = ("backend", "transport", "steps", "settle", "repeats", "np")
    settings = {name: getattr(options, name) for name in names}
    end = time.monotonic() + options.seconds
    report: dict[str, Any] = {"provenance": None, "runs": [], "failed": [], "left_out": []}
    report["left_out"] = left = list(options.cases)
    while left and time.monotonic() < end:
        # Large cases have processes of their own, so that no memory of earlier ones counts.
        large = [case.split(":")[0] in LARGE for case in left]
        at = 1 if large[0] else (large.index(True) if any(large) else len(left))
        report["left_out"] = left = (
            run_group({**settings, "cases": left[:at]}, options, report, end) + left[at:]
        )
    common.write_json(options.out, report)
    print(common.table([_shown(row) for row in report["runs"]], HEADER))
    print("\n".join("| " + " | ".join(cells) + " |" for cells in page_rows(report)))
    for row in report["runs"]:
        first = row["phases"][0]["ms"].items()
        shown = (f"{phase} {ms / row['steps_of_phases']:.3f}" for phase, ms in first)
        print(f"{row['case']}, {row['processes']} processes, ms a step of the first one:", ", ".join(shown))
    wrong = [row for row in report["runs"] if not row.get("same_bits", row.get("agrees", True))]
    sys.exit(bool(report["failed"] or wrong))


def run_group(settings: dict[str, Any], options: Any, report: dict[str, Any], end: float) -> list[str]:
    """Let a group of processes do cases, one after the other, into the report; the cases that are left."""
    from taichimd.core.processes import mpiexec

    left, seen = list(settings["cases"]), 0
    with tempfile.TemporaryDirectory() as folder:
        file, out, said = (Path(folder) / name for name in ("settings.json", "found.jsonl", "said.txt"))
        file.write_text(json.dumps({**settings, "out": str(out)}))
        out.touch()
        start = [mpiexec(), "-n", str(max(options.np))] if max(options.np) > 1 else []
        command = [*start, sys.executable, "-m", "mpi4py", "-m", "validation.several_gpus.worker", str(file)]
        with said.open("w") as stream:
            group = subprocess.Popen(
                command, cwd=common.ROOT, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )
        begun = time.monotonic()
        while True:
            ended = group.poll() is not None
            lines = [
                json.loads(line) for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")
            ]
            for line in lines[seen:]:
                if "end" in line:
                    left.remove(line["end"])
                    begun = time.monotonic()
                elif "failed" in line:
                    report["failed"].append(line["failed"])
                    print(json.dumps(line), flush=True)
                else:
                    head = line.pop("provenance")
                    report["provenance"] = report["provenance"] or {**head, "command": common.command_line()}
                    report["runs"].append(line)
                    _compare(report["runs"])
                    common.write_json(options.out, report)
                    print(*_shown(line), f"{line['seconds']:.0f} s", flush=True)
            seen = len(lines)
            late = time.monotonic() > min(begun + options.limit, end)
            if ended or late:
                break
            time.sleep(0.2)
        if not ended:
            os.killpg(group.pid, signal.SIGKILL)
            group.wait()
        if left and (ended or time.monotonic() < end):
            told = " | ".join(said.read_text().strip().splitlines()[-12:])
            told = told if ended else f"killed after {options.limit:g} s | {told}"
            report["failed"].append({"case": left[0], "told": told})
            print(f"{left.pop(0)}: {told}", flush=True)
    return left


HEADER = (
    "case", "atoms", "np", "way", "engine ms", "ms", "exchange ms", "held", "GB", "efficiency", "same",
    "builds", "choices",
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


def page_rows(report: dict[str, Any]) -> list[list[str]]:
    """Rows of the page of scaling, of runs beside one engine: case, atoms, GPUs, times (ms), ratios, bits."""
    rows = [row for row in report["runs"] if "engine_ms_per_step" in row]
    rows.sort(key=lambda row: (row["case"], -row["atoms"], row["processes"]))
    return [
        [
            row["case"], f"{row['atoms']:,}", str(row["processes"]), f"{row['engine_ms_per_step']:.3g}",
            f"{row['ms_per_step']:.3g}", f"{row['engine_ms_per_step'] / row['ms_per_step']:.2f}",
            f"{row['efficiency']:.2f}", f"{row['exchange_ms']:.2g}" if row["processes"] > 1 else "",
            f"{row['common_builds']}, {row['choices']}", "yes" if row["same_bits"] else "no",
        ]
        for row in rows
    ]  # fmt: skip


def _shown(row: dict[str, Any]) -> list[Any]:
    unknown = float("nan")
    return [
        row["case"], row["atoms"], row["processes"], row["transport"],
        *(f"{row.get(name, unknown):.4g}" for name in ("engine_ms_per_step", "ms_per_step", "exchange_ms")),
        max(row["held_atoms"]), f"{max(row['memory_bytes']) / 1e9:.1f}",
        f"{row.get('efficiency', unknown):.3f}",
        row.get("same_bits", row.get("agrees")), row["common_builds"], row["choices"],
    ]  # fmt: skip


if __name__ == "__main__":
    main()
