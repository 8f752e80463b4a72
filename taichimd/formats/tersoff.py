"""LAMMPS's `.tersoff` format: entries of three elements and fourteen numbers, `#` comments anywhere.

An entry (it may be spread over several lines, but starts on a line of its own) reads

    i j k  m gamma lambda3 c d costheta0 n beta lambda2 B R D lambda1 A

**The order of the elements, where users stumble.** `i` is the centre: the atom whose bond order is computed.
`j` is its bond partner: the bond is i-j. `k` is the third body that weakens the bond i-j. So the entry
`Si C Ge` says how a Ge neighbour of a Si atom acts on that Si atom's bond to C; exchanging j and k gives a
different parameter. A structure of N elements needs all N*N*N entries.

**Which numbers of an entry are used.** An entry with j == k also defines the bond i-j: its n, beta, lambda2,
B, lambda1 and A (with R and D as the bond's cutoff) are the two-body part. In an entry with j != k these six
are ignored and are usually written as 0; only m, gamma, lambda3, c, d, costheta0 and the cutoff R, D of the
distance i-k are used. The bond i-j is thus described by `i j j`, and j-i by `j i i`.

Units are LAMMPS's "metal": A, B in eV; lambda1, lambda2, lambda3 in 1/angstrom; R, D in angstrom; the rest
are plain numbers. The smooth cutoff falls from 1 at R-D to 0 at R+D. Tersoff's papers give R_T = R-D and
S_T = R+D.

Sources: J. Tersoff, Phys. Rev. B 37, 6991 (1988), doi:10.1103/PhysRevB.37.6991; Phys. Rev. B 39, 5566
(1989), doi:10.1103/PhysRevB.39.5566; LAMMPS manual, page pair_style tersoff.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from taichimd.errors import MissingParameterError, ParameterFileError
from taichimd.formats.header import Header, parse_header
from taichimd.formats.text import Word, is_number, parse_number, read_lines, shorten, word_lines

Triple = tuple[str, str, str]

FIELDS = (
    "m", "gamma", "lambda3", "c", "d", "costheta0", "n",
    "beta", "lambda2", "B", "R", "D", "lambda1", "A",
)  # fmt: skip
"""The numbers of an entry, in the file's order."""
TWO_BODY_FIELDS = ("n", "beta", "lambda2", "B", "lambda1", "A")
"""Those that only an entry with j == k gives."""

_ELEMENT_FIELDS = ("element i (centre)", "element j (bond partner)", "element k (third body)")
_WORDS = len(_ELEMENT_FIELDS) + len(FIELDS)
_NOT_NEGATIVE = ("gamma", "c", "d", "n", "beta", "lambda2", "B", "R", "D", "lambda1", "A")
_LISTED = 12


@dataclass(frozen=True)
class TersoffEntry:
    """One entry; the module's text says which numbers count for j == k and for j != k.

    Attributes:
        m: 1 or 3, power of the distance difference in the three-body weight.
        gamma: factor of the angular function.
        lambda3: decay of the three-body weight (1/angstrom); any sign.
        c: strength of the angular function.
        d: sharpness of the angular function; not 0.
        costheta0: preferred cosine of the angle j-i-k (Tersoff's h).
        n: exponent of the bond order.
        beta: factor of the coordination in the bond order.
        lambda2: decay of the attraction (1/angstrom; Tersoff's mu).
        B: strength of the attraction (eV), with Tersoff's chi multiplied in.
        R: middle of the cutoff region (angstrom).
        D: half width of the cutoff region (angstrom); 0 is a sharp cutoff.
        lambda1: decay of the repulsion (1/angstrom; Tersoff's lambda).
        A: strength of the repulsion (eV).
    """

    m: float
    gamma: float
    lambda3: float
    c: float
    d: float
    costheta0: float
    n: float
    beta: float
    lambda2: float
    B: float
    R: float
    D: float
    lambda1: float
    A: float


@dataclass(frozen=True)
class TersoffFile:
    """A parsed `.tersoff` file.

    Attributes:
        path: where it was read from.
        header: what it says about itself.
        elements: every element that occurs in an entry, sorted.
        entries: the entries by (centre i, bond partner j, third body k).
    """

    path: Path
    header: Header
    elements: tuple[str, ...]
    entries: dict[Triple, TersoffEntry]

    def require(self, symbols: Iterable[str]) -> dict[Triple, TersoffEntry]:
        """Return the entries that a structure of these elements needs: all triples of them.

        Args:
            symbols: chemical symbols, repeated or not, in any order.

        Raises:
            MissingParameterError: the file lacks some triple; both lists are in the message.
        """
        elements = sorted(set(symbols))
        needed: list[Triple] = [(i, j, k) for i, j, k in product(elements, repeat=3)]
        missing = [triple for triple in needed if triple not in self.entries]
        if missing:
            raise MissingParameterError(
                f"{self.path} has no entry for {_listing(missing)}; it defines {_listing(self.entries)}; "
                f"a structure of {', '.join(elements)} needs every triple of its elements (i j k: centre, "
                "bond partner, third body): choose another file or add the entries"
            )
        return {triple: self.entries[triple] for triple in needed}

    def cutoff(self, symbols: Iterable[str] | None = None) -> float:
        """Largest R + D (angstrom) among the entries of these elements, or among all entries.

        Raises:
            MissingParameterError: the file lacks some triple of the elements.
        """
        entries = self.entries if symbols is None else self.require(symbols)
        return max(entry.R + entry.D for entry in entries.values())


def read_tersoff(path: str | Path) -> TersoffFile:
    """Read a LAMMPS `.tersoff` file.

    Args:
        path: the file. It may define more elements than a structure needs.

    Raises:
        ParameterFileError: unreadable or malformed; the message names file, line and field.
        UnitsMismatchError: its header states other units than "metal".
    """
    path = Path(path)
    lines = read_lines(path)
    header = parse_header(lines, path)
    entries: dict[Triple, TersoffEntry] = {}
    first_line: dict[Triple, int] = {}
    for words in _entries(lines, path):
        triple, entry = _parse_entry(words, path)
        if triple in entries:
            raise ParameterFileError(
                f"{path} line {words[0].line}: second entry for {_name(triple)}, the first is on line "
                f"{first_line[triple]}; keep one of them"
            )
        entries[triple] = entry
        first_line[triple] = words[0].line
    if not entries:
        raise ParameterFileError(
            f"{path} has no entry, expected LAMMPS's tersoff format: three elements and {len(FIELDS)} numbers"
        )
    elements = tuple(sorted({element for triple in entries for element in triple}))
    return TersoffFile(path, header, elements, entries)


def _entries(lines: list[str], path: Path) -> Iterator[list[Word]]:
    """Yield the words of each entry, at least 17 of them, joining the lines that it is spread over."""
    entry: list[Word] = []
    for words in word_lines(lines):
        entry += words
        if len(entry) >= _WORDS:
            yield entry
            entry = []
    if entry:
        _check_words(entry, path)
        missing = (*_ELEMENT_FIELDS, *FIELDS)[len(entry)]
        raise ParameterFileError(
            f"{path} line {entry[-1].line}: field '{missing}' is missing, the entry that began on line "
            f"{entry[0].line} has {len(entry)} words, expected 3 elements and {len(FIELDS)} numbers"
        )


def _check_words(entry: list[Word], path: Path) -> list[float]:
    """Check that elements come first and numbers after; return the numbers."""
    for word, field in zip(entry, _ELEMENT_FIELDS, strict=False):
        if is_number(word.text):
            raise ParameterFileError(
                f"{path} line {word.line}: field '{field}' is {shorten(word.text)}, expected a chemical "
                "symbol: an entry is 3 elements and 14 numbers"
            )
    note = f" (in the entry that began on line {entry[0].line})"
    return [
        parse_number(word, field, path, note if word.line != entry[0].line else "")
        for word, field in zip(entry[len(_ELEMENT_FIELDS) : _WORDS], FIELDS, strict=False)
    ]


def _parse_entry(words: list[Word], path: Path) -> tuple[Triple, TersoffEntry]:
    numbers = _check_words(words, path)
    if len(words) > _WORDS:
        extra = words[_WORDS]
        raise ParameterFileError(
            f"{path} line {extra.line}: {shorten(extra.text)} is one word too many, an entry is "
            f"3 elements and {len(FIELDS)} numbers (tersoff/mod and tersoff/zbl "
            "files have other columns and are not read)"
        )
    entry = TersoffEntry(*numbers)
    lines = {field: word.line for field, word in zip(FIELDS, words[len(_ELEMENT_FIELDS) :], strict=True)}
    triple = (words[0].text, words[1].text, words[2].text)
    _check_values(triple, entry, lines, path)
    return triple, entry


def _check_values(triple: Triple, entry: TersoffEntry, lines: dict[str, int], path: Path) -> None:
    """Refuse numbers for which the energy is undefined or not a Tersoff potential."""

    def refuse(field: str, expected: str) -> ParameterFileError:
        value = getattr(entry, field)
        return ParameterFileError(
            f"{path} line {lines[field]}: field '{field}' of entry {_name(triple)} is {value:g}, "
            f"expected {expected}"
        )

    if entry.m not in (1.0, 3.0):
        raise refuse("m", "1 or 3")
    for field in _NOT_NEGATIVE:
        if getattr(entry, field) < 0.0:
            raise refuse(field, "a number that is not negative")
    if entry.d == 0.0:
        raise refuse("d", "a positive number: the angular function divides by d")
    if entry.D > entry.R:
        raise refuse("D", f"at most R = {entry.R:g}: the cutoff region starts at R - D")
    # Entries with j != k carry no two-body part, and files write 0 there.
    if triple[1] == triple[2] and entry.n == 0.0:
        raise refuse("n", "a positive number: the bond order has the exponent 1/(2n)")


def _name(triple: Triple) -> str:
    return f"({', '.join(triple)})"


def _listing(triples: Iterable[Triple]) -> str:
    names = [_name(triple) for triple in triples]
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
