"""Bonded terms of one system: their arrays, which grow, and their kernel."""

from functools import cache
from typing import Any

from taichimd.core.arguments import Number, View, kernel, types_of
from taichimd.core.memory import FEWER, array, bytes_of, require
from taichimd.core.runtime import blocks_for, grid, literals, ti
from taichimd.enumerate.outputs import Outputs
from taichimd.forcefields.reaxff.angles import angles_function
from taichimd.forcefields.reaxff.arrays import ATOM, ENDS, HALF, STATUS, TERMS, Bonds, Tables
from taichimd.forcefields.reaxff.bond_orders import bond_orders_function
from taichimd.forcefields.reaxff.chain import chain_function
from taichimd.forcefields.reaxff.coordination import coordination_function
from taichimd.forcefields.reaxff.hydrogen_bonds import hydrogen_bonds_function
from taichimd.forcefields.reaxff.torsions import torsions_function
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import NearRows, VerletRows
from taichimd.system.state import Atoms

FIRST_WIDTH = 2
STEP_OF_WIDTH = 2


class Given(View):
    """What loops over hydrogen bonds read."""


@cache
def bonded_kernel(backend: str, n_kinds: int, everything: bool, lammps_forces: bool, blocks: int) -> Any:
    """The kernel of all bonded terms.

    Args:
        backend: "cuda" or "cpu".
        n_kinds: species.
        everything: leave energies by terms and virials, too.
        lammps_forces: see `chain_function`.
        blocks: of the grid that it is compiled for.
    """
    made_for = backend, n_kinds
    bond_orders, coordination = bond_orders_function(*made_for), coordination_function(*made_for, everything)
    angles, torsions = angles_function(*made_for, everything), torsions_function(*made_for, everything)
    hydrogen_bonds = hydrogen_bonds_function(*made_for, everything, everything)
    chain = chain_function(*made_for, everything, everything, lammps_forces)

    @kernel(
        types_of(ti.f64), graph=True, atoms=Atoms.only("n", "pos", "kind", "ident"),
        verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"),
        bonds=Bonds, tables=Tables, control=CONTROL, status=STATUS, out=Outputs.only("force",
        "virial") if everything else Outputs.only("force"), when=Number("i32", "see `neighbours.control`"),
        group=Number("i32", "of the near list")
    )  # fmt: skip
    def bonded(atoms, verlet, near, bonds, tables, control, status, out, when, group):
        bond_orders(atoms, verlet, near, bonds, tables, control, status, when, group)
        coordination(atoms, verlet.shift_bits, bonds, tables, status)
        angles(atoms, verlet.shift_bits, bonds, tables, status)
        torsions(atoms, verlet.shift_bits, bonds, tables, status)
        given = Given(atoms=atoms, verlet=verlet, near=near, bonds=bonds, tables=tables, status=status)
        hydrogen_bonds(given, out.virial)
        chain(atoms, verlet.shift_bits, bonds, tables, out, status)

    return bonded


class Bonded:
    """Arrays and kernel of the bonded terms.

    Args:
        n: number of atoms.
        n_kinds: species.
        backend: "cuda" or "cpu".
        lammps_forces: see `chain_function`.

    Attributes:
        bonds: the arrays, as kernels take them.
    """

    def __init__(self, n: int, n_kinds: int, backend: str, lammps_forces: bool) -> None:
        self._n, self._made_for, self._lammps_forces = n, (backend, n_kinds), lammps_forces
        self.bonds = Bonds(width=FIRST_WIDTH, count=ti.ndarray(ti.i32, n))
        self.bonds.donors = ti.ndarray(ti.i32, n)
        self.bonds.atom = ti.ndarray(ti.f64, len(ATOM) * n)
        self.bonds.terms = ti.ndarray(ti.f64, len(TERMS) * n)
        self.bonds.terms.fill(0.0)
        # Warps share an atom in some loops: a grid of one thread per atom would leave a GPU nearly empty.
        self._blocks = blocks_for(16 * n)
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

    def queue(self, everything: bool, real: Any, *args: Any) -> None:
        """Queue the kernel, for forces alone or with energies and virials, with its arguments."""
        run = bonded_kernel(*self._made_for, everything, self._lammps_forces, self._blocks)
        with literals(real), grid(self._blocks):
            run(*args)

    def memory(self) -> int:
        """Bytes on the device."""
        b = self.bonds
        return bytes_of(b.count, b.donors, b.partner, b.twin, b.half, b.atom, b.ends, b.terms)

    def _reserve(self) -> None:
        bonds = self.bonds
        rows = bonds.places = self._n * bonds.width
        size = rows * (8 + 8 * len(HALF) + 8 * ENDS * bonds.width)
        what = f"the bonds of {self._n} atoms, {bonds.width} each"
        # What grows does not need both.
        bonds.partner = bonds.twin = bonds.half = bonds.ends = None
        require(size, max(len(HALF), ENDS * bonds.width) * rows, what, FEWER)
        bonds.partner = array(ti.i32, rows, what, size, FEWER)
        bonds.twin = array(ti.i32, rows, what, size, FEWER)
        bonds.half = array(ti.f64, len(HALF) * rows, what, size, FEWER)
        bonds.ends = array(ti.f64, ENDS * rows * bonds.width, what, size, FEWER)
