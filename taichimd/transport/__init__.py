"""Transport coefficients as workflows: from a structure to a number with its error."""
