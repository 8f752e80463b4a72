"""Where the time of a run went, and how large its lists are: `taichimd run --profile`."""

from typing import Any

from taichimd.app.loop import RunResult

_MEMORY = {
    "verlet_memory_bytes": "Verlet list",
    "near_memory_bytes": "near list",
    "pair_rows_memory_bytes": "near list of pairs",
    "partial_memory_bytes": "partial forces",
    "tuple_memory_bytes": "tuples",
}


def profile_of(before: dict[str, float], result: RunResult, wall: float) -> dict[str, Any]:
    """Seconds of each phase, by the host's clock, and `steps_per_second`, None without steps.

    `seconds` of setup (potential, engine, first lists), compile (kernels of a step, first forces), steps,
    samples, output and end (last checkpoint, tables of what was observed; the picture is added later) add up
    to all.
    """
    within = {
        "steps": result.stepping_seconds,
        "samples": result.sampling_seconds,
        "output": result.output_seconds,
    }
    steps = result.last_step - result.first_step
    speed = steps / result.stepping_seconds if result.stepping_seconds > 0 else None
    end = wall - sum(within.values())
    return {"seconds": {**before, **within, "end": end}, "steps_per_second": speed}


def profile_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the table, from the report of the run."""
    seconds, lists = report["profile"]["seconds"], report["statistics"]
    total, speed = sum(seconds.values()), report["profile"]["steps_per_second"]
    rows = [(name, f"{value:9.3f} s {100 * value / total:5.1f} %") for name, value in seconds.items()]
    rows.append(("atoms", f"{report['n_atoms']:,}"))
    if speed is not None:
        rows.append(("speed", f"{speed:.4g} steps/s"))
    rows.append(("decomposition", report["decomposition"]))
    listed = lists["cutoff_A"] + lists["outer_skin_A"]
    mean, most = lists["neighbours_mean"], lists["neighbours_max"]
    rows.append(("neighbours", f"{mean:.1f} mean, {most} at most, within {listed:.2f} Å"))
    rows.append(("rebuilds", f"{lists['rebuilds']:,}"))
    rows.append(("skins", f"{lists['outer_skin_A']:.3f} Å outer, {lists['inner_skin_A']:.3f} Å inner"))
    for name in ("pairs", "triplets"):
        if name in lists:
            rows.append((name, f"{lists[name]:,}"))
    held = [f"{name} {lists[key] / 2**20:.3g} MiB" for key, name in _MEMORY.items() if key in lists]
    return rows + list(zip(["memory", *[""] * len(held)], held, strict=False))
