"""Molecules that come and go during a run: bits, restarts, accounts, files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.io import read

from taichimd import (
    Delete,
    Insert,
    Langevin,
    NoseHoover,
    Simulation,
    StochasticCellRescaling,
    Wall,
    load_forcefield,
)
from taichimd.app.exchanging import check_exchange
from taichimd.core.errors import MissingParameterError, SettingsError, TaichimdWarning
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import read_thermo


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def slab():
    atoms = bulk("Ar", cubic=True, a=5.26).repeat((3, 3, 2))
    atoms.cell[2, 2] = 34.0
    atoms.positions[:, 2] += 4.0
    atoms.pbc = [True, True, False]
    return atoms


def beam():
    """What comes and goes; new objects for each simulation."""
    return [
        Insert("Ar", every=40.0, region="z > 25", velocity=(0.0, 0.0, -5.0), temperature=50.0, at_once=2),
        Delete("Ar", every=60.0, region="z > 30"),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {},
        pytest.param({"ensemble": NoseHoover(30.0)}, marks=pytest.mark.long),
        pytest.param(
            {"acting": [Langevin(30.0, on="base"), Wall("z > 0")], "groups": {"base": "z < 8"}},
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_number_of_atoms_changes_with_the_same_bits_however_a_run_is_cut(more):
    def made():
        given = {**more, "acting": [*more.get("acting", []), *beam()]}
        return Simulation(slab(), "Ar.lj", timestep=2.0, temperature=20.0, **given)

    whole = made()
    whole.run(130)
    cut = made()
    first = cut.thermo().conserved
    for steps in (20, 37):
        cut.run(steps)
    cut.save("cut.npz")
    cut = Simulation.load("cut.npz", acting=beam())
    cut.run(73)
    assert np.array_equal(whole.positions(), cut.positions())
    assert np.array_equal(whole.velocities(), cut.velocities())
    assert whole.thermo().conserved == cut.thermo().conserved
    assert whole.exchange.save() == cut.exchange.save()
    books = whole.exchange.of
    assert books["insert_Ar"]["molecules"] == 12
    assert len(whole.numbers) == 72 + 12 - books["delete_Ar"]["molecules"] == len(whole.atoms())
    assert books["insert_Ar"]["momentum"][2] == pytest.approx(-12 * 5.0 * slab().get_masses()[0])
    # What molecules bring is not a drift.
    assert abs(whole.thermo().conserved - first) < 0.02 < abs(whole.exchange.received)


def gas_of_argon():
    """Dense and periodic, with room for more."""
    atoms = bulk("Ar", cubic=True, a=5.9).repeat(3)
    del atoms[::9]
    return atoms


SOFT = {"pressure_coupling_time": 200.0, "bulk_modulus": 2.0, "period": 7}


@pytest.mark.long
def test_a_cell_with_a_barostat_loses_and_gains_atoms():
    """A place is drawn in the present cell; barostat and thermostat continue, their account as well."""

    barostat = StochasticCellRescaling(90.0, **SOFT, seed=3)

    def made():
        both = [
            Insert("Ar", every=40.0, temperature=90.0, at_once=2, distance=3.0),
            Delete("any", every=60.0, at_once=1),
        ]
        return both, Simulation(
            gas_of_argon(), "Ar.lj", timestep=2.0, temperature=90.0, ensemble=barostat, acting=both
        )

    _, whole = made()
    cell = whole.engine.cell
    whole.run(130)
    both, cut = made()
    first = cut.thermo().conserved
    cut.run(57)
    cut.save("cut.npz")
    cut = Simulation.load("cut.npz", acting=both)
    cut.run(73)
    assert np.array_equal(whole.positions(), cut.positions())
    assert np.array_equal(whole.velocities(), cut.velocities())
    assert np.array_equal(whole.engine.cell, cut.engine.cell)
    assert whole.exchange.save() == cut.exchange.save()
    books = whole.exchange.of
    assert (books["insert_Ar"]["molecules"], books["delete_any"]["molecules"]) == (12, 4)
    assert len(whole.numbers) == 96 + 12 - 4
    assert abs(np.linalg.det(whole.engine.cell) / np.linalg.det(cell) - 1.0) > 1e-4
    assert abs(whole.thermo().conserved - first) < 0.02 < abs(whole.exchange.received)


def test_a_run_of_the_command_line_has_frames_columns_and_a_restart_with_all_bits(call):
    slab().write("slab.extxyz")
    Path("job.toml").write_text(
        'structure = "slab.extxyz"\npotential = "Ar.lj"\n[run]\ntimestep = 2.0\n[ensemble]\n'
        'temperature = 20.0\n[[insert]]\nmolecule = "Ar"\nevery = "40fs"\nregion = "z > 25"\n'
        'velocity = [0, 0, -5]\nat_once = 2\n[[delete]]\nformula = "Ar"\nevery = "60fs"\nregion = "z > 30"\n'
        '[[delete]]\nformula = "CO2"\nevery = "60fs"\n'
    )
    common = "--backend cpu --every 10"
    code, out, err = call(f"run job.toml {common} --steps 130 --output whole")
    assert code == 0, err
    assert "insert" in out
    assert "delete_CO2: none of its 4 looks" in out
    assert call(f"run job.toml {common} --steps 57 --frames-every 10 --output cut")[0] == 0
    assert call("run --restart cut/checkpoint.npz --steps 73")[0] == 0
    one, two = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("whole", "cut"))
    for key in ("positions", "velocities", "forces", "numbers"):
        assert np.array_equal(getattr(one, key), getattr(two, key))
    assert one.exchange == two.exchange
    assert one.exchange["items"]["insert_Ar"]["molecules"] == 12
    frames = read("cut/trajectory.extxyz", ":")
    assert [len(atoms) for atoms in frames][:4] == [72, 72, 72, 74]
    rows = read_thermo(Path("cut/thermo.csv"))
    assert np.array_equal(rows["n_atoms"], [len(atoms) for atoms in frames])
    assert np.array_equal(rows["conserved_eV"], read_thermo(Path("whole/thermo.csv"))["conserved_eV"])
    assert np.ptp(rows["conserved_eV"]) < 0.02
    assert rows["insert_Ar_molecules"][-1] == 12
    assert rows["delete_CO2_molecules"][-1] == 0
    report = json.loads(Path("cut/run.json").read_text())
    assert report["n_atoms"] == len(frames[-1])
    assert report["exchange"]["items"]["insert_Ar"]["molecules"] == 12
    # A restart may end the beam.
    assert call("run --restart cut --steps 30 --insert none --delete none --frames none")[0] == 0
    assert len(read_checkpoint("cut/checkpoint.npz").numbers) == len(frames[-1])
    # Binary frames, and several runs at once: each as alone.
    text = "--insert molecule=Ar,every=40fs,region=z>25,velocity=0,0,-5"
    run = f"run slab.extxyz --potential Ar.lj --temperature 20 --steps 50 {common} {text}"
    code, out, err = call(f"{run} --frames traj --replicas 2 --output both")
    assert code == 0, err
    assert "one after the other" not in out
    folders = sorted(Path("both").glob("*/trajectory.traj"))
    assert [len(atoms) for atoms in read(folders[1], ":")] == [72] * 5 + [73]
    assert call(f"{run} --frames traj --seed 2 --output alone")[0] == 0
    one, two = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("alone", folders[1].parent))
    assert np.array_equal(one.positions, two.positions)
    for more, words in (
        ("--frames netcdf", "choose --frames extxyz or traj"),
        ("--observe msd", "observe species, or a run without"),
        ("--delete formula=Q,every=1fs", "a formula such as H2O"),
        ("--insert molecule=Ar,every=40fs,region=5<z<11,temperature=300", "no room for Ar"),
        ("--insert molecule=Ar,every=40fs,region=z>25", "temperature"),
    ):
        code, _, err = call(f"{run} {more} --output refused")
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert words in err
        assert not Path("refused").exists()


def test_an_element_that_the_potential_lacks_is_named():
    item = Insert("O2", every=40.0, region="z > 25", temperature=300.0)
    with pytest.raises(MissingParameterError, match=r"insert_O2: .*O"):
        check_exchange([item], slab(), load_forcefield("Si.sw"), 1.0)


def stretched():
    """A slab of other places, and of another number of atoms."""
    atoms = slab()
    atoms.set_cell(atoms.cell * [1.02, 1.0, 1.0], scale_atoms=True)
    del atoms[60:]
    return atoms


@pytest.mark.parametrize(
    "more",
    [
        {},
        pytest.param({"ensemble": [NoseHoover(30.0), NoseHoover(20.0)]}, marks=pytest.mark.long),
        pytest.param({"base": [[Langevin(30.0, on="z < 8"), Wall("z > 0")], []]}, marks=pytest.mark.long),
    ],
)
def test_systems_of_a_batch_have_the_bits_that_each_has_alone(more):
    """One gains and loses atoms; the other one loses atoms at other times, or nothing happens to it."""
    base = more.get("base", [[], []])
    of_other = [Delete("any", every=38.0, region="z > 8", at_once=1)]
    ensembles = more.get("ensemble", [None, None])
    both = {"ensemble": more["ensemble"]} if "ensemble" in more else {}
    for others in (of_other, []):
        each = [[*base[0], *beam()], [*base[1], *others]]
        systems = Simulation(
            [slab(), stretched()], "Ar.lj", timestep=2.0, temperature=20.0, seed=[1, 2], acting=each, **both
        )
        systems.run(57)
        systems[0].save("one.npz")
        systems.run(73)
        assert systems.step == 130
        for number, (atoms, acting) in enumerate(zip((slab(), stretched()), each, strict=True)):
            alone = Simulation(
                atoms, "Ar.lj", timestep=2.0, temperature=20.0, seed=number + 1, acting=acting or None,
                ensemble=ensembles[number],
            )  # fmt: skip
            alone.run(130)
            one = systems[number]
            assert np.array_equal(alone.positions(), one.positions())
            assert np.array_equal(alone.velocities(), one.velocities())
            assert np.array_equal(alone.forces(), one.forces())
            assert alone.thermo() == one.thermo()
            assert np.array_equal(alone.numbers, one.numbers)
            if acting:
                assert alone.exchange.save() == one.exchange.save()
        cut = Simulation.load("one.npz", acting=beam())
        cut.run(73)
        assert np.array_equal(cut.positions(), systems[0].positions())
    assert systems[0].exchange.of["insert_Ar"]["molecules"] == 12
    with pytest.raises(SettingsError, match="needs the same atoms in all samples"):
        systems[1].observe("rdf", 40)


def test_a_full_region_stops_one_system_and_the_others_continue():
    full = Insert("Ar", every=20.0, region="z > 20 and z < 22", temperature=20.0, at_once=4, distance=6.0)
    systems = Simulation([slab(), slab()], "Ar.lj", timestep=2.0, temperature=20.0, acting=[[full], beam()])
    with pytest.warns(TaichimdWarning, match=r"system 0 .*: insert_Ar: no room for Ar.*the other systems"):
        systems.run(70)
    assert (systems.step, list(systems.errors)) == (70, [0])
    assert systems[1].exchange.of["insert_Ar"]["molecules"] == 6
    assert len(systems[1].numbers) == 78 - systems[1].exchange.of["delete_Ar"]["molecules"]
    assert len(systems[0].numbers) == len(systems[0].positions())


def test_one_beam_for_all_systems_has_different_places():
    systems = Simulation([slab(), slab()], "Ar.lj", timestep=2.0, temperature=20.0, acting=beam())
    systems.run(25)
    one, other = (system.positions()[72:] for system in systems)
    assert len(one) == len(other) == 2
    assert not np.allclose(one, other)


def test_a_file_of_a_molecule_is_found_from_a_job_file_and_from_a_restart(call, monkeypatch):
    slab().write("slab.extxyz")
    pair = bulk("Ar", cubic=True, a=5.26)[:2]
    pair.cell, pair.pbc = None, False
    Path("there").mkdir()
    pair.write("there/pair.xyz")
    Path("there/job.toml").write_text(
        'structure = "../slab.extxyz"\npotential = "Ar.lj"\n[insert.pair]\nmolecule = "pair.xyz"\n'
        'every = "10fs"\nregion = "z > 22"\ntemperature = 20\nnumber = 2\n'
    )
    assert call("run there/job.toml --backend cpu --steps 15 --output out")[::2] == (0, "")
    Path("else").mkdir()
    monkeypatch.chdir("else")
    assert call("run --restart ../out --steps 15")[0] == 0
    assert len(read_checkpoint("../out/checkpoint.npz").numbers) == 76


def reactive_gas():
    gas = Atoms(cell=[12.0] * 3, pbc=True)
    for k, name in enumerate(["H2O", "O2", "H2O", "H2"]):
        one = molecule(name)
        one.translate(6.0 * np.array([k & 1, k >> 1 & 1, 0]) + 2.0 - one.positions[0])
        gas += one
    return gas


@pytest.mark.long
def test_reactive_systems_of_a_batch_have_the_bits_that_each_has_alone():
    """Charges of the other system continue from their past solutions, though its engine is a new one."""
    how = {"timestep": 0.2, "temperature": 300.0, "backend": "cpu"}
    acting = [[Delete("H2O", every=2.0, at_once=1), Insert("O2", every=3.0, temperature=300.0, number=1)], []]
    systems = Simulation(
        [reactive_gas(), reactive_gas()[:8]], "CHO.ffield", seed=[1, 2], acting=acting, **how
    )
    systems.run(40)
    for number, atoms in enumerate((reactive_gas(), reactive_gas()[:8])):
        alone = Simulation(atoms, "CHO.ffield", seed=number + 1, acting=acting[number] or None, **how)
        alone.run(40)
        one = systems[number]
        assert np.array_equal(alone.positions(), one.positions())
        assert np.array_equal(alone.forces(), one.forces())
        assert alone.thermo().conserved == one.thermo().conserved
    assert len(systems[0].numbers) == 10 - 6 + 2


@pytest.mark.long
def test_water_leaves_a_reactive_gas_and_oxygen_comes(call):
    reactive_gas().write("gas.extxyz")
    run = (
        "run gas.extxyz --potential CHO.ffield --timestep 0.2 --temperature 300 --backend cpu --every 5 "
        "--delete formula=H2O,every=2fs,at_once=1 "
        "--insert molecule=O2,every=4fs,temperature=300,number=1 "
        "--observe species --observe-every 5 "
    )
    code, _, err = call(f"{run} --steps 40 --output whole")
    assert code == 0, err
    code, _, err = call(f"{run} --steps 17 --output cut")
    assert code == 0, err
    code, _out, err = call("run --restart cut --steps 23")
    assert code == 0, err
    one, two = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("whole", "cut"))
    for key in ("positions", "velocities", "forces", "numbers"):
        assert np.array_equal(getattr(one, key), getattr(two, key))
    assert sorted(one.symbols) == ["H", "H", "O", "O", "O", "O"]
    rows = read_thermo(Path("cut/thermo.csv"))
    assert np.ptp(rows["conserved_eV"]) < 0.02
