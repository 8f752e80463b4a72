"""Commands that repeat a calculation, from the settings in its record."""

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from taichimd.core.errors import TaichimdError
from taichimd.settings.declared import settings_of

_LENGTHS = {"equilibrate", "time", "window", "plateau", "fit", "interval", "bond_lifetime"}
"""Settings that records have in fs, and options with a unit."""
_NOT_REPEATED = {"structure", "restart", "overwrite", "output"}


def command(
    word: str,
    settings: Mapping[str, Any],
    kinds: Collection[Any],
    structure: str | None,
    before: Mapping[str, Any] | None = None,
) -> str:
    """A command line with the settings of a record; `before`: settings of what a restart continues."""
    words = ["taichimd", word, *([] if structure is None else [structure])]
    if before is not None:
        words += ["--restart", str(settings["restart"])]
    for kind in kinds:
        for option, one in settings_of(kind).items():
            value = settings.get(option)
            if option in _NOT_REPEATED or option not in settings:
                continue
            length = option in ("steps", "time", "sweeps") and value is not None
            usual = _same(value, _default(one) if before is None else before.get(option))
            if length or not usual:
                words += _words(option, value)
    if settings.get("output") and before is None:
        words += ["--output", str(settings["output"])]
    return " ".join(shlex.quote(str(one)) for one in words)


def _default(one: Any) -> Any:
    """A setting's default as a record has it."""
    try:
        return one.read(one.default)
    # One that must be given has none.
    except (TaichimdError, TypeError, ValueError):
        return None


def _same(one: Any, other: Any) -> bool:
    plain = [list(each) if isinstance(each, tuple) else each for each in (one, other)]
    return bool(plain[0] == plain[1])


def _words(option: str, value: Any) -> list[Any]:
    name = f"--{option.replace('_', '-')}"
    if value is None:
        return []
    if isinstance(value, bool):
        return [name] if value else []
    if option == "potential" and isinstance(value, list | tuple):
        return [word for one in value for word in (name, one)]
    if option == "supercell":
        return [name, *value]
    values = value if isinstance(value, list | tuple) else [value]
    unit = "fs" if option in _LENGTHS and not isinstance(values[0], str) else ""
    return [name, ",".join(f"{_number(one)}{unit}" for one in values)]


def _number(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
