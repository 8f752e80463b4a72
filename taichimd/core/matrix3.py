"""3x3 matrices on the host, added up in the order that is written here.

NumPy hands `@`, `inv`, `det` and `solve` to BLAS and LAPACK, whose last bits depend on the processor: a cell
that relaxes would have another path on another machine.
"""

import numpy as np

from taichimd.core.arrays import Array


def product(a: Array, b: Array) -> Array:
    """Product of two (3, 3) matrices."""
    return a[:, :1] * b[:1] + a[:, 1:2] * b[1:2] + a[:, 2:] * b[2:]


def adjugate(a: Array) -> Array:
    """(3, 3), a's inverse times its determinant: its columns are the cross products of a's rows."""
    return np.stack([np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])], axis=1)


def determinant(a: Array) -> float:
    """Determinant of a (3, 3) matrix."""
    # As numbers of Python: a table asks for it in each row, and NumPy takes twenty times as long.
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = np.asarray(a, float).tolist()
    return float(ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx))


def inverse(a: Array) -> Array:
    """Inverse of a (3, 3) matrix that has an inverse."""
    return adjugate(a) / determinant(a)


def projector(a: Array) -> Array:
    """(3, 3), on the direction of a vector (3,)."""
    x, y, z = a * a
    return np.asarray(a[:, None] * a / (x + y + z))


def volume_of(cell: Array) -> float | None:
    """Volume of a cell (3, 3), or None if its vectors span none.

    ASE's `cell.rank` counts vectors that are not zero and so takes three coplanar ones for full rank; the
    determinant, compared with the box of the same edge lengths, does not.
    """
    volume = abs(determinant(cell))
    return volume if volume > 1e-12 * float(np.prod(np.linalg.norm(cell, axis=1))) else None
