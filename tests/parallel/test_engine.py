"""Several processes have the bits of one engine."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import several_processes

from taichimd import Engine
from taichimd.core.processes import mpiexec

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("mpi4py"), reason="mpi4py is not installed"),
]


def of_processes(folder, cases, monkeypatch):
    """What three processes have found, each."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = [mpiexec(), "-n", "3", sys.executable, "-m", "mpi4py", several_processes.__file__, str(folder)]
    child = subprocess.run([*command, *cases], capture_output=True, text=True, timeout=900)
    assert child.returncode == 0, child.stderr[-2000:]
    return [dict(np.load(Path(folder) / f"{rank}.npz")) for rank in range(3)]


def check_case(case, everyone):
    """Bits of 1, 2 and 3 processes and of one engine, in every process."""
    atoms, forcefield, ensemble, timestep = several_processes.make(case)
    engine = Engine(atoms, forcefield, ensemble=ensemble, backend="cpu")
    expected = several_processes.found(engine, timestep)
    for rank, kept in enumerate(everyone):
        for count in (3, 1 if rank == 2 else 2):
            for name, value in expected.items():
                np.testing.assert_array_equal(
                    kept[f"{case} {count} {name}"], value, err_msg=f"{name} {count}"
                )


@pytest.mark.long
def test_processes_have_the_bits_of_one_engine(tmp_path, monkeypatch):
    everyone = of_processes(tmp_path, ["lj", "fast atoms"], monkeypatch)
    for case in ("lj", "fast atoms"):
        check_case(case, everyone)
    assert everyone[0]["lj 3 choices"] > 2  # atoms have changed from one process to another
    for rank, kept in enumerate(everyone):
        close, fast, refused, few, full = kept["told"]
        assert close.startswith("StructureError: atoms 100 and 101 (counted from 0)")
        assert fast.startswith("BlowUpError: the run exploded at step 1: atom 150 (Ar) moved by more than")
        assert refused == (
            "SettingsError: nvt-bussi acts on the whole system; several processes do nve and nvt-langevin"
        )
        assert few == "SettingsError: 2 atoms for 3 processes; take fewer processes"
        assert full == ("CapacityError: no room" if rank == 1 else "TaichimdError: another process: no room")


@pytest.mark.long
def test_other_force_fields_and_langevin_have_them_too(tmp_path, monkeypatch):
    cases = ["wire", "tersoff", "sw", "vashishta", "eam", "edip", "long lists"]
    everyone = of_processes(tmp_path, cases, monkeypatch)
    for case in cases:
        check_case(case, everyone)
    for kept in everyone:
        assert not kept["long lists 3 near list"]
        # Others were made without the host.
        assert kept["long lists 3 builds"] > kept["long lists 3 host builds"]
