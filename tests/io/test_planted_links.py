"""Links that somebody has put into an output folder: what they lead to stays as it is."""

import os

import numpy as np
import pytest
from ase.build import bulk

from taichimd.app import driver
from taichimd.cli.demo import demo
from taichimd.core.errors import OutputError
from taichimd.io import files
from taichimd.io.binary_trajectory import BinaryTrajectoryWriter, cut_frames
from taichimd.io.files import AppendedFile, open_own, write_atomically
from taichimd.io.lock import NAME, locked
from taichimd.io.structures import read_structure, write_structure
from taichimd.io.thermo import ThermoWriter
from taichimd.io.trajectory import TrajectoryWriter

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system opens links in one way only"),
]
PBC = np.ones(3, bool)


@pytest.fixture
def victim(tmp_path):
    (tmp_path / "out").mkdir()
    file = tmp_path / "victim"
    file.write_bytes(b"untouched")
    yield file
    assert file.read_bytes() == b"untouched"


def _planted(victim, name):
    link = victim.parent / "out" / name
    link.symlink_to(victim)
    return link


def test_a_temporary_file_of_the_former_name_is_not_followed(victim):
    link = _planted(victim, ".checkpoint.npz.part")
    write_atomically(victim.parent / "out" / "checkpoint.npz", lambda file: file.write(b"new"))
    assert (victim.parent / "out" / "checkpoint.npz").read_bytes() == b"new"
    assert link.is_symlink()


def test_a_temporary_file_whose_name_was_guessed_is_refused(victim, monkeypatch):
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "0" * size)
    _planted(victim, ".checkpoint.npz.0000.part")
    with pytest.raises(OutputError, match=r"cannot write .*checkpoint.npz"):
        write_atomically(victim.parent / "out" / "checkpoint.npz", lambda file: file.write(b"new"))


def test_a_link_in_the_place_of_a_result_is_replaced_by_the_result(victim):
    link = _planted(victim, "run.json")
    write_atomically(link, lambda file: file.write(b"{}"))
    assert not link.is_symlink()
    assert link.read_bytes() == b"{}"


@pytest.mark.parametrize(
    "write",
    [
        lambda link: AppendedFile(link, None),
        lambda link: AppendedFile(link, lambda: 0),
        lambda link: ThermoWriter(link),
        lambda link: TrajectoryWriter(link, ["Si"], PBC),
        lambda link: BinaryTrajectoryWriter(link, ["Si"], PBC),
    ],
)
def test_files_that_grow_do_not_follow_a_link(victim, write):
    with pytest.raises(OutputError, match=r"cannot write .*/out/thermo.csv: a symbolic link is in its place"):
        write(_planted(victim, "thermo.csv"))


def test_a_link_to_nothing_makes_no_file(tmp_path):
    link = tmp_path / "thermo.csv"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="symbolic link"):
        ThermoWriter(link)
    assert not (tmp_path / "nowhere").exists()


def test_frames_of_a_trajectory_behind_a_link_are_not_cut(tmp_path):
    real = tmp_path / "real.traj"
    bulk("Si").write(real)
    link = tmp_path / "trajectory.traj"
    link.symlink_to(real)
    before = real.read_bytes()
    with pytest.raises(OutputError):
        cut_frames(link, 0)
    assert real.read_bytes() == before


def test_a_lock_that_is_a_link_is_refused(victim):
    victim.write_bytes(b"")
    _planted(victim, NAME)
    with pytest.raises(OutputError, match=f"{NAME} is a symbolic link"), locked(victim.parent / "out"):
        pass
    assert victim.read_bytes() == b""
    victim.write_bytes(b"untouched")


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "thermo.csv")
    with pytest.raises(OutputError, match="cannot write"):
        ThermoWriter(tmp_path / "thermo.csv")


def test_a_structure_replaces_a_link_in_its_place(victim):
    link = _planted(victim, "s.xyz")
    write_structure(link, bulk("Si"), overwrite=True)
    assert not link.is_symlink()
    assert [file.name for file in link.parent.iterdir()] == ["s.xyz"]


def test_the_demo_replaces_a_link_in_the_place_of_its_structure(victim, monkeypatch):
    monkeypatch.setattr(driver, "run_job", lambda *_: 0)
    link = _planted(victim, "silicon.extxyz")
    assert demo(output=str(link.parent)) == 0
    assert not link.is_symlink()
    assert len(read_structure(link)) == 1000


def test_a_folder_that_is_a_link_works(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "scratch")
    with locked(tmp_path / "out"):
        write_atomically(tmp_path / "out" / "run.json", lambda file: file.write(b"{}"))
        ThermoWriter(tmp_path / "out" / "thermo.csv").close()
    assert sorted(file.name for file in (tmp_path / "scratch").iterdir()) == ["run.json", "thermo.csv"]


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path):
    old, fresh = tmp_path / ".a.npz.0.part", tmp_path / ".b.npz.0.part"
    old.touch(), fresh.touch()
    os.utime(old, (0, 0))
    with locked(tmp_path):
        assert not old.exists()
        assert fresh.exists()


def test_files_have_the_permissions_of_the_user(tmp_path):
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", lambda file: file.write(b""))
        os.close(open_own(tmp_path / "b", "w"))
    finally:
        os.umask(mask)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [0o640, 0o640]
