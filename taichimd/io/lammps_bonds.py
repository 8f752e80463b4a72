"""Files of bonds and species: `fix reaxff/bonds`, `fix reaxff/species` of LAMMPS, and bonds.csv of a run.

https://docs.lammps.org/fix_reaxff_bonds.html, https://docs.lammps.org/fix_reaxff_species.html
"""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
from ase.formula import Formula
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.io.lammps_dump import opened

Kind = Literal["bonds", "species", "table"]


@dataclass(frozen=True)
class BondFrame:
    """Bonds of one frame."""

    step: int  # of the run
    time: float | None  # ps, or None if the file has only steps
    labels: NDArray[np.int64]  # (n,) numbers of the atoms in the file, rising
    kinds: NDArray[np.str_]  # (n,) types of LAMMPS ("1"), or elements
    i: NDArray[np.int64]  # (m,) atoms, from 0, in the order of `labels`; a bond may be in both directions
    j: NDArray[np.int64]  # (m,) their partners
    order: Array  # (m,) bond orders


def bond_file_kind(path: Path) -> Kind | None:
    """Which of these files a file is, by its first line; None: none of them."""
    try:
        with opened(path) as file:
            first = file.readline(200)
    except (OSError, UnicodeDecodeError, EOFError):
        return None
    words = first.replace("#", " ").split()
    if first.startswith("step,time_ps,atom,element,neighbours,"):
        return "table"
    if not first.startswith("#") or words[:1] != ["Timestep"]:
        return None
    return "species" if words[1:2] == ["No_Moles"] else "bonds"


class BondReader:
    """Reads bonds frame after frame: of `fix reaxff/bonds`, as text or compressed by gzip, or bonds.csv.

    Complete after reading: `notes`, and `cutoff`, the bond order above which the file lists bonds, or None.
    """

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path, self.where, self._kind = path, f"bonds {path}", kind
        self.notes: list[str] = []
        self.cutoff: float | None = None

    def frames(self) -> Iterator[BondFrame]:
        """All frames in turn; an incomplete last one is left out and noted."""
        last: BondFrame | None = None
        for frame in self._table() if self._kind == "table" else self._lammps():
            if last is not None:
                same = np.array_equal(frame.labels, last.labels) and np.array_equal(frame.kinds, last.kinds)
                if not same:
                    raise StructureError(
                        f"{self.where}: the {len(frame.labels)} atoms of step {frame.step} differ in number, "
                        f"order or type from the {len(last.labels)} atoms of step {last.step}; expected the "
                        "same atoms"
                    )
                if frame.step == last.step:
                    continue  # A second run of LAMMPS repeats the last step of the first.
            last = frame
            yield frame
        if last is None:
            raise StructureError(f"{self.where} ends within its first frame; write more of it")

    def _cut(self) -> None:
        self.notes.append(f"the last frame of {self.path.name} is incomplete and was left out")

    def _lammps(self) -> Iterator[BondFrame]:
        head: dict[str, int] = {}
        rows: list[list[str]] = []
        for number, line in _lines(self.path):
            words = line.split()
            if line.startswith("#"):
                if words[1:2] == ["Timestep"] and rows:
                    self._wrong(number, line, f"{head['n']} atoms in the frame before, found {len(rows)}")
                self._header(words, head, number, line)
            elif words and not line.endswith("\n"):
                self._cut()
                return
            elif words:
                rows.append(self._row(words, head, number, line))
                if len(rows) == head["n"]:
                    yield self._frame(head.pop("step"), rows, number)
                    rows = []
        if rows:
            self._cut()

    def _header(self, words: list[str], head: dict[str, int], number: int, line: str) -> None:
        """Read a line that begins with # into `head`: step, and number of atoms n."""
        if words[1:2] == ["Timestep"]:
            head["step"] = self._whole(words[2:3], number, line)
        elif words[1:4] == ["Number", "of", "particles"]:
            head["n"] = self._whole(words[4:5], number, line)
        elif "cutoff" in words and words[-1] != "cutoff":
            self.cutoff = self._number(words[-1], number, line)

    def _row(self, words: list[str], head: dict[str, int], number: int, line: str) -> list[str]:
        """The columns of an atom, checked."""
        if head.keys() < {"step", "n"}:
            self._wrong(number, line, "a header with Timestep and Number of particles")
        bonds = self._whole(words[2:3], number, line)
        if len(words) != 7 + 2 * bonds:
            self._wrong(number, line, f"{7 + 2 * bonds} columns of an atom with {bonds} bonds")
        return words

    def _frame(self, step: int, rows: list[list[str]], number: int) -> BondFrame:
        """Frame from the rows of all atoms; `number` is the line of the last one."""
        try:
            counts = np.array([int(row[2]) for row in rows])
            ids = np.array([int(row[0]) for row in rows])
            ends = np.array([int(one) for row, k in zip(rows, counts, strict=True) for one in row[3 : 3 + k]])
            orders = [
                float(one) for row, k in zip(rows, counts, strict=True) for one in row[4 + k : 4 + 2 * k]
            ]
        except ValueError as error:
            raise StructureError(
                f"{self.where}: the frame that ends on line {number} cannot be read: {error}"
            ) from None
        kinds = np.array([row[1] for row in rows])
        return self._sorted(step, None, ids, kinds, np.repeat(ids, counts), ends.astype(np.int64), orders)

    def _sorted(
        self,
        step: int,
        time: float | None,
        ids: NDArray[np.int64],
        kinds: NDArray[np.str_],
        i: NDArray[np.int64],
        j: NDArray[np.int64],
        orders: list[float],
    ) -> BondFrame:
        rising = np.argsort(ids, kind="stable")
        labels = ids[rising]
        if np.any(np.diff(labels) == 0) or not np.isin(j, labels).all():
            raise StructureError(
                f"{self.where}: step {step} has an atom twice, or bonds of an atom that it does not list"
            )
        at = np.searchsorted
        values = np.array(orders, float)
        return BondFrame(step, time, labels, kinds[rising], at(labels, i), at(labels, j), values)

    def _table(self) -> Iterator[BondFrame]:
        complete = True

        def lines() -> Iterator[str]:
            nonlocal complete
            for _, line in _lines(self.path):
                complete = line.endswith("\n")
                yield line

        rows: list[dict[str, str]] = []
        size = 0
        for row in csv.DictReader(lines()):
            if rows and row["step"] != rows[0]["step"]:
                size = size or len(rows)
                yield self._sample(rows)
                rows = []
            rows.append(row)
        if rows and complete and (not size or len(rows) == size):
            yield self._sample(rows)
        elif rows:
            self._cut()

    def _sample(self, rows: list[dict[str, str]]) -> BondFrame:
        """Frame from the rows of all atoms in bonds.csv."""
        try:
            near = [[int(one) for one in row["neighbours"].split()] for row in rows]
            orders = [[float(one) for one in row["bond_orders"].split()] for row in rows]
            if [len(one) for one in near] != [len(one) for one in orders]:
                raise ValueError("an atom has different numbers of neighbours and bond orders")
            ids = np.array([int(row["atom"]) for row in rows])
            step, time = int(rows[0]["step"]), float(rows[0]["time_ps"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StructureError(
                f"{self.where}: the sample of step {rows[0]['step']} cannot be read: {error}"
            ) from None
        kinds = np.array([row["element"] for row in rows])
        i = np.repeat(ids, [len(one) for one in near])
        j = np.array([one for many in near for one in many], np.int64)
        return self._sorted(step, time, ids, kinds, i, j, [one for many in orders for one in many])

    def _whole(self, words: list[str], number: int, line: str) -> int:
        try:
            value = int(words[0])
        except (ValueError, IndexError):
            self._wrong(number, line, "a whole number")
        if value < 0:
            self._wrong(number, line, "a whole number from 0")
        return value

    def _number(self, word: str, number: int, line: str) -> float:
        try:
            return float(word)
        except ValueError:
            self._wrong(number, line, "a number at the end")

    def _wrong(self, number: int, line: str, expected: str) -> NoReturn:
        raise StructureError(f"{self.where}, line {number}: found {line.strip()[:60]!r}, expected {expected}")


def read_species(path: Path) -> tuple[list[int], list[Counter[str]]]:
    """Steps and numbers of molecules by formula (Hill order) of a file of `fix reaxff/species`."""
    steps: list[int] = []
    counts: list[Counter[str]] = []
    names: list[str] = []
    for number, line in _lines(path):
        words = line.replace("#", " ").split()
        if line.startswith("#"):
            names = words[3:]
        elif words and line.endswith("\n"):
            try:
                step, *values = (int(word) for word in words)
            except ValueError:
                values = []
            if len(values) != 2 + len(names):
                raise StructureError(
                    f"species {path}, line {number}: found {line.strip()[:60]!r}, expected "
                    f"{3 + len(names)} whole numbers"
                )
            sample = Counter[str]()
            for name, value in zip(names, values[2:], strict=True):
                sample[_hill(name)] += value
            if steps and step == steps[-1]:
                continue
            steps.append(step)
            counts.append(sample)
    if not steps:
        raise StructureError(f"species {path} has no complete sample; write more of it")
    return steps, counts


def _hill(name: str) -> str:
    try:
        return str(Formula(name).format("hill"))
    except ValueError:
        return name


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1; a compressed file that is cut off ends where it is cut off."""
    try:
        with opened(path) as file:
            yield from enumerate(file, 1)
    except EOFError:
        return
    except UnicodeDecodeError:
        raise StructureError(f"{path} is not a text file; expected a file of bonds or species") from None
    except OSError as error:
        raise StructureError(f"{path} cannot be read: {error.strerror or error}") from None
