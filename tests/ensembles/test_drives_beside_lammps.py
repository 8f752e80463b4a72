"""Drives beside LAMMPS: trajectories of a random structure digit for digit; friction to its order."""

import numpy as np
import pytest
from ase import Atoms

from taichimd import (
    Drag,
    Force,
    Indenter,
    Langevin,
    Momentum,
    Move,
    Simulation,
    Spring,
    Wall,
    testing,
)
from taichimd.core import units
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.lammps.reference import MVV2E, lammps_nve

pytestmark = [pytest.mark.lammps, pytest.mark.filterwarnings("ignore")]

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
PAIR = "lj/smooth/linear 6.0", (f"* * {testing.ARGON['epsilon']!r} {testing.ARGON['sigma']!r}",)
FS, STEPS = 2.0, 24
"""Time step; steps of a trajectory."""


def cluster():
    """60 atoms of two masses at random places 3.1 angstrom apart, periodic along x and y."""
    rng = np.random.default_rng(8)
    places = []
    while len(places) < 60:
        x = rng.uniform(0.0, 15.0, 3)
        if all(np.linalg.norm(x - other) > 3.1 for other in places):
            places.append(x)
    atoms = Atoms([("Ar", "Kr")[k % 2] for k in range(60)], places, cell=[80.0] * 3, pbc=[1, 1, 0])
    return testing.with_velocities(atoms, 90.0, 3)


def ids(numbers):
    return " ".join(str(n + 1) for n in numbers)


def test_all_kinds_of_drives_move_atoms_as_in_lammps_digit_for_digit():
    atoms, top, front = cluster(), [3, 17, 40], int(np.argmax(cluster().positions[:, 2]))
    velocity = np.array([0.5, -0.3, 0.2])
    v = atoms.get_velocities()
    v[top], v[front] = velocity / units.PS, [0.0, 0.0, 0.03]
    atoms.set_velocities(v)
    lid = float(atoms.positions[front, 2] + 0.005)
    rest = [n for n in range(60) if n not in top]
    own = np.zeros((60, 3))
    own[rest[:12]] = np.random.default_rng(2).normal(size=(12, 3)) * 0.05
    groups = {
        "pulled": rest[:9], "shaken": rest[5:15], "tied": rest[15:22], "held": rest[22:30],
        "one": rest[30:37],
        "two": rest[37:45], "still": rest[45:], "mobile_ones": rest,
    }  # fmt: skip
    speed = FS * 1e-3  # Å in a step of 1 Å/ps.
    acting = [
        Force((0.1, -0.2, 0.05), on="pulled", name="a"),
        Force((0.0, 0.2, 0.1), period=70.0, phase=0.7, on="shaken", name="b"),
        Force(array=own, on="mobile_ones", name="c"),
        Spring(2.5, on="tied", name="d"),
        Spring(1.5, of="centre", to=(5.0, 6.0, 7.0), length=2.0, on="held", name="e"),
        Spring(0.7, of="centre", to="two", length=3.0, on="one", name="f"),
        Wall("z > -2", "lj93", epsilon=0.1, sigma=2.0, cutoff=6.0, velocity=3.0, name="g"),
        Wall("z < 17", "lj126", epsilon=0.1, sigma=1.5, cutoff=5.0, name="h"),
        Wall("z > -1", "harmonic", constant=3.0, cutoff=4.0, name="i"),
        Wall(f"z < {lid!r}", name="j"),
        Indenter("sphere", (7.0, 7.0, 12.0), 5.0, 0.05, velocity=(0.0, 2.0, -4.0), name="k"),
        Indenter("cylinder", (0.0, 8.0, 3.0), 4.0, 0.05, axis="x", name="l"),
        Indenter("plane", (0.0, 0.0, 4.0), constant=0.03, name="m"),
        Momentum(5, on="still", name="n"),
        Move(velocity.tolist(), on=top, name="top"),
    ]
    ours = Simulation(atoms, SMOOTH, groups=groups, acting=acting, timestep=FS, backend="cpu")
    ours.run(STEPS)
    fixes = [
        *(f"group {name} id {ids(numbers)}" for name, numbers in groups.items()),
        f"group top id {ids(top)}",
        "fix a pulled addforce 0.1 -0.2 0.05",
        f"variable sine equal sin(2*PI*step*{FS}/70+0.7)",
        "variable by equal 0.2*v_sine",
        "variable bz equal 0.1*v_sine",
        "fix b shaken addforce 0 v_by v_bz",
        *(f"group c{n} id {n + 1}" for n in rest[:12]),
        *(f"fix c{n} c{n} addforce {' '.join(map(str, own[n].tolist()))}" for n in rest[:12]),
        "fix d tied spring/self 2.5",
        "fix e held spring tether 1.5 5 6 7 2",
        "fix f one spring couple two 0.7 0 0 0 3",
        f"variable floor equal -2+step*{3 * speed!r}",
        "fix g mobile_ones wall/lj93 zlo v_floor 0.1 2.0 6.0 units box",
        "fix h mobile_ones wall/lj126 zhi 17 0.1 1.5 5.0 units box",
        "fix i mobile_ones wall/harmonic zlo -1 1.5 1.0 4.0 units box",
        f"fix j mobile_ones wall/reflect zhi {lid!r} units box",
        f"variable ky equal 7+step*{2 * speed!r}",
        f"variable kz equal 12-step*{4 * speed!r}",
        "fix k mobile_ones indent 0.05 sphere 7 v_ky v_kz 5 units box",
        "fix l mobile_ones indent 0.05 cylinder x 8 3 4 units box",
        "fix m mobile_ones indent 0.03 plane z 4 lo units box",
        "fix n still momentum 5 linear 1 1 1",
        "fix top top setforce 0 0 0",
    ]
    theirs = lammps_nve(atoms, *PAIR, n_steps=STEPS, timestep=FS * units.FS, more=fixes)
    np.testing.assert_allclose(ours.positions(), theirs.positions, rtol=0, atol=2e-10)
    np.testing.assert_allclose(ours.velocities(), theirs.velocities, rtol=0, atol=2e-10)
    found = ours.drives()
    assert found["j"]["impulse"] > 0.0
    assert all(abs(found[name]["work"]) > 1e-5 for name in ("a", "b", "g", "k", "n", "top"))


def test_friction_slows_atoms_as_in_lammps_to_the_order_of_the_time_step():
    """Drag, and a Langevin group at 0 K: friction of LAMMPS is a force, of velocities half a kick behind."""
    atoms, differences = cluster(), []
    for fs, steps in ((4.0, 25), (2.0, 50)):
        acting = [Drag(400.0, on=range(30)), Langevin(1e-12, coupling_time=300.0, on=range(30, 60))]
        ours = Simulation(atoms, SMOOTH, acting=acting, timestep=fs, backend="cpu")
        ours.run(steps)
        dt = float(fs * units.FS * np.sqrt(MVV2E))
        rates = [float(-np.expm1(-fs / tau) / dt) for tau in (400.0, 300.0)]
        argon, krypton = (float(m * MVV2E * rates[0]) for m in atoms.get_masses()[:2])
        fixes = (
            "group slow id 1:30",
            "group cold id 31:60",
            f"fix l cold langevin 0 0 {1.0 / rates[1]!r} 48279",
            f"fix v slow viscous 1.0 scale 1 {argon!r} scale 2 {krypton!r}",
        )
        theirs = lammps_nve(atoms, *PAIR, n_steps=steps, timestep=fs * units.FS, more=fixes)
        differences.append(np.abs(ours.velocities() - theirs.velocities).max())
    assert differences[0] < 5e-3 * np.abs(atoms.get_velocities()).max()
    assert differences[1] == pytest.approx(differences[0] / 2.0, rel=0.2)
