"""A process of the driver: `mpiexec -n 4 python -m mpi4py -m validation.several_gpus.worker file.json`."""

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from validation.benchmarks import large
from validation.benchmarks.systems import CASES, heated
from validation.common import provenance, sha

LARGE = ("argon", "tersoff")
"""Systems of `benchmarks.large`, for all processes alone."""


def main(file: str) -> None:
    """Do all cases; the first process writes a line after each run, and one at the end of each case."""
    settings = json.loads(Path(file).read_text())
    from taichimd.parallel import join

    world = join()
    from taichimd.core.memory import free_memory
    from taichimd.core.runtime import info, start

    start(settings["backend"])
    settings["free"] = free_memory() or 0
    head = provenance(info()) if world.rank == 0 else {}
    groups = {count: world.Split(int(world.rank < count), world.rank) for count in settings["np"]}

    def write(line: dict[str, Any]) -> None:
        if world.rank == 0:
            with Path(settings["out"]).open("a") as stream:
                stream.write(json.dumps(line) + "\n")

    for name in settings["cases"]:
        case, million = name.split(":")
        runs = large_runs if case in LARGE else scaling_runs
        for row in runs(case, float(million), world, groups, settings):
            write({"failed": {"case": name, **row}} if "told" in row else {**row, "provenance": head})
        gc.collect()
        world.Barrier()
        write({"end": name})


def scaling_runs(
    case: str, million: float, world: Any, groups: dict[int, Any], settings: dict[str, Any]
) -> Any:
    """One engine, then each number of processes; yields what each has found."""
    from taichimd import Engine
    from taichimd.core.errors import TaichimdError

    of = CASES[case]
    system = heated(of.build(max(round((million * 1e6 / of.atoms_per_cell) ** (1.0 / 3.0)), 2)), of.heat)
    alone: dict[str, Any] = {}
    if world.rank == 0:
        try:
            engine = Engine(system.atoms, system.forcefield(), backend=settings["backend"])
            alone = _timed(engine, system.timestep, settings)
            alone["bits"] = sha(engine.positions(), engine.velocities())[:16]
            alone["rebuilds"] = engine.statistics()["rebuilds"]
            del engine
        except TaichimdError as error:
            yield {"told": f"one engine: {type(error).__name__}: {error}"}
        gc.collect()
    world.Barrier()
    for count, processes in groups.items():
        if world.rank < count:
            try:
                found, _ = run(case, system.atoms, system.forcefield(), system.timestep, processes, settings)
                if alone:
                    found["engine"], alone = alone, {}
                yield found
            except TaichimdError as error:  # in all processes
                yield {"told": f"{count} processes: {type(error).__name__}: {error}"}
        gc.collect()
        world.Barrier()


def large_runs(
    case: str, million: float, world: Any, groups: dict[int, Any], settings: dict[str, Any]
) -> Any:
    """All processes alone, with copies of a small system; energies of both are compared."""
    from taichimd import Engine
    from taichimd.core.errors import TaichimdError

    small, forcefield, timestep = large.small_system(case)
    copies = large.repeats(round(million * 1e6 / len(small)))
    fewer = {**settings, "settle": 10, "steps": 20, "repeats": 2}
    processes = groups[max(groups)]
    if world.rank >= max(groups):
        return
    try:
        found, thermo = run(case, large.repeated(small, copies), forcefield, timestep, processes, fewer)
        if world.rank == 0:
            engine = Engine(small, forcefield, backend=settings["backend"])
            engine.advance(thermo.step, timestep)
            one, n = engine.thermo(), len(small)
            pairs = ((thermo.potential, one.potential), (thermo.kinetic, one.kinetic))
            off = [abs(many / found["atoms"] - few / n) / abs(few / n) for many, few in pairs]
            found |= {"relative_differences": off, "agrees": max(off) < large.TOLERANCE}
        yield found
    except TaichimdError as error:  # in all processes
        yield {"told": f"{type(error).__name__}: {error}"}


def run(
    case: str, atoms: Any, forcefield: Any, timestep: float, processes: Any, settings: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Times, bits and figures of some processes, and their totals at the end."""
    from taichimd.core.memory import free_memory
    from taichimd.core.runtime import backend
    from taichimd.parallel import ParallelEngine

    begin = time.perf_counter()
    engine = ParallelEngine(
        atoms, forcefield, processes, backend=settings["backend"], transport=settings["transport"]
    )
    # Nothing is due: this compiles what may come first in a timed run.
    engine._held.renew(0.0)
    ready = time.perf_counter()
    found = {"case": case, "atoms": len(atoms), "processes": processes.size}
    found |= _timed(engine, timestep, settings) | {"exchange_ms": _exchange(engine)}
    used = settings["free"] - (free_memory() or 0) if backend() == "cuda" else 0
    thermo = engine.thermo()
    if len(atoms) < 20_000_000:
        positions, velocities = engine.positions(), engine.velocities()
        found["bits"] = sha(positions, velocities)[:16] if processes.rank == 0 else ""
    figures = {**engine.statistics(), "memory_bytes": used}
    phases = engine.time_phases()
    engine.advance(settings["steps"], timestep)
    figures = processes.allgather({**figures, "phases": phases.report()})
    found["steps_of_phases"] = settings["steps"]
    for key in ("own_atoms", "held_atoms", "sent_vectors", "memory_bytes", "phases"):
        found[key] = [one[key] for one in figures]
    for key in (
        "transport", "transport_reason", "common_builds", "host_builds", "choices", "outer_skin_A",
        "inner_skin_A",
    ):  # fmt: skip
        found[key] = figures[0][key]
    found |= {"seconds_to_start": ready - begin, "seconds": time.perf_counter() - begin}
    return found, thermo


def _timed(engine: Any, timestep: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of a step, each of some runs, after one that compiles."""
    engine.advance(settings["settle"], timestep)
    _keep_busy()
    times = []
    for _ in range(settings["repeats"]):
        begin = time.perf_counter()
        engine.advance(settings["steps"], timestep)
        _wait()
        times.append((time.perf_counter() - begin) / settings["steps"] * 1e3)
    return {"ms_per_step": sorted(times)[len(times) // 2], "runs_ms_per_step": times}


def _wait() -> None:
    from taichimd.core.runtime import ti

    ti.sync()


def _keep_busy() -> None:
    """Wait, and keep the device busy for a while: a GPU that was idle runs slowly at first."""
    from taichimd.core.runtime import ti

    array, end = ti.ndarray(ti.f64, 2**20), time.perf_counter() + 0.3
    while time.perf_counter() < end:
        array.fill(0.0)
        ti.sync()


def _exchange(engine: Any) -> float:
    """Milliseconds of an exchange alone, of many in a row."""
    times = 20
    engine.exchange(1)
    _wait()
    begin = time.perf_counter()
    engine.exchange(times)
    _wait()
    return (time.perf_counter() - begin) / times * 1e3


if __name__ == "__main__":
    main(sys.argv[1])
