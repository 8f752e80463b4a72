"""Drives that are refused, each in one line; their records."""

import json

import numpy as np
import pytest
from driven import FREE_SIDES, far, no_warnings, solid, started  # noqa: F401  (no_warnings is a fixture)

from taichimd import (
    Deform,
    Drag,
    Force,
    Indenter,
    Langevin,
    Momentum,
    Move,
    Spring,
    StochasticCellRescaling,
    Wall,
    combine,
)
from taichimd.core import units
from taichimd.core.errors import SettingsError, TaichimdWarning
from taichimd.ensembles.beside import why_no_drives
from taichimd.ensembles.drives.given import drive_of_record, group_drives
from taichimd.ensembles.registry import NVE
from taichimd.system.groups import Groups


def structure(charges=False):
    atoms = solid(pbc=[True, True, False])
    if charges:
        atoms.set_initial_charges(np.ones(108))
    return atoms


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Force(), "a force needs one of force, acceleration, total, field, array; got none"),
        (lambda: Force((0, 0, 1), total=(0, 0, 1)), "got force and total"),
        (lambda: Force((0, 1)), "expected three numbers (eV/Å), or a table"),
        (lambda: Force("nothing.csv"), "expected three numbers (eV/Å), or a table; [Errno 2]"),
        (
            lambda: Force([[0, 0, 0, 1], [0, 0, 0, 2]]),
            "the times of a table begin at 0 fs or before, and increase",
        ),
        (lambda: Spring(0.0), "Spring expects a number above 0"),
        (lambda: Spring(1.0, to=(0, 0, 0)), 'give of="centre"'),
        (lambda: Spring(1.0, length=0.3), "the spring begins at its end"),
        (lambda: Wall("5 < z"), 'expected the side where atoms stay, such as "z > 0"'),
        (lambda: Wall("z > 0", "soft"), "expected one of reflect, harmonic, lj93, lj126"),
        (
            lambda: Wall("z > 0", "lj93", epsilon=1.0, sigma=3.0),
            "cutoff is missing: Wall expects a number above 0",
        ),
        (lambda: Indenter("cube", (0, 0, 0)), "expected one of sphere, cylinder, plane"),
        (lambda: Move((1, 2)), "Move expects three numbers"),
        (lambda: Drag(0.0), "Drag expects a number above 0 (fs)"),
        (lambda: Momentum(0), "expected a number of steps, 1 or more"),
    ],
)
def test_values_that_make_no_sense_are_refused_in_one_line(make, words):
    with pytest.raises(SettingsError) as caught:
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("acting", "words"),
    [
        ([Force((0, 0, 1), on="tip")], "Force on='tip': there is no group 'tip'"),
        ([Force((0, 0, 1), on=[])], "is empty"),
        ([Force((0, 0, 1), on="hot"), Drag(5.0, on="hot")], "two drives are called hot"),
        (
            [Force((0, 0, 1), name="deformation")],
            "drive deformation: its column work_deformation_eV has the name of the work of a deformation",
        ),
        (
            [
                Indenter("sphere", (0, 0, 0), 2.0, name="ball"),
                Wall("z > 0", "harmonic", constant=1.0, cutoff=2.0, name="ball_x"),
            ],
            "drives ball and ball_x would both have the column force_ball_x_eV_per_A",
        ),
        ([Move((1, 0, 0), on=[1, 2]), Move((1, 0, 0), on=[2, 3])], "atom 2 moves in two ways"),
        ([Force(field=(0, 0, 1))], "the structure has none; set its initial_charges"),
        ([Force(array=np.zeros((5, 3)), on=[1, 2])], "expected finite forces of shape (2, 3) or (108, 3)"),
        ([Force(array="pulls")], "the structure has no array 'pulls'"),
        ([Move((1, 0, 0), on=[1]), Drag(9.0, on=[1])], "all its atoms are fixed or moved"),
        ([Spring(1.0, of="centre", to="hot", on=[1, 2])], "atom 1 is at both ends of the spring"),
    ],
)
def test_a_wrong_drive_is_refused_in_one_line(acting, words):
    with pytest.raises(SettingsError) as caught:
        group_drives(acting, Groups(structure(), {"hot": np.arange(30)}))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("acting", "words"),
    [
        ([Wall("z > 4")], "Wall wall (z > 4) starts with 36 atoms behind it, such as atom 0 4 Å behind"),
        ([Wall("x > -1")], "crosses the periodic direction a: atoms would meet its other side"),
        (
            [Indenter("sphere", (0, 0, 0), 9.0)],
            "is within two of its periodic images; use a larger cell",
        ),
        ([Momentum(10, angular=True)], "angular momentum needs a system without periods"),
    ],
)
def test_a_drive_that_cannot_begin_is_refused_in_one_line(acting, words):
    with pytest.raises(SettingsError) as caught:
        started(acting, structure())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ensemble", "what", "along"),
    [
        (StochasticCellRescaling(60.0), Force((0, 0, 0.01)), "z"),
        (FREE_SIDES, Force([[0, 0, 0, 0.1], [900, 0, 0.1, 0]]), "y"),
        (FREE_SIDES, Spring((1.0, 0.0, 2.0)), "x"),
        (FREE_SIDES, Indenter("sphere", (8, 8, 30), 5.0), "x and y"),
        (FREE_SIDES, Move((0, 0, 1.0)), "x and y"),
        (combine(None, Deform(x="1e9/s")), Wall("x > -1"), "x"),
        (combine(None, Deform(xy="1e9/s")), Force((0.1, 0, 0)), "x"),
    ],
)
def test_a_drive_acts_along_axes_that_the_cell_leaves_alone(ensemble, what, along):
    (drive,), _, _ = group_drives([what], Groups(solid(), {}))
    why = why_no_drives(ensemble, False, [drive])
    assert f"acts along {along}, and {ensemble.name} moves atoms with the cell there" in why
    others = [
        Force((0, 0, 0.1)), Wall("z > -1"), Spring((0, 0, 1.0)), Drag(9.0), Momentum(5),
        Indenter("plane", (0, 0, 20), axis="-z"), Force(array=np.ones((108, 3)) * [0, 0, 1]),
    ]  # fmt: skip
    found = group_drives(others, Groups(solid(), {}))[0]
    assert why_no_drives(FREE_SIDES, False, found) is None
    assert "measures a conductivity" in why_no_drives(NVE(), True, found)


def test_a_bath_and_a_drive_leave_moved_atoms_alone_and_it_is_said():
    acting = [
        Langevin(60.0, on=range(20)),
        Move((0.5, 0, 0), on=range(10), name="top"),
        Drag(50.0, on=range(5, 12)),
    ]
    with pytest.warns(TaichimdWarning, match="the bath group1 leaves 10 fixed or moved atoms out, of 20"):
        one = started(acting, solid())
    assert one.engine.still.sum() == 10
    assert one.engine.fixed is None
    assert one.velocities()[:10] == pytest.approx(np.array([[0.5, 0, 0]] * 10) / units.PS)
    drives, _, remarks = group_drives(acting, Groups(solid()))
    assert drives[1].atoms.tolist() == [10, 11]
    assert remarks == ["the drive drag leaves 5 fixed or moved atoms out, of 7"]


def test_a_table_that_ends_before_the_run_is_refused():
    one = started([Force([[0, 0, 0, 0], [10, 0, 0, 1]], name="kick")], far(2))
    with pytest.raises(SettingsError, match="the table of kick ends at 10 fs, and the run at 12 fs"):
        one.run(6)


def test_the_time_of_a_table_counts_from_the_first_step_of_the_drive():
    one = started([Force([[0, 0, 0, 0], [20, 0, 0, 1]], name="kick")], far(2))
    one.engine.set_state(step=100)
    one.engine.advance(6, 2.0 * units.FS)
    with pytest.raises(SettingsError, match="ends at 20 fs, and the run at 24 fs"):
        one.engine.advance(3, 4.0 * units.FS)
    one.engine.advance(2, 4.0 * units.FS)


def test_a_record_makes_the_same_drive():
    given = [
        Force([[0, 0, 0, 0], [10, 0, 0, 1]]),
        Force(field=(0, 0, 0.1), period=20.0, on=[1, 2]),
        Force(array=np.random.default_rng(1).normal(size=(3, 3)), on=[7, 8, 9]),
        Spring((1.0, 0.0, 2.0), velocity=(0, 0, 1.0)),
        Spring(1.0, of="centre", to=range(50, 60), length=3.0, on=range(10)),
        Wall("z > -1", "lj126", epsilon=0.1, sigma=2.0, cutoff=5.0, amplitude=0.1, period=50.0),
        Indenter("cylinder", (1, 2, 3), 4.0, axis="y"),
        Move((1, 0, 0), on=[90]), Drag(100.0), Momentum(50),
    ]  # fmt: skip
    for drive in group_drives(given, Groups(structure(charges=True)))[0]:
        record = json.loads(json.dumps(drive.record()))
        assert json.loads(json.dumps(drive_of_record(record).record())) == record
