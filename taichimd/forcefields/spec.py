"""A potential as text: a file, and what may follow, ":name" or ":option=value,option=value".

The help of the command line needs this module, so it imports no NumPy.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taichimd.core.names import hint
from taichimd.core.numerals import number_of, whole_of


def _mistake(message: str) -> Exception:
    """A `SettingsError`, whose module imports NumPy."""
    from taichimd.core.errors import SettingsError

    return SettingsError(message)


def split_spec(spec: str) -> tuple[str, str]:
    """The file, and the rest with its colon; a text without a rest is a file.

    >>> split_spec("CHO.ffield:charges=converged,charge_tolerance=1e-8")
    ('CHO.ffield', ':charges=converged,charge_tolerance=1e-8')
    >>> split_spec("my_file.py:my_potential"), split_spec("Si.sw")
    (('my_file.py', ':my_potential'), ('Si.sw', ''))
    """
    file, colon, rest = spec.partition(":") if "=" in spec else spec.rpartition(":")
    if colon and (file.endswith(".py") or "=" in rest) and not Path(spec).is_file():
        return file, colon + rest
    return spec, ""


def is_code(spec: str) -> bool:
    """Whether a potential is Python code, which loading it runs.

    >>> is_code("my_file.py:my_potential"), is_code("Si.sw")
    (True, False)
    """
    return split_spec(spec)[0].endswith(".py")


def read_options(file: str, text: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a potential, from "option=value,option=value".

    Defaults say which there are, and their types.
    SettingsError: an unknown option, one given twice, a value of another type.
    """
    found: dict[str, Any] = {}
    for part in _parts(text, defaults):
        name, equals, value = (word.strip() for word in part.partition("="))
        name = name.replace("-", "_")
        if not equals or not name:
            raise _mistake(f"{file}: {part!r} is not an option; expected option=value, with commas between")
        if name not in defaults:
            more = hint(name, defaults, otherwise=f"expected one of {', '.join(defaults)}")
            raise _mistake(f"{file}: unknown option {name!r}; {more}")
        if name in found:
            raise _mistake(f"{file}: option {name} is given twice; give it once")
        found[name] = _read(file, name, value, defaults[name])
    return found


def _parts(text: str, defaults: Mapping[str, Any]) -> list[str]:
    """The options of a text; a list of numbers has commas, too."""
    parts: list[str] = []
    for part in text.split(","):
        before = parts[-1].partition("=")[0].strip().replace("-", "_") if parts else ""
        if "=" not in part and isinstance(defaults.get(before), tuple):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _list_of(text: str) -> Any:
    """Numbers, or numbers by name: "0,0,0.1" or "C:0.2,N:0.22"; a file as it is; or a ValueError."""
    words = [word.strip() for word in text.split(",")]
    if Path(text).is_file():
        return text
    if ":" not in text:
        return tuple(number_of(word) for word in words)
    pairs = [word.split(":") for word in words]
    return {name.strip(): number_of(value) for name, value in pairs}


def _read(file: str, name: str, value: str, default: Any) -> Any:
    if isinstance(default, bool):
        values, expected = {"true": True, "false": False}, "true or false"
        if value.lower() in values:
            return values[value.lower()]
    else:
        kinds: dict[type, tuple[str, Any]] = {
            int: ("a whole number", whole_of),
            float: ("a number", number_of),
            tuple: (
                "numbers with commas between, as in 0,0,0.1 or C:0.2,N:0.22, or a file that exists",
                _list_of,
            ),
        }
        expected, reader = kinds.get(type(default), ("a word", type(default)))
        try:
            return reader(value)
        except ValueError:
            pass
    raise _mistake(f"{file}: {name} = {value!r}: expected {expected}")
