"""Is a trajectory the same on every backend? Each runs in a process of its own, from one initial state.

    python -m validation.bits.cross_backend --backends cpu cuda --runtimes taichi quadrants

Bars: runs of one runtime on one backend (repeated, or with other numbers of threads) must be identical to
the last bit; so must any two runs under quadrants. Other pairs are held against 1e-9 angstrom after 1,000
steps, and since rounding errors grow in any many-body system, the step at which a pair leaves 1e-9 and the
rate at which it grows are reported for every system, also for the hot liquids, which cannot keep that bar.
"""

import argparse
import itertools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.core.kernel_cache import RUNTIMES
from taichimd.validation.trajectories import BAR, separation
from taichimd.validation.trajectories import snapshots as snapshots_of
from validation import common, systems

SNAPSHOTS = (1, 10, *range(100, 1001, 100))
LONG_SNAPSHOTS = (*range(1500, 4001, 500), 6000, 8000, 12000, 16000, 20000)

SYSTEMS = {
    "tersoff-si-4096": lambda: systems.silicon(8, 300.0),
    "lj-argon-4000": lambda: systems.argon(10, 80.0, cutoff=8.5, timestep_fs=2.0),
    "tersoff-si-liquid-1000": lambda: systems.silicon(5, 8000.0),
    "lj-liquid-4000": lambda: systems.argon_liquid(10, reduced_timestep=0.004),
    "lj-melt-256000": lambda: systems.lj_melt(40),
    "tersoff-si-262144": lambda: systems.silicon(32, 300.0),
    "silica-331776": lambda: systems.silica(24),
}
DEFAULT = tuple(SYSTEMS)[:4]
"""The others are so large that a GPU gives each atom one thread in searches. For them `--steps 100`."""


@dataclass(frozen=True)
class Run:
    """One child process: what it computes with."""

    runtime: str
    backend: str
    threads: int | None = None
    repeat: int = 0

    @property
    def label(self) -> str:
        """Short name, unique in one call of the driver."""
        threads = f"-{self.threads}t" if self.threads else ""
        return f"{self.runtime}-{self.backend}{threads}" + (f"-again{self.repeat}" if self.repeat else "")


def growth_rate(times: np.ndarray, distance: np.ndarray) -> float | None:
    """Slope of log(max |dx|) against time (1/ps), between rounding and the size of the cage, or None."""
    window = (distance > 1e-13) & (distance < 1e-2) & (times > 0.05)
    if window.sum() < 4:
        return None
    return float(np.polyfit(times[window], np.log(distance[window]), 1)[0])


def main() -> None:
    """Parse the command line; be the parent or a child."""
    parser = common.parser(__doc__, out="cross_backend")
    parser.add_argument("--backends", nargs="+", default=["cpu"], choices=["cpu", "cuda"])
    parser.add_argument("--runtimes", nargs="+", default=[common.current_runtime()], choices=RUNTIMES)
    parser.add_argument(
        "--threads", nargs="+", type=int, default=[], help="compare these thread counts (CPU)"
    )
    parser.add_argument("--repeat", type=int, default=1, help="run everything so many times")
    parser.add_argument("--systems", nargs="+", default=list(DEFAULT), choices=SYSTEMS)
    parser.add_argument("--long", action="store_true", help="20,000 steps instead of 1,000")
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    parser.add_argument(
        "--save", type=Path, help="keep initial states and hashes of the first run here (.npz)"
    )
    parser.add_argument(
        "--against", type=Path, help="start from this file's states and compare with its hashes"
    )
    parser.add_argument("--child", nargs=3, metavar=("STATE", "BACKEND", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
    else:
        parent(options)


def child(state_file: str, backend: str, result_file: str) -> None:
    """Run every system of the state file on one backend and leave the snapshots."""
    from taichimd.core import runtime
    from taichimd.program.engine import Engine

    runtime.start(backend)
    state = np.load(state_file)
    settings = json.loads(str(state["settings"]))
    found: dict[str, np.ndarray] = {}
    for name in settings["systems"]:
        system = SYSTEMS[name]()
        atoms = Atoms(
            state[f"{name}/numbers"],
            positions=state[f"{name}/positions"],
            cell=state[f"{name}/cell"],
            pbc=True,
            masses=state[f"{name}/masses"],
            velocities=state[f"{name}/velocities"],
        )
        # The stored velocities, not momenta divided by masses again: every bit is the parent's.
        engine = Engine(atoms, system.forcefield(), backend=backend)
        engine.set_state(velocities=state[f"{name}/velocities"])
        timestep = float(state[f"{name}/timestep"])
        found[f"{name}/x"], found[f"{name}/v"] = snapshots_of(engine, settings["snapshots"], timestep)
        found[f"{name}/statistics"] = np.array(json.dumps(engine.statistics(), default=str))
    found["info"] = np.array(json.dumps(runtime.info(), default=str))
    np.savez(result_file, **found)


def parent(options: argparse.Namespace) -> None:
    """Build the states, run the children, compare, report."""
    snapshots = [*SNAPSHOTS, *(LONG_SNAPSHOTS if options.long else ())]
    if options.steps:
        snapshots = [*(s for s in snapshots if s < options.steps), options.steps]
    runs = planned_runs(options)
    with tempfile.TemporaryDirectory() as folder:
        state_file = Path(folder) / "state.npz"
        earlier = np.load(options.against) if options.against else None
        state = initial_states(options.systems, snapshots, earlier)
        np.savez(state_file, **state)
        results: dict[str, Any] = {}
        for run in runs:
            result_file = Path(folder) / f"{run.label}.npz"
            print(f"running {run.label} ...", flush=True)
            common.run_child(
                "validation.bits.cross_backend",
                ["--child", str(state_file), run.backend, str(result_file)],
                runtime=run.runtime,
                threads=run.threads,
            )
            results[run.label] = np.load(result_file)
            # After each child, so that a time limit costs the pairs that are missing and no others.
            report = reduce_results(options.systems, snapshots, state, runs[: len(results)], results)
            if earlier is not None:
                report["against"] = compare_hashes(earlier, report["hashes"], snapshots)
            common.write_json(options.out, report)
        if options.save:
            kept = {"hashes": report["hashes"][runs[0].label], "saved_by": report["machine"]}
            np.savez(options.save, **state, **{key: np.array(json.dumps(what)) for key, what in kept.items()})
    show(report)
    print(f"written: {options.out.name}")


def reduce_results(
    names: list[str], snapshots: list[int], state: dict[str, Any], runs: list[Run], results: dict[str, Any]
) -> dict[str, Any]:
    """The report on the runs that are done."""
    infos = {label: json.loads(str(found["info"])) for label, found in results.items()}
    return {
        **common.provenance(infos[runs[0].label]),
        "runs": infos,
        "snapshots": snapshots,
        "bar": BAR,
        "pairs": [
            compare(name, snapshots, float(state[f"{name}/timestep"]), a, b, results)
            for a, b in pairs_of(runs)
            for name in names
        ],
        "hashes": {label: hashes(found, names) for label, found in results.items()},
        "statistics": {
            label: {name: json.loads(str(found[f"{name}/statistics"])) for name in names}
            for label, found in results.items()
        },
    }


def pairs_of(runs: list[Run]) -> list[tuple[Run, Run]]:
    """Each run beside the first of all, of its runtime, and of its runtime and backend."""
    pairs: dict[tuple[Run, Run], None] = {}
    for n, run in enumerate(runs):
        earlier = runs[:n]
        same_runtime = [r for r in earlier if r.runtime == run.runtime]
        same_place = [r for r in same_runtime if r.backend == run.backend]
        for candidates in (earlier, same_runtime, same_place):
            pairs.update({(candidate, run): None for candidate in candidates[:1]})
    return list(pairs)


def planned_runs(options: argparse.Namespace) -> list[Run]:
    """All children: runtimes x backends x (threads on the CPU) x repeats."""
    runs = []
    for repeat, runtime, backend in itertools.product(
        range(options.repeat), options.runtimes, options.backends
    ):
        for threads in (options.threads or [None]) if backend == "cpu" else [None]:
            runs.append(Run(runtime, backend, threads, repeat))
    return runs


def initial_states(names: list[str], snapshots: list[int], earlier: Any) -> dict[str, Any]:
    """Arrays of every system; an earlier file's if one is given, since libm may differ between machines."""
    state: dict[str, Any] = {"settings": np.array(json.dumps({"systems": names, "snapshots": snapshots}))}
    for name in names:
        if earlier is not None:
            keys = [key for key in earlier.files if key.startswith(name + "/")]
            state.update({key: earlier[key] for key in keys})
            continue
        system = SYSTEMS[name]()
        atoms = system.atoms
        state[f"{name}/positions"] = atoms.positions
        state[f"{name}/velocities"] = atoms.get_velocities()
        state[f"{name}/numbers"] = atoms.numbers
        state[f"{name}/masses"] = atoms.get_masses()
        state[f"{name}/cell"] = atoms.cell[:]
        state[f"{name}/timestep"] = np.array(system.timestep)
    return state


def compare(
    name: str, snapshots: list[int], timestep: float, a: Run, b: Run, results: dict[str, Any]
) -> dict[str, Any]:
    """How far two runs of one system are apart at each snapshot, and whether that is what is claimed."""
    first, other = (
        (found[f"{name}/x"], found[f"{name}/v"]) for found in (results[a.label], results[b.label])
    )
    apart = separation(first, other)
    dx = np.array(apart["max_dx"])
    same_place = a.runtime == b.runtime and a.backend == b.backend
    identical_claimed = same_place or a.runtime == b.runtime == "quadrants"
    within = [step for step, d in zip(snapshots, dx, strict=True) if d > BAR]
    at_1000 = [d for step, d in zip(snapshots, dx, strict=True) if step <= 1000]
    return {
        "system": name,
        "a": a.label,
        "b": b.label,
        "claim": "identical bits" if identical_claimed else "1e-9 angstrom over 1,000 steps",
        "holds": not any(apart["differing_numbers"]) if identical_claimed else bool(max(at_1000) <= BAR),
        **apart,
        "numbers_compared": int(2 * first[0][0].size),
        "first_snapshot_beyond_bar": within[0] if within else None,
        "growth_per_ps": growth_rate(np.array(snapshots) * timestep / units.fs / 1000.0, dx),
    }


def hashes(found: Any, names: list[str]) -> dict[str, list[str]]:
    """SHA-256 of positions and velocities of each snapshot, for comparison across machines."""
    return {
        name: [common.sha(x, v) for x, v in zip(found[f"{name}/x"], found[f"{name}/v"], strict=True)]
        for name in names
    }


def compare_hashes(earlier: Any, ours: dict[str, Any], snapshots: list[int]) -> dict[str, Any]:
    """The last snapshot up to which each run has all the bits of the saved run (0: none)."""
    theirs = json.loads(str(earlier["hashes"]))
    agree: dict[str, Any] = {"saved by": json.loads(str(earlier["saved_by"]))}
    for label, systems_of_run in ours.items():
        for name, mine in systems_of_run.items():
            pairs = zip(snapshots, mine, theirs.get(name, []), strict=False)
            same = [step for step, _, _ in itertools.takewhile(lambda pair: pair[1] == pair[2], pairs)]
            agree[f"{label} {name}"] = {"identical up to step": max(same, default=0), "of": snapshots[-1]}
    return agree


def show(report: dict[str, Any]) -> None:
    """One line for each pair."""
    rows = []
    for pair in report["pairs"]:
        growth = pair["growth_per_ps"]
        rows.append(
            (
                pair["system"],
                f"{pair['a']} / {pair['b']}",
                report["snapshots"][-1],
                f"{max(pair['max_dx']):.1e}",
                f"{max(pair['max_dv']):.1e}",
                f"{pair['differing_numbers'][-1]}/{pair['numbers_compared']}",
                pair["first_snapshot_beyond_bar"] or "-",
                f"{growth:.2f}" if growth is not None else "-",
                pair["claim"] + (": holds" if pair["holds"] else ": DOES NOT HOLD"),
            )
        )
    header = (
        "system",
        "runs",
        "steps",
        "max dx",
        "max dv",
        "numbers differ",
        "beyond 1e-9",
        "growth/ps",
        "claim",
    )
    print(common.table(rows, header))
    for what, result in report.get("against", {}).items():
        print(f"against saved: {what}: {result}")


if __name__ == "__main__":
    main()
