"""One system on several GPUs of one host, or in several processes on a CPU: all run the same program.

    from taichimd.parallel import ParallelEngine, join

    processes = join()
    engine = ParallelEngine(atoms, load_forcefield("Si.tersoff"), processes)
    engine.advance(1000, timestep)

`mpiexec -n 2 python -m mpi4py program.py` starts two of them.
"""

from typing import Any

from taichimd.core.processes import communicator as join

__all__ = ["ParallelEngine", "join"]


def __getattr__(name: str) -> Any:
    if name == "ParallelEngine":
        from taichimd.parallel.engine import ParallelEngine

        return ParallelEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
