"""Every test runs in `make test` or `make test-long`, and in CI; the last line says what a run leaves out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, text_of

pytestmark = pytest.mark.once

TESTS = ROOT / "tests"
SAMPLE = """
import pytest

def test_of_both(): assert True

@pytest.mark.once
def test_of_one(): assert True

@pytest.mark.runtime("none")
def test_of_another(): assert False

@pytest.mark.long
def test_of_minutes(): assert True

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


def test_the_commands_of_ci_leave_out_nothing_that_another_one_runs():
    make, ci = text_of("Makefile"), text_of(".ci/run")
    chosen = {
        target: re.search(rf'^{target}:.*\n\t.*-m (long|"[^"]*")', make, re.M)[1].strip('"')
        for target in ("test", "test-long", "test-taichi")
    }
    assert chosen == {"test": "not long", "test-long": "long", "test-taichi": "not long and not once"}
    assert re.search(r"^test-all:.*\n\t\$\(PYTEST\)\n", make, re.M)
    assert all(f"\nmake {target}\n" in ci for target in ("test-all", "test-taichi"))
    assert "TAICHIMD_REQUIRE_LAMMPS=1 TAICHIMD_REQUIRE_MDTRAJ=1" in ci


def test_long_cases_are_of_tests_that_there_are():
    cases = (TESTS / "support" / "long_cases.txt").read_text(encoding="utf-8").splitlines()
    assert cases == sorted(set(cases))
    for case in cases:
        file, _, name = case.partition("::")
        assert f"def {name.partition('[')[0]}(" in text_of(file), case


@pytest.mark.parametrize("processes", [0, 2])
def test_the_last_line_says_what_was_skipped_and_why(tmp_path, processes):
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {TESTS / 'support'}\nmarkers =\n once\n long\n runtime(name)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(processes)]
    done = subprocess.run(
        [*command, "-m", "not long and not once"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"tests ran under (taichi|quadrants); 2 skipped, 1 for: is of the runtime none; 1 for: no moon; "
        r"left out: those marked long \(make test-long\) and once \(make test\)",
        last,
    )
