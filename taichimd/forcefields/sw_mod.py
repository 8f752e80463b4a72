"""The modified Stillinger-Weber potential (LAMMPS's sw/mod): angles far from the preferred one do not count.

    phi3 = lambda epsilon C^2 delta^2 exp[...],   delta = cos theta - cos theta0
    C = 1 for |delta| < d1, 0 for |delta| > d2, 1/2 + 1/2 cos(pi (|delta| - d1)/(d2 - d1)) between

with the exponentials and pairs of `stillinger_weber`; d1 = 0.25 and d2 = 0.35. In MoS2 an angle S-Mo-S is
about 82 degrees or 180 degrees, and the term acts on the small one alone.

J.-W. Jiang, Nanotechnology 26, 315706 (2015), doi:10.1088/0957-4484/26/31/315706; LAMMPS manual, page
pair_style sw/mod. Forces are the gradient of this energy. LAMMPS's are not where |delta| is between d1 and
d2: they take 2 C delta for the derivative of C^2 delta^2.
"""

from pathlib import Path

from taichimd.core.math import cos, exp, sin
from taichimd.core.runtime import ti
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.sw import read_sw
from taichimd.forcefields.stillinger_weber import angle_rows, pair_term
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import TRIPLET, Term, about

COLUMNS = ("strength", "costheta0", "decay", "end", "other_decay", "other_end", "d1", "d2", "cutoff")
UNITS = {
    "strength": "eV", "costheta0": "1", "decay": "Å", "end": "Å", "other_decay": "Å", "other_end": "Å",
    "d1": "1", "d2": "1", "cutoff": "Å",
}  # fmt: skip
MAXDELCS = (0.25, 0.35)
"""d1 and d2, as in LAMMPS without its option maxdelcs."""
_PI = 3.141592653589793


@ti.func
def angle(r_ij, r_ik, cos_jik, p):
    """Energy of an angle and its derivatives to both sides and the cosine."""
    gap_ij, gap_ik = 1.0 / (r_ij - p.end), 1.0 / (r_ik - p.other_end)
    x_ij, x_ik = p.decay * gap_ij, p.other_decay * gap_ik
    delta = cos_jik - p.costheta0
    size = ti.abs(delta)
    x = ti.max(0.0, ti.min(1.0, (size - p.d1) / (p.d2 - p.d1)))
    c = 0.5 + 0.5 * cos(_PI * x)
    # dC/d|delta|, which is 0 at both ends.
    dc = -0.5 * _PI / (p.d2 - p.d1) * sin(_PI * x)
    weight = p.strength * exp(x_ij + x_ik)
    part = c * delta
    h = weight * part * part
    slope = 2.0 * weight * part * (c + size * dc)
    return h, -h * x_ij * gap_ij, -h * x_ik * gap_ik, slope


def StillingerWeberMod(  # noqa: N802 - reads as the force field it makes
    file: str | Path, maxdelcs: tuple[float, float] = MAXDELCS
) -> ForceField:
    """A modified Stillinger-Weber force field from a `.sw.mod` file, with the columns of a `.sw` file."""
    parsed = read_sw(library.find(file))
    sides = angle_rows(parsed)
    rows: dict[Key, Row] = {}
    for (i, j, k), row in sides.items():
        other = sides.get((i, k, j), row)
        rows[i, j, k] = {
            **{name: row[name] for name in ("strength", "costheta0", "decay", "end", "cutoff")},
            "other_decay": other["decay"],
            "other_end": other["end"],
            "d1": maxdelcs[0],
            "d2": maxdelcs[1],
        }
    term = Term(TRIPLET, angle, Table(3, COLUMNS, rows), units=UNITS, **about(parsed))
    return ForceField.of(parsed.path.name, pair_term(parsed), term)
