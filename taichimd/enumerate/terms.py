"""What the kernels need of a force field: compiled functions and the names of their parameters.

Terms are hashable: kernels are made once per set of terms and precision, and every engine with the same
terms uses them, whatever its atoms or parameter values.
"""

import inspect
from dataclasses import dataclass, replace
from typing import Any

MOMENTS = 10
"""Sums over the neighbours of one kind that an angle needs: sum of w e_a e_b, of w e_a, and of w."""


@dataclass(frozen=True)
class Compiled:
    """What a term computes (see `Terms`), and the names of its parameters."""

    function: Any
    columns: tuple[str, ...]


@dataclass(frozen=True)
class BondOrder:
    """Functions of a sum over bonds of `bond(r_ij, w_ij, zeta_ij, p_ijj)`, w_ij = weight(r_ij, p_ijj).

    zeta_ij = sum over k of weight(r_ik, p_ijk) zeta(r_ij, r_ik, cos, p_ijk)
    """

    weight: Any  # `(r_ik, p) -> (w, dw/dr_ik)`; counts as zero from p.cutoff on
    zeta: Any  # `(r_ij, r_ik, cos, p) -> (z, dz/dr_ij, dz/dr_ik, dz/dcos)`
    bond: Any  # `(r_ij, w, dw/dr_ij, zeta, p) -> (u, du/dr_ij, du/dzeta)`


@dataclass(frozen=True)
class Coordination:
    """Functions of E_i = sum_j pair(r_ij, Z_i) + sum_{j<k} weight(r_ij) weight(r_ik) angle(cos, Z_i).

    Z_i = sum over j of coordinate(r_ij). Parameters are those of (i, j, j), of an angle those of (i, j, k).
    The functions are called for r < p.cutoff, at which all end.
    """

    coordinate: Any  # `(r, p) -> (f, df/dr)`
    pair: Any  # `(r, Z, p) -> (u, du/dr, du/dZ)`
    weight: Any  # `(r, p) -> (w, dw/dr)`
    of_coordination: Any  # `(Z, p) -> vector`, numbers that `angle` needs of Z
    angle: Any  # `(cos, vector, p) -> (h, dh/dcos, dh/dZ)`


@dataclass(frozen=True)
class Pass:
    """One loop over atoms of a term of passes."""

    # `NEIGHBOUR_SUM`: function(r, p, mine, theirs), summed over neighbours; `EACH_ATOM`: function(mine) or
    # function(mine, p), an energy and then numbers; `PAIR_FORCES`: function(r, p, mine, theirs), giving u,
    # dU_i/dr and dU_j/dr
    kind: str
    function: Any  # compiled. mine and theirs have the numbers of an atom as attributes.
    writes: tuple[str, ...] = ()  # names of the numbers that it leaves with each atom
    each_step: bool = False  # whether it is done once in each step, not whenever forces are evaluated


@dataclass(frozen=True)
class LookUp(Pass):
    """A pass over atoms that looks up numbers in curves; atoms beyond the last point are counted."""

    within: tuple[tuple[str, str], ...] = ()  # number and curve of each


NEIGHBOUR_SUM, EACH_ATOM, PAIR_FORCES = "neighbour sum", "each atom", "pair forces"


def takes_row(function: Any) -> bool:
    """Whether a function of `EACH_ATOM` also takes the parameters of the atom's element."""
    return callable(function) and len(inspect.signature(function).parameters) > 1


@dataclass(frozen=True)
class Passes:
    """Loops over atoms, one after the other, and the numbers that they keep with each atom."""

    passes: tuple[Pass, ...]  # in their order
    arrays: tuple[str, ...]  # names of the numbers
    state: tuple[str, ...] = ()  # those that belong to the atom from step to step
    # whether they are a sum over neighbours, an energy of it, and energies of pairs, and the sum and the
    # energies of pairs know distances and parameters alone. Then the move of an atom changes what belongs to
    # it and its neighbours.
    local: bool = False


@dataclass(frozen=True)
class TripletFunction:
    """An energy of a triple, u = strength * factor(a) * f(a, b, c), and its slope du/da.

    The squared sides are a = r_ij^2, b = r_ik^2, c = r_jk^2.
    """

    pair: Any  # `(r2) -> w`, what is computed once for each pair
    constants: Any  # `(a) -> vector`, what is computed once for each pair (i, j), of `width` numbers
    width: int
    energy: Any  # `(constants, a, b, c, w_b, w_c) -> f`
    slope: Any  # likewise, for du/da
    energy_factor: Any  # `(a, w_a) -> factor` of the energy
    slope_factor: Any  # `(a, w_a) -> factor` of the slope
    whole: Any  # `(a, b, c) -> u / strength`, of a triple for itself
    degree: int = 0  # see `Evaluator`


@dataclass(frozen=True)
class Triples:
    """A sum over triples of atoms whose sides are short enough, for what asks how it changes with one atom.

    Attributes:
        function: `(d_ij, d_ik, a, b, c, strength) -> (u, f_i)` of the squared sides a = r_ij^2, b = r_ik^2,
            c = r_jk^2.
        strengths: (kinds, kinds, kinds).
        cutoff: that each side is below, angstrom. product_cutoff: whose cube their product is below.
        whole: the energy as a `TripletFunction`, where all triples count.
    """

    function: Any
    strengths: Any
    cutoff: float
    product_cutoff: float
    whole: Any


@dataclass(frozen=True)
class ByTuple:
    """Terms done by tuple decomposition: lists of tuples, a thread for each. The others by particle."""

    pairs: bool = False
    bodies: bool = False

    def __bool__(self) -> bool:
        return self.pairs or self.bodies


@dataclass(frozen=True)
class Terms:
    """The terms of one force field on a number of species.

    Parameters p of a pair, a bond order and passes have the cutoff (angstrom) among them.
    """

    pair: Compiled | None  # `(r2, p) -> (u, u'/r)`
    # `(r_ij, r_ik, cos, p) -> (h, dh/dr_ij, dh/dr_ik, dh/dcos)`, p of the kinds (i, j, k)
    triplet: Compiled | None
    bond_order: Compiled | None  # a `BondOrder`
    n_kinds: int
    # p.strength w_ij w_ik (cos - p.costheta0)^2 of a centre i and two neighbours j, k, p of their kinds,
    # p.strength in eV. The function is the weight `(r_ij, q) -> (w_ij, dw_ij/dr_ij)`, q of the kinds (i, j,
    # j), called for r_ij < q.range (angstrom).
    angle: Compiled | None = None
    coordination: Compiled | None = None  # a `Coordination`
    # the three-body term ends so much before the pair term that each has a list of its own
    short_body: bool = False
    passes: Compiled | None = None  # `Passes`
    queued: bool = False  # forces are found by kernels that the host queues before those of a step

    @property
    def separate(self) -> tuple["Terms", "Terms"]:
        """The pair term without the three-body term, and the other way round."""
        no_body = replace(
            self, triplet=None, bond_order=None, angle=None, coordination=None, short_body=False
        )
        return no_body, replace(self, pair=None, short_body=False)

    @property
    def one_species(self) -> bool:
        """Kernels for one species read its parameters once instead of once per tuple."""
        return self.n_kinds == 1

    @property
    def body(self) -> Compiled | None:
        """The three-body term."""
        return self.triplet or self.bond_order or self.angle or self.coordination

    @property
    def many_body(self) -> bool:
        """Whether there are three-body terms."""
        return self.body is not None

    @property
    def per_atom(self) -> int:
        """Numbers that force loops leave with each atom; 0 where they leave partial forces with entries."""
        return MOMENTS * self.n_kinds if self.angle else 0
