"""The selection language: which atoms a text such as `5 < z < 15 and species Si` means.

| text | atoms |
| --- | --- |
| `0:100`, `index 0 5 7`, `index -1` | by number, as slices of Python, or several numbers |
| `species Si C` | by chemical symbol |
| `tag == 2`, `tag 2 3` | by ASE's tags |
| `array grain == 3`, `array marked` | by an array of the structure |
| `x < 20`, `5 <= z < 15`, `fz > 0.9` | by coordinates in angstrom, or in fractions of the cell |
| `block xlo xhi ylo yhi zlo zhi`, `fblock` | lo <= x < hi each; `inf` and `-inf` leave a side open |
| `sphere x y z radius`, `fsphere` | distance < radius |
| `cylinder z a b radius [lo hi]`, `fcylinder` | distance from the axis < radius, and lo <= z < hi |
| `all`, `mobile`, `fixed`, names of groups | |

`not` binds before `and`, and `and` before `or`. Positions are wrapped into the cell for the question. They
are rounded to 1e-6, so that round-off does not decide about atoms on a boundary. Distances are to the nearest
image.
"""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase.data import chemical_symbols

from taichimd.core.errors import SettingsError
from taichimd.core.names import nearest
from taichimd.system.asked import AXES, Asked, Mask

BUILT_IN = ("all", "mobile", "fixed")
"""Groups that every structure has."""
_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_REGIONS = {"block": 6, "sphere": 4, "cylinder": 3}
_QUANTITIES = ("index", "species", "tag", "array", *AXES, *("f" + axis for axis in AXES))
KEYWORDS = ("and", "or", "not", "inf", *_QUANTITIES, *_REGIONS, *("f" + region for region in _REGIONS))
"""Words that cannot be names of groups."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf\b))|(?P<word>[A-Za-z_]\w*)|"
    r"(?P<text>'[^']*'|\"[^\"]*\")|(?P<op><=|>=|==|!=|[<>()\[\]:,]))"
)


@dataclass(frozen=True)
class Token:
    """A piece of a text: its kind (`number`, `word`, `text`, `op`, or `end`), and where it begins, from 1."""

    kind: str
    text: str
    place: int


Evaluate = Callable[[Asked], Mask]


@dataclass(frozen=True)
class Where:
    """A text of the selection language that has been read."""

    text: str  # as given
    evaluate: Evaluate  # gives the mask (n,) of the atoms that it means

    def mask(self, asked: Asked) -> Mask:
        """(n,) True where an atom is meant; it may be empty."""
        try:
            return self.evaluate(asked)
        except SettingsError as error:
            raise SettingsError(f"{self.text}: {error}") from None


def read_where(text: str) -> Where:
    """Read a text of the selection language; it needs no structure. SettingsError: with the place."""
    if not text.strip():
        raise SettingsError("the text is empty; expected a condition such as x < 20 or species Si")
    return Where(text, _Reader(text).all())


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._tokens = self._split()

    def _split(self) -> list[Token]:
        found, at = [], 0
        while self._text[at:].strip():
            match = _TOKEN.match(self._text, at)
            if match is None:
                place = at + len(self._text[at:]) - len(self._text[at:].lstrip())
                more = "; write == for equal" if self._text[place] == "=" else ""
                raise self._wrong(Token("op", self._text[place], place + 1), f"is not understood{more}")
            kind = str(match.lastgroup)
            found.append(Token(kind, match[kind], match.start(kind) + 1))
            at = match.end()
        return [*found, Token("end", "", len(self._text) + 1)]

    def _wrong(self, token: Token, what: str) -> SettingsError:
        shown = "the end" if token.kind == "end" else f"{token.text!r}"
        return SettingsError(f"{self._text}: {shown} at character {token.place} {what}")

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> Token | None:
        """The next token, if it is one of these."""
        token = self._next
        if token.kind in ("op", "word") and token.text in texts:
            self._at += 1
            return token
        return None

    def _need(self, kind: str, what: str) -> Token:
        token = self._next
        if token.kind != kind:
            raise self._wrong(token, f"is not expected; expected {what}")
        self._at += 1
        return token

    def all(self) -> Evaluate:
        """The whole text."""
        found = self._either()
        if self._next.kind != "end":
            raise self._wrong(self._next, "is not expected; expected and, or, or the end")
        return found

    def _either(self) -> Evaluate:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return lambda asked: np.logical_or.reduce([part(asked) for part in parts])

    def _both(self) -> Evaluate:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return lambda asked: np.logical_and.reduce([part(asked) for part in parts])

    def _one(self) -> Evaluate:
        if self._take("not"):
            part = self._one()
            return lambda asked: ~part(asked)
        if self._take("("):
            part = self._either()
            if not self._take(")"):
                raise self._wrong(self._next, "is not expected; expected )")
            return part
        return self._condition()

    def _condition(self) -> Evaluate:
        token, after = self._next, self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if token.text in (":", "[") or (token.kind == "number" and after.text not in _COMPARED):
            return self._numbers()
        if token.kind == "word" and token.text.removeprefix("f") in _REGIONS:
            self._at += 1
            return self._region(token)
        if token.text in ("index", "species", "tag") and after.text not in _COMPARED:
            self._at += 1
            return self._numbers() if token.text == "index" else self._list(token.text)
        if token.kind == "word" and token.text not in _QUANTITIES and after.text not in _COMPARED:
            self._at += 1
            return self._group(token)
        return self._comparison()

    def _group(self, token: Token) -> Evaluate:
        """A group by its name."""
        if token.text in KEYWORDS:
            raise self._wrong(token, "is not expected; expected a condition")

        def found(asked: Asked) -> Mask:
            if token.text in BUILT_IN:
                return {
                    "all": np.ones(len(asked.atoms), bool),
                    "fixed": asked.fixed.copy(),
                    "mobile": ~asked.fixed,
                }[token.text]
            more = "; give it in groups={...}, or with --group"
            if token.text in chemical_symbols:
                more = f"; write species {token.text}"
            if asked.group is None:
                raise SettingsError(f"there is no group {token.text!r} (character {token.place}){more}")
            try:
                return asked.group(token.text)
            except KeyError:
                raise SettingsError(
                    f"there is no group {token.text!r} (character {token.place}){more}"
                ) from None

        return found

    def _list(self, quantity: str) -> Evaluate:
        """`species Si C`, `tag 1 2`."""
        kind, what = (
            ("word", "a chemical symbol") if quantity == "species" else ("number", "a number, or == 2")
        )
        chosen = [self._need(kind, what)]
        while self._take(",") or (self._next.kind == kind and self._next.text not in ("and", "or")):
            chosen.append(self._need(kind, what))
        for token in chosen if quantity == "species" else ():
            if token.text not in chemical_symbols:
                raise self._wrong(token, "is not a chemical symbol")
        texts = [one.text for one in chosen]
        wanted: list[Any] = texts if quantity == "species" else [float(text) for text in texts]
        return lambda asked: np.isin(asked.values(quantity), wanted)

    def _numbers(self) -> Evaluate:
        """`0:100`, `0 5 7`, `[0, 5]`."""
        bracket = self._take("[")
        chosen: list[tuple[Token, slice | int]] = []
        while True:
            chosen.append(self._range())
            self._take(",")
            if not (self._next.kind == "number" or self._next.text == ":"):
                break
        if bracket and not self._take("]"):
            raise self._wrong(self._next, "is not expected; expected ]")

        def found(asked: Asked) -> Mask:
            mask, n = np.zeros(len(asked.atoms), bool), len(asked.atoms)
            for token, part in chosen:
                if isinstance(part, int) and not -n <= part < n:
                    raise SettingsError(
                        f"there is no atom {part} among {n:,} (character {token.place}); numbers begin at 0"
                    )
                mask[part] = True
            return mask

        return found

    def _whole(self) -> int | None:
        token = self._next
        if token.kind != "number":
            return None
        if not re.fullmatch(r"[-+]?\d+", token.text):
            raise self._wrong(token, "is not a whole number, as atoms have")
        self._at += 1
        return int(token.text)

    def _range(self) -> tuple[Token, slice | int]:
        token = self._next
        first = self._whole()
        if not self._take(":"):
            if first is None:
                raise self._wrong(token, "is not expected; expected the number of an atom, or a range 0:100")
            return token, first
        last = self._whole()
        step = self._whole() if self._take(":") else None
        if step == 0:
            raise self._wrong(self._tokens[self._at - 1], "is not a step of a range")
        return token, slice(first, last, step)

    def _region(self, token: Token) -> Evaluate:
        """A block, a sphere, or a cylinder."""
        region, fractional = token.text.removeprefix("f"), token.text.startswith("f")
        along = None
        if region == "cylinder":
            axis = self._need("word", "the axis x, y or z")
            if axis.text not in AXES:
                raise self._wrong(axis, "is not an axis; expected x, y or z")
            along = AXES.index(axis.text)
        begin = self._next
        numbers: list[float] = []
        while self._next.kind == "number" or (numbers and self._take(",")):
            numbers.append(float(self._need("number", "a number").text))
        sides = self._sides(token, begin, numbers, along)

        def inside(asked: Asked) -> Mask:
            mask = np.ones(len(asked.atoms), bool)
            for axis, (low, high) in sides.items():
                found = asked.values(("f" if fractional else "") + AXES[axis])
                mask &= (found >= low) & (found < high)
            if region == "sphere":
                mask &= asked.from_point(np.array(numbers[:3]), fractional) < numbers[3]
            elif along is not None:
                point = np.insert(np.array(numbers[:2]), along, 0.0)
                mask &= asked.from_point(point, fractional, along) < numbers[2]
            return mask

        return inside

    def _sides(
        self, token: Token, begin: Token, numbers: Sequence[float], along: int | None
    ) -> dict[int, Sequence[float]]:
        """From where to where a region is along each axis that limits it; the numbers are checked."""
        region = token.text.removeprefix("f")
        counts = (3, 5) if region == "cylinder" else (_REGIONS[region],)
        if len(numbers) not in counts:
            many = " or ".join(str(count) for count in counts)
            raise self._wrong(begin, f"begins {len(numbers)} numbers; {token.text} needs {many}")
        if region != "block" and not numbers[3 if along is None else 2] > 0.0:
            raise self._wrong(begin, f"begins {token.text} without a radius above 0")
        if region == "block":
            sides = {axis: numbers[2 * axis : 2 * axis + 2] for axis in range(3)}
        else:
            sides = {} if len(numbers) < 5 or along is None else {along: numbers[3:5]}
        for axis, (low, high) in sides.items():
            if not low < high:
                raise self._wrong(token, f"has no atoms: along {AXES[axis]} it is from {low:g} to {high:g}")
        return sides

    def _comparison(self) -> Evaluate:
        """`5 < z <= 15`."""
        operands, ops = [self._operand("")], list[Token]()
        while self._next.kind == "op" and self._next.text in _COMPARED:
            ops.append(self._next)
            self._at += 1
            operands.append(self._operand(ops[-1].text))
        boolean = not ops

        def found(asked: Asked) -> Mask:
            values = [operand(asked) for operand in operands]
            if boolean:
                if np.asarray(values[0]).dtype != bool:
                    raise SettingsError(
                        "it compares nothing; expected such as x < 20, or an array of true and false"
                    )
                return np.array(values[0])
            mask = np.ones(len(asked.atoms), bool)
            for number, op in enumerate(ops):
                left, right = values[number], values[number + 1]
                if _is_text(left) != _is_text(right):
                    raise SettingsError(f"{op.text} (character {op.place}) compares a text with a number")
                mask &= _COMPARED[op.text](left, right)
            return mask

        return found

    def _operand(self, op: str) -> Callable[[Asked], Any]:
        token = self._next
        self._at += token.kind != "end"
        if token.kind == "number":
            number = float(token.text)
            return lambda asked: number
        if token.kind == "text":
            return lambda asked: token.text[1:-1]
        if token.kind == "word" and token.text in _QUANTITIES:
            name = ""
            if token.text == "array":
                given = self._next
                if given.kind not in ("word", "text"):
                    raise self._wrong(given, "is not expected; expected the name of an array")
                self._at += 1
                name = given.text.strip("'\"")
            return lambda asked: asked.values(token.text, name)
        if token.kind == "word" and op in ("==", "!=") and token.text not in KEYWORDS:
            if token.text in ("true", "false", "True", "False"):
                return lambda asked: token.text.lower() == "true"
            return lambda asked: token.text
        near = nearest(token.text, KEYWORDS) if token.kind == "word" else None
        more = f"; did you mean {near!r}?" if near else ""
        raise self._wrong(token, f"is not expected; expected a condition such as x < 20 or species Si{more}")


def _is_text(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "US"
