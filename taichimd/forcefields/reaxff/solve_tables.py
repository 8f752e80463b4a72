"""What the loops of a charge equilibration read and write: vectors, progress, atoms, matrix."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.forcefields.reaxff.batched import Batched
from taichimd.forcefields.reaxff.matrix import Matrix, Screening
from taichimd.forcefields.reaxff.precondition import Close
from taichimd.forcefields.reaxff.softness import Soft
from taichimd.neighbours.rows import NearRows

STATUS, ITERATIONS, SOLVES, ALL_ITERATIONS, ONCE, RUNS = range(6)
GOING, SOLVED, TOO_MANY, INDEFINITE, ASTRAY, FROZEN = range(6)
"""Status of a solve: not ended yet; within the tolerance, or done once; as many iterations as allowed; a
matrix that is not positive; a guess of the extended Lagrangian too far from the solution; not begun."""
MAX_ASTRAY = 0.1
"""Residual, as that of the tolerance, of such a guess."""
GAMMA, ALPHA, OLD_GAMMA, OLD_ALPHA, NORM2 = range(5)
PLAIN, GIVEN, SOFT = range(3)
"""What is solved: H s = -chi of the kinds; that of each atom (`electronegativity`); ACKS2 (`softness`)."""


class Vectors(Bundle):
    """What the solver works on: s and t side by side."""

    x: Any = ArrayField("both", "n", "solutions")
    r: Any = ArrayField("both", "n", "residuals")
    u: Any = ArrayField("both", "n", "G times residuals")
    z: Any = ArrayField("both", "n", "preconditioned residuals; at the start the guess")
    w: Any = ArrayField("both", "n", "H times z")
    p: Any = ArrayField("both", "n", "directions")
    h: Any = ArrayField("both", "n", "H times the directions")


class Progress(Bundle):
    """How far a solve is. Limits of several systems are in `Batched`."""

    flags: Any = ArrayField(
        "i32",
        "6 systems",
        "status and number of iterations; solves so far, with their iterations; whether to iterate once; "
        "whether this iteration is done",
    )
    scalars: Any = ArrayField(
        "both", "6 systems", "gamma and alpha of this iteration and of the last one; sum of r^2/eta; none"
    )
    partial: Any = ArrayField("six", "64, or pieces", "sums of pieces")
    limit_s: Any = Number("f64", "sum of r^2/eta at which s is solved")
    limit_t: Any = Number("f64", "sum of r^2/eta at which t is solved")
    looser2: Any = Number("f64", "(MAX_ASTRAY/tolerance)^2")
    most: Any = Number("i32", "iterations")


class Sites(Bundle):
    """The atoms of a `State`."""

    n: Any = Number("i32", "number of atoms")
    pos: Any = ArrayField("vec", "n", "positions, angstrom")
    kind: Any = ArrayField("i32", "n", "number of the species")
    ident: Any = ArrayField("i32", "n", "the user's number of the atom at a place")
    sorted_of: Any = ArrayField("i32", "n", "its inverse")


ELEMENTS = ArrayField("f64", "2 kinds", "chi and eta (doubled) of each kind, eV")
CHARGE = ArrayField("real", "n", "charge of each atom, e")
ROWS = NearRows.only("width", "count", "entries")
SHIFTS = ArrayField("vec", "2^shift_bits", "vectors of the images, angstrom")


class Solver(Bundle):
    """What the loops of a solve read and write; `batched` is of several systems alone."""

    threads: Any = Number("i32", "of loops over rows")
    chunks: Any = Number("i32", "of atoms, each for a thread, in loops that read sums")
    atoms: Any = Sites
    v: Any = Vectors
    progress: Any = Progress
    elements: Any = ELEMENTS
    matrix: Any = Matrix
    close: Any = Close
    screening: Any = Screening
    batched: Any = Batched
    chi: Any = ArrayField("f64", "n", "electronegativity of each atom, with the field, eV")
    soft: Any = Soft
