"""Thermostats, one in each file: equation, parameters, layout of its state, device functions.

The table of all thermostats is in `ensembles.registry`.

`base` has what all have, `layout` the arrays, `ledger` sums and ramps on the device, `system` what all that
act on the whole system do. Files of thermostats import the runtime where they make device functions: settings
need it not.
"""
