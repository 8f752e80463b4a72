"""Totals of a system: energies, temperature, pressure, and what is conserved."""

from collections.abc import Mapping
from math import fsum
from typing import Any

import numpy as np

from taichimd.core import units
from taichimd.core.matrix3 import determinant
from taichimd.ensembles.drives.shown import of_table
from taichimd.program.results import Thermo
from taichimd.program.systems import Systems
from taichimd.program.totals import stress_of


def thermo_of(systems: Systems, number: int, drives: Mapping[str, Mapping[str, Any]]) -> Thermo:
    """Totals of a system at the present positions and velocities, with what `System.drives` returns."""
    baths, total = systems.baths, systems.sums("totals")[number]
    potential, kinetic, virial = float(total[0]), float(total[1]), total[2:].reshape(3, 3)
    cell = systems.cells.vectors(number)
    volume = abs(determinant(cell)) if systems.pbc[number].all() else None
    stress = stress_of(virial, cell) if volume is not None else None
    pressure = None
    if volume is not None and systems.forcefield.has_virial:
        trace = float(np.trace(virial))
        baths.check_sums(number, trace, 2.0 * kinetic)
        pressure = (2.0 * kinetic + trace) / (3.0 * volume) / units.GPA
    temperature = 2.0 * kinetic / (baths.freedoms[number] * units.KB)
    received, heats = baths.received(number), systems.heats(number)
    conserved = None if received is None else potential + kinetic + received
    if conserved is not None and heats:
        conserved -= fsum(heats.values())
    if conserved is not None:
        conserved -= systems.work(number)
    if conserved is not None and drives:
        conserved += fsum(one.get("energy", 0.0) - one["work"] for one in drives.values())
    driven = {} if systems.drives is None else of_table(systems.drives.of_system(number), drives)
    totals = systems.step, potential, kinetic, temperature, pressure, volume, stress, conserved
    return Thermo(*totals, systems.charge_iterations(number), heats, driven)
