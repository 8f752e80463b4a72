"""What every parameter-file reader shares: lines, words with their line numbers, and numbers.

Errors name the file, the line and the field, because a user meets them with the file open in an editor.
"""

import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from ase.data import atomic_numbers

from taichimd.core.elements import is_symbol
from taichimd.core.errors import ParameterFileError
from taichimd.core.names import hint
from taichimd.core.printable import any_of, counted

# Plain digits: `\d` would take those of all scripts, such as an Arabic three.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FORTRAN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[dD][+-]?[0-9]+")
_LARGEST = 1e50
"""Numbers of parameter files lie between this and its inverse, or are 0: their squares are numbers, too."""
LONGEST = 1000.0
"""Angstrom: a longer cutoff is a mistake. Lists of neighbours within it would fit no memory."""
_LONGEST_LINE = 1_000_000
"""Characters."""

Key = TypeVar("Key", bound=Hashable)


class Word(NamedTuple):
    """One word of a file and the line (counted from 1) that it stands on."""

    text: str
    line: int


def read_lines(path: Path) -> list[str]:
    """Lines of a text file; a byte-order mark is dropped, bytes that are not UTF-8 are read as Latin-1."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ParameterFileError(f"{path}: no such file; give the path of a parameter file") from error
    except IsADirectoryError as error:
        raise ParameterFileError(f"{path} is a folder, expected a parameter file") from error
    except OSError as error:
        raise ParameterFileError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in data:
        raise ParameterFileError(f"{path} is not a text file, expected a parameter file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Old files carry accented names in their comments; the numbers are ASCII either way.
        text = data.decode("latin-1")
    if not text.strip():
        raise ParameterFileError(f"{path} is empty, expected a parameter file")
    # Not splitlines(): that also breaks at characters such as form feed, and editors count otherwise.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            raise ParameterFileError(
                f"{path} line {number} has {len(line):,} characters, expected {_LONGEST_LINE:,} at most: is "
                "this a parameter file?"
            )
    return lines


def word_lines(lines: list[str]) -> Iterator[list[Word]]:
    """Yield the words of each line that has any, with everything from a `#` on removed."""
    for number, line in enumerate(lines, start=1):
        words = [Word(text, number) for text in line.split("#", 1)[0].split()]
        if words:
            yield words


def note_line(lines: dict[Key, int], key: Key, line: int, path: Path, what: str, note: str = "") -> None:
    """Note on which line of a file a key is, or raise a ParameterFileError if it has a line already.

    `what` is there, such as "row for Si-C"; `note` follows the message.
    """
    if key in lines:
        raise ParameterFileError(
            f"{path} line {line}: second {what}, the first is on line {lines[key]}; keep one of them{note}"
        )
    lines[key] = line


def read_choice(
    words: list[Word], choices: Mapping[str, Sequence[str]], chosen: dict[str, Word], path: Path, row: str
) -> None:
    """Read a line of a name and one of its values, such as `mixing geometric`, into `chosen`.

    `row`: what other lines are, for the message of a ParameterFileError.
    """
    name, where = words[0].text, f"{path} line {words[0].line}"
    if name not in choices:
        more = hint(name, choices, otherwise=f"expected {', '.join(choices)}, or a row {row}")
        raise ParameterFileError(f"{where}: {shorten(name)} is unknown, {more}")
    known = any_of(choices[name])
    if len(words) != 2:
        has = counted(len(words) - 1, "value")
        raise ParameterFileError(f"{where}: {name} has {has}, expected one of {known}")
    if words[1].text not in choices[name]:
        raise ParameterFileError(f"{where}: field '{name}' is {shorten(words[1].text)}, expected {known}")
    if name in chosen:
        raise ParameterFileError(
            f"{where}: second {name} line, the first is on line {chosen[name].line}; keep one of them"
        )
    chosen[name] = words[1]


def is_number(text: str) -> bool:
    """Whether a word is a decimal number (`nan`, `inf` and Python's `1_000` are not)."""
    return _NUMBER.fullmatch(text) is not None


def shorten(text: str) -> str:
    """The word in quotes, cut so that a message stays one readable line; odd characters are escaped."""
    short = text if len(text) <= 40 else text[:40] + "..."
    return repr(short)


def parse_number(word: Word, field: str, path: Path, note: str = "") -> float:
    """One word as a finite number, or a ParameterFileError that names the field and ends with `note`."""
    if is_number(word.text):
        value = float(word.text)
        if value == 0.0 or 1.0 / _LARGEST <= abs(value) <= _LARGEST:
            return value
        if math.isfinite(value):
            raise ParameterFileError(
                f"{path} line {word.line}: field '{field}' is {shorten(word.text)}, expected 0 or a number "
                f"between {1.0 / _LARGEST:g} and {_LARGEST:g}{note}"
            )
    where = f"{path} line {word.line}: field '{field}' is {shorten(word.text)}"
    if _FORTRAN_NUMBER.fullmatch(word.text):
        fixed = re.sub("[dD]", "e", word.text)
        raise ParameterFileError(f"{where}, expected a number: write the exponent with e, {fixed}{note}")
    if word.text.lower().lstrip("+-") in ("nan", "inf", "infinity") or is_number(word.text):
        raise ParameterFileError(f"{where}, expected a finite number{note}")
    if not word.text.isascii():
        note = f" in plain digits, such as 3.0 or 1.5e-7{note}"
    raise ParameterFileError(f"{where}, expected a number{note}")


def check_element(word: Word, field: str, path: Path) -> None:
    """Raise a ParameterFileError unless a word is a chemical symbol: species have no other names."""
    if is_symbol(word.text):
        return
    where = f"{path} line {word.line}: field '{field}' is {shorten(word.text)}, expected a chemical symbol"
    near = word.text.capitalize()
    if near in atomic_numbers and near != word.text:
        raise ParameterFileError(f"{where} such as {near}")
    raise ParameterFileError(f"{where}: species are chemical symbols, other labels are not read")
