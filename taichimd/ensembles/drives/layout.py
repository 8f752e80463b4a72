"""What stands where in the arrays of drives."""

from itertools import accumulate

# The array `numbers`: a head, then rows, then bits (and in a batch the first row) of each atom.
STEP_ORIGIN, HEAD = range(2)
"""Step from which time counts."""
KIND, WEIGHT, TIMING, BLOCK, TABLE, TABLE_LENGTH, NUMBERS = range(7)
"""Whole numbers of a row: what it is; of a force, what it is multiplied by; how it changes with time; where
the numbers of each atom would begin for the atom 0 of all systems; where a table begins, and its number of
lines. Of a CENTRE the last number says whether the other end is the centre of mass of the next row: 1, or -1
of that row."""
MAX_DRIVES = 60
"""Rows of one system: bits of a whole number."""

LINEAR, OWN, CENTRE, TETHER, HARMONIC, LJ93, LJ126, SPHERE, CYLINDER, PLANE, REFLECT, DRAG, MOVE = range(13)
"""Kinds. LINEAR: a force times a weight; OWN: a force of each atom; CENTRE: of the centre of mass of a group;
TETHER: spring of each atom; three walls; three indenters; a wall that reflects; friction; a group that
moves."""
WALLS, INDENTERS = (HARMONIC, LJ93, LJ126), (SPHERE, CYLINDER, PLANE)
UNIT, BY_MASS, BY_BLOCK = range(3)
"""Weights: 1; the mass of the atom; a number of the atom."""
CONSTANT, SINE, TABULATED, STEADY = range(4)
"""Timings. STEADY: what moves at a constant velocity."""

# The array `values`, of float64: a head, rows, tables (time and three numbers a line), numbers of each atom.
TIME_ORIGIN, TIMESTEP, _, VALUES_HEAD = range(4)
"""Time (internal) at the step STEP_ORIGIN; time step; nothing, so that the four numbers of a row from
STRENGTH on come from memory together (32 bytes)."""
(
    VECTOR, POINT, VELOCITY, FORCE, OFFSET, CELL, INVERSE, PERIODIC, SCALE, STRENGTH, LENGTH, CUTOFF, PLACE,
    SPEED, SWING, FREQUENCY, PHASE, SHIFT, FACTOR, ENERGY, ROW,
) = accumulate((3, 3, 3, 3, 3, 9, 9, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), initial=0)  # fmt: skip
"""A force, a normal, an axis or the constants along three axes; a point; its velocity; force on a centre of
mass; by how much folded positions differ from a centre of mass; cell vectors, their inverse, and which are
periodic; factor of the weight; constant of energy; length of a spring, radius or sigma; cutoff; place of a
wall, its velocity, amplitude of its motion; frequency and phase (in turns); energy at the cutoff; what
friction leaves of a velocity in a step; energy of a spring of a centre of mass."""
KEPT = CELL
"""Place of a CENTRE: where it was when it was last summed."""

# The array `sums`, of whole numbers: of each row SUMS sums of SLOTS parts, then an atom behind a wall.
NOBODY = 2**62
"""No atom is behind a wall."""
SLOTS = 64
WORK, IMPULSE, REACTION, OF_CENTRE, SUMS = 0, 1, 2, 6, 9
"""Work and impulse since the first step; energy and three components of the force on what drives, of one
moment; three components of a centre of mass."""
LASTING = 2
"""Sums before this one are a state."""
CENTRE_BITS = 42
"""Positions of centres of mass are sums of multiples of 2^-42 angstrom."""
