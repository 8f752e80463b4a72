"""Several values of a setting, as a command line has them."""

from typing import Any

from taichimd.core.names import hint
from taichimd.core.numerals import number_of, whole_of
from taichimd.settings.run import SETTINGS
from taichimd.settings.types import mistake


def values_of(option: str, text: str) -> list[Any]:
    """Values of a setting from a text with commas between them; none may be given twice."""
    if option not in SETTINGS:
        raise mistake(f"{option!r} is not a setting of a run; {hint(option, SETTINGS, 'settings')}")
    one = SETTINGS[option]
    if not text:
        return []
    found = [one.read(_converted(part.strip(), one.values.option)) for part in text.split(",")]
    if any(value in found[:k] for k, value in enumerate(found)):
        raise mistake(f"{option} = {text!r}: expected each value once; --replicas or --seeds repeat a run")
    return found


def _converted(text: str, kind: Any) -> Any:
    """A text as the type of an option; what is no such thing stays, for the setting to refuse."""
    if kind == list[str]:
        return text
    try:
        kind = {int: whole_of, float: number_of}.get(kind, kind)
        return {"true": True, "false": False}.get(text, text) if kind is bool else kind(text)
    except (TypeError, ValueError):
        return text
