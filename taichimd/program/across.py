"""Vectors of the heat that flows from one set of atoms to another one, three numbers for each atom.

    Q_AB = sum over A of g_i.v_i - sum over B of g_j.v_j,
    g_i = sum over j in B of dU_j/dr_ji,   g_j = sum over i in A of dU_i/dr_ij

If A and B are all atoms, Q_AB is -dE_A/dt, where E_A is the potential and kinetic energy of the atoms in A:
Z. Fan et al., Phys. Rev. B 92, 094301 (2015). Kernels run after an evaluation (`enumerate.across`).
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Number, kernel
from taichimd.core.errors import PropertyError
from taichimd.core.runtime import ti
from taichimd.enumerate.across import across_functions
from taichimd.enumerate.near_sides import Limits
from taichimd.enumerate.reproducible_sum import empty_sums, total_of
from taichimd.enumerate.terms import Triples
from taichimd.program.compiled import compiled_groups, only, step_view
from taichimd.program.system import System
from taichimd.program.systems import Systems
from taichimd.program.variant import Variant

SIDE = ArrayField("i32", "n", "by the user's number: 1 in A, -1 in B, else 0")
WORK = ArrayField("f64", "3n", "by the user's number: g_i in A, -g_j in B, else 0; eV/angstrom")
NU = ArrayField("f64", "kinds^3", "strengths of triples, or one number")


class Between:
    """The heat flow from one set of atoms of a system to another one.

    Args:
        system: alone or of a batch.
        first, second: A and B, numbers of its atoms.

    Raises:
        PropertyError: a force field without heat current, or without neighbour lists.

    Attributes:
        first: where the atoms of the system begin in `work`. work: WORK of all systems, of the last `update`.
    """

    def __init__(self, system: System, first: NDArray[Any], second: NDArray[Any]) -> None:
        systems, part = system.systems, system.systems.state.parts[system.number]
        check_across(systems)
        own = next((one for one in systems.across if not one.taken[system.number]), None)
        if own is None:
            own = _Across(systems)
            systems.across.append(own)
        side = np.zeros(part.stop - part.start, np.int32)
        side[first], side[second] = 1, -1
        own.add(system.number, part, side)
        self._systems, self._own, self.first = systems, own, int(part.start)
        self.work = own.work

    def update(self) -> None:
        """Queue the kernels for the present positions, which have been evaluated."""
        self._systems.seen(f"across {self._systems.across.index(self._own)}", self._own.queue)


def check_across(systems: Systems) -> None:
    """Raise a PropertyError if a force field knows no heat flow between sets of atoms."""
    forcefield = systems.forcefield
    forcefield.check_heat_current()
    endless = [term.name for term in forcefield.terms if np.isinf(term.cutoff)]
    if endless or forcefield.enumeration == "all-pairs":
        name = endless[0] if endless else forcefield.name
        raise PropertyError(
            f"{name} is evaluated without neighbour lists, from which the heat flow through an interface "
            "follows; give it a cutoff and the enumeration neighbours"
        )


class _Across:
    """One interface in each of several systems."""

    def __init__(self, systems: Systems) -> None:
        self._systems, n = systems, systems.state.n
        self.taken = [False] * systems.n_systems
        self._sides = np.zeros(n, np.int32)
        self._side, self.work = ti.ndarray(ti.i32, n), ti.ndarray(ti.f64, 3 * n)
        self._triples = _triples_of(systems)

    def add(self, number: int, part: slice, side: NDArray[np.int32]) -> None:
        """Take the interface of a system."""
        self.taken[number], self._sides[part] = True, side
        self._side.from_numpy(self._sides)

    def queue(self) -> None:
        """Queue the kernels."""
        device = self._systems.device
        variant = device.variant.outside_steps
        for k in range(len(variant.groups)):
            triples, nu, limits = self._triples.get(k, (None, self.work, Limits(0.0, 0.0)))
            add = across_kernel(variant, k, None if triples is None else triples.function)
            device.call(add, device.system(), self._side, self.work, nu, limits, int(k == 0))


def _triples_of(systems: Systems) -> dict[int, tuple[Triples, Any, Limits]]:
    """Sums over triples, by the numbers of their groups, with their strengths and limits."""
    found: dict[int, tuple[Triples, Any, Limits]] = {}
    if not any(group.terms.queued for group in systems.device.groups):
        return found
    for k, bound in enumerate(systems.forcefield.bind(sorted(set().union(*systems.symbols)))):
        if bound.triples is not None:
            one = bound.triples
            nu = ti.ndarray(ti.f64, one.strengths.size)
            nu.from_numpy(np.ascontiguousarray(one.strengths, np.float64).reshape(-1))
            found[k] = one, nu, Limits(one.cutoff**2, one.product_cutoff**6)
    return found


@cache
def across_kernel(variant: Variant, k: int, triple: Any) -> Any:
    """Kernel `(system, side, work, nu, limits, begins)`: adds what group k does across the interface."""
    group, views = variant.groups[k], compiled_groups(variant).views
    its = tuple(one.arguments for one in variant.groups)
    adders = across_functions(group, variant.real, variant.term, variant.backend, triple)

    @kernel(
        variant.types, system=variant.system(groups=only(k, its), bath=None, cells=None), side=SIDE,
        work=WORK, nu=NU, limits=Limits, begins=Number("i32", "1 if `work` begins here"),
    )  # fmt: skip
    def add(system, side, work, nu, limits, begins):
        s = step_view(system, views(system, system.atoms.n))
        for i in range(s.n):
            own = s.atoms.ident[i]
            me = side[own]
            sums = empty_sums(3)
            if me != 0:
                for a in ti.static(range(len(adders))):
                    adders[a](i, me, s.groups[k], side, nu, limits, sums)
            for c in ti.static(range(3)):
                found = ti.cast(me, ti.f64) * total_of(sums[c], sums[3 + c])
                if begins == 1:
                    work[3 * own + c] = found
                else:
                    work[3 * own + c] += found

    return add
