"""Every test runs in one of the commands of the Makefile; the last line says what a run leaves out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, text_of

TESTS = ROOT / "tests"
SAMPLE = """
import pytest

def test_of_one(): assert False

@pytest.mark.both
def test_of_both(): assert True

@pytest.mark.both
@pytest.mark.runtime("none")
def test_of_another(): assert False

@pytest.mark.both
@pytest.mark.long
def test_of_minutes(): assert False

@pytest.mark.both
@pytest.mark.long
@pytest.mark.exhaustive
def test_of_a_release(): assert False

@pytest.mark.both
def test_skipped(): pytest.skip("no moon")
"""


OF_A_RUNTIME = {
    "test_captured.py": 1, "test_exchanges.py": 1, "test_tracing.py": 2, "test_warm_start.py": 1,
}  # fmt: skip
"""Tests of what only one runtime has. Others would be left out of `make test` for nothing."""


def test_few_tests_are_bound_to_a_runtime():
    files = [file for file in TESTS.rglob("test_*.py") if file != Path(__file__)]
    assert len(files) > 150
    found = {file.name: file.read_text(encoding="utf-8").count("mark.runtime(") for file in files}
    assert {name: count for name, count in found.items() if count} == OF_A_RUNTIME


CHOSEN = {
    "test": "not long and not exhaustive",
    "test-long": "long and not exhaustive",
    "test-all": "not exhaustive",
    "test-exhaustive": "exhaustive",
    "test-taichi": "both and not long and not exhaustive",
}


def test_each_test_is_of_one_command_and_ci_runs_all_but_the_exhaustive_ones():
    make, ci = text_of("Makefile"), text_of(".ci/run")
    found = re.findall(r'^(test[a-z-]*):.*\n\t.*-m (?:"([^"]*)"|(\w+))', make, re.M)
    assert {target: quoted or word for target, quoted, word in found} == CHOSEN
    assert all(f"\nmake {target}\n" in ci for target in ("test-all", "test-taichi"))
    assert "TAICHIMD_REQUIRE_LAMMPS=1 TAICHIMD_REQUIRE_MDTRAJ=1" in ci
    assert "`make test-exhaustive`" in text_of("CONTRIBUTING.md").partition("## Release")[2]


def test_tests_of_taichi_run_under_taichi():
    others = [file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py") if file != Path(__file__)]
    of_taichi = [text for text in others if 'mark.runtime("taichi")' in text]
    assert of_taichi
    assert all("pytestmark = pytest.mark.both" in text for text in of_taichi)


@pytest.mark.parametrize("name", ["long", "exhaustive"])
def test_listed_cases_are_of_tests_that_there_are(name):
    lines = (TESTS / "support" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    cases = [line for line in lines if line and not line.startswith("# ")]
    assert len(cases) == len(set(cases)) > 50
    for case in cases:
        file, _, name = case.partition("::")
        assert f"def {name.partition('[')[0]}(" in text_of(file), case


@pytest.mark.parametrize("processes", [0, 2])
def test_the_last_line_says_what_was_skipped_and_why(tmp_path, processes):
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {TESTS / 'support'}\nmarkers =\n both\n long\n exhaustive\n runtime(name)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(processes)]
    done = subprocess.run(
        [*command, "-m", CHOSEN["test-taichi"]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"tests ran under (taichi|quadrants); 2 skipped, 1 for: is of the runtime none; 1 for: no moon; "
        r"left out: those marked long \(make test-long\), those marked exhaustive \(make test-exhaustive\), "
        r"those not marked both \(make test\)",
        last,
    )
