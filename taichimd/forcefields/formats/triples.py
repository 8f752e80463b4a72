"""Files of entries with three elements and some numbers each: what `.tersoff` and `.sw` share.

An entry may be spread over several lines but starts on a line of its own; `#` starts a comment anywhere.
The first element is the atom that the triple is centred on. A structure of N elements needs all N*N*N
entries; a file may define more than that, also for labels that are not chemical symbols.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.header import Header, parse_header
from taichimd.forcefields.formats.text import (
    Word,
    is_number,
    note_line,
    parse_number,
    read_lines,
    shorten,
    word_lines,
)

Triple = tuple[str, str, str]


E = TypeVar("E")


@dataclass(frozen=True)
class Layout(Generic[E]):
    """How one format is read."""

    kind: str  # its name
    roles: Triple  # what the elements i, j and k are
    fields: tuple[str, ...]  # the numbers of an entry, in the file's order
    make: Callable[..., E]  # makes an entry of the numbers
    # (triple, numbers by field) -> (field, what was expected of it), or None if all is well
    mistake: Callable[[Triple, Mapping[str, float]], tuple[str, str] | None]
    others: str  # what is said of files with more columns
    # numbers that (i, j, j) and (j, i, i) have in common, because the energy of the pair is one
    alike: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Names of all the words of an entry."""
        i, j, k = self.roles
        return (f"element i ({i})", f"element j ({j})", f"element k ({k})", *self.fields)

    def read(self, path: str | Path) -> "TripleFile[E]":
        """Read a file, which may define more elements than a structure needs."""
        path = Path(path)
        lines = read_lines(path)
        header = parse_header(lines, path)
        entries: dict[Triple, E] = {}
        first_line: dict[Triple, int] = {}
        for words in _entries(lines, self, path):
            triple, entry = _parse_entry(words, self, path)
            note_line(first_line, triple, words[0].line, path, f"entry for {name_of(triple)}")
            entries[triple] = entry
        if not entries:
            raise ParameterFileError(
                f"{path} has no entry, expected LAMMPS's {self.kind} format: three elements and "
                f"{len(self.fields)} numbers"
            )
        self._check_alike(entries, first_line, path)
        elements = tuple(sorted({element for triple in entries for element in triple}))
        return TripleFile(path, header, elements, entries)

    def _check_alike(self, entries: dict[Triple, E], line: dict[Triple, int], path: Path) -> None:
        for (i, j, k), entry in entries.items():
            other = entries.get((j, i, i))
            if j != k or other is None:
                continue
            for field in self.alike:
                values = getattr(entry, field), getattr(other, field)
                if values[0] != values[1]:
                    both = digits(values[0]), digits(values[1])
                    raise ParameterFileError(
                        f"{path} line {line[j, i, i]}: field '{field}' of entry {name_of((j, i, i))} is "
                        f"{both[1]}, but {both[0]} in entry {name_of((i, j, j))} on line {line[i, j, j]}; "
                        "the pair has one energy: write the same number in both"
                    )


@dataclass(frozen=True)
class TripleFile(Generic[E]):
    """A parsed file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    elements: tuple[str, ...]  # every element that occurs in an entry, sorted
    entries: dict[Triple, E]  # the entries by (i, j, k), i the centre


def name_of(triple: tuple[str, ...]) -> str:
    """(i, j, k) as messages write it."""
    return f"({', '.join(triple)})"


def _entries(lines: list[str], layout: Layout[E], path: Path) -> Iterator[list[Word]]:
    """Yield the words of each entry, at least as many as it needs, joining the lines it is spread over."""
    entry: list[Word] = []
    for words in word_lines(lines):
        entry += words
        if len(entry) >= len(layout.words):
            yield entry
            entry = []
    if entry:
        _check_words(entry, layout, path)
        raise ParameterFileError(
            f"{path} line {entry[-1].line}: field '{layout.words[len(entry)]}' is missing, the entry that "
            f"began on line {entry[0].line} has {counted(len(entry), 'word')}, expected 3 elements and "
            f"{len(layout.fields)} numbers"
        )


def _check_words(entry: list[Word], layout: Layout[E], path: Path) -> list[float]:
    """Check that elements come first and numbers after; return the numbers."""
    for word, field in zip(entry[:3], layout.words, strict=False):
        if is_number(word.text):
            raise ParameterFileError(
                f"{path} line {word.line}: field '{field}' is {shorten(word.text)}, expected a chemical "
                f"symbol: an entry is 3 elements and {len(layout.fields)} numbers"
            )
    note = f" (in the entry that began on line {entry[0].line})"
    return [
        parse_number(word, field, path, note if word.line != entry[0].line else "")
        for word, field in zip(entry[3:], layout.fields, strict=False)
    ]


def _parse_entry(words: list[Word], layout: Layout[E], path: Path) -> tuple[Triple, E]:
    numbers = _check_words(words, layout, path)
    count = len(layout.words)
    if len(words) > count:
        extra = words[count]
        raise ParameterFileError(
            f"{path} line {extra.line}: {shorten(extra.text)} is one word too many, an entry is "
            f"3 elements and {len(layout.fields)} numbers ({layout.others})"
        )
    triple = (words[0].text, words[1].text, words[2].text)
    if mistake := layout.mistake(triple, dict(zip(layout.fields, numbers, strict=True))):
        field, expected = mistake
        at = layout.fields.index(field)
        raise ParameterFileError(
            f"{path} line {words[3 + at].line}: field '{field}' of entry {name_of(triple)} is "
            f"{digits(numbers[at])}, expected {expected}"
        )
    return triple, layout.make(*numbers)
