"""The command `taichimd kappa`: its files, what it says, and what is refused before anything is written."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.constraints import FixAtoms, FixCartesian
from conducting import ARGON, LINE, SHORT

from taichimd.core.errors import SettingsError, StructureError
from taichimd.io.analysis_files import read_table
from taichimd.transport.kappa import supercell, thermal_conductivity
from taichimd.transport.settings import KappaSettings


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    ARGON.write("s.extxyz")
    return tmp_path


def test_the_command(call, folder):
    line = LINE + "--time 100fs --window 30fs --runs 2 --supercell 2 1 1 --output k"
    code, out, err = call(line)
    assert (code, err) == (0, "")
    assert "Ar, 16 atoms, 60 K, Ar.lj" in out
    assert "standard error, over independent runs" in out
    assert len(out.splitlines()) < 20
    report = json.load(open("k/kappa.json"))
    table = read_table(Path("k/kappa.csv"))
    assert report["runs"] == 2
    assert report["plateau_ps"] == pytest.approx([0.015, 0.03])
    assert report["kappa_W_per_mK"]["value"] == pytest.approx(table["kappa_W_per_mK"][3:].mean(), rel=1e-9)
    assert report["settings"]["supercell"] == [2, 1, 1]
    assert (folder / "k" / "kappa.png").stat().st_size > 5000
    before = (folder / "k" / "run-01.npz").stat().st_mtime_ns
    assert call(line)[1] == out
    assert (folder / "k" / "run-01.npz").stat().st_mtime_ns == before


def test_the_picture_is_a_pdf_on_request_and_quiet_prints_nothing(call, folder):
    line = LINE + "--time 100fs --window 30fs --runs 2 --output k --quiet"
    assert call(line) == (0, "", "")
    assert (folder / "k" / "kappa.png").exists()
    assert call(line + " --plot-format pdf --overwrite") == (0, "", "")
    assert not (folder / "k" / "kappa.png").exists()
    assert (folder / "k" / "kappa.pdf").read_bytes().startswith(b"%PDF")
    code, out, err = call(line + " --plot-format gif")
    assert (code, out, err) == (2, "", "error: plot_format = 'gif': expected png, pdf or svg\n")


def test_a_record_that_is_short_for_its_plateau_is_noted(call):
    for options, noted in (("--window 90fs --runs 1", True), ("--window 10fs --runs 2", False)):
        code, out, err = call(LINE + f"--time 100fs {options} --overwrite")
        assert (code, err) == (0, "")
        assert ("note: plateau ends at 0.09 ps, and a run is only 0.1 ps long" in out) == noted


def test_what_flows_is_not_driven_as_it_should(call, folder):
    """Atoms of a gas carry energy along, of which the driving force knows nothing."""
    times = "--time 1ps --window 30fs --runs 1 --output "
    text = LINE.replace("--temperature 60", "--temperature 3000") + times
    out = call(text + "flow --method hnemd")[1]
    assert re.search(r"atoms moved by [\d.]+ Å, .*take --method green-kubo", " ".join(out.split()))
    assert call(text + "flow --method hnemd")[1] == out
    assert "atoms moved" not in call(text + "other")[1]
    assert "atoms moved" not in call(LINE + times + "solid --method hnemd")[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--time 100fs --window 200fs",
            "window = 0.2 ps: expected one sample (5 fs) or more, and 0.095 ps at most, which",
        ),
        ("--time 100fs --window 100fs", "0.095 ps at most, which leaves the run two time origins"),
        ("--time 100fs --window 1fs", "expected one sample (5 fs) or more"),
        ("--time 2fs", "time = 2 fs: expected 3 samples or more, 5 steps of 1 fs apart"),
        (
            "--time 100fs --method hnemd --window 60fs",
            "0.055 ps at most, which leaves the run 10 samples after it",
        ),
        ("--time 100fs --method emd", "method = 'emd': expected green-kubo, hnemd, nemd or interface"),
        ("--time 100fs --runs 0", "runs = 0: expected a whole number above 0"),
        ("--time 100fs --supercell 2 0 1", "supercell = (2, 0, 1): expected three whole numbers above 0"),
        ("--time 100fs --supercell 999 999 999", "makes 7,976,023,992 atoms; expected 134,217,728 at most"),
        ("--time 100fs --plateau 5fs,200fs", "plateau = 5 to 200 fs: expected two times in rising order"),
        ("--time 100fs --plateau 5ps", "plateau = '5ps': expected two times, such as"),
        ("--time 100", "expected a length of time with its unit"),
        ("--time 100fs --method hnemd --direction w", "direction = 'w': expected x, y, z or xyz"),
        (
            "--time 100fs --driving-force 1e-5",
            "driving_force = 1e-05: green-kubo does not use it",
        ),
        ("--time 100fs --check-force", "check_force: green-kubo has no driving force"),
        ("--time 100fs --direction y", "direction = y: green-kubo does not use it; leave it out"),
        (
            "--time 100fs --method hnemd --plateau 5fs,9fs",
            "plateau = (5.0, 9.0): hnemd does not use it",
        ),
        (
            "--time 100fs --method hnemd --driving-force 0",
            "driving_force = 0.0: expected a number above 0",
        ),
        ("--time 100fs --thickness -1", "thickness = -1.0: expected a number above 0 (Å)"),
        ("--time 100fs --thickness 3 --supercell 1 1 2", "a sheet (thickness) repeats only along x and y"),
        ("--time 100fs --thickness 3 --method hnemd --direction z", "direction = 'z' is across the sheet"),
        ("--time 100fs --backend tpu", "backend = 'tpu': expected auto, cuda or cpu"),
    ],
)
def test_bad_input_ends_in_one_line(call, options, message):
    code, _, err = call(LINE + f"--output k {options}")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not os.path.exists("k")


def test_fixed_atoms_are_refused_at_both_doors(call):
    held = ARGON.copy()
    held.set_constraint(FixAtoms([0]))
    message = "constraint FixAtoms, but the heat current needs all atoms to move; remove it"
    with pytest.raises(SettingsError, match=message):
        thermal_conductivity(held, "Ar.lj", KappaSettings(**SHORT, runs=2))
    held.write("held.extxyz")
    code, _, err = call(LINE.replace("s.extxyz", "held.extxyz") + "--time 100fs --runs 2 --output k")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not os.path.exists("k")


def test_a_mask_that_fixes_nothing_is_no_constraint():
    free = ARGON.copy()
    free.set_constraint([FixCartesian(k, mask=(False, False, False)) for k in range(8)] + [FixAtoms([])])
    system = supercell(free, KappaSettings(**SHORT, runs=2))
    np.testing.assert_array_equal(
        system.positions, supercell(ARGON, KappaSettings(**SHORT, runs=2)).positions
    )
    assert not system.constraints


def test_what_cannot_conduct():
    slab = ARGON.copy()
    slab.pbc = [True, True, False]
    with pytest.raises(StructureError, match="needs a cell that is periodic in three directions"):
        thermal_conductivity(slab, "Ar.lj", KappaSettings(**SHORT))
    standing = ARGON.copy()
    standing.rotate(90, "x", rotate_cell=True)
    for atoms in (standing, Atoms("Ar", cell=[5, 5, 5], pbc=[True, False, True])):
        with pytest.raises(StructureError, match=r"a sheet \(thickness\) must be periodic along"):
            thermal_conductivity(atoms, "Ar.lj", KappaSettings(**SHORT, thickness=3.0))
    with pytest.raises(SettingsError, match="temperature = -1"):
        KappaSettings(temperature=-1.0)
