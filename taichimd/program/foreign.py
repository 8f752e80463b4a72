"""Forces on atoms that somebody else holds: local atoms, ghosts, and a foreign list of neighbours.

Another program, such as one that divides space among processors, gives the positions of its local atoms and
of ghosts. Ghosts are copies of atoms of others, or periodic images. It gives all neighbours of local atoms.
The energy is that of the local atoms. Forces are its derivatives to the positions of all atoms. Forces on
ghosts belong to the atoms that they are copies of.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.runtime import blocks_for, grid, literals, start, ti
from taichimd.enumerate.group import Group
from taichimd.enumerate.outputs import Outputs, outputs_for
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.neighbours.control import control_size
from taichimd.neighbours.near_list import GroupArrays, Kept
from taichimd.neighbours.rows import NearRows, VerletRows, body_layout, places_of, row_layout, row_width
from taichimd.neighbours.tuple_arrays import Tuples
from taichimd.program.evaluation import evaluation_kernels
from taichimd.program.results import Evaluation
from taichimd.program.variant import Reach, System, Variant
from taichimd.system.state import State

Ints = NDArray[np.int64]


class ForceProgram:
    """A force field for given species, which evaluates atoms without a cell, a list or a step of its own.

    Args:
        forcefield: any with neighbour lists; not one of passes or with charges.
        species: elements that may come.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32" or "mixed".

    Raises:
        SettingsError: a term of passes, charges, or the enumeration "all-pairs".
        MissingParameterError: species that the force field does not know.
    """

    def __init__(
        self,
        forcefield: ForceField,
        species: Sequence[str],
        *,
        backend: str = "auto",
        precision: str = "float64",
    ) -> None:
        self.species = sorted(set(species))
        self.backend, self.precision = start(backend), precision
        self._bounds = forcefield.bind(self.species)
        if any(bound.terms.queued for bound in self._bounds):
            raise SettingsError(
                f"{forcefield.name}: charges follow from all atoms together, not from local ones and ghosts; "
                "use a potential without charges"
            )
        if any(bound.terms.passes for bound in self._bounds):
            raise SettingsError(
                f"{forcefield.name}: a term of passes needs sums over the neighbours of ghosts, which nobody "
                "gives; use a potential of pairs, angles or bond orders"
            )
        if forcefield.enumeration == "all-pairs":
            raise SettingsError(f'{forcefield.name}: the enumeration "all-pairs" takes no neighbour list')
        self._groups = tuple(
            Group(bound.terms, number, foreign=True) for number, bound in enumerate(self._bounds)
        )

    def evaluate(
        self, symbols: Sequence[str], positions: Array, first: Ints, neighbours: Ints, *, want: str = "all"
    ) -> Evaluation:
        """Energies, forces and virials.

        Args:
            symbols: of the local atoms, then of the ghosts.
            positions: (n, 3) angstrom, in this order.
            first: (local + 1) where the neighbours of each local atom begin.
            neighbours: numbers of atoms, local or ghost, within the cutoff of each local atom, or farther;
                each pair of local atoms from both ends.
            want: "all", or "forces" alone: energies and virials are then 0.

        Returns:
            energies (n) and virials (n, 3, 3) of the local atoms, 0 of the ghosts; forces (n, 3) on all; no
            stress.

        Raises:
            StructureError: arrays that do not fit each other, or a number that is no atom.
        """
        positions, first, neighbours = np.asarray(positions, float), np.asarray(first), np.asarray(neighbours)
        n, local = len(symbols), len(first) - 1
        if positions.shape != (n, 3) or not np.isfinite(positions).all():
            raise StructureError(f"positions: expected {n} x 3 finite numbers, as there are {n} symbols")
        if local > n or first[-1] != len(neighbours) or (np.diff(first) < 0).any():
            raise StructureError("first does not describe the rows of neighbours; expected local + 1 numbers")
        if len(neighbours) and not (0 <= neighbours.min() and neighbours.max() < n):
            raise StructureError(f"neighbours: expected numbers of atoms from 0 to {n - 1}")
        kinds = np.array([self.species.index(symbol) for symbol in symbols], np.int32)
        state = State(kinds, np.ones(n), self.precision)
        state.pos.from_numpy(np.ascontiguousarray(positions, state.numpy_real))
        return self._evaluate(state, kinds, positions, (first, neighbours), want)

    def _evaluate(self, state: State, kinds: Any, x: Array, rows: tuple[Ints, Ints], want: str) -> Evaluation:
        n, (first, neighbours) = state.n, rows
        centres = np.repeat(np.arange(len(first) - 1), np.diff(first))
        r = np.linalg.norm(x[neighbours] - x[centres], axis=1)
        arrays = [
            _arrays(state, group, bound, kinds, centres, neighbours, r, self.backend)
            for group, bound in zip(self._groups, self._bounds, strict=True)
        ]
        for group in arrays:
            group.kept.centres = len(first) - 1
        control = ti.ndarray(ti.i32, control_size(1))
        control.fill(0)
        shifts, ints = ti.ndarray(state.vec, 2), ti.ndarray(ti.i32, n)
        shifts.fill(0.0)
        verlet = VerletRows(
            width=1, shift_bits=1, count=ints, entries=ints, shifts=shifts, built_at=state.pos
        )
        total = _empty(state)
        outputs = tuple(_empty(state) for _ in arrays) if len(arrays) > 1 else ()
        blocks = blocks_for(n)
        variant = Variant(self._groups, state.real, state.term, self.backend, blocks=blocks)
        kernels = evaluation_kernels(variant, ALL if want == "all" else FORCE)
        reach = Reach(most_step2=0.0, most_near2=0.0, most_drift2=0.0)
        system = System(state, verlet, state.pos, arrays, control, reach=reach)
        with literals(state.real), grid(blocks):
            kernels.evaluate(system, total, outputs, 0)
        energies = total.energy.to_numpy().astype(float)
        virials = total.virial.to_numpy().reshape(-1, 3, 3).astype(float)
        return Evaluation(
            float(energies.sum()), energies, state.force.to_numpy().astype(float), virials, None
        )


def _empty(state: State) -> Outputs:
    made = outputs_for(state)
    for array in (made.energy, made.force, made.virial):
        array.fill(0.0)
    return made


def _arrays(
    state: State, group: Group, bound: Bound, kinds: Any, i: Ints, j: Ints, r: Array, backend: str
) -> GroupArrays:
    """Rows of a group out of pairs (i, j) at distances r, i local; with three-body terms ghosts have some."""
    made = GroupArrays(near=NearRows(), kept=Kept(), tuples=Tuples(), own=())
    n, many_body = state.n, bound.terms.many_body
    layout = body_layout(backend) if many_body else row_layout(backend)
    within = r < bound.near_cutoffs[kinds[i], kinds[j]]
    a, b = i[within], j[within]
    if many_body:
        ghost = b >= (i.max(initial=-1) + 1)
        a, b = np.concatenate([a, b[ghost]]), np.concatenate([b, a[ghost]])
    made.near.width, made.near.count, made.near.entries, table = _rows(n, a, b, layout)
    fields = group.fields
    for name, values in (("pair_table", bound.pair_table), ("body_table", bound.body_table)):
        if name in fields["kept"]:
            setattr(made.kept, name, state.table(values))
    size = n * made.near.width
    kinds_of = {
        "partial": (ti.types.vector(3, state.term), size), "zeta": (state.term, size), "live": (ti.i32, n),
        "moments": (state.term, n * bound.terms.per_atom), "reverse": (ti.i32, size),
    }  # fmt: skip
    for name in fields["kept"] & kinds_of.keys():
        dtype, length = kinds_of[name]
        setattr(made.kept, name, ti.ndarray(dtype, max(length, 1)))
        getattr(made.kept, name).fill(0)
    if "reverse" in fields["kept"]:
        places = places_of(n, made.near.width, layout)
        where = {(p, int(q)): places[p, s] for p in range(n) for s, q in enumerate(table[p])}
        reverse = np.zeros(size, np.int32)
        for (p, q), place in where.items():
            reverse[place] = where[q, p]
        made.kept.reverse.from_numpy(reverse)
    made.near.limits2 = ti.ndarray(state.real, 1)
    made.near.places = ti.ndarray(ti.i64, 1)
    if group.pair_rows:
        within = r < bound.pair_cutoffs[kinds[i], kinds[j]]
        _, made.tuples.firsts, made.tuples.tuples, _ = _rows(n, i[within], j[within], row_layout(backend))
    return made


def _rows(n: int, i: Ints, j: Ints, layout: int) -> tuple[int, Any, Any, list[Ints]]:
    """Width, counts and entries of rows, each in the order of the numbers; and the rows themselves."""
    order = np.lexsort((j, i))
    i, j = i[order], j[order]
    count = np.bincount(i, minlength=n)
    width = row_width(max(int(count.max(initial=0)), 1))
    slots = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    entries = np.zeros(n * width, np.int32)
    entries[places_of(n, width, layout)[i, slots]] = j << 1
    counts, rows = ti.ndarray(ti.i32, n), ti.ndarray(ti.i32, n * width)
    counts.from_numpy(count.astype(np.int32))
    rows.from_numpy(entries)
    return width, counts, rows, np.split(j, np.cumsum(count)[:-1])
