"""Places of the array `bath` that every barostat has, after the places of the thermostats."""

from itertools import accumulate

from taichimd.ensembles.thermostats import layout as of_thermostats

P_START, P_END, RATE, CELL_TIME, VELOCITY_SCALE, AT_REST, AHEAD, OWN_STATE, BATH_SIZE = accumulate(
    (3, 3, 1, 1, 9, 1, 1, 9), initial=of_thermostats.BATH_SIZE
)
"""Wanted pressure before and after a ramp (eV/angstrom^3), beta/(3 tau), tau; A; 1 of a system of a batch
that has stopped; what must be added to the energy received (eV); a matrix of a barostat's own that changes.
Cell, B - 1 and C are in `system.cell`."""
RATES, TRUE_RATE, PECULIAR, STRAIN_WORK, STRAIN_WORK_AHEAD, STRAIN, REACHED, DEFORMED_SIZE = accumulate(
    (9, 1, 1, 1, 1, 9, 9), initial=BATH_SIZE
)
"""Numbers of a deformation: rates (1/time), 1 if they are true rates, 1 if momenta are peculiar; work on the
atoms, and what of it is yet to be done (eV); logarithm of the last deformation; the product of all
deformations, the last one too, without what a barostat does."""
DEFORMATION_STATE = slice(STRAIN_WORK, DEFORMED_SIZE)
STATE = slice(AHEAD, BATH_SIZE)
"""What changes from step to step, and belongs in a checkpoint after the cell."""
RAN_AWAY = -1
"""In `Control.blown`, in place of the number of an atom: the cell of system k changed too fast is RAN_AWAY -
k."""


def parts_of(control: str, axes: str) -> int:
    """Components of each tensor that have to be summed: its trace, its diagonal, or all six."""
    if control == "triclinic":
        return 6
    return 1 if control == "isotropic" and len(axes) == 3 else 3
