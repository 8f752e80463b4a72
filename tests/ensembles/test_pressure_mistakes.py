"""Barostats that cannot work are refused, and cells that run away stop the run."""

import numpy as np
import pytest
from barostat_engines import SMOOTH, argon, made

from taichimd.core import units
from taichimd.core.errors import BlowUpError, CapacityError, SettingsError, StructureError
from taichimd.ensembles.registry import BerendsenNPT, Bussi, MartynaTobiasKlein, StochasticCellRescaling
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine


@pytest.mark.parametrize("kind", [BerendsenNPT, MartynaTobiasKlein])
def test_a_cell_that_runs_away_stops_the_run(kind):
    engine = made(kind, "isotropic", pressure=-500.0, pressure_coupling_time=40.0, bulk_modulus=0.1)
    with pytest.raises(
        BlowUpError, match=r"the barostat changed the cell by more than 5% in one step.*bulk_modulus"
    ):
        engine.advance(200, 4.0 * units.FS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pressure": "high"}, "pressure = 'high': expected one number or three (GPa)"),
        ({"pressure": (1.0, 2.0)}, "pressure = (1.0, 2.0): expected one number or three (GPa)"),
        (
            {"pressure": (1.0, 1.0, 3.0), "axes": "xy"},
            "axes (--cell-axes) = 'xy' leave z as it is; expected 0 for z, or more axes",
        ),
        ({"pressure": float("nan")}, "pressure = nan"),
        ({"final_pressure": 1.0}, "final_pressure = 1.0 needs the ramp's first and last step"),
        (
            {"pressure_coupling_time": 0.0},
            "pressure_coupling_time = 0.0: npt-scr expects a number above 0 (fs)",
        ),
        ({"bulk_modulus": -1.0}, "bulk_modulus = -1.0: npt-scr expects a number above 0 (GPa)"),
        ({"control": "cubic"}, "control = 'cubic': expected one of isotropic, orthorhombic, triclinic"),
        ({"axes": "xx"}, "= 'xx': expected some of x, y and z"),
        ({"axes": ""}, "= ''"),
        ({"axes": 5}, "= 5: expected some of x, y and z"),
        ({"period": True}, "period = True: expected a whole number above 0 (steps)"),
        ({"axes": "xy", "control": "triclinic"}, 'control "triclinic" needs all three axes'),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(SettingsError) as caught:
        StochasticCellRescaling(300.0, **options)
    assert words in str(caught.value)


def test_an_array_is_three_pressures():
    given = BerendsenNPT(
        300.0, pressure=np.array([1.0, 2.0, 3.0]), control="orthorhombic", period=np.int64(5)
    )
    assert given == BerendsenNPT(300.0, pressure=(1.0, 2.0, 3.0), control="orthorhombic", period=5)


def test_a_name_is_no_ensemble():
    with pytest.raises(SettingsError, match="ensemble = 'npt-scr': expected an object, such as Bussi"):
        Engine(argon(), LennardJones(**SMOOTH), ensemble="npt-scr")


def test_too_short_a_coupling_is_refused():
    engine = made(BerendsenNPT, "isotropic", pressure_coupling_time=30.0)
    with pytest.raises(
        SettingsError, match="pressure_coupling_time = 30 fs is shorter than 10 time steps of 4 fs"
    ):
        engine.advance(1, 4.0 * units.FS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"period": 30}, "longer than coupling_time = 100 fs"),
        ({"period": 300, "coupling_time": 2000.0}, "longer than pressure_coupling_time = 1000 fs"),
    ],
)
def test_actions_farther_apart_than_a_coupling_time_are_refused(options, words):
    engine = made(BerendsenNPT, "isotropic", **{"pressure_coupling_time": 1000.0, **options})
    with pytest.raises(SettingsError, match=f"acts every {options['period']} steps, .*{words}"):
        engine.advance(1, 4.0 * units.FS)


def test_an_axis_that_is_not_periodic_is_refused():
    slab = argon(shear=False)
    slab.pbc = (True, True, False)
    with pytest.raises(SettingsError, match=r"the pressure along z cannot be controlled.*leave z out"):
        made(StochasticCellRescaling, "isotropic", slab)
    engine = made(StochasticCellRescaling, "isotropic", slab, axes="xy")
    height = engine.cell[2].copy()
    engine.advance(5, 4.0 * units.FS)
    np.testing.assert_array_equal(engine.cell[2], height)
    slab.cell[2] = 0.0
    with pytest.raises(
        SettingsError, match="a barostat needs a cell with a volume; give all three cell vectors"
    ):
        made(StochasticCellRescaling, "isotropic", slab, axes="xy")


def test_more_than_the_sums_of_a_barostat_hold_is_refused():
    """In a larger system at a high pressure they would wrap around, and turn the cell the wrong way."""
    words = r"npt-berendsen: virial or kinetic energy .* is more than the 6.7e.07 eV"
    with pytest.raises(CapacityError, match=words):
        made(BerendsenNPT, "isotropic", pressure=1e9)
    strong = LennardJones(**{**SMOOTH, "epsilon": 1e7})
    engine = made(BerendsenNPT, "isotropic", forcefield=strong)
    with pytest.raises(CapacityError, match=words):
        engine.thermo()


def test_all_pairs_do_not_go_with_a_barostat():
    forcefield = LennardJones(**SMOOTH, enumeration="all-pairs")
    with pytest.raises(
        SettingsError, match='"all-pairs" cannot be combined with a barostat; use neighbour lists'
    ):
        made(BerendsenNPT, "isotropic", argon(shear=False), forcefield)


def test_a_bath_of_another_ensemble_is_refused():
    engine = made(StochasticCellRescaling, "triclinic")
    with pytest.raises(SettingsError, match="npt-scr cannot continue from the state of nvt-bussi"):
        engine.set_state(bath=Engine(argon(), LennardJones(**SMOOTH), ensemble=Bussi(100.0)).bath_state())


def test_a_cell_without_volume_is_refused():
    engine = made(BerendsenNPT, "isotropic")
    with pytest.raises(StructureError):
        engine.set_state(cell=np.ones((3, 3)))
