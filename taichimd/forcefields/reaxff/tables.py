"""Parameters of ReaxFF as kernels read them: flat arrays with named columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.arrays import Columns, Tables
from taichimd.forcefields.reaxff.columns import GENERAL
from taichimd.forcefields.reaxff.parameters import ANGLE, ATOM, HYDROGEN, PAIR, TORSION, Parameters

MORE = ("reach",)
"""Number of a pair besides those of the file: distance up to which the pair can be bonded, angstrom."""
N_ATOM, N_PAIR = len(ATOM), len(PAIR) + len(MORE)
OfAtom = Columns({name: k for k, name in enumerate(ATOM)})
OfPair = Columns({name: k for k, name in enumerate((*PAIR, *MORE))})
OfAngle, OfTorsion, OfHydrogen = (
    Columns({"columns": len(names)} | {name: k for k, name in enumerate(names)})
    for names in (ANGLE, TORSION, HYDROGEN)
)
OF_ALL = (
    *(name for name in GENERAL if not name.startswith("unused") and name not in {"cutoff", "triple"}),
    "bo_cut",
)
G = Columns({name: k for k, name in enumerate(OF_ALL)})
LONGEST_BOND = 5.0
"""angstrom, of all published codes of this force field."""


def device_tables(parameters: Parameters, real: Any) -> Tables:
    """The arrays of `Tables`, on the device."""
    pair = np.concatenate([parameters.pair, bond_reaches(parameters)[..., None]], axis=2)
    rows = (parameters.angle_first, parameters.torsion_row, parameters.hydrogen_row)
    made = {
        "general": np.array([parameters.general[name] for name in OF_ALL]),
        "atom": parameters.atom,
        "pair": pair,
        "angle": parameters.angle,
        "torsion": parameters.torsion,
        "hydrogen": parameters.hydrogen,
    }
    arrays = {name: _array(values, real) for name, values in made.items()}
    return Tables(**arrays, rows=_array(np.concatenate([np.ravel(r) for r in rows]), ti.i32))


def _array(values: NDArray[Any], dtype: Any) -> Any:
    flat = np.ravel(values)
    made = ti.ndarray(dtype, max(len(flat), 1))
    made.fill(0)
    if len(flat):
        made.from_numpy(np.ascontiguousarray(flat, np.int32 if dtype == ti.i32 else np.float64))
    return made


def bond_reaches(parameters: Parameters) -> NDArray[np.float64]:
    """(kinds, kinds) distance beyond which a pair has no bond, angstrom: BO' < bo_cut from there to 5."""
    r = np.linspace(LONGEST_BOND, 0.005, 1000)
    p = {name: parameters.pair[..., k] for k, name in enumerate(PAIR)}
    cut = parameters.general["bo_cut"]
    total = np.zeros((*p["r_pi"].shape, len(r)))
    for radius, factor, power, scale in (
        ("r_sigma", "p_bo1", "p_bo2", 1.0 + cut),
        ("r_pi", "p_bo3", "p_bo4", 1.0),
        ("r_pipi", "p_bo5", "p_bo6", 1.0),
    ):
        r0 = p[radius][..., None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            z = np.exp(p[factor][..., None] * (r / np.where(r0 > 0, r0, 1.0)) ** p[power][..., None])
        total += np.where(r0 > 0, scale * z, 0.0)
    bonded = ~(total < 0.5 * cut)
    longest = np.where(bonded.any(axis=2), r[np.argmax(bonded, axis=2)] + 0.005, 0.0)
    return np.asarray(np.minimum(longest, LONGEST_BOND))
