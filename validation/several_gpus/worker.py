"""A process of the driver: `mpiexec -n 2 python -m mpi4py -m validation.several_gpus.worker file.json`."""

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from validation.benchmarks.systems import CASES
from validation.common import provenance, sha, write_json


def main(file: str) -> None:
    """Run one case in all sizes; the first process writes what it has found after each."""
    settings = json.loads(Path(file).read_text())
    from taichimd.parallel import ParallelEngine, join

    processes = join()
    case, rows = CASES[settings["case"]], []
    for atoms in settings["atoms"]:
        cells = round((atoms / case.atoms_per_cell) ** (1.0 / 3.0))
        system = case.build(cells)
        row: dict[str, Any] = {
            "case": settings["case"],
            "atoms": len(system.atoms),
            "processes": processes.size,
        }
        if processes.size == 1 and settings["engine"]:
            from taichimd import Engine

            alone = Engine(system.atoms, system.forcefield(), backend=settings["backend"])
            row["engine"] = _timed(alone, system.timestep, settings)
            row["engine"]["bits"] = sha(alone.positions(), alone.velocities())[:16]
            del alone
            gc.collect()
        engine = ParallelEngine(
            system.atoms, system.forcefield(), processes, backend=settings["backend"],
            transport=settings["transport"],
        )  # fmt: skip
        row |= _timed(engine, system.timestep, settings)
        row |= {"exchange_ms": _exchange(engine), "bits": sha(engine.positions(), engine.velocities())[:16]}
        figures = processes.allgather(engine.statistics())
        row["held_atoms"] = [one["held_atoms"] for one in figures]
        row |= {
            key: figures[0][key]
            for key in ("transport", "transport_reason", "own_atoms", "common_builds", "choices")
        }
        rows.append(row)
        if processes.rank == 0:
            write_json(settings["out"], {"provenance": provenance(), "rows": rows})
        del engine
        gc.collect()


def _timed(engine: Any, timestep: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of a step, each of some runs, behind one that compiles."""
    engine.advance(settings["settle"], timestep)
    _wait()
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


def _exchange(engine: Any) -> float:
    """Milliseconds of an all-gather alone, of many in a row."""
    times = 20
    engine.exchange(1)
    _wait()
    begin = time.perf_counter()
    engine.exchange(times)
    _wait()
    return (time.perf_counter() - begin) / times * 1e3


if __name__ == "__main__":
    main(sys.argv[1])
