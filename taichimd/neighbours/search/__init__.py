"""The search of the Verlet list: which atoms are within a radius of each, found through the bins that they were sorted into."""
