"""Drives: exact solutions, energies and forces, ledgers, the same bits however the work is organised."""

import json
from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from bits import elsewhere, here, needs_other_runtime

from taichimd import (
    Berendsen,
    Bussi,
    Deform,
    Drag,
    Force,
    Indenter,
    Langevin,
    MartynaTobiasKlein,
    Momentum,
    Move,
    NoseHoover,
    Simulation,
    Source,
    Spring,
    StochasticCellRescaling,
    ThermoTable,
    Wall,
    combine,
    testing,
)
from taichimd.core import units
from taichimd.core.errors import BlowUpError, SettingsError, TaichimdWarning
from taichimd.ensembles.beside import why_no_drives
from taichimd.ensembles.drives.given import drive_of_record, group_drives
from taichimd.ensembles.drives.removal import without_momentum
from taichimd.ensembles.registry import NVE
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.io.thermo import read_thermo
from taichimd.system.groups import Groups

pytestmark = pytest.mark.once

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
FREE_SIDES = StochasticCellRescaling(60.0, control="orthorhombic", axes="xy")
DT = 2.0 * units.FS
EACH = 200.0
"""Å between atoms that do not meet."""


def far(n, seed=1, speed=0.02):
    """Atoms that do not meet, without periods, of several masses."""
    rng = np.random.default_rng(seed)
    atoms = Atoms(["Ar"] * n, rng.uniform(5.0, 15.0, (n, 3)) + EACH * np.arange(n)[:, None] * [1, 0, 0])
    atoms.set_masses(rng.uniform(10.0, 60.0, n))
    atoms.set_velocities(rng.normal(size=(n, 3)) * speed)
    return atoms


def solid(pbc=True):
    atoms = bulk("Ar", cubic=True, a=5.3).repeat(3)
    atoms.set_masses(np.where(np.arange(108) % 3, 39.9, 83.8))
    atoms.pbc = pbc
    return testing.with_velocities(atoms, 60.0, 2)


@pytest.fixture(autouse=True)
def no_warnings(recwarn):
    """A note on the moving centre of mass is no matter here."""
    yield
    recwarn.clear()


def started(acting, atoms, **options):
    return Simulation(atoms, SMOOTH, acting=acting, **{"timestep": 2.0, "backend": "cpu", **options})


def verlet(atoms, force, steps, after=lambda x, v, n: (x, v)):
    """Positions and velocities after velocity Verlet in NumPy; `force` is of positions and a step."""
    x, v, m = atoms.positions.copy(), atoms.get_velocities(), atoms.get_masses()[:, None]
    f = force(x, 0)
    for n in range(steps):
        v = v + 0.5 * DT * f / m
        x = x + DT * v
        x, v = after(x, v, n + 1)
        f = force(x, n + 1)
        v = v + 0.5 * DT * f / m
    return x, v


# What is refused: one line each.


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
            "cutoff = None: Wall expects a number above 0",
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
            "drive deformation: its column work_deformation_eV would be that of the work of a deformation",
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
    why = why_no_drives(ensemble, None, [drive])
    assert f"acts along {along}, and {ensemble.name} moves atoms with the cell there" in why
    others = [
        Force((0, 0, 0.1)), Wall("z > -1"), Spring((0, 0, 1.0)), Drag(9.0), Momentum(5),
        Indenter("plane", (0, 0, 20), axis="-z"), Force(array=np.ones((108, 3)) * [0, 0, 1]),
    ]  # fmt: skip
    found = group_drives(others, Groups(solid(), {}))[0]
    assert why_no_drives(FREE_SIDES, None, found) is None
    assert "measures a conductivity" in why_no_drives(NVE(), (0.1, 0.0, 0.0), found)


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


# Exact solutions.


def test_forces_of_all_kinds_move_free_atoms_as_they_must():
    """Velocity Verlet in NumPy; energy and work are constant to the last digits."""
    atoms = far(12)
    charges = np.linspace(-1.0, 1.0, 12)
    atoms.set_initial_charges(charges)
    own = np.random.default_rng(3).normal(size=(2, 3)) * 0.05
    table = np.array([[-5.0, 0.0, 0.0, 0.0], [31.0, 0.02, 0.0, 0.01], [900.0, 0.0, 0.1, 0.0]])
    phase = 0.7
    acting = [
        Force((0.01, 0.0, -0.02), on=[0, 1]),
        Force(acceleration=(0.0, 0.0, -0.3), on=[1, 2]),
        Force(total=(0.0, 0.05, 0.0), on=[3, 4]),
        Force(total=(0.0, 0.05, 0.0), share="number", on=[4, 5]),
        Force((0.0, 0.03, 0.0), period=70.0, phase=phase, on=[6, 7]),
        Force(table, on=[7, 8]),
        Force(field=(0.02, 0.0, 0.01), on=[8, 9]),
        Force(array=own, period=55.0, on=[10, 11]),
    ]
    one = started(acting, atoms)
    first = one.thermo().conserved
    m = atoms.get_masses()[:, None]

    def force(x, n):
        t, f = 2.0 * n, np.zeros((12, 3))
        f[[0, 1]] += [0.01, 0.0, -0.02]
        f[[1, 2]] += m[[1, 2]] * np.array([0.0, 0.0, -0.3]) / units.PS**2
        f[[3, 4]] += m[[3, 4]] / m[[3, 4]].sum() * np.array([0.0, 0.05, 0.0])
        f[[4, 5]] += np.array([0.0, 0.025, 0.0])
        f[[6, 7]] += np.array([0.0, 0.03, 0.0]) * np.sin(2 * np.pi * t / 70.0 + phase)
        f[[7, 8]] += [np.interp(t, table[:, 0], table[:, k]) for k in (1, 2, 3)]
        f[[8, 9]] += charges[[8, 9], None] * np.array([0.02, 0.0, 0.01])
        f[[10, 11]] += own * np.sin(2 * np.pi * t / 55.0)
        return f

    assert one.forces() == pytest.approx(force(atoms.positions, 0), abs=1e-15)
    one.run(60)
    x, v = verlet(atoms, force, 60)
    assert one.positions() == pytest.approx(x, abs=1e-10)
    assert one.velocities() == pytest.approx(v, abs=1e-12)
    assert one.forces() == pytest.approx(force(x, 60), abs=1e-13)
    assert one.thermo().conserved == pytest.approx(first, abs=2e-5)
    work = one.drives()["force"]["work"]
    assert work == pytest.approx(((x - atoms.positions)[[0, 1]] @ [0.01, 0.0, -0.02]).sum(), abs=1e-9)


def test_springs_and_drag_move_free_atoms_as_they_must():
    atoms = far(14)
    m = atoms.get_masses()[:, None]
    x0 = atoms.positions.copy()
    end, axes = np.array([900.0, 2.0, 3.0]), np.array([0.5, 0.0, 2.0])
    acting = [
        Spring(2.0, on=[0, 1]),
        Spring((0.5, 0.0, 2.0), velocity=(0.5, 0.0, 1.0), on=[1, 2]),
        Spring(3.0, of="centre", to=(900.0, 2.0, 3.0), length=7.0, velocity=(0.0, 2.0, 0.0), on=[4, 5]),
        Spring(2.5, of="centre", on=[6, 7]),
        Spring(0.01, of="centre", to=[10], length=50.0, on=[8, 9]),
        Drag(150.0, on=[12, 13]),
    ]
    one = started(acting, atoms)

    def radial(k, length, gap):
        r = np.linalg.norm(gap, axis=-1, keepdims=True)
        return np.where(r > 0, -k * (r - length) / np.where(r > 0, r, 1.0) * gap, 0.0)

    def centre(x, group):
        return (m[group] * x[group]).sum(axis=0) / m[group].sum()

    def force(x, n):
        t, f = 2.0e-3 * n, np.zeros((14, 3))
        f[[0, 1]] += -2.0 * (x - x0)[[0, 1]]
        f[[1, 2]] += -axes * (x[[1, 2]] - x0[[1, 2]] - t * np.array([0.5, 0.0, 1.0]))
        for group, pull in (
            ([4, 5], radial(3.0, 7.0, centre(x, [4, 5]) - end - t * np.array([0.0, 2.0, 0.0]))),
            ([6, 7], -2.5 * (centre(x, [6, 7]) - centre(x0, [6, 7]))),
            ([8, 9], radial(0.01, 50.0, centre(x, [8, 9]) - x[10])),
            ([10], -radial(0.01, 50.0, centre(x, [8, 9]) - x[10])),
        ):
            f[group] += m[group] / m[group].sum() * pull
        return f

    def slow(x, v, n):
        new = v.copy()
        new[[12, 13]] *= np.exp(-2.0 / 150.0)
        return x + 0.5 * DT * (new - v), new

    one.run(80)
    x, v = verlet(atoms, force, 80, slow)
    assert one.positions() == pytest.approx(x, abs=1e-9)
    assert one.velocities() == pytest.approx(v, abs=1e-10)
    slowed = np.exp(-160.0 / 150.0)
    assert one.velocities()[[12, 13]] == pytest.approx(slowed * atoms.get_velocities()[[12, 13]], rel=1e-12)
    # One spring from rest: x0 cos(n theta), sin(theta/2) = omega dt/2.
    still = far(1, speed=0.0)
    still.set_velocities([[0.0, 0.0, 1e-12]])
    single = started([Spring(2.0, of="centre", to=tuple(still.positions[0] - [0.0, 0.0, 0.4]))], still)
    single.run(37)
    theta = 2.0 * np.arcsin(np.sqrt(2.0 / still.get_masses()[0]) * DT / 2.0)
    assert single.positions()[0, 2] - still.positions[0, 2] + 0.4 == pytest.approx(
        0.4 * np.cos(37 * theta), abs=1e-10
    )


def test_the_error_of_the_energy_of_springs_falls_as_the_square_of_the_time_step():
    atoms = far(11, speed=0.005)
    m, x = atoms.get_masses()[[4, 5]], atoms.positions[[4, 5]]
    point = (m @ x / m.sum() + [1.5, 0.0, 0.0]).tolist()
    acting = [
        Spring(0.2, on=[0, 1]),
        Spring((0.1, 0.0, 0.3), velocity=(0.5, 0.0, 1.0), on=[1, 2]),
        Spring(0.3, of="centre", to=point, length=1.0, velocity=(0.0, 2.0, 0.0), on=[4, 5]),
        Spring(0.2, of="centre", velocity=(0.3, 0.0, 0.0), on=[6, 7]),
        Spring(0.01, of="centre", to=[10], length=290.0, on=[8, 9]),
    ]
    errors = []
    for timestep in (2.0, 1.0):
        one = started(acting, atoms, timestep=timestep)
        first, seen = one.thermo().conserved, []
        for _ in range(10):
            one.run(int(40 / timestep))
            seen.append(one.thermo().conserved - first)
        errors.append(np.abs(seen).max())
        turned = sum(abs(found["work"]) for found in one.drives().values())
    assert turned > 0.01
    assert errors[0] < 1e-4
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.05)


WALLS = [
    Wall("z > 2", "harmonic", constant=3.0, cutoff=2.5, name="a"),
    Wall("z < 11", "lj93", epsilon=0.1, sigma=2.0, cutoff=4.0, name="b"),
    Wall("y > 1", "lj126", epsilon=0.05, sigma=1.5, cutoff=3.5, name="c"),
    Indenter("sphere", (7.0, 7.0, 6.0), 3.0, constant=2.0, name="d"),
    Indenter("cylinder", (0.0, 8.0, 7.0), 2.5, constant=1.0, axis="x", name="e"),
    Indenter("plane", (0.0, 0.0, 4.0), constant=1.5, axis="z", name="f"),
]


def energies(x):
    """Of WALLS, by the formulas of the sheet."""
    r = x[:, 2] - 2.0
    a = np.where(r < 2.5, 1.5 * (2.5 - r) ** 2, 0.0)
    r = 11.0 - x[:, 2]
    nine = lambda r: 0.1 * (2 / 15 * (2.0 / r) ** 9 - (2.0 / r) ** 3)  # noqa: E731
    b = np.where(r < 4.0, nine(r) - nine(4.0), 0.0)
    r = x[:, 1] - 1.0
    twelve = lambda r: 0.2 * ((1.5 / r) ** 12 - (1.5 / r) ** 6)  # noqa: E731
    c = np.where(r < 3.5, twelve(r) - twelve(3.5), 0.0)
    d = 2.0 / 3 * np.maximum(3.0 - np.linalg.norm(x - [7.0, 7.0, 6.0], axis=1), 0.0) ** 3
    e = 1.0 / 3 * np.maximum(2.5 - np.linalg.norm((x - [0.0, 8.0, 7.0])[:, 1:], axis=1), 0.0) ** 3
    f = 1.5 / 3 * np.maximum(4.0 - x[:, 2], 0.0) ** 3
    return np.array([a, b, c, d, e, f])


def test_walls_and_indenters_have_the_energies_and_forces_of_their_formulas():
    rng = np.random.default_rng(5)
    x = rng.uniform(2.5, 10.0, (40, 3))
    atoms = Atoms(["Ar"] * 40, x)
    atoms.set_velocities(rng.normal(size=(40, 3)) * 1e-3)
    weak = LennardJones(epsilon=1e-30, sigma=1e-6, cutoff=6.0, truncation="force-shifted")
    one = Simulation(atoms, weak, acting=WALLS, backend="cpu", timestep=0.1)
    by_hand = energies(x)
    found = one.drives()
    assert [found[name]["energy"] for name in "abcdef"] == pytest.approx(by_hand.sum(axis=1), abs=1e-9)
    step = 1e-5
    slopes = [
        (energies(x + step * np.eye(3)[k]) - energies(x - step * np.eye(3)[k])) / (2 * step) for k in range(3)
    ]
    assert one.forces() == pytest.approx(-np.array(slopes).sum(axis=1).T, abs=1e-7)
    reaction = np.array(slopes).sum(axis=2)
    assert [found[name]["force"] for name in "def"] == pytest.approx(reaction[:, 3:].T, abs=1e-7)
    assert found["a"]["push"] == pytest.approx(-reaction[2, 0], abs=1e-7)
    assert found["b"]["push"] == pytest.approx(reaction[2, 1], abs=1e-7)
    first = one.thermo().conserved
    one.run(40)
    assert one.thermo().conserved == pytest.approx(first, abs=1e-3)


def test_reflecting_walls_fold_free_flight():
    atoms = far(20, speed=0.6)
    atoms.set_velocities(atoms.get_velocities() * [0.05, 0.05, 1.0])
    one = started([Wall("z > 2"), Wall("z < 18", name="top")], atoms)
    first = one.thermo().conserved
    one.run(400)
    free = atoms.positions + 400 * DT * atoms.get_velocities()
    s = (free[:, 2] - 2.0) % 32.0
    expected = 2.0 + np.where(s > 16.0, 32.0 - s, s)
    assert one.positions()[:, 2] == pytest.approx(expected, abs=1e-9)
    assert one.thermo().conserved == pytest.approx(first, abs=1e-10)
    found = one.drives()
    bounces = np.floor((free[:, 2] - 2.0) / 16.0)
    assert np.abs(bounces).sum() > 30
    m, v = atoms.get_masses(), np.abs(atoms.get_velocities()[:, 2])
    total = (2.0 * m * v * np.abs(bounces)).sum() / units.FS
    assert found["wall"]["impulse"] + found["top"]["impulse"] == pytest.approx(total, rel=1e-8)


# Ledgers.

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


@pytest.mark.parametrize(
    ("baths", "ensemble"),
    [
        ([], None),
        pytest.param(BATHS, None, marks=pytest.mark.long),
        pytest.param([], Langevin(60.0), marks=pytest.mark.long),
        pytest.param([], NoseHoover(60.0), marks=pytest.mark.long),
    ],
    ids=["nve", "baths", "langevin", "nose-hoover"],
)
def test_pieces_restart_and_a_batch_have_the_same_bits(baths, ensemble, tmp_path):
    atoms, acting = solid(pbc=[True, True, False]), [*DRIVEN, *baths]
    how = {"timestep": 4.0, "ensemble": ensemble}
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
    both = [acting, [*DRIVEN[3:5], *baths]]
    # Equal seeds of several systems would be replaced.
    seeds = [replace(ensemble, seed=k) for k in (1, 2)] if isinstance(ensemble, Langevin) else ensemble
    batch = Simulation([atoms, atoms], SMOOTH, backend="cpu", acting=both, **(how | {"ensemble": seeds}))
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
        ([], Langevin(60.0)),
        ([], Bussi(60.0)),
        ([], NoseHoover(60.0)),
        ([], Berendsen(60.0)),
    ],
    ids=["langevin and source", "bussi of a group", "langevin", "bussi", "nose-hoover", "berendsen"],
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
        MartynaTobiasKlein(60.0, pressure=0.05, control="isotropic", axes="xy"),
        combine(Bussi(60.0), Deform(x="5e10/s", y="-2e10/s", period=5)),
        combine(Langevin(60.0), Deform(xy="2e11/s")),
    ],
    ids=["scr", "mtk", "stretch", "sllod"],
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


@pytest.mark.long
@needs_other_runtime
def test_both_runtimes_and_thread_counts_give_the_same_trajectories():
    assert elsewhere("drives") == here("drives")


def test_folded_atoms_keep_their_springs_and_their_work():
    from taichimd.system import folding

    atoms = Atoms(["Ar"] * 2, [[1.0, 1.0, 1.0], [30.0, 30.0, 30.0]], cell=[60.0] * 3, pbc=True)
    atoms.set_velocities([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    acting = [
        Force((0.001, 0.0, 0.0), on=[0]),
        Spring((0.0, 0.0, 1.0), on=[1]),
        Spring(1e-6, of="centre", on=[1], name="line"),
    ]
    one = started(acting, atoms, timestep=1.0)
    first = one.thermo().conserved
    one.run(folding.EVERY + 10)
    assert one.engine.turns is not None
    assert one.drives()["force"]["work"] == pytest.approx(
        0.001 * (one.positions() - atoms.positions)[0, 0], rel=1e-7
    )
    gap = (one.positions() - atoms.positions)[1]
    assert one.drives()["line"]["energy"] == pytest.approx(0.5e-6 * (gap**2).sum(), rel=1e-9)
    assert one.thermo().conserved == pytest.approx(first, abs=1e-7)


def test_a_group_without_its_rotation_has_no_angular_momentum():
    rng = np.random.default_rng(6)
    m, x, v = rng.uniform(1, 9, 20), rng.normal(size=(20, 3)) * 5, rng.normal(size=(20, 3))
    atoms = np.arange(3, 17)
    new, gained = without_momentum(atoms, m, x, v, linear=True, angular=True)
    r = x[atoms] - (m[atoms, None] * x[atoms]).sum(axis=0) / m[atoms].sum()
    p = m[atoms, None] * new[atoms]
    assert p.sum(axis=0) == pytest.approx(0, abs=1e-12)
    assert np.cross(r, p).sum(axis=0) == pytest.approx(0, abs=1e-11)
    assert gained == pytest.approx(0.5 * (m[:, None] * (new**2 - v**2)).sum())
    assert gained < 0
    assert (np.delete(new, atoms, axis=0) == np.delete(v, atoms, axis=0)).all()
    held = np.zeros((20, 3), bool)
    held[5, 2] = True
    v[5, 2] = 0.0
    assert without_momentum(atoms, m, x, v, True, False, held)[0][5, 2] == 0.0


def test_an_atom_behind_a_wall_ends_the_run():
    atoms = far(2, speed=0.0)
    atoms.set_velocities([[0.0, 0.0, -0.05], [0.0, 0.0, 1e-6]])
    floor = Wall(
        f"z > {atoms.positions[0, 2] - 1e-3:.6f}", "lj93", epsilon=1e-12, sigma=1e-3, cutoff=1.0, on=[0]
    )
    one = started([floor], atoms, timestep=4.0)
    with pytest.raises(BlowUpError, match="atom 0 is behind a wall"):
        one.run(10)
