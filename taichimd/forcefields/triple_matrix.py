"""All triples by products of matrices as a term of a system: NumPy's on a CPU, PyTorch's on CUDA.

A GPU multiplies matrices faster than anything else. But the bits are those of the library.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import BackendError, EvaluationError
from taichimd.core.runtime import ti
from taichimd.enumerate.evaluator import ENERGY, REST, Evaluator
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.enumerate.triple_forces import place_kernel, take_kernel
from taichimd.enumerate.triple_tiles import Placed
from taichimd.forcefields.triple_products import Products
from taichimd.neighbours.near_list import NearList
from taichimd.system.state import State

DEGREE = -9
"""Positions s r have s^-9 times the energy of positions r."""
SILENT = partial(np.errstate, divide="ignore", invalid="ignore", over="ignore")
"""Atoms on top of each other are told by whoever sees what was found."""


class MatrixEvaluator(Evaluator):
    """As `TriangleEvaluator`, of all triples of one system by `Products`; on CUDA it needs PyTorch."""

    energy_costs_less = True

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
        self._state, self._outputs, self._backend = state, outputs[0], backend
        kinds = state.kind.to_numpy()[state.sorted_of.to_numpy()]
        self._given = nu, kinds, cutoff
        self._energy: float | None = None
        self.degree = DEGREE if np.isinf(cutoff) else 0
        self._placed = Placed(in_library(np.zeros((state.n, 3)), backend), ti.ndarray(ti.i32, state.n))

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`."""
        real = self._state.real
        call(place_kernel(real), self._state, self._placed)
        if self._backend == "cpu":
            ti.sync()
        with SILENT():
            products = Products(self._placed.pos, *self._given)
            if want in (ENERGY, REST):
                if want == ENERGY or not self.degree:
                    self._energy = products.energy()
                self._outputs.energy.fill(0)
                return
            found = products.forces() if want == FORCE else products.everything()
        take = take_kernel(real, want != FORCE)
        call(take, self._state, found.reshape(-1), control, self._outputs, when)

    def energies(self) -> list[float | None]:
        """See `Evaluator`."""
        found = self._energy
        return [found if found is not None and np.isfinite(found) else None]


def energy_by_products(
    positions: NDArray[np.float64], nu: NDArray[np.float64], kinds: NDArray[np.int32], backend: str
) -> float:
    """Energy of all triples, eV; an EvaluationError if atoms are on top of each other."""
    with SILENT():
        found = Products(in_library(positions, backend), nu, kinds).energy()
    if not np.isfinite(found):
        raise EvaluationError(
            "the energy of all triples is not finite: atoms have the same position; check the positions"
        )
    return found


def in_library(positions: NDArray[np.float64], backend: str) -> Any:
    """A copy of positions for the library that multiplies matrices on the backend."""
    return positions.copy() if backend == "cpu" else _torch().as_tensor(positions, device="cuda")


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise BackendError(
            'enumeration="matrix" multiplies matrices by PyTorch on a GPU, which is not installed; '
            "in the checkout: pip install '.[matrix]', or use \"all-triples\""
        ) from error
    return torch
