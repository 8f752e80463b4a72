"""All that a system's force loops read besides the atoms: Verlet list, near list, skins, control array."""

from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np

from taichimd.core.errors import CapacityError
from taichimd.core.host_copies import on_host
from taichimd.core.memory import bytes_of
from taichimd.core.runtime import ti
from taichimd.neighbours.control import Control, control_size
from taichimd.neighbours.near_list import NearList
from taichimd.neighbours.skins import Skins
from taichimd.neighbours.verlet_list import Frames, VerletList
from taichimd.system.frame import Frame
from taichimd.system.state import State

NEVER = 2**31 - 1
MAX_BUILDS = 63
"""On the device, before the host looks how long lists last."""


class Lists:
    """Lists of one system, or several, and their upkeep.

    Args:
        state: the atoms.
        groups: of terms: what their near lists are made of.
        cutoff: longest of all terms, angstrom.
        near_list: whether force loops read near lists, cut from the Verlet list, or the Verlet list itself.
        all_pairs: no lists at all; only the lattice, for nearest images.
        unroll: steps per kernel call.
        loops: whether steps are loops on the device.
        skins: to begin with.
        long_rows: whether rows of the Verlet list are much longer than those of near lists.
        pages: number of arrays that hold the rows of long lists (`neighbours.pages`).
        bits: of an entry that hold the number of an atom and the code of an image.

    Attributes:
        verlet: the Verlet list. near: the near list of each group, with what its terms keep.
        control: what kernels tell each other and the host (see `control`).
        expected: steps that a list lasts, by experience.
        bins_hold: whether no atom can leave the bins of the last build.
        age: steps since the last build.
        jumped: whether atoms or cells were set since then: how long the list lasts says nothing about how
            fast atoms drift, and skins do not learn from it.
        most_age: steps after which a loop on the device builds again without need (`force_builds`), or
            `NEVER`.
    """

    def __init__(
        self,
        state: State,
        groups: list[NearList],
        *,
        cutoff: float,
        near_list: bool,
        all_pairs: bool,
        unroll: int,
        loops: bool,
        skins: Skins,
        long_rows: bool,
        pages: int = 1,
        bits: int = 31,
    ) -> None:
        self._state, self.near, self.skins = state, groups, skins
        self._all_pairs = all_pairs
        self.cutoff, self.near_list, self._loops = cutoff, near_list, loops
        self.verlet = VerletList(state, long_rows, pages, bits)
        self.control = ti.ndarray(ti.i32, control_size(unroll))
        self._outdated = True
        self.control.fill(0)
        self._seen = self.look()
        self.bins_hold = False
        self.expected = 50.0
        self.made()
        self._pace, self._calls, self._builds = float(unroll), 0, 0
        self._trust = 0
        self.most_age = NEVER
        self._learnt: float | None = None
        self.listed_at = ti.ndarray(state.vec, state.n) if near_list else self.verlet.built_at
        if all_pairs:
            self.verlet.shifts = ti.ndarray(state.vec, 6)
            self.verlet.entries = ti.ndarray(ti.i32, 1)
        self._set_limits()

    @property
    def near2(self) -> float:
        """Square of the displacement that outdates the list of the force loops, angstrom^2."""
        return np.inf if self._all_pairs else self.skins.near**2

    @property
    def drift2(self) -> float:
        """Square of the displacement since the build beyond which no near list can be cut, angstrom^2."""
        return self.skins.drift**2

    def reaches(self) -> tuple[float, float, Any]:
        """Reach of the list of the force loops and of the Verlet list, angstrom; largest images."""
        built = self.cutoff + self.skins.outer
        near = self.cutoff + self.skins.inner if self.near_list else built
        return near, built, self.verlet.sort.most_image

    def look(self) -> Control:
        """The control array as the device has left it; waits for the device."""
        self._seen = Control(on_host(self.control))
        return self._seen

    def made(self, age: int = 0) -> None:
        """The lists were made so many steps ago, and nothing has jumped since: their end will teach."""
        self.age, self.jumped = age, False

    def outdate(self) -> None:
        """Ask for a rebuild: the cell has changed, or an atom has jumped."""
        self._outdated = self.jumped = True

    @property
    def builds_allowed(self) -> int:
        """Builds that a loop on the device may do before the host checks; more if skins are learnt."""
        return self._trust if self.most_age == NEVER else MAX_BUILDS

    @property
    def most_builds(self) -> int:
        """The same, with all builds that were done before."""
        return self._builds + self.builds_allowed

    def force_builds(self, every: int | None) -> None:
        """Rebuild lists every so many steps from now on, without learning skins; for measurements.

        Meanwhile near lists have the skin that they begin with: a shorter one, which pays where builds are
        rare, would need a cut between two builds. None: as atoms ask for it, with what was learnt before.
        """
        if self._learnt is None:
            self._learnt = self.skins.inner
        self.skins.inner, self.most_age = self.skins.first_inner, every or NEVER
        if every is None:
            self.skins.inner, self._learnt = self._learnt, None
        self._set_limits()
        self.outdate()

    def allow(self, move: float) -> None:
        """Skins that let every atom go so far, angstrom, from where it is when a list is made or cut."""
        if self.skins.near >= move * (1.0 + 1e-6):
            return
        self.skins.inner = 2.0 * move * (1.0 + 1e-3)
        between = 0.2 * self.cutoff if self.near_list else 0.0
        self.skins.outer = max(self.skins.outer, self.skins.inner + between)
        if not self.near_list:
            self.skins.inner = self.skins.outer
        self._set_limits()
        self.outdate()

    def due(self) -> bool:
        """Whether `renew` has anything to do."""
        return self._outdated or bool(self._seen.rebuild)

    def renew(self, frames: Frames) -> bool:
        """Bring the lists up to date as far as the last `look` or `outdate` tells; whether anything was done.

        Does not wait for the device. A build whose rows or images did not fit leaves `rebuild` set, which the
        next `look` will see and the next `renew` mend; meanwhile kernels do nothing.
        """
        if not self.due():
            return False
        while True:
            try:
                return self._renew(frames)
            except CapacityError:
                if self._all_pairs or not self.skins.shrink():
                    raise
                self._forget()

    def _forget(self) -> None:
        """Give rows back, and make all lists again with the skins as they are."""
        self.verlet.release()
        for near in self.near:
            near.release()
        self._set_limits()
        self.outdate()

    def _renew(self, frames: Frames) -> bool:
        seen = self._seen
        if self._all_pairs:
            self._set_lattice(frames[0])
        elif self.verlet.unfit(seen) and not self._outdated:
            self.verlet.grow(self._state, frames, self.control, seen)
        else:
            if self._outdated:
                seen.overfull[:] = 0
            grown = [near.grow(seen) for near in self.near]
            if not any(grown) and self.age and not self.jumped and self.most_age == NEVER:
                self.expected = 0.5 * (self.expected + self.age)
                self._trust = min(2 * self._trust + 1, MAX_BUILDS)
                if self.skins.learn(self.age, seen.cuts):
                    self._set_limits()
                    self._trust = 0
            self.verlet.build(self._state, frames, self.cutoff + self.skins.outer, self.control)
        if not self._all_pairs:
            self.bins_hold = all(frame.pbc.all() for frame in frames)
            for near in self.near:
                near.set_places(self.verlet.shifts.shape[0])
        self.made()
        self._outdated = False
        seen.rebuild = 0
        return True

    def atom_too_close(self) -> int:
        """User's number of the atom that made `renew` raise `StructureError`."""
        return self._seen.coincident

    def batches(self, remaining: int) -> int:
        """Kernel calls before the host looks again: until the list will be outdated, by experience.

        A list that lasts longer than others did is asked about after each quarter of its age.
        """
        if self._loops:
            return 1
        ahead = max(self.expected - self.age, 0.25 * max(self.expected, self.age), self._pace)
        return max(1, ceil(min(ahead, remaining, 200) / self._pace))

    def count(self, steps: int) -> None:
        """Take note of the steps, and the builds, that the last kernel calls have done."""
        self.age += steps
        builds, self._builds = self._seen.builds - self._builds, self._seen.builds
        if builds:
            self.verlet.builds += builds
            self.made(self._seen.done - self._seen.built_at)
        # Calls after a list's end have done nothing, and say nothing of the next ones.
        calls = (self._seen.calls - self._calls) % 2**32
        self._calls += calls
        if calls:
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
            **_added(near.statistics() for near in self.near),
            # Only where there are some: other records stay as they are.
            **({"beyond_tables": beyond} if (beyond := int(self.look().beyond)) else {}),
        }

    def _set_limits(self) -> None:
        for near in self.near:
            near.set_limits(self.skins)

    def _set_lattice(self, frame: Frame) -> None:
        lattice = np.vstack([frame.vectors, frame.inverse])
        lattice[:3][~frame.pbc] = 0.0
        self.verlet.shifts.from_numpy(lattice.astype(self._state.numpy_real))


def _added(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            total[name] = total.get(name, 0) + number
    return total
