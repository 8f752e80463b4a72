"""Places of the arrays `ledger` and `bath` that every thermostat has; places of barostats follow."""

# The array `ledger`, of whole numbers.
SEED, FIRST, OPENS, SLOT = range(4)
"""Seed of the noise; the run's first step; the step from which the first drift of a call leads away: interval
k goes from step k to k + 1, has the noise of number k and the bath of step k + 1. From SLOT on, partial sums
of energies in units of 2^-ENERGY_BITS eV: of Langevin what the bath has given since ever (the host adds them
up), of the others the kinetic energy of one step; of barostats several sums."""
SLOTS = 64
"""Sums that run side by side, so that atoms do not wait for each other."""


def ledger_size(sums: int) -> int:
    """Length of a ledger of so many sums."""
    return SLOT + sums * (SLOTS + 1)


ENERGY_BITS = 36
"""Sums of up to 2^27 eV; a larger energy of one atom counts as 2^26 eV: that run is about to be stopped."""

# The array `bath`, of float64.
(
    START, END, RAMP_FIRST, RAMP_STEPS, COUPLING, FREEDOM, MASS_KT, OWN_PARAMETERS, _, FACTOR, TOTAL_MASS,
    RECEIVED, OWN_STATE,
) = range(13)  # fmt: skip
"""k T (eV) before and after a ramp, its first step and length; coupling time (internal units); degrees of
freedom; k T in masses of what has inertia; two numbers of a thermostat's own; factor of the velocities; mass
of all atoms; energy that the bath has received (eV); four numbers of a thermostat's own that change. Behind
them driving force (1/angstrom) and velocity of the centre of mass, three numbers each."""
DRIVE = OWN_STATE + 4
CENTRE = DRIVE + 3
BATH_SIZE = CENTRE + 3
STATE = slice(RECEIVED, DRIVE)
"""What changes from step to step, and belongs in a checkpoint."""
