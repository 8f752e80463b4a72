"""Bonded terms of one system: their arrays, which grow, and their kernels in order."""

from types import SimpleNamespace
from typing import Any

from taichimd.core.memory import FEWER, array
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.angles import angle_kernel
from taichimd.forcefields.reaxff.arrays import ATOM, ENDS, HALF, TERMS, Bonds, Tables
from taichimd.forcefields.reaxff.bond_orders import bond_order_kernels
from taichimd.forcefields.reaxff.chain import chain_kernel
from taichimd.forcefields.reaxff.coordination import coordination_kernel
from taichimd.forcefields.reaxff.hydrogen_bonds import hydrogen_bond_kernel
from taichimd.forcefields.reaxff.torsions import torsion_kernel

FIRST_WIDTH = 8
STEP_OF_WIDTH = 2


class Bonded:
    """Arrays and kernels of the bonded terms.

    Args:
        n: number of atoms.
        n_kinds: species.
        backend: "cuda" or "cpu".
        lammps_forces: see `chain_kernel`.

    Attributes:
        bonds: the arrays, as kernels take them.
    """

    def __init__(self, n: int, n_kinds: int, backend: str, lammps_forces: bool) -> None:
        self._n, self._made_for = n, (backend, n_kinds)
        self._lammps_forces = lammps_forces
        self.bonds = Bonds(width=FIRST_WIDTH, count=ti.ndarray(ti.i32, n))
        self.bonds.atom = ti.ndarray(ti.f64, len(ATOM) * n)
        self.bonds.terms = ti.ndarray(ti.f64, len(TERMS) * n)
        self.bonds.terms.fill(0.0)
        self._reserve()

    def grow(self, longest: int) -> bool:
        """Make room for the longest row of bonds; whether there was too little.

        Raises:
            CapacityError: it does not fit the memory.
        """
        if longest <= self.bonds.width:
            return False
        self.bonds.width = -(-(longest + 1) // STEP_OF_WIDTH) * STEP_OF_WIDTH
        self._reserve()
        return True

    def queue(self, call: Any, atoms: Any, verlet: Any, near: Any, control: Any, status: Any, tables: Tables, out: Any, when: int, group: int, *, energies: bool, virials: bool) -> None:  # fmt: skip
        """Queue the kernels: bond orders, terms, forces."""
        run, bonds = self._kernels(energies, virials), self.bonds
        shift_bits = verlet.shift_bits
        call(run.bond_orders, atoms, verlet, near, bonds, tables, control, status, when, group)
        call(run.coordination, atoms, shift_bits, bonds, tables, status)
        call(run.angles, atoms, shift_bits, bonds, tables, status)
        call(run.torsions, atoms, shift_bits, bonds, tables, status)
        call(run.hydrogen_bonds, atoms, verlet, near, bonds, tables, out.virial, status)
        call(run.chain, atoms, shift_bits, bonds, tables, out, status)

    def _kernels(self, energies: bool, virials: bool) -> SimpleNamespace:
        made_for = self._made_for
        return SimpleNamespace(
            bond_orders=bond_order_kernels(*made_for),
            coordination=coordination_kernel(*made_for, energies),
            angles=angle_kernel(*made_for, energies),
            torsions=torsion_kernel(*made_for, energies),
            hydrogen_bonds=hydrogen_bond_kernel(*made_for, energies, virials),
            chain=chain_kernel(*made_for, energies, virials, self._lammps_forces),
        )

    def _reserve(self) -> None:
        bonds, rows = self.bonds, self._n * self.bonds.width
        size = rows * (8 + 8 * len(HALF) + 8 * ENDS * bonds.width)
        what = f"the bonds of {self._n} atoms, {bonds.width} each"
        # What grows does not need both.
        bonds.partner = bonds.twin = bonds.half = bonds.ends = None
        bonds.partner = array(ti.i32, rows, what, size, FEWER)
        bonds.twin = array(ti.i32, rows, what, size, FEWER)
        bonds.half = array(ti.f64, len(HALF) * rows, what, size, FEWER)
        bonds.ends = array(ti.f64, ENDS * rows * bonds.width, what, size, FEWER)
