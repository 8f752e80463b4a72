"""Sums of force fields: what is added up, in every ensemble and decomposition, through every door."""

import functools
import json
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse

from taichimd import LennardJones, Simulation, TaichiMD, check_forcefield, load_forcefield, testing
from taichimd.core.errors import MissingParameterError, ParameterFileError, SettingsError, StructureError
from taichimd.ensembles.registry import BAROSTATS, THERMOSTATS
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.contribution import Contribution
from taichimd.io.checkpoint import read_checkpoint
from taichimd.neighbours.control import MAX_GROUPS
from taichimd.program.engine import Engine
from taichimd.program.systems import Systems

MANY_BODY = f"{Path(__file__).parents[2] / 'examples' / 'own_many_body.py'}:copper"
WEAK = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.5, truncation="force-shifted")
SUMS = {
    "a pair, two triplets": [
        morse(**MORSE_VALUES),
        angle(**ANGLE_VALUES),
        angle(strength=0.5, decay=0.9, cos0=0.2, cutoff=3.1),
    ],
    "two pairs": [morse(**MORSE_VALUES), WEAK],
    "two files and a declared pair": ["Si.tersoff", "Si.sw", morse(**MORSE_VALUES)],
    "many-body on a pair": [WEAK, MANY_BODY],
}
EACH = pytest.mark.parametrize("name", SUMS)


def silicon():
    return testing.with_velocities(testing.rattled(bulk("Si", cubic=True).repeat(2), 0.1, 4), 900.0, 5)


def close(one, other, digits=1e-12):
    """Up to last digits: a sum adds contributions atom by atom, and a pair and a triplet side by side."""
    np.testing.assert_allclose(one, other, rtol=0, atol=digits * np.abs(other).max())


# What is added up.


@EACH
def test_energies_forces_virials_and_heat_currents_are_sums(name):
    engines = [Engine(silicon(), load_forcefield(one)) for one in SUMS[name]]
    whole, tuples = (Engine(silicon(), SUMS[name], decomposition=d) for d in ("particle", "tuple"))
    parts = [engine.evaluate() for engine in engines]
    for what in ("energy", "energies", "forces", "virials", "stress"):
        expected = sum(getattr(part, what) for part in parts)
        assert all(np.abs(getattr(part, what)).max() > 1e-3 * np.abs(expected).max() for part in parts), what
        for found in (whole, tuples):
            close(getattr(found.evaluate(), what), expected)
    for found in (whole, tuples):
        current = found.heat_current()
        close(current.potential, sum(engine.heat_current().potential for engine in engines))
        # Each has the kinetic energy of the atoms in its second part.
        masses = silicon().get_masses()
        idle = (0.5 * masses * (silicon().get_velocities() ** 2).sum(axis=1)) @ silicon().get_velocities()
        close(current.kinetic - idle, sum(engine.heat_current().kinetic - idle for engine in engines))


@pytest.mark.parametrize("name", ["a pair, two triplets", "many-body on a pair"])
def test_it_is_consistent(name):
    found = check_forcefield(load_forcefield(SUMS[name]), ["Si"], clusters=1)
    assert max(found.force_error, found.virial_error, found.sum_error, found.order_error) < 1e-6, found


def test_lists_and_plus_signs_make_the_same():
    one, two, three = SUMS["a pair, two triplets"]
    added = one + two + three
    assert load_forcefield([one, two, three]).contributions == added.contributions
    assert sum([one, two, three]).name == added.name == "morse + angle + angle"
    assert load_forcefield(("Si.sw", WEAK)).name == "Si.sw + Lennard-Jones"
    kinds = [(term["contribution"], term["kind"]) for term in added.describe(["Si"])["terms"]]
    assert kinds == [("morse", "pair"), ("angle", "triplet"), ("angle", "triplet")]


# Steps.


def ensemble(name):
    if name in THERMOSTATS:
        return THERMOSTATS[name](600.0, coupling_time=30.0, seed=3)
    if name in BAROSTATS:
        pressure = {"pressure": 1.0, "pressure_coupling_time": 200.0, "bulk_modulus": 98.0, "period": 7}
        return BAROSTATS[name](600.0, coupling_time=30.0, seed=3, **pressure)
    return None


def after(engine, *calls):
    for steps in calls:
        engine.advance(steps, units.fs)
    return [engine.positions(), engine.velocities(), engine.forces(), engine.cell]


def triplets(depth):
    """Whose kernels are compiled long; one group of terms."""
    pair, triple = {**MORSE_VALUES, "depth": depth}, {**ANGLE_VALUES, "strength": depth}
    return morse(**pair) + angle(**triple)


def pairs(depth):
    return LennardJones(epsilon=depth, sigma=2.0, cutoff=4.5, truncation="force-shifted")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "made"),
    [("nve", triplets), ("nvt-langevin", pairs), ("npt-berendsen", pairs)],
)
def test_steps_of_a_sum_in_several_ensembles(name, made, monkeypatch):
    one, half = made(0.5), made(0.25)

    def run(forcefield, *calls, skin=None):
        return after(Engine(silicon(), forcefield, ensemble=ensemble(name), skin=skin), *calls)

    fused = run(one, 30)
    with monkeypatch.context() as patch:
        # Each pass with loops of its own.
        patch.setattr(Systems, "_fused", False)
        plain = run(one, 30)
    assert all(np.array_equal(a, b) for a, b in zip(fused, plain, strict=True))
    assert np.abs(fused[0] - silicon().positions).max() > 0.1
    # Two groups of terms, which no fused loop takes: the same motion, and bits that know no lists nor calls.
    assert len((half + half).bind(["Si"])) == 2
    halves = run(half + half, 30)
    for found, expected in zip(halves, fused, strict=True):
        close(found, expected, 1e-9)
    cut = run(half + half, 11, 19, skin=0.3)
    assert all(np.array_equal(a, b) for a, b in zip(halves, cut, strict=True))


def test_bits_know_no_skin():
    found = [
        after(Engine(silicon(), SUMS["many-body on a pair"], skin=skin, decomposition="tuple"), *calls)
        for skin, calls in ((None, [30]), (0.3, [30]), (1.2, [1, 29]))
    ]
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


# Doors.

OWN = """
from taichimd import LennardJones

weak = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.5, truncation="force-shifted", name="weak")
argon = LennardJones(pairs={("Ar", "Ar"): {"epsilon": 0.01, "sigma": 3.4, "cutoff": 8.0}}, name="argon")
free = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.5, enumeration="all-pairs", name="free")
"""
TERMS = "--potential Si.sw --potential own.py:weak"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    (tmp_path / "own.py").write_text(OWN)
    ase.io.write("si.extxyz", silicon())
    return tmp_path


def energies(atoms):
    return [Engine(atoms, load_forcefield(one)).evaluate().energy for one in ("Si.sw", "own.py:weak")]


@pytest.mark.usefixtures("folder")
@pytest.mark.long
def test_python_takes_lists():
    total = sum(energies(silicon()))
    calc = TaichiMD(["Si.sw", "own.py:weak"])
    assert calc.get_potential_energy(silicon()) == pytest.approx(total, rel=1e-12)
    assert repr(calc) == "TaichiMD(['Si.sw', 'own.py:weak'])"
    assert TaichiMD(**calc.todict()).parameters == calc.parameters
    assert calc.set(potential=("Si.sw", "own.py:weak")) == {}
    assert "potential" in calc.set(potential=["Si.sw", WEAK])
    assert repr(calc) == "TaichiMD(<Si.sw + Lennard-Jones>)"
    assert calc.todict()["potential"]["name"] == "Si.sw + Lennard-Jones"
    simulation = Simulation(silicon(), ["Si.sw", "own.py:weak"])
    assert simulation.thermo().potential == pytest.approx(total, rel=1e-12)
    simulation.run(4)
    simulation.save("four.npz")
    simulation.run(5)
    again = Simulation.load("four.npz", trust=True)
    again.run(5)
    assert np.array_equal(again.engine.positions(), simulation.engine.positions())


@pytest.mark.usefixtures("folder")
def test_energy_has_its_terms(call):
    silicon = functools.partial(ase.io.read, "si.extxyz")
    expected = dict(zip(("Si.sw", "weak"), energies(silicon()), strict=True))
    calc = TaichiMD(["Si.sw", "own.py:weak"])
    assert calc.get_energy_terms(silicon()) == expected
    with pytest.raises(StructureError, match="no atoms to compute"):
        calc.get_energy_terms()
    assert sum(expected.values()) == pytest.approx(calc.get_potential_energy(silicon()), rel=1e-12)
    assert calc.get_energy_terms() == expected, "of the last calculation"
    code, out, err = call(f"energy si.extxyz {TERMS} --terms")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[2:5]]
    assert {name: float(value) for name, value, _ in rows[:2]} == expected
    assert rows[2][0] == "sum"
    assert float(rows[2][1]) == pytest.approx(float(out.split()[1]), rel=1e-12)
    content = json.loads(call(f"energy si.extxyz {TERMS} --terms --json")[1])
    assert content["terms"] == expected
    assert content["potential"] == "Si.sw + weak"
    assert "terms" not in json.loads(call(f"energy si.extxyz {TERMS} --json")[1])
    weak = expected["weak"]
    assert TaichiMD([load_forcefield("own.py:weak")] * 2).get_energy_terms(silicon()) == {
        "weak": weak,
        "weak (2)": weak,
    }


@pytest.mark.long
def test_a_run_goes_on_with_all_of_them(call, folder):
    """Bit for bit, from another folder; another list is refused, another order remarked."""
    (folder / "jobs").mkdir()
    (folder / "own.py").rename("jobs/own.py")
    (folder / "jobs" / "job.toml").write_text(
        'structure = "../si.extxyz"\npotential = ["Si.sw", "own.py:weak"]\nsteps = 20\noutput = "long"\n'
    )
    assert call("run jobs/job.toml")[0] == 0
    sums = "--potential Si.sw --potential jobs/own.py:weak"
    code, out, _ = call(f"run si.extxyz {sums} --steps 8 --output short")
    assert code == 0
    assert "Si.sw + weak, cutoff 4.5" in out
    report = json.loads(Path("short/run.json").read_text())
    own = f"{folder}/jobs/own.py:weak"
    assert report["settings"]["potential"] == ["Si.sw", own]
    assert report["potential"]["name"] == "Si.sw + weak"
    assert [term["contribution"] for term in report["potential"]["terms"]] == ["Si.sw", "Si.sw", "weak"]
    code, _, err = call("run --restart short --potential Si.sw --steps 12")
    assert code == 2
    assert "a different potential than Si.sw: its pair term weak is not there now; give the same one" in err
    code, _, err = call(f"run --restart short {sums} --potential jobs/own.py:free --steps 12")
    assert "cannot add Si.sw + weak and free" in err
    code, _, err = call(f"run --restart short --potential {MANY_BODY} --potential Si.sw --steps 12")
    assert f"with a different potential than {MANY_BODY} + Si.sw: its pair term weak" in err
    assert f"--potential {MANY_BODY} --potential Si.sw, with" in err
    assert len(err.splitlines()) == 1
    assert call("run --restart short --steps 12 --trust")[0] == 0
    long, short = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("jobs/long", "short"))
    for what in ("positions", "velocities", "forces"):
        assert np.array_equal(getattr(long, what), getattr(short, what))
    turned = "--potential jobs/own.py:weak --potential Si.sw"
    out = call(f"run --restart short {turned} --steps 1")[1]
    assert "note: potentials are added up in a different order: last digits may differ" in out


@pytest.mark.usefixtures("folder")
@pytest.mark.long
def test_relax_kappa_and_check(call):
    assert call(f"relax si.extxyz {TERMS} --steps 2 --quiet") == (1, "", "")
    assert json.loads(Path("taichimd-relax/relax.json").read_text())["potential"] == ["Si.sw", "own.py:weak"]
    assert call("relax si.extxyz --potential Si.sw --steps 2 --quiet --overwrite")[0] == 1
    assert json.loads(Path("taichimd-relax/relax.json").read_text())["potential"] == "Si.sw"
    length = "--runs 1 --equilibrate 2fs --time 100fs --window 20fs --temperature 300"
    code, out, _ = call(f"kappa si.extxyz {TERMS} {length}")
    assert code == 0
    assert "64 atoms, 300 K, Si.sw + weak" in out
    terms = json.loads(Path("taichimd-kappa/kappa.json").read_text())["potential"]["terms"]
    assert [term["contribution"] for term in terms] == ["Si.sw", "Si.sw", "weak"]
    code, _, err = call(f"kappa si.extxyz --potential Si.sw {length}")
    assert "was made with a different potential: its pair term weak is not there now" in err
    for line in (f"check {TERMS}", "check Si.sw own.py:weak", "check Si.sw --potential own.py:weak"):
        code, out, err = call(f"{line} --elements Si")
        assert (code, err) == (0, "")
        assert out.startswith("Si.sw + weak: consistent")


# Mistakes.


@pytest.mark.usefixtures("folder")
def test_one_of_them_lacks_an_element(call):
    code, _, err = call("energy si.extxyz --potential Si.sw --potential own.py:argon")
    assert (code, err) == (2, "error: argon has no parameters for Si; it defines: Ar\n")
    with pytest.raises(MissingParameterError, match=r"^Si\.sw has no parameters for Ar"):
        Engine(Atoms("Ar2", [[0, 0, 0], [3, 0, 0]]), ["Si.sw", WEAK])


@pytest.mark.long
def test_the_same_file_twice_is_warned_of(call, folder):
    (folder / "Si.sw").write_text(Path(load_forcefield("Si.sw").source).read_text())
    twice = "Si.sw --potential ./Si.sw"
    told = "./Si.sw is in the sum twice: it counts twice; leave one out"
    assert call(f"energy si.extxyz --potential {twice}")[2] == f"note: {told}\n"
    noted = told.replace("./", f"{folder}/")
    assert f"note: {noted}\n" in call(f"run si.extxyz --potential {twice} --steps 1")[1]
    assert noted in json.loads(Path("taichimd-run/run.json").read_text())["notes"]
    assert call(f"relax si.extxyz --potential {twice} --steps 1 --quiet")[1:] == ("", "")
    with pytest.warns(UserWarning, match=r"own.py:weak is in the sum twice"):
        load_forcefield(["own.py:weak", "Si.sw", "own.py:weak"])
    # Two of one file are not one.
    assert call(f"energy si.extxyz {TERMS} --potential own.py:argon")[2].count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_all_pairs_do_not_add(call):
    code, _, err = call("energy si.extxyz --potential own.py:free --potential Si.sw")
    assert (code, err.count("\n")) == (2, 1)
    assert (
        'cannot add free and Si.sw: a sum needs neighbour lists, and free has the enumeration "all-p' in err
    )


PASSES = """
from taichimd import ManyBody
from taichimd.enumerate.terms import Pass

odd = ManyBody("odd", [Pass("triplet sum", lambda r: r)], arrays=(), params={})(cutoff=3.0)
"""


def test_a_pass_that_no_enumeration_runs(call, folder):
    (folder / "odd.py").write_text(PASSES)
    code, _, err = call(f"energy si.extxyz {TERMS} --potential odd.py:odd")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(
        "error: odd: pass 1 (triplet sum): no enumeration runs such a pass; expected neighb"
    )
    (copper,) = load_forcefield(MANY_BODY).contributions
    free = ForceField("copper", (Contribution("copper", copper.terms, "all-pairs"),))
    with pytest.raises(SettingsError, match="all-pairs"):
        Engine(Atoms("Si2", [[0, 0, 0], [2.3, 0, 0]]), free)


@pytest.mark.usefixtures("folder")
def test_more_than_an_engine_holds(call):
    many = " ".join(["--potential Si.tersoff"] * (MAX_GROUPS + 1))
    code, _, err = call(f"energy si.extxyz {many}")
    assert code == 2
    last = err.splitlines()[-1]
    assert f"a sum of {MAX_GROUPS + 1} potentials; expected at most {MAX_GROUPS}" in last


def test_more_than_one_kernel_takes():
    """Of eight groups a kernel would have more than 64 arguments."""
    one, many = Engine(silicon(), WEAK), Engine(silicon(), [WEAK] * 8)
    close(many.forces(), 8.0 * one.forces(), 1e-12)
    many.advance(20, units.fs)
    many.thermo()


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("npt-berendsen", "many-body on a pair"),
        ("nve", "a pair, two triplets"),
    ],
)
def test_kernels_of_one_group_each_have_the_bits_of_one_for_all(name, terms, monkeypatch):
    def run():
        engine = Engine(silicon(), SUMS[terms], ensemble=ensemble(name))
        found = after(engine, 1, 30)
        totals = engine.thermo()
        return [*found, totals.potential, engine.evaluate().virials]

    together = run()
    monkeypatch.setattr("taichimd.program.device.fit", lambda **_: False)
    apart = run()
    assert all(np.array_equal(a, b) for a, b in zip(together, apart, strict=True))


@pytest.mark.parametrize(
    ("value", "told"), [("[]", "potential = []: expected"), ('["Si.sw", 3]', "potential = ['Si.sw', 3]: exp")]
)
def test_a_job_file_with_no_list_of_names(call, folder, value, told):
    (folder / "job.toml").write_text(f'structure = "si.extxyz"\npotential = {value}\nsteps = 2\n')
    code, _, err = call("run job.toml")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"error: job.toml: {told}")


def test_an_empty_list():
    with pytest.raises(ParameterFileError, match="potential is an empty list, expected a file"):
        load_forcefield([])
