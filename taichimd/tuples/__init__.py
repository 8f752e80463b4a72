"""Tuples of bonded atoms: lists built on the device under conditions on bond strengths, and sums over them."""
