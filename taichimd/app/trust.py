"""Code that a file names: it runs only if the user says so.

A potential such as "my_file.py:my_potential" is Python code. On a command line, in a job file that is named
there, and in Python the user has named it. A checkpoint or a batch.json may come from somebody else: what it
names is loaded if the user names it again, or trusts the record, whose hashes are then those of the files.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path

from taichimd.core.errors import CheckpointError, SettingsError
from taichimd.forcefields.spec import is_code, split_spec
from taichimd.forcefields.user_files import digest
from taichimd.settings.trust_option import OPTION
from taichimd.settings.types import each


def code_in(potential: str | list[str] | None) -> list[str]:
    """The potentials, out of one or several, that are Python code."""
    return [one for one in each(potential or []) if is_code(one)]


def more_to_go_on(potential: str | list[str] | None) -> str:
    """What a command that continues also needs: " --trust" if the potential is code, otherwise nothing."""
    return f" {OPTION}" if code_in(potential) else ""


def check_use(trust: bool, restart: str | None) -> None:
    """Raise a SettingsError if trust is given to no record: nothing is continued."""
    if trust and restart is None:
        raise SettingsError(f"{OPTION} is for a restart: give --restart with it, or leave it out")


def check_trusted(
    where: str,
    potential: str | list[str] | None,
    files: Mapping[str, str | None],
    trust: bool,
    *,
    python: bool = False,
) -> None:
    """Refuse code that the user has not named, unless its record is trusted and its files are unchanged.

    `files`: SHA-256 of the Python files when the record was written; `python`: whether the user of a message
    is in Python.
    """
    code = code_in(potential)
    if not code:
        return
    name = (
        repr(potential)
        if python
        else " ".join(f"--potential {shlex.quote(one)}" for one in each(potential or []))
    )
    again = (
        f"give the force field again, Simulation.load(path, {name})" if python else f"name it again: {name}"
    )
    if not trust:
        more = "trust=True" if python else OPTION
        raise CheckpointError(
            f"{where} names Python code as its potential, {', '.join(code)}, which runs only if you say so; "
            f"{again}, or {more} if all of it is yours"
        )
    unknown = [one for one in code if str(_file_of(one)) not in files]
    if unknown:
        raise CheckpointError(
            f"{where} does not record what {unknown[0]} was, so it cannot be trusted; {again}, if it is yours"
        )
    changed = [file for file, before in files.items() if before is None or digest(file) != before]
    if changed:
        raise CheckpointError(
            f"{changed[0]} has changed since {where} was written; look at it, and {again}, if it is yours"
        )


def _file_of(spec: str) -> Path:
    return Path(split_spec(spec)[0]).resolve()


def hashes_of(potential: str | list[str] | None) -> dict[str, str | None]:
    """SHA-256 of the Python files of one or several potentials, as they are now."""
    return {str(_file_of(one)): digest(_file_of(one)) for one in code_in(potential)}
