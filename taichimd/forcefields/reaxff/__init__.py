"""ReaxFF: the reactive force field of van Duin and coworkers."""
