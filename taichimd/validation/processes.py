"""The same run in other processes: with other threads, on the other backend, under the other runtime."""

import os
import pickle
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core import runtime
from taichimd.core.arrays import Array
from taichimd.core.cuda_driver import devices
from taichimd.core.errors import BackendError, SettingsError
from taichimd.core.processes import same_python
from taichimd.validation.case import Case
from taichimd.validation.measures import NUMBERS, Check, Findings, Found, Measure, NotRun
from taichimd.validation.trajectories import BAR, separation, snapshots

THREADS = Measure(
    "threads", "Is a run bitwise identical in another process, with another number of threads?", 0.0, NUMBERS
)
BACKENDS = Measure("cuda", "Does a run on CUDA give the trajectory of the CPU?", 0.0, NUMBERS)
RUNTIMES = Measure("runtimes", "Do Taichi and quadrants give the same trajectory on this backend?", BAR, "Å")
LONGEST = 3600
"""Seconds after which a process is ended."""
SHARE = 10
"""A snapshot after every tenth of the steps."""
CHILD = "from taichimd.validation.processes import child; child({folder!r})"


def steps_of(last: int) -> list[int]:
    """Steps of the snapshots of a run."""
    return sorted({1, *range(max(last // SHARE, 1), last + 1, max(last // SHARE, 1)), last})


def child(folder: str) -> None:
    """Run what `run_elsewhere` has left in a folder, and leave the snapshots there."""
    with np.load(Path(folder) / "start.npz") as start:
        given = dict(start)
    runtime.start(str(given["backend"]))
    forcefield = pickle.loads((Path(folder) / "forcefield.pickle").read_bytes())
    from taichimd.program.engine import Engine

    atoms = Atoms(
        given["numbers"], given["positions"], cell=given["cell"], pbc=given["pbc"], masses=given["masses"]
    )
    engine = Engine(atoms, forcefield)
    engine.set_state(velocities=given["velocities"])
    x, v = snapshots(engine, given["steps"].tolist(), float(given["timestep"]))
    np.savez(Path(folder) / "end.npz", x=x, v=v)


def run_elsewhere(case: Case, last: int, backend: str, environment: Mapping[str, str]) -> tuple[Array, Array]:
    """Snapshots of the run in another process with more variables of the environment."""
    case.forcefield.check_bounded()
    with tempfile.TemporaryDirectory(prefix="taichimd-validate-") as folder:
        try:
            held = pickle.dumps(case.forcefield)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise SettingsError(f"{case.name} cannot be taken to another process: {error}") from error
        (Path(folder) / "forcefield.pickle").write_bytes(held)
        atoms = case.moving
        np.savez(
            Path(folder) / "start.npz", backend=backend, numbers=atoms.numbers, positions=case.start[0],
            velocities=case.start[1], masses=atoms.get_masses(), cell=atoms.cell.array, pbc=atoms.pbc,
            steps=steps_of(last), timestep=case.timestep,
        )  # fmt: skip
        command = same_python(CHILD.format(folder=folder))
        try:
            done = subprocess.run(
                command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired as error:
            raise BackendError(f"a process did not end within {LONGEST} s") from error
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise BackendError(f"the process ended with {done.returncode}: {' '.join(lines)}")
        with np.load(Path(folder) / "end.npz") as end:
            return end["x"], end["v"]


def here(case: Case, last: int) -> tuple[Array, Array]:
    """The same snapshots in this process."""
    return snapshots(case.engine(), steps_of(last), case.timestep)


def threads(case: Case) -> Findings:
    """A CPU with one thread, and in a full validation with three, against this process or the first one."""
    last, counts = case.level.steps, ("1",) if case.level.name == "quick" else ("1", "3")
    if runtime.backend() == "cuda":
        counts = ("1", "2")
    runs = {n: run_elsewhere(case, last, "cpu", {"TAICHIMD_THREADS": n}) for n in counts}
    first = runs[counts[0]] if runtime.backend() == "cuda" else here(case, last)
    found = sum(separation(first, one)["differing_numbers"][-1] for one in runs.values())
    own = os.environ.get("TAICHIMD_THREADS") or os.cpu_count()
    beside = "" if runtime.backend() == "cuda" else f", beside {own} here"
    return {
        "threads": Found(float(found), f"threads of a process: {' and '.join(counts)}{beside}; {last} steps")
    }


def backends(case: Case) -> Findings:
    """CPU and CUDA: the same bits under quadrants, 1e-9 angstrom under Taichi."""
    if not devices():
        return {"cuda": NotRun("no CUDA device was found on this machine")}
    last = case.level.far
    other = "cpu" if runtime.backend() == "cuda" else "cuda"
    apart = separation(here(case, last), run_elsewhere(case, last, other, {}))
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
    there = run_elsewhere(case, last, runtime.backend(), {"TAICHIMD_RUNTIME": other})
    apart = separation(here(case, last), there)
    told = f"{other} beside {runtime.NAME}, {last} steps; {apart['differing_numbers'][-1]} numbers differ"
    return {"runtimes": Found(max(apart["max_dx"]), told, data={**apart, "steps": steps_of(last)})}


CHECKS: tuple[Check, ...] = (
    Check((THREADS,), threads, "other threads"),
    Check((BACKENDS,), backends, "CPU and CUDA"),
    Check((RUNTIMES,), runtimes, "Taichi and quadrants", quick=False),
)
