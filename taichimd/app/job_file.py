"""TOML job files: a run's settings under the names of the options."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from taichimd.core.errors import SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:  # the standard library has a TOML reader from 3.11 on
    import tomli as tomllib

_PATH_KEYS = ("structure", "output", "restart")


def read_job_file(path: Path, check_key: Callable[[str, str], None]) -> dict[str, Any]:
    """Keys and values of a TOML job file; relative paths are taken relative to the file's folder.

    Args:
        path: the file.
        check_key: called with each key and the file's name; raises for one that is not known.

    Raises:
        SettingsError: the file is missing, is not TOML, or has an unknown key.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"job file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"job file {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"job file {path} is not valid TOML: {error}") from None
    for key in values:
        check_key(key, str(path))
    folder = path.parent
    for key in _PATH_KEYS:
        if isinstance(values.get(key), str) and values[key]:
            values[key] = str(folder / values[key])
    potential = values.get("potential")
    if isinstance(potential, str):
        values["potential"] = _potential_beside(folder, potential)
    elif isinstance(potential, list) and all(isinstance(one, str) for one in potential):
        values["potential"] = [_potential_beside(folder, one) for one in potential]
    return values


def _potential_beside(folder: Path, spec: str) -> str:
    """The spec with its path made relative to `folder`; shipped names stay as they are."""
    file = spec.rpartition(":")[0] if ".py:" in spec else spec
    return str(folder / spec) if (folder / file).exists() else spec
