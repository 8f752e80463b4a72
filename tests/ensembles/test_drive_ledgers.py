"""Ledgers of drives, and the same bits however the work is organised."""

from dataclasses import replace

import numpy as np
import pytest
from driven import FREE_SIDES, SMOOTH, no_warnings, solid, started  # noqa: F401  (no_warnings is a fixture)

from taichimd import (
    Bussi,
    Deform,
    Drag,
    Force,
    Indenter,
    Langevin,
    Momentum,
    Move,
    NoseHoover,
    Simulation,
    Source,
    Spring,
    ThermoTable,
    Wall,
    combine,
)
from taichimd.io.thermo import read_thermo

DRIVEN = [
    Move((0.4, 0.1, 0.0), on=range(9), name="top"),
    Wall("z > -2", "lj93", epsilon=0.02, sigma=2.0, cutoff=6.0, velocity=0.6, name="floor"),
    Wall("z < 15", "harmonic", constant=0.5, cutoff=3.0, amplitude=0.3, period=200.0, name="lid"),
    Wall("z < 19", velocity=-0.5, name="mirror"),
    Indenter("sphere", (8.0, 8.0, 16.0), 5.0, constant=0.5, velocity=(0.3, 0.0, -1.0), name="ball"),
    Spring(0.3, of="centre", velocity=(0.5, 0.0, 0.0), on=range(20, 40), name="pull"),
    Spring(0.1, velocity=(0.0, 0.5, 0.0), on=range(40, 60), name="held"),
    Force((0.0, 0.01, 0.0), period=150.0, on=range(60, 80), name="shake"),
    Drag(2000.0, on=range(80, 100), name="slow"),
    Momentum(25, name="still"),
]


def test_the_conserved_energy_counts_every_drive():
    """Its scatter falls as the square of the time step, while much more work is done."""
    scatter = []
    for timestep in (4.0, 2.0):
        one = started(DRIVEN, solid(pbc=[True, True, False]), timestep=timestep)
        first, seen = one.thermo().conserved, []
        for _ in range(8):
            one.run(int(100 / timestep))
            seen.append(one.thermo().conserved - first)
        scatter.append(np.abs(seen).max())
        found = one.drives()
        assert all(abs(found[name]["work"]) > 1e-4 for name in found if name != "mirror")
        moved = np.array([0.4, 0.1, 0.0]) * 0.8
        assert one.positions()[:9] == pytest.approx(solid().positions[:9] + moved, abs=1e-12)
    assert scatter[0] < 0.02
    assert scatter[1] < 0.35 * scatter[0]


def same(one, other):
    assert (one.positions() == other.positions()).all()
    assert (one.velocities() == other.velocities()).all()
    assert one.drives() == other.drives()
    assert one.thermo().conserved == other.thermo().conserved


BATHS = [Langevin(90.0, on=range(9, 20)), Source(-0.05, on=range(84, 108))]


@pytest.mark.long
def test_pieces_restart_and_a_batch_have_the_same_bits(tmp_path):
    atoms, acting, how = solid(pbc=[True, True, False]), [*DRIVEN, *BATHS], {"timestep": 4.0}
    whole = started(acting, atoms, **how)
    whole.run(60)
    pieces = started(acting, atoms, **how)
    for steps in (7, 30):
        pieces.run(steps)
    pieces.thermo()
    pieces.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", SMOOTH)
    pieces.run(23)
    same(whole, pieces)
    again.run(23)
    same(whole, again)
    both = [acting, [*DRIVEN[3:5], *BATHS]]
    batch = Simulation([atoms, atoms], SMOOTH, backend="cpu", acting=both, **how)
    batch.run(60)
    same(whole, batch[0])
    with ThermoTable(tmp_path / "thermo.csv") as table:
        again.run(1, every=1, observers=[table])
    row = read_thermo(tmp_path / "thermo.csv")
    assert {
        "work_top_eV",
        "force_top_x_eV_per_A",
        "energy_ball_eV",
        "place_ball_z_A",
        "impulse_mirror_eVfs_per_A",
    } <= row.keys()
    assert row["work_pull_eV"][-1] == again.drives()["pull"]["work"]


def test_rows_of_a_table_have_what_each_step_has_when_it_is_asked(tmp_path):
    """Rows of drives do not wait on the device."""
    one, other = (started(DRIVEN, solid(pbc=[True, True, False]), timestep=4.0) for _ in range(2))
    with ThermoTable(tmp_path / "thermo.csv") as table:
        one.run(30, every=5, observers=[table])
    rows = read_thermo(tmp_path / "thermo.csv")
    assert rows["step"].tolist() == [0, 5, 10, 15, 20, 25, 30]
    for at in range(7):
        thermo = other.thermo()
        assert rows["conserved_eV"][at] == thermo.conserved
        assert all(rows[name][at] == value for name, value in thermo.driven.items())
        other.run(5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("baths", "ensemble"),
    [
        (BATHS, None),
        ([Bussi(90.0, on=range(9, 20))], None),
        ([], NoseHoover(60.0)),
    ],
    ids=["langevin and source", "bussi of a group", "nose-hoover"],
)
def test_the_conserved_energy_counts_drives_beside_thermostats(baths, ensemble):
    """Its scatter falls with the time step, where heat and work are far above it."""
    scatter = []
    for timestep in (4.0, 2.0):
        one = started([*DRIVEN, *baths], solid(pbc=[True, True, False]), timestep=timestep, ensemble=ensemble)
        first, seen = one.thermo().conserved, []
        for _ in range(8):
            one.run(int(100 / timestep))
            seen.append(one.thermo().conserved - first)
        scatter.append(np.abs(seen).max())
    assert scatter[0] < 0.03
    assert scatter[1] < 0.4 * scatter[0]


ALONG_Z = [
    Wall("z > -2", "lj93", epsilon=0.02, sigma=2.0, cutoff=6.0, velocity=0.6, name="floor"),
    Wall("z < 19", velocity=-0.5, name="mirror"),
    Indenter("plane", (0.0, 0.0, 13.8), constant=0.05, axis="-z", velocity=(0.0, 0.0, -1.0), name="lid"),
    Spring((0.0, 0.0, 0.3), of="centre", velocity=(0.0, 0.0, 0.5), on=range(20, 40), name="pull"),
    Spring((0.0, 0.0, 0.1), velocity=(0.0, 0.0, 0.5), on=range(40, 60), name="held"),
    Force((0.0, 0.0, 0.01), period=150.0, on=range(60, 80), name="shake"),
    Force(acceleration=(0.0, 0.0, -0.5), name="gravity"),
    Drag(2000.0, on=range(80, 100), name="slow"),
    Momentum(25, name="still"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    "ensemble",
    [
        replace(FREE_SIDES, pressure=0.05, pressure_coupling_time=200.0, bulk_modulus=3.0, period=5),
        combine(Langevin(60.0), Deform(xy="2e11/s")),
    ],
    ids=["scr", "sllod"],
)
def test_the_conserved_energy_counts_drives_beside_motions_of_the_cell(ensemble, tmp_path):
    """Its scatter falls with the time step; and pieces and a restart have the same bits."""
    scatter, how = [], {"ensemble": ensemble}
    for timestep in (4.0, 2.0):
        one = started(ALONG_Z, solid(pbc=[True, True, False]), timestep=timestep, **how)
        first, seen = one.thermo().conserved, []
        for _ in range(8):
            one.run(int(100 / timestep))
            seen.append(one.thermo().conserved - first)
        scatter.append(np.abs(seen).max())
        works = {name: abs(found["work"]) for name, found in one.drives().items()}
        assert (
            min(works[name] for name in ("floor", "lid", "pull", "held", "shake", "gravity", "slow")) > 1e-4
        )
        assert np.abs(one.engine.cell - solid().cell).max() > 1e-3
    assert scatter[0] < 3e-3
    assert scatter[1] < 0.6 * scatter[0]
    pieces = started(ALONG_Z, solid(pbc=[True, True, False]), timestep=2.0, **how)
    for steps in (7, 120, 73):
        pieces.run(steps)
    pieces.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", SMOOTH)
    again.run(200)
    same(one, again)
