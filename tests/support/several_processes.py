"""Runs in several processes: `mpiexec -n 3 python -m mpi4py several_processes.py OUT CASE ...`.

Three processes are one system, then two and one are a system each. What each number of processes has found
goes to OUT, by case and number.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from ase import units
from ase.build import bulk

STEPS = (17, 33)
"""Of two runs, one behind the other."""


def _warm(atoms, temperature, seed):
    thermal = np.sqrt(units.kB * temperature / atoms.get_masses())[:, None]
    atoms.set_velocities(thermal * np.random.default_rng(seed).normal(size=(len(atoms), 3)))
    return atoms


def argon(seed=1):
    """A hot crystal that drifts along its longest direction, so that atoms change from slab to slab."""
    atoms = _warm(bulk("Ar", "fcc", 5.3, cubic=True) * (12, 2, 2), 300.0, seed)
    atoms.set_velocities(atoms.get_velocities() + np.array([0.1, 0.0, 0.0]))
    return atoms


def _of_eam_file():
    """An EAM force field whose densities of a pair differ in both directions."""
    from eam_files import Layout

    from taichimd import load_forcefield

    with tempfile.TemporaryDirectory() as folder:
        return load_forcefield(str(Layout(finnis_sinclair=True).write(Path(folder) / "x.eam.fs")))


def _of_edip_file():
    """Hot atoms of silicon and carbon, and an EDIP force field."""
    from edip_files import alloy, edip_file

    from taichimd import load_forcefield

    with tempfile.TemporaryDirectory() as folder:
        return alloy(repeat=(6, 2, 2)), load_forcefield(str(edip_file(Path(folder))))


def make(case):
    """Atoms, force field, ensemble, time step (fs)."""
    from eam_files import alloy

    from taichimd import Langevin, LennardJones, load_forcefield, testing

    pairs = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=6.0)

    if case == "long lists":
        # On a large GPU there are no near lists for pairs.
        return argon(5), pairs, None, 2.0
    if case == "fast atoms":
        # Without near lists, and too fast for looking ahead: nothing but the distance outdates lists.
        return argon(6), pairs, None, 16.0
    if case == "wire":
        atoms = argon(2)
        atoms.pbc = [False, True, True]
        return atoms, pairs, Langevin(300.0, coupling_time=20.0, seed=4), 8.0
    return {
        "lj": lambda: (argon(), pairs, None, 8.0),
        "eam": lambda: (alloy(1, (6, 2, 2)), _of_eam_file(), None, 4.0),
        "tersoff": lambda: (
            _warm(bulk("Si", cubic=True) * (6, 2, 2), 4000.0, 3),
            load_forcefield("Si.tersoff"),
            None,
            2.0,
        ),
        "sw": lambda: (
            _warm(bulk("Si", cubic=True) * (6, 2, 2), 4000.0, 3),
            load_forcefield("Si.sw"),
            None,
            2.0,
        ),
        "edip": lambda: (*_of_edip_file(), None, 1.0),
        "vashishta": lambda: (
            _warm(testing.silica_192() * (4, 1, 1), 3000.0, 4),
            load_forcefield("SiO2_1990.vashishta"),
            None,
            2.0,
        ),
    }[case]()


def found(engine, timestep, between=None):
    """What a run leaves; `between` is called between its parts."""
    for steps in STEPS:
        engine.advance(steps, timestep * units.fs)
        if between is not None:
            between(engine)
    thermo = engine.thermo()
    totals = [thermo.step, thermo.potential, thermo.kinetic, thermo.temperature, thermo.conserved]
    return {
        "x": engine.positions(), "v": engine.velocities(), "f": engine.forces(), "totals": np.array(totals),
        "pressure": np.array([thermo.pressure or 0.0]),
    }  # fmt: skip


def main(out, cases):
    from taichimd.parallel import ParallelEngine, join

    world = join()
    from taichimd.core.errors import TaichimdError
    from taichimd.parallel import engine as parallel_engine

    kept, choice = {}, parallel_engine.Choice
    for processes in (world, world.Split(int(world.rank == 2))):
        for case in cases:
            atoms, forcefield, ensemble, timestep = make(case)
            if case in ("long lists", "fast atoms"):
                parallel_engine.Choice = _without_near_lists
            engine = ParallelEngine(atoms, forcefield, processes, ensemble=ensemble, backend="cpu")
            for name, value in found(engine, timestep, _spoil if processes is world else None).items():
                kept[f"{case} {processes.size} {name}"] = value
            kept[f"{case} {processes.size} choices"] = engine.choices
            kept[f"{case} {processes.size} builds"] = engine.builds
            kept[f"{case} {processes.size} host builds"] = engine.statistics()["host_builds"]
            kept[f"{case} {processes.size} near list"] = engine._device.lists.near_list
            parallel_engine.Choice = choice
    told = []
    for breaks in (_coincidence, _explosion, _thermostat, _too_few, _no_memory):
        try:
            breaks(ParallelEngine, make("lj")[1], world)
        except TaichimdError as error:
            told.append(f"{type(error).__name__}: {error}")
    kept["told"] = np.array(told)
    np.savez(Path(out) / f"{world.rank}.npz", **kept)


def _without_near_lists(bounds, tuples, backend, all_pairs, skin):
    """A user's skin goes without near lists."""
    from taichimd.program.groups import Choice

    return Choice(bounds, tuples, backend, all_pairs, 0.6)


def _spoil(engine):
    """The lists of the second process alone become unfit, as when rows have too little room."""
    from taichimd.neighbours.control import Control

    if engine.rank == 1:
        control = engine._device.lists.control
        seen = Control(control.to_numpy())
        seen.rebuild = 1
        control.from_numpy(seen.values)


def _explosion(engine_of, forcefield, processes):
    """One atom is much too fast."""
    atoms = argon()
    velocities = atoms.get_velocities()
    velocities[150] = [0.0, 5.0, 0.0]
    atoms.set_velocities(velocities)
    engine_of(atoms, forcefield, processes, backend="cpu").advance(20, 8.0)


def _coincidence(engine_of, forcefield, processes):
    """Two atoms are in one place."""
    atoms = argon()
    atoms.positions[101] = atoms.positions[100] + [0.015, 0.0, 0.0]
    engine_of(atoms, forcefield, processes, backend="cpu")


def _thermostat(engine_of, forcefield, processes):
    """What acts on the whole system is refused."""
    from taichimd import Bussi

    engine_of(argon(), forcefield, processes, ensemble=Bussi(300.0), backend="cpu")


def _too_few(engine_of, forcefield, processes):
    """Two atoms for three processes."""
    engine_of(argon()[:2], forcefield, processes, backend="cpu")


def _no_memory(engine_of, forcefield, processes):
    """The second process alone has no room."""
    from taichimd.core.errors import CapacityError

    engine = engine_of(argon(), forcefield, processes, backend="cpu")
    finish = engine._device.finish

    def full(want):
        if processes.rank == 1:
            raise CapacityError("no room")
        finish(want)

    engine._device.evaluated, engine._device.finish = False, full
    engine.thermo()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
