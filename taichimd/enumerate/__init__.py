"""Visits of n-tuples of atoms: an enumeration runs any declared function of its order; it has no physics."""
