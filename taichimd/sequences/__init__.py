"""Scores of residue sequences with labels of secondary structure (CSSP): no coordinates, no forces."""
