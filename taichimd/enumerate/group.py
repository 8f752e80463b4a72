"""A group of terms whose loops are compiled together: at most one pair term and one three-body term."""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Selection, View, device_helper
from taichimd.core.runtime import DeviceFunction
from taichimd.enumerate.terms import ByTuple, Terms
from taichimd.neighbours.near_list import GroupArrays, Kept
from taichimd.neighbours.pages import in_pages
from taichimd.neighbours.rows import NearRows, Rows
from taichimd.neighbours.tuple_arrays import Tuples

PARTICLE = ByTuple()
"""No term by tuple."""
VALUES = 3
"""Numbers that a pair of passes leaves with each of its members: dU_i/dr + dU_j/dr, dU_j/dr, the energy."""


@dataclass(frozen=True)
class TermGroup:
    """What of a group of terms kernels are compiled for."""

    terms: Terms  # the tuple functions
    number: int = 0  # of the group in its force field
    # those done by tuple decomposition: a thread for each tuple of a list, then sums per atom
    by_tuple: ByTuple = PARTICLE
    threads_per_atom: int = 1  # threads that share an atom of a pair term
    all_pairs: bool = False  # visit all pairs instead of neighbours
    near_list: bool = True  # whether force loops read a near list or the Verlet list itself
    pages: int = 1  # number of arrays that hold the rows of long lists (`neighbours.pages`)

    @property
    def values_of_member(self) -> int:
        """Numbers that a pair by tuple decomposition leaves with each of its members, at most."""
        return VALUES if self.terms.passes else 1

    @property
    def values_of_triplet(self) -> int:
        """Numbers that a triplet by tuple decomposition leaves."""
        return 2 if self.terms.coordination else 1

    @property
    def in_moments(self) -> bool:
        """Whether angle terms are sums over neighbours instead of loops over pairs of them."""
        return self.terms.angle is not None and not self.by_tuple.bodies

    @property
    def pairs_after_bodies(self) -> bool:
        """Whether pair and three-body terms have own loops: a short three-body term reads a near list."""
        return self.terms.short_body or (self.by_tuple.pairs and self.terms.many_body)

    @property
    def pair_rows(self) -> bool:
        """Whether the pair term has a near list of its own beside that of the three-body term."""
        return self.pairs_after_bodies and not self.by_tuple.pairs

    @property
    def reads_neighbour_positions(self) -> bool:
        """Whether the loop that gathers forces reads positions of neighbours: it must not move atoms then."""
        return self.in_moments or self.pairs_after_bodies

    @property
    def lanes_share_moments(self) -> bool:
        """Whether threads share an atom in sums of moments, where nothing but the force is wanted."""
        return self.in_moments and not self.pairs_after_bodies and self.threads_per_atom > 1

    @property
    def lanes_find_force(self) -> bool:
        """Whether threads that share an atom find its whole force together."""
        others = self.terms.many_body or self.terms.passes or self.by_tuple.pairs
        return self.threads_per_atom > 1 and not others

    @property
    def fields(self) -> dict[str, frozenset[str]]:
        """What its kernels take of each table of `GroupArrays`."""
        terms, kept = self.terms, set()
        if terms.pair or terms.passes:
            kept |= {"pair_table"}
        if terms.many_body:
            kept |= {"body_table", "live"} | ({"moments"} if self.in_moments else {"partial", "reverse"})
        if terms.bond_order:
            kept |= {"zeta", "waiting"}
        if terms.coordination and self.by_tuple.bodies:
            kept |= {"zeta"}
        tuples = {"firsts", "tuples"} if self.by_tuple or self.pair_rows else set()
        if self.by_tuple:
            tuples |= {"values", "slopes"}
        near = NearRows.fields if self.near_list else ()
        return {"near": frozenset(near), "kept": frozenset(kept), "tuples": frozenset(tuples)}

    @property
    def arguments(self) -> Selection:
        """The same, as a kernel declares it."""
        fields = self.fields
        parts: dict[str, Any] = {
            name: GroupArrays.fields[name].only(*names) for name, names in fields.items() if names
        }
        if self.pair_rows:
            parts["tuples"] = in_pages(Tuples, tuple(fields["tuples"]), "tuples", self.pages)
        if self.pages > 1 and "partial" in fields["kept"]:
            own = {"partial": (ArrayField("term", "n width", "a component of dU_i/dr_ij, eV/angstrom"),) * 3}
            parts["kept"] = Kept.only(*fields["kept"], **own)
        if self.terms.passes:
            own = GroupArrays.fields["own"]
            parts["own"] = tuple(own for _ in self.terms.passes.function.arrays)
        return GroupArrays.only(**parts)


@dataclass(frozen=True)
class GroupFunctions:
    """Device functions of a group, as kernels of steps and evaluations call them."""

    cut: DeviceFunction  # makes near lists that are fit for the positions
    unfit: DeviceFunction  # whether they have too little room
    cutters: int  # threads of an atom in `cut`
    all_stages: DeviceFunction  # forces of all atoms, and what is wanted besides
    # of lists alone, as all that follow: forces of pairs; partial forces of three-body terms
    first_stage: DeviceFunction | None = None
    in_lanes: DeviceFunction | None = None  # forces of pairs where several threads share an atom
    # after the first pass, force and virial of an atom, and energy of pairs that are added then
    gathered: DeviceFunction | None = None
    # of pairs alone, the force that the threads of an atom find together
    force_of: DeviceFunction | None = None
    gathered_together: DeviceFunction | None = None  # likewise, after the first pass, of moments
    pairs_beforehand: bool = False  # whether, before `gathered`, `in_lanes` does the pairs


class GroupView(View):
    """Lists and arrays of a group with the atoms, as device functions take them.

    Attributes:
        n: number of atoms. ident: the user's numbers. verlet, near: `Rows`. kept, tuples, own: see there.
        places_end: number of packed positions, of atoms and images. cut_end: threads of a cut.
        pairs_end: threads of pair forces. stepping: whether the forces are those of a step.
    """

    verlet: Any
    near: Any

    def at(self, pos: Any) -> Any:
        """The same with other positions."""
        return GroupView(**{**vars(self), "verlet": self.verlet.at(pos), "near": self.near.at(pos)})


@device_helper
def view(n: Any, system: Any, group: Any, ends: Any, stepping: Any = 1) -> GroupView:
    """A group's arrays on the device, when a kernel is compiled; `ends`: three numbers of `GroupView`."""
    atoms, verlet = system.atoms, system.verlet
    rows = Rows(atoms.pos, atoms.kind, verlet.count, verlet.entries, verlet.shifts, verlet.built_at)
    rows.width, rows.shift_bits = verlet.width, verlet.shift_bits
    near = rows
    if group.near is not None:
        near = rows.at(atoms.pos)
        near.made_at = system.listed_at
        for name in NearRows.fields:
            setattr(near, name, getattr(group.near, name))
    places_end, cut_end, pairs_end = ends
    return GroupView(
        n=n, ident=atoms.ident, verlet=rows, near=near, kept=group.kept, tuples=group.tuples,
        places_end=places_end, cut_end=cut_end, pairs_end=pairs_end, own=group.own, stepping=stepping,
    )  # fmt: skip
