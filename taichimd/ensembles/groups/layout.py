"""What stands where in the arrays of baths of groups. A row of `bath` begins as that of a thermostat."""

from itertools import accumulate

from taichimd.ensembles.thermostats import layout as at

POWER, CORRECTS, OF_VELOCITY, OF_FORCE, MEAN_FORCE, LACKING, FAILED, FREE_MASS, ROW = accumulate(
    (1, 1, 1, 1, 3, 1, 1, 3), initial=at.BATH_SIZE
)
"""Power of a source (eV per internal time); whether it corrects positions. The correction that comes next: x
changes by dt^3 {[OF_VELOCITY] (v - V) - [OF_FORCE] (f/m - [MEAN_FORCE])}. Kinetic energy (eV) that was too
little for a sink, and the step at which; that is 0 if there was enough. Along x, y and z the mass of the
atoms that are not held."""
STATE = (slice(at.STATE.start, at.STATE.stop), slice(at.CENTRE, at.CENTRE + 3), slice(OF_VELOCITY, LACKING))
"""What changes from step to step, and belongs in a checkpoint."""

SEED, KIND, WHOSE, FIRST_ATOM, NUMBERS = range(5)
"""Whole numbers of a row: seed of the noise; what acts (`IDLE`, `SOURCE`, or `THERMOSTATS`); in place of an
atom's number in the noise of the whole group; the first atom of the system, by the user's numbers of all
systems."""
IDLE, SOURCE, THERMOSTATS = range(3)
"""Kinds. From THERMOSTATS on: the thermostats of `Coupling.acting`, in its order."""

HEAT, KINETIC, MOMENTUM, POWER_OF_FORCES, FORCE = 0, 1, 2, 5, 6
"""Sums of a row in the ledger: energy that a bath of each atom has received since ever; then of one step the
kinetic energy, momentum, sum of f.v, and sum of f. HEAT alone stands there if nothing rescales."""
TENSOR = POWER_OF_FORCES
"""Beside a motion of the cell, in place of what belongs to forces: components of twice the kinetic tensor."""
SPENT = -1_000_000_000
"""In `Control.blown`, where an atom's number would be: a sink takes more than there is."""
