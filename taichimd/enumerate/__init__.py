"""How n-tuples of atoms are visited. An enumeration runs any declared function of its order; no physics here."""
