"""Which results of `divergence` and `accuracy` have the same bits on two machines: nothing runs here.

Compared are SHA-256 hashes of all positions and velocities after so many steps, and the potential energies of
all snapshots, as they stand in the JSON files. Both sides began by themselves or from one saved state; that
they began alike follows from hashes that are the same.
"""

import argparse
import json
from typing import Any

from validation import common
from validation.decomposition.states import DECOMPOSITIONS, SHORT

PAIRS = (
    ("divergence_cpu", "divergence_cuda"),
    ("accuracy_cpu_xeon", "accuracy_cuda"),
    ("accuracy_cpu_epyc", "accuracy_cuda"),
)
HEAD = ("machine", "runtime", "commit", "date")
Snapshots = dict[str, dict[int, Any]]
"""What was kept of a run, by name, at each step."""


def run(options: argparse.Namespace) -> str:
    """Compare the pairs of files that are there, write what was found beside them; the table."""
    files = {name: options.out / f"tuple_decomposition_{name}.json" for pair in PAIRS for name in pair}
    reports = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    pairs = [pair for pair in PAIRS if reports.keys() >= set(pair)]
    if not pairs:
        return "bits: nothing to compare, no two results there"
    report = {
        "files": {name: head(reports[name]) for name in reports if any(name in pair for pair in pairs)},
        "pairs": [{"a": a, "b": b, **compare(reports[a], reports[b])} for a, b in pairs],
    }
    common.write_json(options.out / "tuple_decomposition_bits.json", report)
    return table(report)


def head(report: dict[str, Any]) -> dict[str, Any]:
    """Where and when the runs of a file were done; of files that grew, each size."""
    sizes = [
        {key: one.get(key) for key in ("cells", "commit", "date", "threads")}
        for one in report.get("results", [])
    ]
    return {key: report[key] for key in HEAD} | ({"results": sizes} if sizes else {})


def compare(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two reports both have, snapshot by snapshot; and the names of what one of them lacks."""
    a, b = snapshots(one), snapshots(other)
    rows = []
    for what in [name for name in a if name in b]:
        steps = sorted(a[what].keys() & b[what].keys())
        differing = [step for step in steps if a[what][step] != b[what][step]]
        rows.append(
            {
                "what": what,
                "steps": steps,
                "differing_steps": differing,
                "same": bool(steps) and not differing,
            }
        )
    return {
        "comparisons": rows,
        "not_compared": sorted(a.keys() ^ b.keys()),
        "all_same": bool(rows) and all(row["same"] for row in rows),
    }


def snapshots(report: dict[str, Any]) -> Snapshots:
    """Hashes, and energies if there are any, of a report of `divergence` or of `accuracy`."""
    found: Snapshots = {}
    for name, one in report.get("runs", {}).items():
        found[f"{name}, positions and velocities"] = {int(step): sha for step, sha in one["sha256"].items()}
        energies = zip(one["steps_seen"], one["potential_eV"], strict=True)
        found[f"{name}, potential energies"] = dict(energies)
    for one in report.get("results", []):
        for decomposition in DECOMPOSITIONS:
            what = f"{SHORT[decomposition]}, {one['atoms']:,} atoms, positions and velocities"
            found[what] = {report["steps"]: one[decomposition]["sha256"]}
    return found


def table(report: dict[str, Any]) -> str:
    """One line for each comparison, under the two files and their machines."""
    lines = []
    for pair in report["pairs"]:
        lines.append("bits: " + " and ".join(described(pair[side], report["files"]) for side in "ab"))
        rows = [
            (
                row["what"],
                steps_of(row["steps"]),
                "same" if row["same"] else f"DIFFER at {steps_of(row['differing_steps'])}",
            )
            for row in pair["comparisons"]
        ]
        lines.append(common.table(rows, ("what", "after steps", "bits")))
        if pair["not_compared"]:
            lines.append(f"in one file only: {'; '.join(pair['not_compared'])}")
    return "\n".join(lines)


def described(name: str, files: dict[str, dict[str, Any]]) -> str:
    """A file with its device and runtime."""
    return f"{name} ({common.device(files[name])}, {files[name]['runtime']['runtime']})"


def steps_of(steps: list[int]) -> str:
    """A few steps, or how many there are."""
    if len(steps) > 3:
        return f"{len(steps)} from {steps[0]:,} to {steps[-1]:,}"
    return ", ".join(f"{step:,}" for step in steps) or "none"
