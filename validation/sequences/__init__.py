"""Scores of residue sequences (CSSP)."""
