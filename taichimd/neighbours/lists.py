"""All that a system's force loops read besides the atoms: Verlet list, near list, skins, control array."""

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.memory import FEWER, array, bytes_of, bytes_of_number, require
from taichimd.neighbours.box import Frame
from taichimd.neighbours.control import (
    BUILDS,
    BUILT,
    CLOSE,
    CUTS,
    DONE,
    LONGEST,
    OVERFULL,
    REBUILD,
    control_size,
)
from taichimd.neighbours.limits import limits, limits_size
from taichimd.neighbours.rows import row_width
from taichimd.neighbours.skins import Skins
from taichimd.neighbours.tuple_room import PairRows, TupleRoom
from taichimd.neighbours.verlet_list import VerletList
from taichimd.runtime import DEVICE_LOOPS, backend, ti
from taichimd.state import State

NO_NEAR_LIST = 200_000
"""Atoms from which pair forces on a large GPU read the Verlet list itself, which then serves until a pair is missing (`missed`).
LJ melt on an H100, microseconds a step with a near list and without: 43 and 53 for 32,000 atoms, 99 and 107 for 108,000,
143 and 147 for 171,500, 202 and 192 for 256,000."""

NEVER = 2**31 - 1
MOST_BUILDS = 63
"""On the device, before the host looks how long lists last."""


class Lists:
    """Lists of one system and their upkeep.

    Args:
        state: the atoms.
        cutoffs: (species, species) list cutoff of each pair, angstrom; not positive where nothing acts.
        near_cutoffs: the same of the near list, where it serves three-body terms alone; else `cutoffs`.
        many_body: whether there are three-body terms. bonds: whether they are bond orders.
        per_atom: numbers that their loops keep per atom; 0 if they keep partial forces per entry.
        all_pairs: no lists at all; only the lattice, for nearest images.
        unroll: steps per kernel call.
        skin: the user's outer skin, or None.
        pair_cutoffs: of the pair term alone.
        by_tuple: the terms of which lists of tuples are made.

    Attributes:
        verlet: the Verlet list. tuples: room for lists of pairs and triplets.
        near_list: whether force loops read a near list, cut from it, or the Verlet list itself.
        skins: present skins; every kernel call takes its limits from there.
        control: what kernels tell each other and the host (see `control`).
        expected: steps that a list lasts, by experience.
        age: steps since the last build.
        most_age: steps after which a loop on the device builds anew without need (`force_builds`), or `NEVER`.
    """

    def __init__(
        self,
        state: State,
        cutoffs: NDArray[np.float64],
        near_cutoffs: NDArray[np.float64],
        *,
        many_body: bool,
        bonds: bool,
        per_atom: int,
        all_pairs: bool,
        unroll: int,
        skin: float | None,
        pair_cutoffs: NDArray[np.float64],
        by_tuple: Any,
    ) -> None:
        self._state = state
        self._near_cutoffs = near_cutoffs
        self._many_body = many_body
        self._per_atom = per_atom
        self._all_pairs = all_pairs
        self._pair_cutoffs = pair_cutoffs
        on_cuda = backend() == "cuda"
        self.cutoff = max(float(cutoffs.max()), 1e-3)
        # A cut and a build each read about as many candidates. A skin of the user's is all of it.
        pairs_do = not on_cuda or state.n < NO_NEAR_LIST
        self.near_list = not all_pairs and (many_body or bool(by_tuple) or (pairs_do and skin is None))
        # Idle loops, and waiting for the host, cost much on a small system, and little on a large one.
        small = min(1.0, 50_000 / state.n) if on_cuda else 0.0
        idle = (0.5, 6.0) if DEVICE_LOOPS else (0.5 * (unroll - 1), 20.0)
        both = near_cutoffs is not cutoffs
        self.skins = Skins(
            self.cutoff, many_body, self.near_list, skin, small * idle[0], small * idle[1],
            both=both, warps=on_cuda, bonds=bonds and small < 1.0,
        )  # fmt: skip
        self.verlet = VerletList(state, long_rows=both)
        self.tuples = PairRows(state) if both and not by_tuple.pairs else TupleRoom(state, bool(by_tuple))
        self.control = ti.ndarray(ti.i32, control_size(unroll))
        self._outdated = True
        self.control.fill(0)
        self._seen = self.look()
        self.expected = 50.0
        self.age = 0
        self._pace = float(unroll)
        self._trust = 0
        self.most_age = NEVER
        self._learnt: float | None = None
        n = state.n
        self._limits2 = ti.ndarray(state.real, limits_size(len(cutoffs)))
        self._near_count = ti.ndarray(ti.i32, n if self.near_list else 1)
        self._pruned_at = ti.ndarray(state.vec, n if self.near_list else 1)
        self._places = ti.ndarray(ti.i64, 1)
        self._near_width = row_width(1)
        self._lattice = ti.ndarray(state.vec, 6)
        self._reserve()
        self._set_limits()

    @property
    def near2(self) -> float:
        """Square of the displacement that outdates the list of the force loops, angstrom^2."""
        return np.inf if self._all_pairs else self.skins.near**2

    @property
    def drift2(self) -> float:
        """Square of the displacement since the build beyond which no near list can be cut, angstrom^2."""
        return self.skins.drift**2

    @property
    def listed_at(self) -> Any:
        """Positions from which that displacement counts."""
        return self._pruned_at if self.near_list else self.verlet.built_at

    def sizes(self) -> tuple[int, int, int, int]:
        """n, width, near width and shift bits, as kernels take them."""
        verlet = self.verlet
        width = max(verlet.width, 1)
        return self._state.n, width, self._near_width if self.near_list else width, verlet.shift_bits

    def arrays(self, tables: list[Any]) -> tuple[Any, ...]:
        """The arrays that all force kernels take, in their order, with the parameter tables in place."""
        verlet = self.verlet
        near_count, near = (
            (self._near_count, self._near) if self.near_list else (verlet.count, verlet.entries)
        )
        places = self._state.n + self.shifts.shape[0] if self.near_list else 1
        if self._places.shape[0] != places:
            self._places = ti.ndarray(ti.i64, places)
        return (
            verlet.count, verlet.entries, self.shifts, self._limits2, self._places, verlet.built_at, near_count, near,
            self._reverse, self.listed_at, *tables, self._partial, self._zeta, self._live,
        )  # fmt: skip

    @property
    def shifts(self) -> Any:
        """Vectors of the images, or the lattice for nearest images."""
        return self._lattice if self._all_pairs else self.verlet.shifts

    def reaches(self) -> tuple[float, float, int, int]:
        """How far the list of the force loops and the Verlet list reach, angstrom; largest image along y and z."""
        built = self.cutoff + self.skins.outer
        near = self.cutoff + self.skins.inner if self.near_list else built
        return near, built, int(self.verlet.most_image[1]), int(self.verlet.most_image[2])

    def look(self) -> NDArray[np.int32]:
        """The control array as the device has left it; waits for the device."""
        self._seen = self.control.to_numpy()
        return self._seen

    def outdate(self) -> None:
        """Ask for a rebuild: the cell has changed, or an atom has jumped."""
        self._outdated = True

    @property
    def builds_allowed(self) -> int:
        """Builds that a loop on the device may do before the host looks: more, the less skins have to learn."""
        # Where atoms can leave the bins, the host lays them out anew.
        allowed = self._trust if self.most_age == NEVER else MOST_BUILDS
        return allowed if self.verlet.periodic else 0

    def force_builds(self, every: int | None) -> None:
        """From now on build anew after so many steps, without need, and learn nothing from that; for measurements.

        Meanwhile near lists have the skin that they begin with: a shorter one, which pays where builds are rare, would
        need a cut between two builds. None: as atoms ask for it, with what was learnt before.
        """
        if self._learnt is None:
            self._learnt = self.skins.inner
        self.skins.inner, self.most_age = self.skins.first_inner, every or NEVER
        if every is None:
            self.skins.inner, self._learnt = self._learnt, None
        self._set_limits()
        self.outdate()

    def due(self) -> bool:
        """Whether `renew` has anything to do."""
        return self._outdated or bool(self._seen[REBUILD])

    def renew(self, frame: Frame) -> bool:
        """Bring the lists up to date as far as the last `look` or `outdate` tells; whether anything was done.

        Does not wait for the device. A build whose rows or images did not fit leaves REBUILD set, which the
        next `look` will see and the next `renew` mend; meanwhile kernels do nothing.
        """
        if not self.due():
            return False
        seen = self._seen
        if self._all_pairs:
            self._set_lattice(frame)
        elif self.verlet.unfit(seen) and not self._outdated:
            self.verlet.grow(self._state, frame, self.control, seen)
        else:
            if seen[OVERFULL] and not self._outdated:
                self.tuples.grow()
            elif self.near_list and seen[LONGEST] > self._near_width:
                need = int(seen[LONGEST])
                self._near_width = row_width(need + need // 8)
                self._reserve()
            elif self.age and self.most_age == NEVER:
                self.expected = 0.5 * (self.expected + self.age)
                self._trust = min(2 * self._trust + 1, MOST_BUILDS)
                if self.skins.learn(self.age, int(seen[CUTS])):
                    self._set_limits()
                    self._trust = 0
            self.verlet.build(self._state, frame, self.cutoff + self.skins.outer, self.control)
        self.age = 0
        self._outdated = False
        seen[REBUILD] = seen[OVERFULL] = 0
        return True

    def atom_too_close(self) -> int:
        """User's number of the atom that made `renew` raise `StructureError`."""
        return int(self._seen[CLOSE])

    def batches(self, remaining: int) -> int:
        """Kernel calls before the host looks again: until the list will be outdated, by experience.

        A list that lasts longer than others did is asked now and then.
        """
        if DEVICE_LOOPS:
            return 1
        ahead = max(self.expected - self.age, 0.25 * self.expected, self._pace)
        return max(1, ceil(min(ahead, remaining, 200) / self._pace))

    def count(self, steps: int, calls: int) -> None:
        """Take note of the steps, and the builds, that some kernel calls have done."""
        self.age += steps
        if self._seen[BUILDS]:
            self.verlet.builds += int(self._seen[BUILDS])
            self.age = int(self._seen[DONE] - self._seen[BUILT])
        if steps:
            self._pace = max(0.5 * (self._pace + steps / calls), 1.0)

    def statistics(self) -> dict[str, Any]:
        """Figures for reports."""
        n, verlet = self._state.n, self.verlet
        counts = np.full(n, n - 1) if self._all_pairs else self.verlet.count.to_numpy()
        return {
            "rebuilds": self.verlet.builds,
            "neighbours_mean": float(counts.mean()),
            "neighbours_max": int(counts.max()),
            "cutoff_A": self.cutoff,
            "outer_skin_A": self.skins.outer,
            "inner_skin_A": self.skins.inner,
            "verlet_memory_bytes": bytes_of(verlet.count, verlet.entries, verlet.built_at),
            "near_memory_bytes": bytes_of(self._near_count, self._near, self._pruned_at, self._places),
            "partial_memory_bytes": bytes_of(self._reverse, self._partial, self._zeta, self._live),
            **self.tuples.statistics(),
        }

    def _reserve(self) -> None:
        """Near list and what is kept per entry; arguments of length one where no kernel reads them."""
        n, term = self._state.n, self._state.term
        rows = n * self._near_width if self.near_list else 1
        body_rows = rows if self._many_body and not self._per_atom else 1
        what = f"a near list of {n} atoms, {self._near_width} neighbours each, with what is kept of each"
        self._near = self._reverse = self._partial = self._zeta = None  # what grows does not need both
        size = 4 * rows + (4 + 4 * bytes_of_number(term)) * body_rows
        require(size, max(3 * body_rows, n * self._per_atom), what, FEWER)
        vec = ti.types.vector(3, term)
        kinds = (ti.i32, rows), (ti.i32, body_rows), (vec, body_rows), (term, n * self._per_atom or body_rows)
        self._near, self._reverse, self._partial, self._zeta = (
            array(dtype, numbers, what, size, FEWER) for dtype, numbers in kinds
        )
        self._live = ti.ndarray(ti.i32, self._state.n if self._many_body else 1)
        if self._all_pairs:
            self.verlet.entries = self._reverse

    def _set_limits(self) -> None:
        skins = self.skins
        values = limits(self._near_cutoffs, self._pair_cutoffs, skins.inner, skins.outer)
        self._limits2.from_numpy(values.astype(self._state.numpy_real))

    def _set_lattice(self, frame: Frame) -> None:
        lattice = np.vstack([frame.vectors, frame.inverse])
        lattice[:3][~frame.pbc] = 0.0
        self._lattice.from_numpy(lattice.astype(self._state.numpy_real))
