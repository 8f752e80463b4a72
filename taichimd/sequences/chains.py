"""Protein chains: a letter and a label of secondary structure for each residue, and their CSV files."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SequenceError
from taichimd.io.files import write_atomically

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
UNKNOWN = "X"
"""A residue that is none of these: its terms are 0."""
LABELS = "CEH"
"""Coil, strand, helix."""
COLUMNS = ("chain", "sequence", "states")
_LABEL_OF = dict(zip("CEH-STPGIB", "CEHCCCCHHE", strict=True))
"""Letters that files have for labels: also the eight states of DSSP, with "-" for none of them."""

Ints = NDArray[Any]


@dataclass(frozen=True)
class Chain:
    """Residues of one chain in order.

    Raises:
        SequenceError: another letter, or the lengths differ.
    """

    name: str  # for messages and tables
    # one letter a residue: the twenty amino acids, or X for an unknown one. Lower case is read as upper case.
    sequence: str
    # one label a residue: C, E or H. "-" and the states of DSSP are read as these: G, I as H; B as E; S, T, P
    # as C.
    states: str

    def __post_init__(self) -> None:
        sequence, states = self.sequence.strip().upper(), self.states.strip().upper()
        if len(sequence) != len(states):
            raise SequenceError(
                f"chain {self.name} has {len(sequence)} residues and {len(states)} labels: expected as many"
            )
        self._check(sequence, RESIDUES + UNKNOWN, "residue", f"one of {RESIDUES}, or X for an unknown one")
        self._check(states, _LABEL_OF, "label", "C, E, H, or a state of DSSP (H G I E B S T P -)")
        object.__setattr__(self, "sequence", sequence)
        object.__setattr__(self, "states", "".join(_LABEL_OF[s] for s in states))

    def __len__(self) -> int:
        return len(self.sequence)

    def _check(self, text: str, known: Any, what: str, expected: str) -> None:
        wrong = next((k for k, letter in enumerate(text) if letter not in known), None)
        if wrong is not None:
            raise SequenceError(
                f"chain {self.name}, residue {wrong + 1}: {what} {text[wrong]!r}, expected {expected}"
            )


@dataclass(frozen=True)
class Residues:
    """All residues of several chains, one chain after the other."""

    letter: Ints  # (n,) place in `RESIDUES`, 20 for an unknown one
    label: Ints  # (n,) place in `LABELS`
    chain: Ints  # (n,) number of the chain
    left: Ints  # (n,) residues that follow in the chain

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> "Residues":
        """Put chains one after the other."""
        lengths = np.array([len(one) for one in chains], np.int64)
        ends = np.repeat(np.cumsum(lengths), lengths)
        return cls(
            _places("".join(one.sequence for one in chains), RESIDUES + UNKNOWN),
            _places("".join(one.states for one in chains), LABELS),
            np.repeat(np.arange(len(chains), dtype=np.int32), lengths),
            (ends - 1 - np.arange(len(ends))).astype(np.int32),
        )


def _places(text: str, alphabet: str) -> Ints:
    place = np.zeros(128, np.int32)
    place[[ord(letter) for letter in alphabet]] = np.arange(len(alphabet))
    return place[np.frombuffer(text.encode("ascii"), np.uint8)]


def check_lengths(chains: Sequence[Chain], fragment: int) -> None:
    """Raise a SequenceError for a chain with fewer residues than a fragment."""
    for one in chains:
        if len(one) < fragment:
            raise SequenceError(
                f"chain {one.name} has {len(one)} residues, fewer than a fragment of {fragment}: leave it "
                "out (--skip-short), or take a table of shorter fragments"
            )


def read_chains(path: str | Path) -> list[Chain]:
    """Chains of a CSV file with the columns chain, sequence and states, one chain a line."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = csv.DictReader(file)
            names = [name.strip() for name in rows.fieldnames or ()]
            rows.fieldnames = names
            if missing := [name for name in COLUMNS if name not in names]:
                raise SequenceError(
                    f"{path} has no column {', '.join(missing)}: expected the header {','.join(COLUMNS)}"
                )
            chains = [_chain_of(row, f"{path} line {rows.line_num}") for row in rows]
    except (OSError, csv.Error) as error:
        raise SequenceError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not chains:
        raise SequenceError(f"{path} has no chains below its header: expected a line for each chain")
    return chains


def _chain_of(row: dict[str, Any], where: str) -> Chain:
    values = [row[name] for name in COLUMNS]
    if None in values:
        raise SequenceError(f"{where} has fewer fields than the header: expected {','.join(COLUMNS)}")
    try:
        return Chain(*values)
    except SequenceError as error:
        raise SequenceError(f"{where}: {error}") from None


def write_chains(path: Path, chains: Sequence[Chain]) -> None:
    """Write such a file."""
    write_rows(path, [COLUMNS, *((one.name, one.sequence, one.states) for one in chains)])


def write_rows(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write a CSV file; as `write_chains`."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
