"""ReaxFF: reactive force field with bond orders and charge equilibration."""
