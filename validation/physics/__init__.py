"""Drivers: energy drift, precision, ensembles, heat current, transport, structure."""
