"""A sum over triangles of atoms for one system: what the host queues to evaluate it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.enumerate.evaluator import Evaluator
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.enumerate.triangles import Limits, Placed, triangle_kernels
from taichimd.neighbours.near_list import NearList
from taichimd.system.state import State


class TriangleEvaluator(Evaluator):
    """Evaluates a sum over triangles for one system.

    Args:
        function: see `triangle_kernels`.
        nu: (kinds, kinds, kinds) strengths, in the order of the species.
        cutoff: that each side is below, angstrom; infinity for all triangles.
        product_cutoff: whose cube the product of the sides is below, angstrom.
        state: the atoms.
        near: the near list of this group alone.
        outputs: what the group leaves.
        backend: "cuda" or "cpu".
    """

    def __init__(
        self,
        function: Any,
        nu: NDArray[np.float64],
        cutoff: float,
        product_cutoff: float,
        state: State,
        near: tuple[NearList],
        outputs: tuple[Outputs],
        backend: str,
    ) -> None:
        self._state, self._near, self._outputs = state, near[0], outputs[0]
        self._made_for = function, state.real, backend, len(nu)
        self._nu = ti.ndarray(ti.f64, nu.size)
        self._nu.from_numpy(np.ascontiguousarray(nu, np.float64).reshape(-1))
        self._limits = Limits(cutoff**2, product_cutoff**6)
        self._placed = None
        if np.isinf(cutoff):
            self._placed = Placed(
                ti.ndarray(ti.types.vector(3, ti.f64), state.n), ti.ndarray(ti.i32, state.n)
            )

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`."""
        everything, near = triangle_kernels(*self._made_for, want != FORCE)
        if self._placed:
            call(everything, self._state, self._placed, self._nu, control, self._outputs, when)
        else:
            call(
                near,
                self._state,
                verlet,
                self._near.near,
                self._limits,
                self._nu,
                control,
                self._outputs,
                when,
            )
