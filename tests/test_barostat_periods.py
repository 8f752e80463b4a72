"""Barostats that act every few steps: the steps between, and the loops that both kinds of steps share."""

import numpy as np
import pytest
import structures
from ase.build import bulk

from taichimd import units
from taichimd.dynamics.pressure import BerendsenNPT, StochasticCellRescaling
from taichimd.engine import Engine
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield


def made(kind, atoms, forcefield, period, control="isotropic"):
    ensemble = kind(
        300.0, coupling_time=100.0, pressure=0.5, pressure_coupling_time=300.0, bulk_modulus=50.0, seed=5,
        period=period, control=control,
    )  # fmt: skip
    return Engine(structures.with_velocities(atoms, 900.0, 2), forcefield, ensemble=ensemble)


def test_between_the_actions_of_a_barostat_the_cell_rests():
    atoms = structures._rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    forcefield = LennardJones(**structures.ARGON, cutoff=6.0, truncation="force-shifted")
    engine = made(StochasticCellRescaling, atoms, forcefield, 5, "orthorhombic")
    cells = []
    for _ in range(12):
        engine.advance(1, 4.0 * units.FS)
        cells.append(engine.cell)
    # A step that is a multiple of five ends with an action; the cell moves in the drift of the next one.
    moved = [k + 1 for k in range(1, 12) if not np.array_equal(cells[k], cells[k - 1])]
    assert moved == [6, 11]


@pytest.mark.parametrize(("name", "kind"), [("Si.tersoff", BerendsenNPT), ("Si.sw", StochasticCellRescaling)])
def test_many_steps_in_a_call_are_those_steps(name, kind):
    """Steps one by one know nothing of passes: there the host asks for the action."""
    atoms = bulk("Si", cubic=True).repeat(3)
    ends = []
    for calls in ([1] * 47, [47], [2, 3, 4, 38]):
        engine = made(kind, atoms, load_forcefield(name), 3)
        for steps in calls:
            engine.advance(steps, 2.0 * units.FS)
        ends.append((engine.positions(), engine.velocities(), engine.forces(), engine.cell))
    for other in ends[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(ends[0], other, strict=True))
    assert not np.array_equal(ends[0][3], atoms.cell[:])
