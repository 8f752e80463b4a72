"""TOML job files."""

import sys
from pathlib import Path
from typing import Any

from taichimd.app.setting_types import each
from taichimd.core.errors import SettingsError
from taichimd.forcefields.spec import split_spec

if sys.version_info >= (3, 11):
    import tomllib
else:  # the standard library has a TOML reader from 3.11 on
    import tomli as tomllib

_PATH_KEYS = ("structure", "output", "restart")


def read_toml(path: Path) -> dict[str, Any]:
    """Content of a job file.

    Raises:
        SettingsError: the file is missing, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"job file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"job file {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"job file {path} is not valid TOML: {error}") from None


def beside(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Settings by the names of options, with relative paths taken relative to the folder of the job file."""
    own: dict[str, Any] = {
        k: str(folder / values[k]) for k in _PATH_KEYS if isinstance(values.get(k), str) and values[k]
    }
    specs = each(values.get("potential", ""))
    if values.get("potential") and isinstance(specs, list) and all(isinstance(one, str) for one in specs):
        own["potential"] = [_potential_beside(folder, one) for one in specs]
    return values | own


def _potential_beside(folder: Path, spec: str) -> str:
    """The spec with its path made relative to `folder`; shipped names stay as they are."""
    return str(folder / spec) if (folder / split_spec(spec)[0]).exists() else spec
