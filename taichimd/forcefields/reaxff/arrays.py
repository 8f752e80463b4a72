"""The arrays of ReaxFF's bonded terms, and how a number in them is found.

A bond stands in the rows of both of its atoms, as two half-bonds that know each other (`twin`). A half-bond
(j, s) belongs to atom j: its thread alone writes to it. What a term gives to an atom or bond that is not its
own it leaves with a half-bond of its own, and a later loop adds it up: no atomics, and one order of all sums.

Numbers of half-bonds stand in one array, column by column (`HALF`), those of atoms in another (`ATOM`): both
runtimes pay for each array that a kernel takes.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import ti
from taichimd.neighbours.rows import ATOM_MAJOR, body_layout, slot

HALF = (
    "DX", "DY", "DZ", "R", "RAW", "RAW_P", "RAW_PP", "SLOPE", "SLOPE_P", "SLOPE_PP", "BO", "BO_S", "BO_P",
    "BO_PP", "CB", "CP", "CPP", "CT_CENTRE", "CT_END", "SBO", "OUTER_X", "OUTER_Y", "OUTER_Z", "COUNTER_X",
    "COUNTER_Y", "COUNTER_Z", "H", "PI_SLOPE", "CD_PART", "E_ANGLE", "E_PENALTY", "E_COALITION", "E_TORSION",
    "E_CONJUGATION", "E_HYDROGEN",
)  # fmt: skip
"""Numbers of a half-bond (j, s) to atom i:

D: r_i - r_j, angstrom; R its length. RAW: BO' in sum, of pi and of double pi bonds; SLOPE: their derivatives
to r, 1/angstrom. BO: corrected bond orders, in sum, sigma, pi, double pi. CB, CP, CPP: dE/dBO, dE/dBO_pi,
dE/dBO_pipi that atom j knows, eV. CT_CENTRE, CT_END: dE/dT of j and i. SBO: dE/dSBO of j. OUTER: force on i
of terms centred on j, whose counterforce is on j; COUNTER: more force on j. H: dE/dBO' without what goes
through Delta'; CD_PART: a share of dE/dDelta'_j. E: energies, eV."""
ATOM = (
    "DELTA", "DELTA_BOC", "F2_PART", "F3_PART", "T", "LP", "LP_SLOPE", "NLP", "Y", "CT", "CD", "THETA_PART",
    "SBO_SLOPE", "POWER_PART", "VALENCE_PART", "NEGATIVE", "ACCEPTED_X", "ACCEPTED_Y", "ACCEPTED_Z",
)  # fmt: skip
"""Numbers of an atom.

DELTA, DELTA_BOC: Delta' and Delta'_boc. F2_PART: exp(-p_boc1 Delta'); F3_PART: exp(-p_boc2 Delta'). T: sum of
BO. LP: Delta_lp; LP_SLOPE: its derivative to T; NLP: number of lone pairs where vlpex < 0, else 0, which
NEGATIVE tells by 1. Y: dE/dS2 of over- and undercoordination. CT: dE/dT; CD: dE/dDelta', eV. THETA_PART:
exp(-p_val10 (2 - SBO2)); SBO_SLOPE: dSBO2/dSBO; POWER_PART: exp(-sum BO^8); VALENCE_PART: Delta_ang + p_val8
nlp. ACCEPTED: force on a hydrogen bond's acceptor, eV/angstrom."""
TERMS = (
    "bond", "over and undercoordination", "lone pair", "angle", "penalty", "coalition", "hydrogen bond",
    "torsion", "conjugation", "van der Waals", "Coulomb", "polarisation",
)  # fmt: skip
"""Energies that an evaluation leaves of each atom, eV."""
ENDS = 4
"""Numbers that the torsions of a centre bond leave for each other bond of its atom: dE/dBO and a force."""

_H = {name: k for k, name in enumerate(HALF)}
_A = {name: k for k, name in enumerate(ATOM)}


class Columns:
    """Numbers of columns as attributes, which kernels read at their compilation."""

    def __getattr__(self, name: str) -> int:
        raise AttributeError(f"no column {name}")

    def __init__(self, names: dict[str, int]) -> None:
        vars(self).update(names)


H, A = Columns(_H), Columns(_A)


class Bonds(Bundle):
    """Rows of half-bonds and what is known of them."""

    width: Any = Number("i32", "slots of a row")
    places: Any = Number("i32", "n width")
    count: Any = ArrayField("i32", "n", "number of bonds of each atom")
    partner: Any = ArrayField("i32", "n width", "entry of the other atom, as in the near list")
    twin: Any = ArrayField("i32", "n width", "place of the other half of the bond")
    donors: Any = ArrayField(
        "i32", "n", "slots of a hydrogen atom's bonds to donors (`hydrogen_bonds`), else 0"
    )
    half: Any = ArrayField("real", "HALF n width", "numbers of half-bonds, column by column")
    atom: Any = ArrayField("real", "ATOM n", "numbers of atoms, column by column")
    ends: Any = ArrayField(
        "real", "ENDS n width^2", "of torsions: dE/dBO and force of an end, by centre and end"
    )
    terms: Any = ArrayField("real", "TERMS n", "energies by terms, eV")


class Tables(Bundle):
    """Parameters, see `parameters`."""

    general: Any = ArrayField("real", "39 + 1", "general parameters, from 1 on as in the file")
    atom: Any = ArrayField("real", "kinds columns", "of each kind")
    pair: Any = ArrayField("real", "kinds^2 columns", "of each pair of kinds")
    angle: Any = ArrayField("real", "angles 7", "of each angle")
    torsion: Any = ArrayField("real", "torsions 5", "of each torsion")
    hydrogen: Any = ArrayField("real", "hydrogen bonds 4", "of each hydrogen bond")
    rows: Any = ArrayField(
        "i32", "kinds^3 + 1, kinds^4, kinds^3", "rows of angles, torsions, hydrogen bonds by kinds"
    )


SHIFT_BITS = Number("i32", "low bits of an entry that hold the code of its image")
STATUS = ArrayField("i32", "STATUS_SIZE", "what the kernels of ReaxFF tell each other and the host")
GO, HELD, MAX_BONDS = range(3)
"""Whether an evaluation is done; whether it is not; the longest row of bonds."""
STATUS_SIZE = 16


def bond_functions(backend: str) -> tuple[Any, Any]:
    """Device functions: `place` of slot s of atom i, and `owner`, the atom and the slot of a place."""
    layout = body_layout(backend)

    @ti.func
    def place(i, s, n, width):
        return slot(i, s, n, width, layout)

    @ti.func
    def owner(p, n, width):
        i, s = p % n, p // n
        if ti.static(layout == ATOM_MAJOR):
            i, s = p // width, p % width
        return i, s

    return place, owner


@ti.func
def vector(column: ti.template(), t, m, half: ti.template()):  # type: ignore[valid-type, no-untyped-def]
    """Three numbers of a half-bond, from a column on."""
    return ti.Vector([half[column * m + t], half[(column + 1) * m + t], half[(column + 2) * m + t]])


@ti.func
def put_vector(v, column: ti.template(), t, m, half: ti.template()):  # type: ignore[valid-type, no-untyped-def]
    """Store three numbers of a half-bond, from a column on."""
    for k in ti.static(range(3)):
        half[(column + k) * m + t] = v[k]
