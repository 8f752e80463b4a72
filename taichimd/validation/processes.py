"""The same run in other processes: with other threads, on the other backend, under the other runtime."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ase import Atoms

from taichimd.core import runtime
from taichimd.core.arrays import Array
from taichimd.core.cuda_driver import devices
from taichimd.forcefields.base import ForceField
from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.elsewhere import Elsewhere
from taichimd.validation.measures import NUMBERS, Check, Findings, Found, Measure, NotRun
from taichimd.validation.trajectories import BAR, separation, snapshots

THREADS = Measure(
    "threads", "Is a run bitwise identical in another process, with another number of threads?", 0.0, NUMBERS
)
BACKENDS = Measure("cuda", "Does a run on CUDA give the trajectory of the CPU?", 0.0, NUMBERS)
RUNTIMES = Measure("runtimes", "Do Taichi and quadrants give the same trajectory on this backend?", BAR, "Å")
SHARE = 10
"""A snapshot after every tenth of the steps."""


def steps_of(last: int) -> list[int]:
    """Steps of the snapshots of a run."""
    return sorted({1, *range(max(last // SHARE, 1), last + 1, max(last // SHARE, 1)), last})


def run(
    atoms: Atoms, velocities: Array, forcefield: ForceField, backend: str, steps: list[int], timestep: float
) -> tuple[Array, Array]:
    """Snapshots of a run in a new process; arguments as of `snapshots`."""
    runtime.start(backend)
    engine = Engine(atoms, forcefield)
    engine.set_state(velocities=velocities)
    return snapshots(engine, steps, timestep)


def elsewhere(case: Case, last: int, backend: str, environment: Mapping[str, str]) -> Elsewhere:
    """The run in another process with more variables of the environment; its result are snapshots."""
    case.forcefield.check_bounded()
    given = {
        "atoms": case.moving, "velocities": case.start[1], "forcefield": case.forcefield, "backend": backend,
        "steps": steps_of(last), "timestep": case.timestep,
    }  # fmt: skip
    return Elsewhere(run, given, environment)


def here(case: Case, last: int) -> tuple[Array, Array]:
    """The same snapshots in this process."""
    return snapshots(case.engine(), steps_of(last), case.timestep)


def threads(case: Case) -> Findings:
    """A CPU with one thread, and in a full validation with three, against this process or the first one."""
    last, counts = case.level.steps, ("1",) if case.level.name == "quick" else ("1", "3")
    if runtime.backend() == "cuda":
        counts = ("1", "2")
    started = [elsewhere(case, last, "cpu", {"TAICHIMD_THREADS": n}) for n in counts]
    own = None if runtime.backend() == "cuda" else here(case, last)
    runs = [one.result() for one in started]
    first = runs[0] if own is None else own
    found = sum(separation(first, one)["differing_numbers"][-1] for one in runs)
    count = os.environ.get("TAICHIMD_THREADS") or os.cpu_count()
    beside = "" if own is None else f", beside {count} here"
    return {
        "threads": Found(float(found), f"threads of a process: {' and '.join(counts)}{beside}; {last} steps")
    }


def backends(case: Case) -> Findings:
    """CPU and CUDA: the same bits under quadrants, 1e-9 angstrom under Taichi."""
    if not devices():
        return {"cuda": NotRun("no CUDA device was found on this machine")}
    last = case.level.far
    other = "cpu" if runtime.backend() == "cuda" else "cuda"
    started = elsewhere(case, last, other, {})
    apart = separation(here(case, last), started.result())
    return {"cuda": _apart(apart, last, runtime.NAME == "quadrants")}


def _apart(apart: dict[str, Any], last: int, identical: bool) -> Found:
    """A value of bits, or of angstrom, whichever is claimed."""
    furthest = max(apart["max_dx"])
    told = f"{last} steps; largest distance {furthest:.1e} Å, {apart['differing_numbers'][-1]} numbers differ"
    if identical:
        return Found(float(max(apart["differing_numbers"])), told, data=apart)
    # Numbers that differ are not counted where only a distance is claimed.
    return Found(0.0 if furthest <= BAR else furthest, f"{told}; claimed are {BAR:g} Å", data=apart)


def runtimes(case: Case) -> Findings:
    """Taichi and quadrants on the backend of this process."""
    other = "taichi" if runtime.NAME == "quadrants" else "quadrants"
    if find_spec(other) is None:
        return {"runtimes": NotRun(f"the runtime {other} is not installed")}
    last = case.level.far
    started = elsewhere(case, last, runtime.backend(), {"TAICHIMD_RUNTIME": other})
    apart = separation(here(case, last), started.result())
    told = f"{other} beside {runtime.NAME}, {last} steps; {apart['differing_numbers'][-1]} numbers differ"
    return {"runtimes": Found(max(apart["max_dx"]), told, data={**apart, "steps": steps_of(last)})}


CHECKS: tuple[Check, ...] = (
    Check((THREADS,), threads, "other threads"),
    Check((BACKENDS,), backends, "CPU and CUDA"),
    Check((RUNTIMES,), runtimes, "Taichi and quadrants", quick=False),
)
