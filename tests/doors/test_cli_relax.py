"""`taichimd relax`: files, exit codes, a stop, mistakes."""

import json
import os
import signal

import ase.io
import numpy as np
import pytest
from ase.build import bulk
from ase.constraints import FixAtoms, FixBondLengths
from rich.console import Console

from taichimd import LennardJones, TaichiMD
from taichimd.relaxation.fire import Fire
from taichimd.relaxation.job import COLUMNS, RelaxJob, run_relax_jobs
from taichimd.relaxation.settings import RelaxSettings

OWN = """
from taichimd import LennardJones

argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
"""
RELAX = "relax ar.extxyz --potential own.py:argon "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    argon = bulk("Ar", cubic=True, a=5.4) * 2
    argon.rattle(0.2, seed=1)
    argon.set_tags(range(32))
    argon.set_constraint(FixAtoms([4]))
    ase.io.write("ar.extxyz", argon)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def report(name="taichimd-relax"):
    return json.loads(open(f"{name}/relax.json").read())


def table(name="taichimd-relax"):
    return np.genfromtxt(f"{name}/relax.csv", delimiter=",", names=True)


def test_files_say_the_same(call):
    code, out, err = call(RELAX + "--cell isotropic --pressure 0.5 --fmax 1e-3 --smax 1e-3 --backend cpu")
    assert (code, err) == (0, "")
    assert "converged after" in out
    relaxed, start, found, rows = (
        ase.io.read("taichimd-relax/relaxed.extxyz"),
        ase.io.read("ar.extxyz"),
        report(),
        table(),
    )
    assert rows.dtype.names == COLUMNS
    assert (found["converged"], found["exit_reason"], found["n_fixed"]) == (True, "converged", 1)
    assert found["pressure_GPa"] == pytest.approx(0.5, abs=1e-3) == rows["pressure_GPa"][-1]
    assert (
        rows["energy_eV"][-1]
        == found["energy_eV"]
        == pytest.approx(relaxed.get_potential_energy(), rel=1e-12)
    )
    assert rows["step"][-1] == found["steps"]
    assert rows["volume_A3"][-1] == found["volume_A3"] == pytest.approx(relaxed.get_volume(), rel=1e-9)
    np.testing.assert_array_equal(relaxed.get_tags(), start.get_tags())
    np.testing.assert_array_equal(relaxed.constraints[0].index, [4])
    np.testing.assert_allclose(relaxed.cell.array, found["cell_A"], rtol=1e-12)
    relaxed.calc = TaichiMD(LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted"))
    assert np.linalg.norm(relaxed.get_forces(), axis=1).max() == pytest.approx(
        found["fmax_eV_per_A"], abs=1e-6
    )


def test_not_converged_ends_with_1_and_the_structure_so_far(call):
    code, out, err = call(RELAX + "--fmax 1e-6 --steps 12 --output o")
    assert (code, err) == (1, "")
    assert "NOT CONVERGED: out of steps after 12 steps" in out
    assert (report("o")["converged"], report("o")["steps"]) == (False, 12)
    so_far = ase.io.read("o/relaxed.extxyz")
    assert so_far.get_potential_energy() == pytest.approx(table("o")["energy_eV"][-1])
    assert so_far.get_potential_energy() < table("o")["energy_eV"][0]


def test_json_alone(call):
    code, out, _ = call(RELAX + "--json")
    assert code == 0
    assert json.loads(out) == report()


def test_quiet_prints_nothing_but_errors(call):
    assert call(RELAX + "--quiet") == (0, "", "")
    assert report()["converged"]
    code, out, err = call(RELAX + "--quiet")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_with_the_structure_so_far(call, monkeypatch, number, code):
    advance, looks = Fire.advance, []

    def interrupted(fire):
        looks.append(1)
        if len(looks) == 3:
            os.kill(os.getpid(), number)
        return advance(fire)

    monkeypatch.setattr(Fire, "advance", interrupted)
    found, out, _ = call(RELAX + "--fmax 1e-8")
    assert found == code
    assert f"NOT CONVERGED: stopped by {number.name}" in " ".join(out.split())
    assert report()["exit_reason"] == f"stopped by {number.name}"
    assert ase.io.read("taichimd-relax/relaxed.extxyz").get_potential_energy() < table()["energy_eV"][0]


def test_earlier_results_are_not_replaced_unasked(call):
    assert call(RELAX + "--steps 500")[0] == 0
    before = report()
    code, _, err = call(RELAX)
    assert code == 2
    assert "taichimd-relax holds an earlier relaxation (relaxed.extxyz, relax.csv, relax.json)" in err
    assert report() == before
    assert call(RELAX + "--overwrite --fmax 0.1")[0] == 0
    assert report()["settings"]["fmax"] == 0.1


def test_what_explodes_is_said_and_kept_in_the_report(call):
    code, _, err = call(RELAX + "--cell full --pressure -3")
    assert (code, err.count("\n")) == (2, 1)
    assert "the cell has exploded" in err
    assert report()["exit_reason"].startswith("RelaxationError: the cell has exploded")
    assert not os.path.exists("taichimd-relax/relaxed.extxyz")
    assert len(table()) > 5


def test_terminal_shows_a_live_line(tmp_path):
    atoms = ase.io.read("ar.extxyz")
    screen = Console(force_terminal=True, width=80, file=open(tmp_path / "screen", "w"))
    job = RelaxJob("ar", "own.py:argon", atoms, RelaxSettings(), tmp_path / "o", False)
    assert run_relax_jobs([job], screen)[0] == 0
    screen.file.close()
    assert "fmax" in (tmp_path / "screen").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--fmax 0", "fmax = 0.0: expected a number above 0 (eV/Å)"),
        ("--fmax nan", "fmax = nan: expected a number above 0 (eV/Å)"),
        ("--steps 0", "steps = 0: expected a whole number above 0"),
        ("--cell cubic", "cell = 'cubic': expected none, isotropic, orthorhombic or full"),
        ("--cell full --axes a", "axes = 'a': expected some of xyz, each once, such as xy or z"),
        ("--pressure 2", "pressure = 2.0: the cell does not relax"),
        ("--backend tpu", "backend = 'tpu': expected auto, cuda or cpu"),
        ("--decomposition atom", "decomposition = 'atom': expected particle, tuple or auto"),
        ("--output own.py/o", "cannot write own.py/o: a file is in the way"),
    ],
)
def test_mistakes_are_one_line(call, options, words):
    code, out, err = call(RELAX + options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not os.path.exists("taichimd-relax")


def test_constraints_that_cannot_be_kept(call):
    atoms = ase.io.read("ar.extxyz")
    atoms.set_constraint(FixBondLengths([(0, 1)]))
    ase.io.write("bond.json", atoms)
    code, _, err = call("relax bond.json --potential own.py:argon")
    assert code == 2
    assert "constraint FixBondLengths" in err
