"""Takes an ffield file apart: rows of words, counts and numbers, and errors that name line and column."""

import re
from pathlib import Path

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.forcefields.formats.text import Word, is_number, parse_number, shorten

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def is_whole(text: str) -> bool:
    """Whether a word is a whole number."""
    return _WHOLE.fullmatch(text) is not None


class Rows:
    """The rows of a file, taken one after the other.

    Attributes:
        words: words of the row that was taken last, without its comment.
        line: the line it stands on, from 1.
    """

    def __init__(self, path: Path, lines: list[str]) -> None:
        """Begin after the title, the first line."""
        self.path = path
        self.words: list[Word] = []
        self.line = 1
        self._lines = lines
        self._section = ""
        self._said = ""  # how many entries the section has, and which line says so

    def error(self, text: str) -> ParameterFileError:
        """An error at the row that was taken last."""
        return ParameterFileError(f"{self.path} line {self.line}: {text}")

    def take(self, what: str) -> list[Word]:
        """Words of the next row that has any; `what` says what it should be."""
        while self.line < len(self._lines):
            self.line += 1
            self.words = self._words(self.line)
            if self.words:
                return self.words
        last = max(number for number, line in enumerate(self._lines, start=1) if line.strip())
        raise ParameterFileError(
            f"{self.path} ends on line {last}, expected {what}: the file is cut off or a section is missing; "
            "an empty section is a row with 0"
        )

    def next_numbers(self) -> int:
        """With how many numbers the next row begins; it is not taken."""
        rows = (self._words(line) for line in range(self.line + 1, len(self._lines) + 1))
        return _numbers(next((words for words in rows if words), []))

    def _words(self, line: int) -> list[Word]:
        return [Word(text, line) for text in self._lines[line - 1].split("!")[0].split()]

    def count(self, section: str, comments: int = 0) -> int:
        """Begin a section: how many entries it has. Its rows of comment are passed over."""
        self.take(f"the number of {section}")
        numbers = _numbers(self.words)
        first = self.words[0].text
        if not is_whole(first) or numbers > 1 or int(first) < 0:
            found = f"a row of {numbers} numbers" if numbers > 1 else shorten(first)
            before = (
                f"; {self._said}, which does not fit, or the {section} are missing" if self._section else ""
            )
            raise self.error(f"expected the number of {section}, found {found}{before}")
        self._section = section
        self._said = f"line {self.line} says {first} {section}"
        self.line += comments
        return int(first)

    def numbers(self, what: str, columns: tuple[str, ...], before: int = 0) -> list[float]:
        """Take a row of numbers. Unused columns at its end may be left out and are 0.

        Args:
            what: the entry, for messages.
            columns: names of the numbers.
            before: how many words stand before them.

        Raises:
            ParameterFileError: too few or too many, or a word that is not a finite number.
        """
        words = self.take(f"{what} ({self._said})")[before:]
        used = [at for at, name in enumerate(columns, start=1) if not name.startswith("unused")]
        needed = max(used, default=1)
        surplus = words[len(columns) : len(columns) + 1]
        if len(words) < needed or (surplus and is_number(surplus[0].text)):
            raise self.error(
                f"{what} has {counted(len(words), 'number')} here, expected {len(columns)} "
                f"({', '.join(columns)}); {self._said}: correct the row or that number"
            )
        values = [
            parse_number(word, f"{name}, column {before + at}", self.path, f" ({what})")
            for at, (word, name) in enumerate(zip(words, columns, strict=False), start=1)
        ]
        return values + [0.0] * (len(columns) - len(values))

    def check_end(self) -> None:
        """Refuse rows of numbers after the last section; other text may follow.

        Raises:
            ParameterFileError: there is one.
        """
        if self.next_numbers():
            self.take("")
            raise self.error(
                f"numbers after the last of the {self._section}; {self._said}, which does not fit"
            )


def _numbers(words: list[Word]) -> int:
    """With how many numbers a row begins."""
    texts = [is_number(word.text) for word in words]
    return texts.index(False) if False in texts else len(texts)
