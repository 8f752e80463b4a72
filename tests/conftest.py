"""Fixtures that several test files share, and how kernels are compiled in tests."""

import os
import signal

import pytest

# Most of the suite's time is compilation. Bits are the same without it (`test_engine` compares).
os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")
# A shell starts what it sends to the background with Ctrl-C ignored; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


ONCE = (
    "against_lammps", "ase_plugin", "bonds", "build", "calculator", "calculator_caching",
    "calculator_errors", "calculator_workflows", "cli", "cli_analyze", "cli_check", "cli_relax", "config",
    "constant_pressure_runs", "declared_mistakes", "decomposition_doors", "driver", "driving_force",
    "engine_errors", "examples", "fingerprint", "formats", "gpu_code", "green_kubo", "interrupts", "kappa",
    "layers", "library", "lock", "motion", "observations", "observers", "other_potentials", "output_files",
    "package", "processors", "record_page", "segments", "series", "simulation", "starts",
    "structure_analysis", "structures", "sw_format", "thermostatted_runs", "trajectories",
    "trajectories_page", "tuples", "validation", "vashishta_format",
)  # fmt: skip
"""Doors, files, reports: what does not know the runtime, or stands on tests that do. Under Taichi alone."""
LONG = (
    "crystals", "docstrings", "heat_current", "nonbonded", "page_numbers", "pages",
    "precision", "precondition", "pressure", "python_door", "python_page", "sums",
    "tuple_decomposition", "vashishta", "volume_distributions",
)  # fmt: skip
"""Under quadrants, if it is there, whose kernels are ready sooner; `bits` compares what they stand on."""
FIRST = ("volume_distributions", "validation")
"""With tests of half a minute: begun last, one would keep a process busy when the others have no work."""
CI_ALONE = ("test_every_block_runs_in_turn", "test_every_ensemble", "test_a_sum_in_every_ensemble")
"""Minutes of compilation: `make test-long`, which CI runs, too."""
BOTH = "both_runtimes"
"""In the names of tests that compare the two: under Taichi."""


def pytest_collection_modifyitems(items):
    from bits import under_quadrants, under_taichi

    for item in items:
        name = item.path.stem.removeprefix("test_")
        if name in ONCE:
            item.add_marker(under_taichi)
        if name in LONG and BOTH not in item.name:
            item.add_marker(under_quadrants)
        if item.originalname in CI_ALONE and not any(short in item.name for short in ("README", "tutorial")):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in FIRST)


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
