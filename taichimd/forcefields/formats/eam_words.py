"""What the formats of EAM files share: lines without comments, counts, and arrays of numbers.

Arrays have any number of values a line. Blank lines and comments after a `#` are skipped. Exponents may have
Fortran's D.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.forcefields.formats.text import Word, is_number, parse_number, shorten

_PLAIN = re.compile(r"[0-9+\-.eEdD ]*")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][+-]?[0-9]+)?")
_WHOLE = re.compile(r"\+?[0-9]+")
MAX_VALUES = 10_000_000
"""Values of an array: a larger count is another number in its place."""

Found = TypeVar("Found")


class Line(NamedTuple):
    """Words of a line that has any, and its number (from 1)."""

    words: list[str]
    number: int


@dataclass
class Reader:
    """Lines of a file after its head, read one array after the other."""

    path: Path  # for messages
    lines: list[Line]  # without blank lines and comments
    # whether each array begins on a line of its own, and what is too much on its last line is dropped; else
    # values follow each other, wherever lines end
    by_lines: bool
    dropped: list[int]  # numbers of the lines on which values were dropped
    _at: int = 0
    _word: int = 0

    @property
    def line(self) -> int:
        """Number of the line that is read next."""
        return self.lines[min(self._at, len(self.lines) - 1)].number if self.lines else 1

    def head(self, what: str) -> Line:
        """The next line, whole, whose first word is a whole number and second one a number."""
        self._check_line_end()
        if self._at >= len(self.lines):
            raise ParameterFileError(f"{self.path}: the file ends before {what}; expected Z mass a lattice")
        line = self.lines[self._at]
        words = line.words
        if len(words) < 2 or not _WHOLE.fullmatch(words[0]) or not is_number(words[1]):
            raise ParameterFileError(
                f"{self.path} line {line.number}: {shorten(' '.join(words))}, expected the line of {what}: "
                "atomic number (a whole number), mass, lattice constant, lattice; has the array before too "
                "many or too few values?"
            )
        self._at += 1
        return line

    def array(self, count: int, what: str) -> Array:
        """The next `count` numbers."""
        words: list[Word] = []
        began = self._at
        while len(words) < count:
            if self._at >= len(self.lines):
                raise ParameterFileError(
                    f"{self.path}: the file ends in {what}, which has {len(words)} of {count} values"
                )
            line = self.lines[self._at]
            taken = line.words[self._word : self._word + count - len(words)]
            words += [Word(text, line.number) for text in taken]
            self._word += len(taken)
            if self._word == len(line.words):
                self._at, self._word = self._at + 1, 0
        if self.by_lines and self._word:
            self._drop(began, what)
        return numbers(words, what, self.path)

    def _drop(self, began: int, what: str) -> None:
        """Leave out what is too much on the last line of an array, if its lines are otherwise regular."""
        whole, last = self.lines[began : self._at], self.lines[self._at]
        widths = {len(line.words) for line in whole}
        if whole and (len(widths) > 1 or len(last.words) > len(whole[0].words) + 1):
            raise ParameterFileError(
                f"{self.path} line {last.number}: {what}, which begins on line {whole[0].number}, has too "
                "many values at its end, and its lines have different numbers of values; is there one value "
                "too many in this array or in the array before?"
            )
        self.dropped.append(last.number)
        self._at, self._word = self._at + 1, 0

    def _check_line_end(self) -> None:
        if self._word:
            line = self.lines[self._at]
            raise ParameterFileError(
                f"{self.path} line {line.number}: {shorten(line.words[self._word])} is one value too many "
                "for the array that ends here"
            )

    def end(self) -> None:
        """After the last array: it has to end with a line, and text may follow, but no numbers."""
        self._check_line_end()
        if self._at < len(self.lines) and is_number(self.lines[self._at].words[0]):
            raise ParameterFileError(
                f"{self.path} line {self.line}: {shorten(self.lines[self._at].words[0])} follows the last "
                "array; is there one value too many in an array before, or is this another format (ADP)?"
            )


def content(lines: list[str], first: int) -> list[Line]:
    """Lines from the one with the number `first` on that have words, without comments."""
    found = []
    for number, text in enumerate(lines[first - 1 :], start=first):
        words = text.split("#", 1)[0].split()
        if words:
            found.append(Line(words, number))
    return found


def numbers(words: list[Word], what: str, path: Path) -> Array:
    """Words as finite numbers."""
    text = " ".join(word.text for word in words)
    if _PLAIN.fullmatch(text):
        try:
            found = np.array(text.replace("d", "e").replace("D", "e").split(), dtype=float)
        except ValueError:
            pass
        else:
            if np.isfinite(found).all():
                return found
    for word in words:
        if not _NUMBER.fullmatch(word.text):
            parse_number(word, what, path)
        elif not np.isfinite(float(word.text.lower().replace("d", "e"))):
            raise ParameterFileError(
                f"{path} line {word.line}: field '{what}' is {shorten(word.text)}, expected a finite number"
            )
    raise ParameterFileError(f"{path} line {words[0].line}: {what} cannot be read as numbers")


def counts(line: Line | None, path: Path, number: int) -> tuple[int, float, int, float, float]:
    """The numbers nrho drho nr dr cutoff of a line; more words are skipped."""
    names = ("nrho", "drho", "nr", "dr", "cutoff")
    words = [] if line is None else line.words
    if len(words) < len(names):
        raise ParameterFileError(
            f"{path} line {number} has {counted(len(words), 'word')}, expected {' '.join(names)}"
        )
    found: list[float] = []
    for text, name in zip(words, names, strict=False):
        where = f"{path} line {number}: field '{name}' is {shorten(text)}"
        if name in ("nrho", "nr"):
            if not _WHOLE.fullmatch(text) or not 5 <= int(text) <= MAX_VALUES:
                raise ParameterFileError(f"{where}, expected a whole number from 5 to {MAX_VALUES:,}")
            found.append(int(text))
            continue
        value = float(numbers([Word(text, number)], name, path)[0])
        if value <= 0.0:
            raise ParameterFileError(f"{where}, expected a positive number")
        found.append(value)
    nrho, drho, nr, dr, cutoff = found
    return int(nrho), drho, int(nr), dr, cutoff


def in_either_way(path: Path, lines: list[Line], read: Callable[[Reader], Found]) -> Found:
    """What `read` makes of lines whose values follow each other, or else of arrays on lines of their own."""
    try:
        return read(Reader(path, lines, False, []))
    except ParameterFileError:
        # Perhaps lines have values that nobody needs.
        return read(Reader(path, lines, True, []))
