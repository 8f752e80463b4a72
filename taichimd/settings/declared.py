"""Settings that are declared once, as fields of a frozen dataclass: type, default, meaning, option.

The type says what a setting can be (`settings.types`). Checks, the command line's options, records and error
messages follow from the declaration. The help of the command line needs this module, so it imports no NumPy.
"""

import re
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from taichimd.core.names import nearest
from taichimd.settings.types import Values, mistake, values_of


def setting(default: Any, meaning: str, option: str | None = None) -> Any:
    """Declare a setting as a field of a dataclass; the help shows `meaning` with values and default.

    The default is read like a given value, MISSING: it must be given. `option`: its name outside its table;
    None: the field's.
    """
    return field(default=default, metadata={"meaning": meaning, "option": option})


@dataclass(frozen=True)
class Setting:
    """One declared setting."""

    topic: str  # table of a job file; "" outside of `RunSettings`
    name: str  # key of a job file, and the field
    option: str  # name of the command line's option, in records and messages
    default: Any  # None where there is none, MISSING where it must be given
    meaning: str  # what the help says
    values: Values  # what it can be
    reader: TypeAdapter[Any]  # reads and checks a value

    def read(self, value: Any) -> Any:
        """A value as its type has it, from numbers, texts and lists, or a SettingsError."""
        if hasattr(value, "tolist"):  # NumPy's
            value = value.tolist()
        texts = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise mistake(
                f"{self.option} = {value!r}: \\0 ends a name for the system; expected a text without it"
            )
        try:
            return self.reader.validate_python(value, strict=True)
        except ValidationError:
            more = "" if (near := self._meant(value)) is None else f"; did you mean {near!r}?"
            raise mistake(f"{self.option} = {_shown(value)}: expected {self.values.expected}{more}") from None

    def _meant(self, value: Any) -> str | None:
        """The word of a choice that a wrong one resembles most; None if it is the start of several."""
        if not isinstance(value, str):
            return None
        if sum(word.startswith(value.lower()) for word in self.values.choices) > 1:
            return None
        return nearest(value, self.values.choices)

    @property
    def shown_default(self) -> str:
        """The default as text; empty where there is none, and of what is off."""
        if self.default in (None, MISSING) or self.default is False:
            return ""
        numbers = self.default if isinstance(self.default, tuple) else (self.default,)
        return " ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in numbers)

    @property
    def help(self) -> str:
        """Help of the option: meaning, the choices that the meaning does not name, default."""
        default = f"; default {self.shown_default}" if self.shown_default else ""
        words = self.values.choices
        named = bool(words) and all(re.search(rf"\b{re.escape(word)}\b", self.meaning) for word in words)
        return f"{self.meaning}{'' if named else self.values.more}{default}."


def _shown(value: Any) -> str:
    """A value in a message."""
    try:
        return repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python's limit, of a number that came in hexadecimal digits
        return "a number of thousands of digits"


class Settings:
    """Base of frozen dataclasses whose fields are declared with `setting`.

    Raises:
        SettingsError: a value that is not what the type of its field says.
    """

    topic: ClassVar[str] = ""

    def __init_subclass__(cls, topic: str = "") -> None:
        cls.topic = topic

    def __post_init__(self) -> None:
        for one in settings_of(type(self)).values():  # type: ignore[arg-type]
            object.__setattr__(self, one.name, one.read(getattr(self, one.name)))

    def record(self) -> dict[str, Any]:
        """Values by the names of options."""
        declared = settings_of(type(self))  # type: ignore[arg-type]
        return {one.option: getattr(self, one.name) for one in declared.values()}


@cache
def settings_of(kind: Any) -> dict[str, Setting]:
    """The settings that a class declares, by the names of their options."""
    hints, found = get_type_hints(kind, include_extras=True), {}
    for one in fields(kind):
        hint, option = hints[one.name], one.metadata["option"] or one.name
        found[option] = Setting(
            kind.topic,
            one.name,
            option,
            one.default,
            one.metadata["meaning"],
            values_of(hint),
            TypeAdapter(hint),
        )
    return found
