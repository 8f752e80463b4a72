"""The energy of all triples alone: each triple once, in one process or in several."""

from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import EvaluationError, SettingsError, StructureError
from taichimd.core.runtime import start, ti
from taichimd.enumerate.all_triples import mapped_kernel
from taichimd.enumerate.triple_items import TILING
from taichimd.forcefields.axilrod_teller import DIRECT, MATRIX, TRIPLET, AxilrodTellerTerm, check_triples
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.triple_energies import EnergyTiles, Whole, WholeEnergy, in_ev, placed_atoms
from taichimd.forcefields.triple_matrix import energy_by_products
from taichimd.system.checks import check_atoms, check_images

WIDEST = 1e6
"""Angstrom between atoms: their triples would leave the range of numbers, and have no energy."""


class TripleSum:
    """The energy of all triples of some atoms, three at least, for positions that change.

    `nu`: (kinds, kinds, kinds) strengths, eV angstrom^9; `function`, `tiling`: of `enumerate.triple_tiles`.
    """

    def __init__(
        self,
        kinds: NDArray[np.int32],
        nu: NDArray[np.float64],
        backend: str = "auto",
        function: Any = TRIPLET,
        tiling: Any = TILING,
    ) -> None:
        self._n = n = len(kinds)
        check_triples(n)
        self._backend, self._function, self._n_kinds = start(backend), function, len(nu)
        self._placed = placed_atoms(n)
        self._placed.kind.from_numpy(np.asarray(kinds, np.int32))
        self._nu = ti.ndarray(ti.f64, nu.size)
        self._nu.from_numpy(np.ascontiguousarray(nu, np.float64).reshape(-1))
        self._tiles = EnergyTiles(function, self._backend, self._n_kinds, [n], tiling)

    def place(self, positions: NDArray[np.float64]) -> None:
        """Put the atoms at (n, 3) positions, angstrom; a StructureError if they lie too far apart."""
        _check_extent(positions)
        self._placed.pos.from_numpy(np.ascontiguousarray(positions, np.float64))

    def part(self, number: int = 0, of: int = 1) -> Whole:
        """The energy of one of so many equal parts of the triples."""
        work = np.concatenate([[0], np.cumsum(self._tiles.table[:, 3])])
        first, last = np.searchsorted(work, work[-1] * np.array([number, number + 1]) / of)
        self._tiles.place(self._placed, self._nu, int(first), int(last))
        return _checked(self._tiles)

    def mapped(self, mapping: str, parts: int = 1, cutoff: float = np.inf) -> Whole:
        """The energy without tiles, by a mapping of `enumerate.all_triples` with so many threads an atom."""
        kernel, found = mapped_kernel(self._function, mapping, self._n_kinds), WholeEnergy()
        found.queue(kernel, self._n, parts, cutoff**2, self._placed, self._nu)
        return _checked(found)


def _checked(energy: WholeEnergy) -> Whole:
    ((whole, lost),) = energy.found()
    if lost:
        raise EvaluationError(
            f"{lost} sums over triples are no finite energies: atoms have the same position; "
            "check the positions"
        )
    return whole


def _check_extent(positions: NDArray[np.float64]) -> None:
    if np.ptp(positions, axis=0).max() > WIDEST:
        raise StructureError(
            f"atoms lie more than {WIDEST:g} angstrom apart; check the unit of the positions"
        )


def triple_energy(
    atoms: Atoms, forcefield: ForceField, *, backend: str = "auto", processes: Any = None
) -> float:
    """Energy of `AxilrodTeller` without a cutoff: each triple of the structure once.

    The energy is bitwise identical on CPU and CUDA and for any number of processes. With the enumeration
    "matrix" the last digits depend on the library that multiplies the matrices.

        >>> from ase import Atoms
        >>> from taichimd import AxilrodTeller, triple_energy
        >>> round(triple_energy(Atoms("Ar3", [(0, 0, 0), (4, 0, 0), (2, 3, 0)]), AxilrodTeller(nu=45.69)), 5)
        0.00044

    Args:
        atoms: a structure that is not periodic.
        forcefield: `AxilrodTeller` alone.
        backend: "auto", "cuda" or "cpu".
        processes: a communicator of mpi4py, whose processes share the triples and return the same energy;
            None: this process computes all triples.

    Returns:
        The energy, eV.

    Raises:
        SettingsError: a different force field, a cutoff, a periodic cell, or several processes with the
            enumeration "matrix".
        StructureError: fewer than three atoms, or atoms that cannot be simulated.
        MissingParameterError: triples of elements without parameters.
        EvaluationError: two atoms at the same position.
        BackendError: the enumeration "matrix" on CUDA without PyTorch.
    """
    term = forcefield.terms[0]
    if len(forcefield.terms) > 1 or not isinstance(term, AxilrodTellerTerm) or np.isfinite(forcefield.cutoff):
        raise SettingsError(
            f"{forcefield.name}: expected AxilrodTeller alone, without a cutoff; use Engine for others"
        )
    check_atoms(atoms)
    check_images(forcefield.name, forcefield.cutoff, atoms.pbc)
    symbols = atoms.get_chemical_symbols()
    species = sorted(set(symbols))
    kinds = np.array([species.index(symbol) for symbol in symbols], np.int32)
    if term.enumeration == MATRIX:
        if processes is not None and processes.Get_size() > 1:
            raise SettingsError(
                "enumeration matrix runs in one process only; use all-triples for several processes"
            )
        check_triples(len(atoms))
        _check_extent(atoms.positions)
        return energy_by_products(atoms.positions, term.strengths(species), kinds, start(backend))
    found = TripleSum(kinds, term.strengths(species), backend)
    found.place(atoms.positions)
    if processes is None:
        return in_ev(found.mapped(DIRECT) if term.enumeration == DIRECT else found.part())
    return in_ev(*processes.allgather(found.part(processes.Get_rank(), processes.Get_size())))
