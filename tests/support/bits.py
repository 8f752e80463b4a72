"""Results as hashes of their bits, to be compared between processes: other runtime, other thread count.

Run as a script, it prints {name: hash} of every system as JSON. Always on the CPU.
"""

import fcntl
import functools
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bit_groups
import bit_runs
import numpy as np
import pytest

from taichimd.core import runtime
from taichimd.core.errors import BackendError

SHARED = "PYTEST_SHARED_FOLDER"
"""The environment variable of a folder of this test run, shared by its workers (`conftest`)."""
AT_A_TIME = 3
LONG = ("math", "random", "samplers", "silicon", "npt-scr", "monte-carlo", "reaxff")
"""Systems of `make test-long`; the others are made of the same sums, lists and random numbers."""
OTHER_RUNTIME = "quadrants" if runtime.NAME == "taichi" else "taichi"


SYSTEMS = {
    "math": bit_runs.math_functions,
    "random": bit_runs.random_numbers,
    "samplers": bit_runs.samplers,
    "silicon": bit_runs.silicon,
    "silica": bit_runs.silica,
    "melt": bit_runs.melt,
    "sum": bit_runs.sum_of_three,
    "eam": bit_runs.eam,
    "edip": bit_runs.edip,
    "thermostats": bit_runs.thermostats,
    "group-baths": bit_runs.group_baths,
    "drives": bit_runs.drives,
    "relaxation": bit_runs.relaxation,
    "npt-berendsen": functools.partial(bit_runs.barostat, "npt-berendsen"),
    "npt-scr": functools.partial(bit_runs.barostat, "npt-scr"),
    "npt-mtk": functools.partial(bit_runs.barostat, "npt-mtk"),
    "monte-carlo": functools.partial(bit_groups.monte_carlo, bit_groups.SINGLE, bit_groups.ALL),
    "monte-carlo-all-triples": functools.partial(bit_groups.monte_carlo, bit_groups.WITHOUT_CUTOFF),
    "monte-carlo-one-by-one": functools.partial(
        bit_groups.monte_carlo, bit_groups.ONE_BY_ONE, enumeration="direct"
    ),
    "single-moves-together": bit_groups.single_moves_together,
    "batch": bit_groups.batch,
    "triangles": bit_groups.triangles,
    "batch-npt": bit_groups.batch_npt,
    "all-triples": bit_groups.all_triples,
    "reaxff": bit_groups.reaxff,
    "reaxff-steps": bit_groups.reaxff_steps,
}
OF_FILES = {
    "tersoff-mod": functools.partial(bit_runs.bond_order, "tersoff/mod"),
    "tersoff-modc": functools.partial(bit_runs.bond_order, "tersoff/mod/c"),
    "tersoff-zbl": functools.partial(bit_runs.bond_order, "tersoff/zbl"),
    "sw-mod": bit_runs.sw_mod,
    "potfit-pairs": functools.partial(bit_runs.potfit, "PAIR"),
    "potfit-eam": functools.partial(bit_runs.potfit, "EAM"),
}
"""Systems that are not computed elsewhere."""


def here(name):
    """Hash of a system's bits in this worker, or in the one that asked first; skips on another backend."""
    try:
        runtime.start("cpu")
    except BackendError as error:
        pytest.skip(str(error))
    return _once(f"here-{name}", lambda: computed(name))


def computed(name):
    """Hash of a system's bits in this process."""
    found = (SYSTEMS | OF_FILES)[name]()
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in found)).hexdigest()


def _once(what, made):
    """What `made` returns, for all workers of this test run: it compiles for long.

    The folder goes with the test run (`conftest`): what an earlier run has left is of other code.
    """
    with open(Path(os.environ[SHARED]) / f"bits-{what}", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = file.read()
        if not found:
            found = json.dumps(made())
            file.write(found)
    return json.loads(found)


def elsewhere(name):
    """Hash of a system's bits in another process: one thread, and the other runtime if there is one."""
    return _elsewhere(name in LONG)[name]


@functools.cache
def _elsewhere(long):
    """{name: hash} of the systems `LONG`, or of all others; for both differences at once."""
    names = [name for name in SYSTEMS if (name in LONG) == long]
    return _once(f"elsewhere-{long}", lambda: of_other_runtime(names))


def of_other_runtime(names):
    """What `_elsewhere` returns for these systems."""
    environment = {**os.environ, "TAICHIMD_THREADS": "1"}
    if other_runtime_installed():
        environment["TAICHIMD_RUNTIME"] = OTHER_RUNTIME
    # Whoever else asks waits meanwhile, so there are cores for some at a time.
    shares = [names[k::AT_A_TIME] for k in range(AT_A_TIME)]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        parts = pool.map(lambda share: in_another_process(environment, *share), shares)
        return {name: found for part in parts for name, found in part.items()}


def in_another_process(environment, *names):
    """{name: hash} of some systems, or all."""
    command = [sys.executable, __file__, *names]
    output = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)


def other_runtime_installed():
    """Whether the runtime that does not run here could."""
    return importlib.util.find_spec(OTHER_RUNTIME) is not None


if __name__ == "__main__":
    runtime.start("cpu")
    print(json.dumps({name: computed(name) for name in sys.argv[1:] or SYSTEMS}))
