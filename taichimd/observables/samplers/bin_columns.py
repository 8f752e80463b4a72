"""What sums over bins and groups have, for `bins` and for those who read them; it needs no runtime."""

BITS = 30
"""Sums of up to 2^33 amu or eV; what is rounded away of an atom is 1e-9."""
MAX_GROUPS = 31
"""Bits of a whole number that says of which groups an atom is."""
COUNT, MASS, FREE, KINETIC, STRESS, COLUMNS = 0, 1, 2, 3, 4, 7
"""Columns of a bin: atoms, mass (amu), atoms that move, twice the kinetic energy (eV), and virial with
kinetic part along xx, yy, zz (eV)."""
