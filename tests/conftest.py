"""Fixtures that several test files share, how kernels are compiled in tests, and which tests a run has."""

import functools
import gc
import importlib.util
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# Most of the suite's time is compilation. Bits are the same without it (`test_engine` compares).
os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")
# So is the runtime that compiles faster; TAICHIMD_RUNTIME=taichi runs tests under the other one.
if importlib.util.find_spec("quadrants"):
    os.environ.setdefault("TAICHIMD_RUNTIME", "quadrants")
# All that one command of CI compiles is there for the next: by default the runtimes keep 100 MB of kernels.
for runtime in ("QD", "TI"):
    os.environ.setdefault(f"{runtime}_OFFLINE_CACHE_MAX_SIZE_OF_FILES", str(2**29))
# A shell starts what it sends to the background with Ctrl-C ignored; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples in every run: what fails here fails there.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.load_profile("same")
SHARED = "PYTEST_SHARED_FOLDER"
"""The environment variable of a folder that all workers of this run share, and that goes with it."""
LAST_LINE = pytest.StashKey[str]()
SECONDS, SHARE = 2.0, 0.05
"""A process writes what it has compiled after so much processor time; writing takes at most this share."""
LISTS = {name: Path(__file__).parent / "support" / f"{name}.txt" for name in ("long", "exhaustive")}
"""Lists of tests that have these marks; a name without brackets means all cases of its test."""


def pytest_configure(config):
    """Make the folder that workers share: they start later, with this environment."""
    if not hasattr(config, "workerinput"):
        os.environ[SHARED] = tempfile.mkdtemp(prefix="taichimd-tests-")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """Mark the tests that are listed as long or exhaustive."""
    for name, cases in _listed().items():
        if not cases.isdisjoint((item.nodeid, item.nodeid.partition("[")[0])):
            item.add_marker(getattr(pytest.mark, name))


@functools.cache
def _listed():
    return {
        name: frozenset(file.read_text(encoding="utf-8").splitlines()) if file.exists() else frozenset()
        for name, file in LISTS.items()
    }


def pytest_collection_modifyitems(items):
    """Skip tests of the other runtime; begin with those that are marked `first`."""
    from taichimd.core import runtime

    for item in items:
        mark = item.get_closest_marker("runtime")
        if mark is not None and mark.args != (runtime.NAME,):
            item.add_marker(pytest.mark.skip(reason=f"is of the runtime {mark.args[0]}"))
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_collection_finish():
    """Let the garbage collector pass over what stays until the end: modules and tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    if item.get_closest_marker("lammps"):
        from peers import require_lammps

        require_lammps()
    if item.get_closest_marker("mdtraj"):
        from peers import require_mdtraj

        require_mdtraj()
    if item.get_closest_marker("browser"):
        from browsers import require_browser

        require_browser()


def pytest_terminal_summary(terminalreporter, config):
    """Say under which runtime tests ran, how many were skipped for which reason, and which were left out."""
    from taichimd.core import runtime

    reports = terminalreporter.stats.get("skipped", ())
    reasons = Counter(
        report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in reports
    )
    told = [f"{count} for: {why.removeprefix('Skipped: ')}" for why, count in sorted(reasons.items())]
    chosen = config.option.markexpr
    left = [f"those marked {name} (make test-{name})" for name in LISTS if f"not {name}" in chosen]
    left += ["those not marked both (make test)"] if chosen.startswith("both") else []
    skipped = f"{sum(reasons.values())} skipped" + (f", {'; '.join(told)}" if told else "")
    out = f"; left out: {', '.join(left)}" if left else ""
    config.stash[LAST_LINE] = f"tests ran under {runtime.NAME}; {skipped}{out}"


class Written:
    """What this process had when it last wrote its kernels.

    Attributes:
        time: its processor time in seconds.
        kernels: how many it had made.
        cost: processor time that this took; it grows, because a copy writes all kernels, not the new ones.
    """

    time, kernels, cost = 0.0, 0, 0.0


def pytest_runtest_logfinish():
    """Let other processes of this run find what this one has compiled: workers, and commands of tests."""
    from taichimd.core import runtime
    from taichimd.core.exclusive import PROCESS

    wait = max(SECONDS, Written.cost / SHARE)
    if not PROCESS.started or runtime.NAME != "quadrants" or time.process_time() - Written.time < wait:
        return
    made = importlib.import_module("quadrants.lang.kernel").Kernel.counter
    if made > Written.kernels and runtime.backend() == "cpu":
        # To write its kernels takes them from a process: a copy of this one writes.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of copies of processes with threads
            copy = os.fork()
        if copy:
            usage = os.wait4(copy, 0)[2]
            Written.cost = usage.ru_utime + usage.ru_stime
        else:
            try:
                signal.alarm(30)
                write_kernels()
            finally:
                os._exit(0)
    Written.time, Written.kernels = time.process_time(), made


def write_kernels():
    from taichimd.core import runtime

    runtime.ti.lang.impl.get_runtime().prog.dump_cache_data_to_disk()


def pytest_sessionfinish():
    """Keep what this process has compiled; at the end of Python the runtime would forget it."""
    from taichimd.core import runtime
    from taichimd.core.exclusive import PROCESS

    if PROCESS.started and runtime.NAME == "quadrants":
        write_kernels()


def pytest_unconfigure(config):
    """Remove the shared folder; the very last line."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(SHARED), ignore_errors=True)
    if line := config.stash.get(LAST_LINE, ""):
        print(line)


@pytest.fixture(scope="session", autouse=True)
def _quick_pictures():
    """Draw pictures once a kind."""
    from matplotlib.figure import Figure
    from pictures import quick

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", quick(Figure.savefig))
        yield


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
