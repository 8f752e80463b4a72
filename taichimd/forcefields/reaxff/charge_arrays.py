"""What the arrays of a charge equilibration are made of, on the host."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.models import Model
from taichimd.forcefields.reaxff.softness import Soft
from taichimd.system.state import State

Values = NDArray[np.float64]


@dataclass(frozen=True)
class ChargeParameters:
    """What the charge equilibration takes of a parameter file."""

    chi: Values  # (kinds) electronegativity, eV
    eta: Values  # (kinds) hardness, doubled, eV
    inverse_gamma3: Values  # (kinds, kinds) gamma^-3 of the shielding, angstrom^3
    lower: float  # radius where the taper begins, angstrom
    cutoff: float  # radius where the taper ends, angstrom


def norms_of(kinds: NDArray[np.int32], chi: Values) -> tuple[float, float]:
    """Norms of -chi and of -1 over the atoms of a system."""
    counts = np.bincount(kinds, minlength=len(chi))
    # Kinds of other systems alone would change the order of the sum.
    there = counts > 0
    return sqrt(float((counts * chi * chi)[there].sum())), sqrt(float(len(kinds)))


def integers(values: Any) -> Any:
    """Whole numbers in i32, flat, on the device."""
    numbers = np.ascontiguousarray(values, np.int32).reshape(-1)
    made = ti.ndarray(ti.i32, len(numbers))
    made.from_numpy(numbers)
    return made


def soft_arrays(model: Model, state: State) -> Soft:
    """Arrays of ACKS2 without its rows."""
    n, references = state.n, [model.references(part.stop - part.start) for part in state.parts]
    both = ti.types.vector(2, ti.f64)
    return Soft(
        amplitude=model.softness,
        width=0,
        radii=on_device(model.radii),
        count=ti.ndarray(ti.i32, n),
        diagonal=ti.ndarray(ti.f64, n),
        size=ti.ndarray(ti.f64, n),
        reference=ti.ndarray(ti.f64, n),
        given=on_device(np.concatenate(references)),
        left=ti.ndarray(both, n),
        inner=ti.ndarray(both, n),
    )


def on_device(values: Any) -> Any:
    """Numbers in float64, flat, on the device."""
    numbers = np.ascontiguousarray(values, np.float64).reshape(-1)
    made = ti.ndarray(ti.f64, len(numbers))
    made.from_numpy(numbers)
    return made
