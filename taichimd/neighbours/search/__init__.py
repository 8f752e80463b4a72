"""The search of the Verlet list: atoms within a radius of each atom, found through the bins of the sort."""
