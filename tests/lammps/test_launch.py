"""`taichimd lammps`: processes of MPI, and what is said where they cannot run or have died."""

import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from ase.build import bulk

from taichimd import Engine, load_forcefield
from taichimd.core.errors import BackendError
from taichimd.core.processes import take_device
from taichimd.lammps.launch import Launch, launch
from taichimd.lammps.processes import summed
from taichimd.lammps.rank import _check_world
from taichimd.lammps.reference import BAR_PER_EV_A3

pytestmark = pytest.mark.lammps

SILICON = """units metal
newton off
lattice diamond 5.43
region box block 0 2 0 2 0 3
create_box 1 box
create_atoms 1 box
mass 1 28.0855
velocity all create 800 4928 loop geom
velocity all set 30.0 20.0 40.0 sum yes
neighbor 1.0 bin
pair_style taichimd
pair_coeff * * Si
compute who all property/atom proc
compute each all pe/atom
compute press all pressure NULL virial
dump frames all custom 30 frames.txt id element xu yu zu fx fy fz c_who c_each
dump_modify frames sort id format float %.17g element Si
thermo 30
thermo_style custom step pe c_press[1] c_press[2] c_press[4]
thermo_modify format float %.17g norm no
fix move all nve
"""
DYING = """import os, threading, time
from taichimd import load_forcefield

def end():
    while not os.path.exists("taichimd.restart.b"):
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(os.getpid(), 9)

if os.environ.get("PMI_RANK") == "1":
    threading.Thread(target=end, daemon=True).start()
silicon = load_forcefield("Si.sw")
"""
several = pytest.mark.skipif(not importlib.util.find_spec("mpi4py"), reason="mpi4py is not installed")


def written(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "in.si").write_text(text)


@pytest.mark.long
@several
def test_two_processes_have_the_forces_of_one(tmp_path, monkeypatch, call):
    """Atoms drift from one process to the other; at each frame the engine evaluates the same positions."""
    written(tmp_path, monkeypatch, SILICON + "run 60\n")
    code, _, _ = call("lammps in.si --potential Si.sw --np 2 -- -screen none")
    assert code == 0
    frames = [
        frame.split("\n")[8:-1] for frame in (tmp_path / "frames.txt").read_text().split("ITEM: TIMESTEP")[1:]
    ]
    log = (tmp_path / "log.lammps").read_text().splitlines()
    begin = next(i for i, line in enumerate(log) if line.split()[:2] == ["Step", "PotEng"])
    thermo = np.array([line.split() for line in log[begin + 1 : begin + 4]], float)
    atoms = bulk("Si", cubic=True) * (2, 2, 3)
    engine = Engine(atoms, load_forcefield("Si.sw"))
    owners = []
    for frame, (_, energy, *pressure) in zip(frames, thermo, strict=True):
        table = np.array([row.split()[2:] for row in frame[1:]], float)
        engine.set_state(positions=table[:, :3])
        expected = engine.evaluate()
        np.testing.assert_allclose(table[:, 3:6], expected.forces, rtol=0, atol=1e-10)
        np.testing.assert_allclose(table[:, 7], expected.energies, rtol=0, atol=1e-10)
        assert energy == pytest.approx(expected.energy, rel=1e-12)
        np.testing.assert_allclose(
            pressure, -expected.stress[[0, 1, 5]] * BAR_PER_EV_A3, rtol=1e-10, atol=1e-6
        )
        owners.append(table[:, 6])
    assert (owners[0] != owners[-1]).sum() > 10


@several
@pytest.mark.long
def test_a_process_that_dies_ends_all_and_leaves_a_restart(tmp_path, monkeypatch, call):
    """The restart file has the last step that it was asked for."""
    written(tmp_path, monkeypatch, SILICON + "run 25\nrestart 0\nrun 1000000\n")
    (tmp_path / "dying.py").write_text(DYING)
    code, _, told = call(
        "lammps in.si --potential dying.py:silicon --np 2 --restart-every 10 -- -screen none"
    )
    assert code == 1
    assert "was killed (signal 9)" in told
    assert "continue with read_restart taichimd.restart.b (or taichimd.restart.a)" in told
    again = "read_restart taichimd.restart.b\npair_style taichimd\npair_coeff * * Si\nfix 1 all nve\nrun 5\n"
    written(tmp_path, monkeypatch, again)
    code, _, _ = call("lammps in.si --potential Si.sw -- -screen none")
    assert code == 0
    assert re.search(r"\n +25 +[0-9]", (tmp_path / "log.lammps").read_text())


@several
@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_an_error_in_one_process_ends_all(tmp_path, monkeypatch, count):
    """Two atoms on top of each other, both in one half of the box."""
    two = "create_atoms 1 single 0.0 0.0 0.005 units box\nrun 5\n"
    written(tmp_path, monkeypatch, SILICON + two)
    line = f"-m taichimd lammps in.si --potential Si.sw --np {count} -- -screen none"
    found = subprocess.run([sys.executable, *line.split()], capture_output=True, text=True)
    assert found.returncode == 1
    assert "angstrom apart" in found.stderr
    assert "no restart file was asked for: --restart-every" in found.stderr


def test_what_cannot_run_is_said(tmp_path, monkeypatch, call):
    written(tmp_path, monkeypatch, SILICON)
    for line, told in (
        ("--potential Si.sw --np 0", "--np 0: expected 1 or more"),
        ("--potential SiO.ffield", "charges depend on all atoms"),
        ("--potential Ar.lj", "Ar.lj has no parameters for Si"),
    ):
        code, _, error = call(f"lammps in.si {line}")
        assert code == 2
        assert told in error
    find_spec = importlib.util.find_spec
    for missing, count in (("lammps", 1), ("mpi4py", 2)):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda n, no=missing: None if n == no else find_spec(n)
        )
        with pytest.raises(
            BackendError, match=rf"package {missing} is not installed; in the checkout: pip install"
        ):
            launch(Launch("in.si", ["Si.sw"], count))
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: n)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("MPI4PY_LIBMPI", str(tmp_path / "lib" / "libmpi.so.12"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendError, match="mpiexec was not found"):
        launch(Launch("in.si", ["Si.sw"], 2))


def test_processes_that_do_not_know_each_other_are_refused():
    _check_world(2, 2)
    _check_world(4, 1)  # started by a scheduler
    with pytest.raises(BackendError, match=r"2 processes were started, and LAMMPS knows 1: mpiexec belongs"):
        _check_world(1, 2)


def test_sums_of_several_processes_need_mpi4py():
    class Alone:
        def extract_setting(self, name):
            return {"world_size": 2}[name]

        def get_mpi_comm(self):
            return None

    with pytest.raises(BackendError, match="need the Python package mpi4py; in the checkout: pip install"):
        summed(Alone(), np.zeros(2))


def test_a_script_without_units_is_refused(tmp_path, monkeypatch):
    """LAMMPS's default is lj."""
    written(tmp_path, monkeypatch, SILICON.replace("units metal\n", "") + "run 1\n")
    line = "-m taichimd lammps in.si --potential Si.sw -- -screen none"
    found = subprocess.run([sys.executable, *line.split()], capture_output=True, text=True)
    assert found.returncode == 1
    assert "LAMMPS's units are lj, expected metal; change its line: units metal" in found.stderr


def test_each_process_takes_a_device(monkeypatch):
    """As far as there are enough; the first one says if there are not."""
    monkeypatch.setenv("MPI_LOCALNRANKS", "3")
    monkeypatch.setenv("TAICHIMD_THREADS", "2")
    for visible, rank, taken, told in (
        ("0,1", 0, "0", "3 processes share 2 GPUs"),
        ("0,1", 2, "0", ""),
        ("4,5,6", 2, "6", ""),
        ("", 0, "", ""),
    ):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        monkeypatch.setenv("MPI_LOCALRANKID", str(rank))
        assert take_device.__wrapped__()[:24] == told
        assert os.environ["CUDA_VISIBLE_DEVICES"] == taken


def test_a_process_has_its_device_before_the_runtime_starts():
    """Whatever of taichimd is imported first, and whenever MPI starts."""
    code = "import os, taichimd; taichimd.LennardJones; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    several = {"MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "1", "CUDA_VISIBLE_DEVICES": "4,7"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **several},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "7"
