"""Systems whose results have the same bits everywhere: device functions, runs of one system, relaxation."""

import functools
from pathlib import Path

import numpy as np
from ase import units
from ase.build import bulk

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine


def math_functions():
    """exp, log, power, sin, cos of 4,096 arguments each."""
    from device_math import evaluate

    rng = np.random.default_rng(5)
    wide, positive = rng.uniform(-700, 700, 4096), np.exp(rng.uniform(-20, 20, 4096))
    exponent = rng.uniform(-10, 10, 4096)
    return [
        evaluate("exp", wide), evaluate("log", positive), evaluate("power", positive, exponent),
        evaluate("inverse_cube_root", positive),
        evaluate("sin", wide), evaluate("cos", wide), evaluate("exp", wide, precision="float32"),
    ]  # fmt: skip


def random_numbers():
    """Uniform numbers and normal variates of 4,096 atoms, as the device draws them."""
    from random_draws import draw

    atoms = np.arange(4096)
    return [draw(1, 4, atoms, 3, 2**40, 1, 0), draw(2, 3, atoms, 3, 2**40, 1, precision="float32")]


def samplers():
    """Distances, displacements and velocity products of a synthetic run; sums of a real one."""
    from samples import correlation, radial

    msd, vacf, _ = correlation(20, 3, shuffle=True).results()
    return [radial(testing.silicon_carbide_512(), 8.0, 500), msd, vacf, *sums()]


def sums():
    """Heat current and stress of a short run, sampled on the device; relative to the centre of mass, too."""
    from taichimd.observables.samplers.sum_series import SumSeries

    atoms = testing.with_velocities(bulk_silicon(), 600.0, 4)
    engine = Engine(atoms, load_forcefield("Si.sw"), backend="cpu")
    series = [SumSeries(what) for what in ("heat", "stress")]
    relative = SumSeries("heat")

    def sample_relative(state, energies, virials):
        relative.sample(state, energies, virials, engine.device.centres(state)[0])

    for _ in range(3):
        engine.advance(4, units.fs)
        for sample in (*(one.sample for one in series), sample_relative):
            engine.observe(sample)
    return [one.rows() for one in (*series, relative)]


def _trajectory(atoms, forcefield, timestep, steps, seed):
    engine = Engine(testing.with_velocities(atoms, 600.0, seed), forcefield, backend="cpu")
    engine.advance(steps, timestep * units.fs)
    thermo = engine.thermo()
    totals = np.array([thermo.potential, thermo.kinetic, thermo.pressure])
    return [engine.positions(), engine.velocities(), engine.forces(), totals, *engine.heat_current()]


def silicon():
    """64 atoms of Tersoff silicon, 200 steps of 2 fs from 600 K."""
    return _trajectory(bulk("Si", cubic=True).repeat(2), load_forcefield("Si.tersoff"), 2.0, 200, 1)


def silica():
    """24 atoms of hot silica in a cell thinner than the cutoff, 100 steps of 1 fs."""
    return _trajectory(testing.silica_triclinic(), load_forcefield("SiO2_1990.vashishta"), 1.0, 100, 3)


def sum_of_three():
    """64 silicon atoms with a file, a declared pair and a potential of passes: three groups of terms."""
    from declared import MORSE_VALUES, morse

    example = Path(__file__).parents[2] / "examples" / "own_many_body.py"
    terms = ["Si.sw", morse(**MORSE_VALUES), f"{example}:copper"]
    return _trajectory(bulk("Si", cubic=True).repeat(2), load_forcefield(terms), 1.0, 50, 1)


def eam():
    """32 hot atoms of an alloy with an EAM file of Finnis-Sinclair form, 60 steps of 2 fs.

    Then moves of single atoms.
    """
    import tempfile

    from eam_files import Layout, alloy

    from taichimd.sampling.chain import MonteCarlo

    with tempfile.TemporaryDirectory() as folder:
        path = Layout(finnis_sinclair=True).write(Path(folder) / "x.eam.fs")
        forcefield = load_forcefield(str(path))
    atoms = testing.with_velocities(alloy(), 600.0, 3)
    engine = Engine(atoms, forcefield, backend="cpu")
    engine.advance(60, 2.0 * units.fs)
    now = engine.evaluate()
    by_tuple = Engine(atoms, forcefield, backend="cpu", decomposition="tuple")
    by_tuple.advance(60, 2.0 * units.fs)
    beyond = np.array([engine.statistics().get("beyond_tables", 0)])
    chain = MonteCarlo(alloy(), forcefield, temperature=900.0, kind="single", backend="cpu", seed=4)
    chain.advance(4)
    return [
        engine.positions(),
        engine.velocities(),
        now.forces,
        now.energies,
        now.virials,
        by_tuple.positions(),
        beyond,
        chain.positions(),
        np.array([chain.energy, chain.moves.accepted]),
    ]


def edip():
    """16 hot atoms of silicon and carbon with an EDIP file, 60 steps of 1 fs."""
    from edip_files import alloy, edip_file

    return _of_file(edip_file, alloy(repeat=(2, 1, 1)))


def bond_order(style):
    """16 hot atoms of silicon and carbon with a variant of Tersoff, 60 steps of 1 fs."""
    from bond_order_files import tersoff_file

    atoms = bulk("Si", a=5.4 if style == "tersoff/zbl" else 6.4, cubic=True).repeat((2, 1, 1))
    return _of_file(functools.partial(tersoff_file, style), _disordered(atoms, "C"))


def sw_mod():
    """16 hot atoms of silicon and carbon at right angles, with an sw/mod file, 60 steps of 1 fs."""
    from bond_order_files import sw_mod_file

    atoms = bulk("Si", "sc", a=2.75).repeat((4, 2, 2))
    return _of_file(sw_mod_file, _disordered(atoms, "C"))


def potfit(kind):
    """16 hot atoms of an alloy with tables of potfit, of pairs or of embedded atoms, 60 steps of 1 fs."""
    from potfit_files import potfit_file

    atoms = bulk("Cu", a=4.0, cubic=True).repeat((2, 2, 1))
    return _of_file(functools.partial(potfit_file, kind=kind), _disordered(atoms, "Ni"))


def _disordered(atoms, other):
    atoms.symbols[np.random.default_rng(1).permutation(len(atoms))[::2]] = other
    return testing.rattled(atoms, 0.1, seed=1)


def _of_file(write, atoms):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        forcefield = load_forcefield(str(write(Path(folder))))
    engine = Engine(testing.with_velocities(atoms, 600.0, 3), forcefield, backend="cpu")
    engine.advance(60, units.fs)
    now = engine.evaluate()
    return [engine.positions(), engine.velocities(), now.forces, now.energies, now.virials]


def melt():
    """256 argon atoms, far above melting at the start: rebuilds happen, neighbours change."""
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    return _trajectory(testing.argon_256(), forcefield, 4.0, 200, 2)


def thermostats():
    """108 argon atoms with each thermostat, through a ramp."""
    from taichimd.ensembles.registry import THERMOSTATS

    found = []
    for kind in THERMOSTATS.values():
        atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)
        forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
        ensemble = kind(200.0, coupling_time=50.0, final_temperature=400.0, ramp=(20, 80), seed=3)
        engine = Engine(atoms, forcefield, backend="cpu", ensemble=ensemble)
        engine.advance(100, 4.0 * units.fs)
        found += [engine.positions(), engine.velocities(), np.array([engine.thermo().conserved])]
    return found


def group_baths():
    """108 argon atoms: a bath of each kind on its group; few baths, which warps add up; a sheared cell."""
    from taichimd import Berendsen, Bussi, Deform, Langevin, NoseHoover, Source, combine
    from taichimd.ensembles.groups.given import group_baths
    from taichimd.system.groups import Groups

    atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    kinds = (Langevin, Bussi, Berendsen, NoseHoover)
    acting: list = [
        kind(200.0, coupling_time=50.0, on=range(15 * k, 15 * k + 15)) for k, kind in enumerate(kinds)
    ]
    acting += [Source(1.0, on=range(60, 75)), Source(-0.1, on=range(75, 90))]
    found = []
    beside_cell = [*acting[:4], Source(1.0, on=range(60, 75), correction=False)]
    for some, ensemble in (
        (acting, None), ([acting[0], acting[4]], None), (beside_cell, combine(None, Deform(xy="1e11/s"))),
    ):  # fmt: skip
        own = group_baths(some, Groups(atoms))[0]
        engine = Engine(atoms, forcefield, backend="cpu", ensemble=ensemble, acting=own)
        engine.advance(60, 4.0 * units.fs)
        found += [engine.positions(), engine.velocities(), np.array([*engine.heats().values()])]
    return found


def drives():
    """108 argon atoms with a drive of each kind, and a bath of a group."""
    from taichimd import Drag, Force, Indenter, Langevin, Momentum, Move, Spring, Wall
    from taichimd.ensembles.groups.given import group_baths
    from taichimd.system.groups import Groups

    atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)
    atoms.pbc = [True, True, False]
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    acting = [
        Move((0.4, 0.1, 0.0), on=range(9)),
        Force((0.0, 0.01, 0.0), period=150.0, on=range(60, 80)),
        Force(acceleration=(0.0, 0.0, -0.3)),
        Spring(0.3, of="centre", velocity=(0.5, 0.0, 0.0), on=range(20, 40)),
        Spring(0.1, of="centre", to=range(50, 60), length=3.0, on=range(40, 50)),
        Spring(0.1, velocity=(0.0, 0.5, 0.0), on=range(80, 90)),
        Wall("z > -2", "lj93", epsilon=0.02, sigma=2.0, cutoff=6.0, velocity=0.6),
        Wall("z < 16", "harmonic", constant=0.5, cutoff=3.0, amplitude=0.3, period=200.0),
        Wall("z < 15.5"),
        Indenter("sphere", (8.0, 8.0, 16.0), 5.0, constant=0.5, velocity=(0.3, 0.0, -1.0)),
        Drag(2000.0, on=range(90, 100)),
        Momentum(25),
        Langevin(200.0, on=range(100, 108)),
    ]  # fmt: skip
    engine = Engine(atoms, forcefield, backend="cpu", acting=group_baths(acting, Groups(atoms))[0])
    engine.advance(60, 4.0 * units.fs)
    works = [one["work"] for one in engine.drives().values()]
    return [engine.positions(), engine.velocities(), np.array(works)]


def relaxation():
    """Positions, cells and energies of argon and silicon, atoms alone and with the cell."""
    from taichimd import relax

    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    found = []
    for cell in ("none", "full"):
        argon, silicon = (
            relax(atoms, potential, fmax=1e-4, cell=cell, backend="cpu")
            for atoms, potential in ((testing.argon_256(), forcefield), (bulk_silicon(), "Si.sw"))
        )
        found += [argon.atoms.positions, argon.atoms.cell.array, np.array([argon.energy, argon.steps])]
        found += [silicon.atoms.positions, silicon.atoms.cell.array, np.array([silicon.energy])]
    return found


def bulk_silicon():
    """64 silicon atoms, each somewhere near its site."""
    atoms = bulk("Si", cubic=True).repeat(2)
    atoms.positions += 0.1 * np.random.default_rng(3).standard_normal((64, 3))
    return atoms


def barostat(name):
    """108 argon atoms with a barostat, through a ramp of the pressure, in a cell of any shape or of one."""
    from taichimd.ensembles.registry import BAROSTATS

    atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    control, final = ("isotropic", 0.3) if name == "npt-berendsen" else ("triclinic", (0.5, 0.3, 0.1))
    ensemble = BAROSTATS[name](
        200.0, coupling_time=50.0, pressure=0.0, final_pressure=final, ramp=(20, 80), seed=3,
        pressure_coupling_time=100.0, bulk_modulus=3.0, control=control, period=2,
    )  # fmt: skip
    engine = Engine(atoms, forcefield, backend="cpu", ensemble=ensemble)
    engine.advance(100, 4.0 * units.fs)
    return [engine.positions(), engine.velocities(), engine.forces(), engine.cell]
