"""Particle and tuple decomposition through both doors: the same results, and reports that say which ran."""

import json

import ase.io
import numpy as np
import pytest
from ase.build import bulk

from taichimd import LennardJones, Simulation, TaichiMD, relax
from taichimd.core.errors import SettingsError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.program.decomposition import DECOMPOSITIONS
from taichimd.settings.types import Decomposition
from taichimd.system.lattices import build_lattice
from taichimd.transport.kappa import thermal_conductivity
from taichimd.transport.settings import KappaSettings

BOTH = ("particle", "tuple")
SYSTEMS = {"silica": "SiO2_1990.vashishta", "silicon": "Si.sw"}
OWN = """
from taichimd import LennardJones

pairs = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5, enumeration="all-pairs")
"""


def rattled(lattice):
    atoms = build_lattice(lattice, 2)
    atoms.rattle(0.05, seed=1)
    return atoms


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for lattice in SYSTEMS:
        ase.io.write(f"{lattice}.extxyz", rattled(lattice))
    ase.io.write("argon.xyz", bulk("Ar", a=5.3, cubic=True).repeat(2), format="xyz")  # a cluster
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def report(name):
    return json.loads(open(f"{name}/run.json").read())


def test_the_settings_know_all_decompositions():
    assert Decomposition.__args__ == DECOMPOSITIONS


@pytest.mark.parametrize("lattice", SYSTEMS)
def test_both_agree_through_both_doors(call, lattice):
    atoms = ase.io.read(f"{lattice}.extxyz")
    found = {}
    for decomposition in BOTH:
        calc = TaichiMD(SYSTEMS[lattice], decomposition=decomposition)
        found["ase", decomposition] = calc.get_potential_energy(atoms), calc.get_forces(atoms)
        assert calc.engine.decomposition == decomposition
        line = (
            f"energy {lattice}.extxyz --potential {SYSTEMS[lattice]} --json --decomposition {decomposition}"
        )
        content = json.loads(call(line)[1])
        assert content["decomposition"] == decomposition
        found["cli", decomposition] = content["energy"], np.array(content["forces"])
    energy, forces = found["ase", "particle"]
    assert abs(forces).max() > 1.0
    for of, (other, others) in found.items():
        assert other == pytest.approx(energy, rel=1e-12), of
        np.testing.assert_allclose(others, forces, rtol=0, atol=1e-12, err_msg=of)


def test_a_new_decomposition_makes_a_new_engine():
    atoms = rattled("silicon")
    atoms.calc = TaichiMD("Si.sw", decomposition="particle")
    energy = atoms.get_potential_energy()
    engine = atoms.calc.engine
    assert atoms.calc.set(decomposition="particle") == {}
    assert atoms.calc.engine is engine
    assert atoms.calc.set(decomposition="tuple") == {"decomposition": "tuple"}
    assert not atoms.calc.results
    assert atoms.get_potential_energy() == pytest.approx(energy, rel=1e-12)
    assert atoms.calc.engine.decomposition == "tuple"
    assert repr(atoms.calc) == "TaichiMD('Si.sw', decomposition='tuple')"
    assert TaichiMD(**atoms.calc.todict()).parameters == atoms.calc.parameters


def test_python_doors_pass_it_on():
    atoms = rattled("silicon")
    simulation = Simulation(atoms, "Si.sw", decomposition="tuple")
    simulation.run(3)
    assert simulation.engine.statistics()["triplets"] > 0
    found = {d: relax(atoms, "Si.sw", fmax=1e-3, decomposition=d) for d in BOTH}
    for decomposition in BOTH:
        assert found[decomposition].converged
        assert found[decomposition].statistics["decomposition"] == decomposition
    assert found["tuple"].energy == pytest.approx(found["particle"].energy, rel=1e-12)
    with pytest.raises(SettingsError, match="decomposition is 'atom', expected one of particle, tuple, auto"):
        Simulation(atoms, "Si.sw", decomposition="atom")


def test_a_conductivity_says_which_ran(folder):
    silicon = rattled("silicon")
    settings = {"temperature": 500.0, "equilibrate": 5.0, "time": 100.0, "window": 20.0}
    one = KappaSettings(**settings, runs=2, decomposition="particle")
    assert thermal_conductivity(silicon, "Si.sw", one, folder=folder).decompositions == ("particle",) * 2
    more = KappaSettings(**settings, runs=3, decomposition="tuple")
    found = thermal_conductivity(silicon, "Si.sw", more, folder=folder)
    assert found.decompositions == ("particle", "particle", "tuple"), "finished runs are not repeated"


def test_relax_from_the_command_line(call):
    code, out, _ = call("relax silicon.extxyz --potential Si.sw --decomposition tuple --output o")
    assert code == 0
    assert "decomposition  tuple" in out
    found = json.loads(open("o/relax.json").read())
    assert (found["settings"]["decomposition"], found["statistics"]["decomposition"]) == ("tuple", "tuple")


def test_a_restart_may_take_another_decomposition(call):
    run = "run silica.extxyz --potential SiO2_1990.vashishta --temperature 300 --every 10 "
    assert call(run + "--steps 20 --decomposition tuple --output straight")[0] == 0
    assert call(run + "--steps 10 --decomposition particle --output cut")[0] == 0
    code, out, err = call("run --restart cut/checkpoint.npz --steps 10 --decomposition tuple")
    assert (code, err) == (0, "")
    assert "decomposition particle (now tuple): last digits may differ" in " ".join(out.split())
    straight, cut = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    assert cut.versions["decomposition"] == "tuple"
    np.testing.assert_allclose(cut.positions, straight.positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(cut.velocities, straight.velocities, rtol=0, atol=1e-12)
    moved = np.abs(straight.positions - ase.io.read("silica.extxyz").positions).max()
    assert moved > 1e-2, "or equal positions say nothing"


def test_a_checkpoint_that_does_not_say_is_of_particle_decomposition(call):
    call("run silicon.extxyz --potential Si.sw --steps 5 --decomposition tuple --output o")
    with np.load("o/checkpoint.npz") as saved:
        arrays = {name: saved[name] for name in saved.files}
    (name,) = [name for name, array in arrays.items() if '"decomposition"' in str(array)]
    meta = json.loads(str(arrays[name]))
    del meta["versions"]["decomposition"], meta["settings"]["decomposition"]
    np.savez("o/checkpoint.npz", **{**arrays, name: np.array(json.dumps(meta))})
    out = call("run --restart o/checkpoint.npz --steps 5 --decomposition tuple")[1]
    assert "decomposition particle (now tuple)" in " ".join(out.split())


@pytest.mark.long
def test_profile_has_the_lists(call):
    run = "run silica.extxyz --potential SiO2_1990.vashishta --steps 20 --profile "
    out = call(run + "--decomposition tuple --output t")[1]
    lists = report("t")["statistics"]
    assert f"pairs          {lists['pairs']:,}" in out
    assert f"triplets       {lists['triplets']:,}" in out
    assert f"tuples {lists['tuple_memory_bytes'] / 2**20:.3g} MiB" in out
    assert f"Verlet list {lists['verlet_memory_bytes'] / 2**20:.3g} MiB" in out
    assert all(len(line.rstrip()) <= 80 for line in out.splitlines())
    # Four bytes an entry at least, and none but the pairs is listed with both ends.
    assert lists["verlet_memory_bytes"] > 4 * 192 * lists["neighbours_max"]
    assert 0.5 * 192 * lists["neighbours_mean"] > lists["pairs"] > 192
    assert lists["triplets"] >= 64 * 6, "a silicon atom has six angles between its four bonds"
    out = call(run + "--decomposition particle --output p")[1]
    assert "pairs  " not in out
    assert "near list of pairs" in out
    assert {"pairs", "triplets"}.isdisjoint(report("p")["statistics"])


def test_samples_and_output_are_told_apart(call):
    line = "run silicon.extxyz --potential Si.sw --steps 40 --every 10 --output o --profile "
    assert call(line + "--observe rdf --observe-every 5 --observe-r-max 4")[0] == 0
    seconds = report("o")["profile"]["seconds"]
    assert min(seconds.values()) > 0


@pytest.mark.parametrize(
    "command", ["energy argon.xyz", "run argon.xyz --steps 5", "relax argon.xyz", "check"]
)
def test_tuples_need_lists(call, command):
    potential = "own.py:pairs" if command == "check" else "--potential own.py:pairs"
    code, _, err = call(f"{command} {potential} --decomposition tuple")
    assert code == 2
    assert err.splitlines()[-1] == (
        'error: decomposition "tuple" needs neighbour lists; the enumeration "all-pairs" has none'
    )


def test_auto_takes_what_the_enumeration_has(call):
    pairs = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5, enumeration="all-pairs")
    atoms = ase.io.read("argon.xyz")
    with pytest.raises(SettingsError, match='decomposition "tuple" needs neighbour lists'):
        TaichiMD(pairs, decomposition="tuple").get_potential_energy(atoms)
    atoms.calc = TaichiMD(pairs)
    atoms.get_potential_energy()
    assert atoms.calc.engine.decomposition == "particle"
    code, out, _ = call("run argon.xyz --potential own.py:pairs --steps 5 --profile")
    assert code == 0
    assert "31.0 mean, 31 at most" in out
