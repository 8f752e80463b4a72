"""What a command names, looked at before the runtime is loaded: a mistake is reported at once."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taichimd.cli.missing import MissingFileError
from taichimd.forcefields.spec import is_code, split_spec
from taichimd.settings.declared import Setting
from taichimd.settings.types import each


def look_at(flags: Mapping[str, Any], settings: Mapping[str, Setting]) -> None:
    """Read the values of some options, or raise a SettingsError."""
    for name, value in flags.items():
        if name in settings and value is not None:
            settings[name].read(value)


def look_for(structures: Iterable[str | None] = (), potentials: str | list[str] | None = None) -> None:
    """Raise a MissingFileError or ParameterFileError unless structures and parameter files are there."""
    for structure in structures:
        if structure is not None and not Path(structure).exists():
            os.fsencode(structure)  # a name that the locale cannot write would seem to be missing
            raise MissingFileError(f"structure file {Path(structure)} does not exist")
    for potential in each(potentials or []):
        if not is_code(potential):
            from taichimd.forcefields.library import find

            find(split_spec(potential)[0])
