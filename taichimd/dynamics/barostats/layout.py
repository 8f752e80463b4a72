"""What stands where in the array `bath` of every barostat, behind what thermostats hold; limits of a cell's motion."""

from itertools import accumulate

from taichimd.dynamics.thermostats import layout as of_thermostats

(
    P_START, P_END, RATE, CELL_TIME, MOST_IMAGE, REACH_NEAR, REACH_BUILT, LOST_NEAR, LOST_BUILT, STRAIN_NEAR, STRAIN_BUILT,
    VELOCITY_SCALE, CELL_VECTORS, STRETCH, DRIFT, AHEAD, OWN_STATE, BATH_SIZE,
) = accumulate((3, 3, 1, 1, 2, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 1, 9), initial=of_thermostats.BATH_SIZE)  # fmt: skip
"""Wanted pressure before and after a ramp (eV/angstrom^3), beta/(3 tau), tau; the largest image of the lists along the
second and the third vector, how far the near and the Verlet list reach (angstrom), E since they were made; A;
h (angstrom), B - 1, C; what must be added to the energy received (eV); a matrix of a barostat's own that changes."""
STATE = slice(CELL_VECTORS, BATH_SIZE)
"""What changes from step to step, and belongs in a checkpoint."""
MOST_STRETCH = 0.05
"""Largest change of the cell in a step: beyond, the run is stopped."""
RAN_AWAY = -1
"""In the control array's BLOWN, where an atom's number would be: the cell changed too fast."""


def parts_of(control: str, axes: str) -> int:
    """Components of each tensor that have to be summed: its trace, its diagonal, or all six."""
    if control == "triclinic":
        return 6
    return 1 if control == "isotropic" and len(axes) == 3 else 3
