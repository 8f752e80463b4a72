"""Fixtures that several test files share, and how kernels are compiled in tests."""

import os
import signal

import pytest
from hypothesis import settings

# Most of the suite's time is compilation. Bits are the same without it (`test_engine` compares).
os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")
# A shell starts what it sends to the background with Ctrl-C ignored; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples in every run: what fails here fails there.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.load_profile("same")


def pytest_collection_modifyitems(items):
    """Skip tests that run under the other runtime; begin with those that are marked `first`."""
    from taichimd.core import runtime

    for item in items:
        mark = item.get_closest_marker("runtime")
        if mark is None or mark.args == (runtime.NAME,):
            continue
        item.add_marker(
            pytest.mark.skip(reason=f"runs under {mark.args[0]}: both have the same bits on a CPU")
        )
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_runtest_setup(item):
    if item.get_closest_marker("lammps"):
        from oracle import require_lammps

        require_lammps()
    if item.get_closest_marker("mdtraj"):
        from peers import require_mdtraj

        require_mdtraj()


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were skipped for want of LAMMPS, or of structures that are not shipped."""
    from oracle import WITHOUT_STRUCTURES
    from peers import WITHOUT_LAMMPS, WITHOUT_MDTRAJ

    told = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    for want in (WITHOUT_LAMMPS, WITHOUT_MDTRAJ, WITHOUT_STRUCTURES):
        if count := sum(want in one for one in told):
            terminalreporter.write_line(f"{count} tests skipped: {want}", yellow=True)


@pytest.fixture
def call(capsys):
    """Run a command line of taichimd in this process: exit code, standard output, standard error."""
    from taichimd.cli.app import main

    def run(line):
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return run
