"""Drives: exact solutions, energies and forces."""

import numpy as np
import pytest
from ase import Atoms
from driven import DT, far, no_warnings, started  # noqa: F401  (no_warnings is a fixture)

from taichimd import (
    Drag,
    Force,
    Indenter,
    Simulation,
    Spring,
    Wall,
)
from taichimd.core import units
from taichimd.core.errors import BlowUpError
from taichimd.ensembles.drives.removal import without_momentum
from taichimd.forcefields.lennard_jones import LennardJones


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


def test_walls_of_a_group_let_other_atoms_pass():
    atoms = far(12, speed=0.0)
    atoms.positions[:, 2] = 5.0
    atoms.set_velocities([[0.0, 0.0, -1.0]] * 12)
    soft = Wall("z > 1", "harmonic", constant=20.0, cutoff=2.0, on=range(4), name="soft")
    one = started([soft, Wall("z > 3", on=range(4, 8), name="hard")], atoms)
    one.run(60)
    turned = one.velocities()[:, 2] > 0.0
    assert turned.tolist() == [True] * 8 + [False] * 4
    assert one.positions()[8:, 2] == pytest.approx(5.0 - 60 * DT, abs=1e-12)


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
