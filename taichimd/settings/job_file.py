"""TOML job files."""

import sys
from pathlib import Path
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.forcefields.spec import split_spec
from taichimd.settings.acting import with_molecule
from taichimd.settings.types import each

if sys.version_info >= (3, 11):
    import tomllib
else:  # the standard library has a TOML reader from 3.11 on
    import tomli as tomllib

_LARGEST = 1_000_000
"""Bytes of a job file."""
_PATH_KEYS = ("structure", "output", "restart")


def read_toml(path: Path) -> dict[str, Any]:
    """Content of a job file, or a SettingsError."""
    try:
        if not path.is_file() and path.exists():
            raise SettingsError(f"job file {path} is a folder or a device, expected a TOML file")
        with open(path, "rb") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise SettingsError(f"job file {path} is larger than {_LARGEST:,} bytes, which no job file needs")
        return tomllib.loads(text.decode("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"job file {path} does not exist") from None
    except OSError as error:
        raise SettingsError(f"job file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"job file {path} is not text: byte {error.start} is not UTF-8; expected a TOML file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"job file {path} is not valid TOML: {error}") from None
    except RecursionError:
        raise SettingsError(
            f"job file {path} has brackets nested too deeply; settings have two levels"
        ) from None
    except ValueError:  # the reader's own, of Python's limit
        raise SettingsError(f"job file {path} has a number of thousands of digits") from None


def beside(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Settings by the names of options, with relative paths taken relative to the folder of the job file."""
    own: dict[str, Any] = {
        k: str(folder / values[k]) for k in _PATH_KEYS if isinstance(values.get(k), str) and values[k]
    }
    specs = each(values.get("potential", ""))
    if values.get("potential") and isinstance(specs, list) and all(isinstance(one, str) for one in specs):
        own["potential"] = [_potential_beside(folder, one) for one in specs]
    inserted = each(values.get("insert") or [])
    if isinstance(inserted, list) and all(isinstance(one, str) for one in inserted):
        own |= {"insert": [with_molecule(one, folder.joinpath) for one in inserted]} if inserted else {}
    return values | own


def _potential_beside(folder: Path, spec: str) -> str:
    """The spec with its path made relative to `folder`; shipped names stay as they are."""
    return str(folder / spec) if (folder / split_spec(spec)[0]).exists() else spec
