"""Barostats that act every few steps: the steps between, and the loops that both kinds of steps share."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import testing
from taichimd.core import units
from taichimd.ensembles.registry import BerendsenNPT, StochasticCellRescaling
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine


def made(kind, atoms, forcefield, period, control="isotropic", **options):
    ensemble = kind(
        300.0, coupling_time=100.0, pressure=0.5, pressure_coupling_time=300.0, bulk_modulus=50.0, seed=5,
        period=period, control=control,
    )  # fmt: skip
    return Engine(testing.with_velocities(atoms, 900.0, 2), forcefield, ensemble=ensemble, **options)


def test_between_the_actions_of_a_barostat_the_cell_rests():
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    engine = made(StochasticCellRescaling, atoms, forcefield, 5, "orthorhombic")
    cells = []
    for _ in range(12):
        engine.advance(1, 4.0 * units.FS)
        cells.append(engine.cell)
    # A step that is a multiple of five ends with an action; the cell moves in the drift of the next one.
    moved = [k + 1 for k in range(1, 12) if not np.array_equal(cells[k], cells[k - 1])]
    assert moved == [6, 11]


@pytest.mark.long
def test_many_steps_in_a_call_are_those_steps():
    """Steps one by one know nothing of passes: there the host asks for the action."""
    atoms = bulk("Si", cubic=True).repeat(3)
    ends = []
    for calls in ([1] * 47, [47], [2, 3, 4, 38]):
        engine = made(StochasticCellRescaling, atoms, load_forcefield("Si.sw"), 3)
        for steps in calls:
            engine.advance(steps, 2.0 * units.FS)
        ends.append((engine.positions(), engine.velocities(), engine.forces(), engine.cell))
    for other in ends[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(ends[0], other, strict=True))
    assert not np.array_equal(ends[0][3], atoms.cell[:])


@pytest.mark.parametrize(
    ("kind", "control", "precision"),
    [(BerendsenNPT, "isotropic", "float32"), (StochasticCellRescaling, "triclinic", "mixed")],
)
def test_actions_at_the_end_of_a_call_are_those_within(kind, control, precision):
    """Pairs alone: what a step sums of the virial rounds in another way than what an evaluation does."""
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(4), 0.1, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    ends = []
    for calls in ([60], [5] * 12):
        engine = made(kind, atoms, forcefield, 5, control, precision=precision)
        for steps in calls:
            engine.advance(steps, 4.0 * units.FS)
        ends.append((engine.positions(), engine.velocities(), engine.cell))
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))


def test_a_state_with_another_cell_is_evaluated_anew():
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    first, second = (made(BerendsenNPT, atoms, forcefield, 5) for _ in range(2))
    first.advance(30, 4.0 * units.FS)
    second.set_state(positions=first.positions())
    second.thermo()
    second.set_state(bath=first.bath_state())
    assert second.thermo().potential == first.thermo().potential
