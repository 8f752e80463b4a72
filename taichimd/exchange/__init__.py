"""Molecules that are inserted and deleted during a run: what a user gives, and what it does to the atoms."""
