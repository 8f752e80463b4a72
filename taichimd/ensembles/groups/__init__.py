"""Baths of groups of atoms: thermostats and sources of constant power, each on atoms of its own.

`source` has constant power, `given` what a user gives, `layout` the arrays, `functions` the device functions,
`baths` the host's side. A bath is a row, and an atom has the number of its row, or -1.
"""
