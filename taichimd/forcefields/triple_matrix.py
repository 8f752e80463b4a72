"""All triples by products of matrices, for Axilrod-Teller in structures that are not periodic.

The slope of the energy to a squared distance a = r_ij^2 is a polynomial in b = r_ik^2 and c = r_jk^2
(`axilrod_teller`). Take matrices U_m = (r_ij^2)^(m - 5/2) with zero diagonals. Sums over k are products:

    A0 = U0 U0,  A1 = U1 U0 + U0 U1,  A2 = 3 U2 U0 + 2 U1 U1 + 3 U0 U2,  A3 = U3 U0 - U2 U1 - U1 U2 + U0 U3
    dE/da = 3/8 nu a^(-5/2) (5/2 A3/a - A2/2 - a A1/2 - a^2 A0/2)
    sum over k of u_ijk = 3/8 nu a^(-5/2) (a A2/3 + a^2 A1 - a^3 A0 - A3)

Six products of n x n matrices do it, 12 n^3 floating-point operations. The trace form, E = -nu/18 Tr T^3 with
a matrix T of 3n rows, needs 54 n^3. Entries beyond a cutoff are zero: then all three sides are below it.
Several species: products over the atoms k of one species at a time.

A GPU multiplies matrices faster than anything else. But the bits are those of the library.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import BackendError
from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.enumerate.triple_forces import gather_kernels
from taichimd.enumerate.triple_tiles import Placed
from taichimd.forcefields.triangles import TriangleEvaluator


def by_products(
    positions: Any, nu: NDArray[np.float64], kinds: NDArray[np.int32], cutoff: float = np.inf
) -> tuple[Any, Any]:
    """Energies (n,) and forces (n, 3) of atoms, eV and angstrom, in arrays of the library of the positions.

    Args:
        positions: (n, 3) float64, of NumPy or PyTorch.
        nu: (kinds, kinds, kinds) strengths, eV angstrom^9.
        kinds: (n,) number of the species.
        cutoff: that all three sides of a triple are below, angstrom.
    """
    n = len(kinds)
    d = [positions[None, :, axis] - positions[:, None, axis] for axis in range(3)]
    a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    beyond = a >= cutoff * cutoff
    a[range(n), range(n)] = 1.0
    u0 = a**-2.5
    u0[beyond] = 0.0
    u0[range(n), range(n)] = 0.0
    u1, a2 = u0 * a, a * a
    u2, u3 = u0 * a2, u1 * a2
    slope, energy = 0.0 * a, 0.0 * a
    for species in np.unique(kinds):
        of = np.flatnonzero(kinds == species)
        b0, b1, b2, b3 = (u[:, of] for u in (u0, u1, u2, u3))
        c0, c1 = u0[of], u1[of]
        s0, s1, s2, s3 = b0 @ c0, b1 @ c0, 3.0 * (b2 @ c0) + b1 @ c1, b3 @ c0 - b2 @ c1
        s1, s2, s3 = s1 + s1.T, s2 + s2.T, s3 + s3.T
        strength = _like(nu[:, :, species][np.ix_(kinds, kinds)], positions) if nu.size > 1 else nu.item()
        slope += strength * (2.5 * s3 / a - 0.5 * s2 - (0.5 * a) * s1 - (0.5 * a2) * s0)
        energy += strength * ((a / 3.0) * s2 + a2 * s1 - (a2 * a) * s0 - s3)
    u0 *= 0.375
    slope *= 2.0 * u0
    forces = 0.0 * positions
    for axis in range(3):
        forces[:, axis] = (slope * d[axis]).sum(1)
    return (energy * u0).sum(1) / 6.0, forces


def _like(values: NDArray[Any], other: Any) -> Any:
    """An array of the library, and on the device, of another one."""
    return values if isinstance(other, np.ndarray) else other.new_tensor(values)


class MatrixEvaluator(TriangleEvaluator):
    """Forces by products of matrices; energies and virials of atoms as `TriangleEvaluator` finds them.

    Raises:
        BackendError: on CUDA, PyTorch is not installed.
    """

    def __init__(self, function: Any, nu: NDArray[np.float64], cutoff: float, *rest: Any) -> None:
        super().__init__(function, nu, cutoff, *rest)
        self._strengths, self._cutoff = nu, cutoff
        _, self._real, self._backend, _ = self._made_for
        n = self._state.n
        if self._backend == "cpu":
            positions = np.zeros((n, 3))
        else:
            positions = _torch().zeros((n, 3), dtype=_torch().float64, device="cuda")
        self._positions = positions
        order = self._state.sorted_of.to_numpy()
        self._kinds = self._state.kind.to_numpy()[order]
        self._own = Placed(positions, ti.ndarray(ti.i32, n))

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`."""
        if want != FORCE:
            super().queue(call, verlet, control, when, want)
        place, _, take = gather_kernels(self._real, self._backend)
        call(place, self._state, self._own)
        if self._backend == "cpu":
            ti.sync()
        forces = by_products(self._positions, self._strengths, self._kinds, self._cutoff)[1]
        call(take, self._state, forces, control, self._outputs, when)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise BackendError(
            'enumeration="matrix" multiplies matrices by PyTorch on a GPU, which is not installed; '
            "pip install 'taichimd[matrix]', or use \"all-triples\""
        ) from error
    return torch
