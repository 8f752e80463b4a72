"""Frames of a picture: the right atoms at the right places, thinned, and a cut end left out."""

import numpy as np
import pytest
from ase import Atoms
from ase.io import read, write
from run_folders import checkpoint_of, frames

from taichimd.core.errors import StructureError
from taichimd.report import frames as module
from taichimd.report.frames import shown_frames


def test_positions_lie_in_the_cell_and_times_are_labels(tmp_path):
    (tmp_path / "a.extxyz").write_text(frames(3))
    shown = shown_frames(tmp_path / "a.extxyz")
    assert shown.labels == ["0 ps", "0.01 ps", "0.02 ps"]
    assert np.allclose(shown.positions[2], [[1, 1, 1], [3.02, 1, 2]])
    assert np.allclose(shown.cells, 10 * np.eye(3))
    assert shown.notes == []


def test_a_triclinic_cell_has_its_vectors_in_rows(tmp_path):
    cell = [[4.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.5, 0.2, 5.0]]
    atoms = Atoms("SiC", [[0.1, 0.2, 0.3], [1, 1, 1]], cell=cell, pbc=True)
    for name in ("a.extxyz", "a.traj", "a.cif"):
        write(tmp_path / name, [atoms] * (1 if name == "a.cif" else 2))
        shown = shown_frames(tmp_path / name)
        assert np.allclose(shown.positions[0], read(tmp_path / name).positions, atol=1e-6)
        assert np.allclose(shown.cells[0], read(tmp_path / name).cell, atol=1e-6)
        assert shown.symbols.tolist() == ["Si", "C"]


@pytest.mark.parametrize("left", [1, 5, 60, 100])
def test_a_frame_that_is_cut_off_is_left_out_and_said(tmp_path, left):
    text = frames(4)
    (tmp_path / "a.extxyz").write_text(text[:-left])
    shown = shown_frames(tmp_path / "a.extxyz")
    assert len(shown.labels) == 3
    assert shown.notes == ["the last frame is cut off and left out"]


def test_a_cut_binary_trajectory_has_the_frames_before(tmp_path):
    atoms = Atoms("Si2", [[0, 0, 0], [2, 0, 0]], cell=[5, 5, 5], pbc=True)
    write(tmp_path / "a.traj", [atoms] * 3)
    write(tmp_path / "one.traj", [atoms])
    data = (tmp_path / "a.traj").read_bytes()
    (tmp_path / "b.traj").write_bytes(data[: len(data) // 2])
    with pytest.raises(StructureError, match=r"b\.traj cannot be read"):
        shown_frames(tmp_path / "b.traj")
    assert len(shown_frames(tmp_path / "one.traj").labels) == 1


def test_many_frames_are_thinned_at_equal_intervals(tmp_path):
    (tmp_path / "a.extxyz").write_text(frames(397))
    shown = shown_frames(tmp_path / "a.extxyz")
    assert len(shown.labels) == 100
    assert (shown.labels[0], shown.labels[1], shown.labels[-1]) == ("0 ps", "0.04 ps", "3.96 ps")
    assert shown.notes == ["100 of 397 frames are shown, at equal intervals"]


def test_many_atoms_are_thinned_the_same_in_each_frame(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_ATOMS", 50)
    atoms = Atoms("Si300", np.arange(900).reshape(-1, 3) * 0.5)
    moved = atoms.copy()
    moved.positions += 1.0
    notes = ["50 of 300 atoms are shown, drawn at random"]
    for name in ("a.extxyz", "a.traj", "a.dump"):
        if name == "a.dump":
            lines = [f"{k + 1} 1 {x} {y} {z}" for k, (x, y, z) in enumerate(atoms.positions.tolist())]
            head = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n300\nITEM: BOX BOUNDS ff ff ff\n0 9\n0 9\n0 9\n"
            text = f"{head}ITEM: ATOMS id type xu yu zu\n" + "\n".join(lines) + "\n"
            (tmp_path / name).write_text(text)
            shown = shown_frames(tmp_path / name, elements=["Si"])
        else:
            write(tmp_path / name, [atoms, moved])
            shown = shown_frames(tmp_path / name)
            assert np.allclose(shown.positions[1] - shown.positions[0], 1.0)
        assert shown.notes[:1] == notes
        assert [note.split(" does")[0] for note in shown.notes[1:]] == ["a.dump"] * (name == "a.dump")
        numbers = (shown.positions[0, :, 0] / 1.5).round().astype(int)
        assert np.array_equal(numbers, np.unique(numbers))
        assert np.allclose(shown.positions[0], atoms.positions[numbers])


def test_three_million_atoms_are_thinned_and_said(tmp_path):
    head = b'3000000\nLattice="9 0 0 0 9 0 0 0 9" pbc="T T T" step=5\n'
    with open(tmp_path / "a.extxyz", "wb") as file:
        for _ in range(2):
            file.write(head + b"Si 1.0 2.0 3.0\n" * 3_000_000)
    shown = shown_frames(tmp_path / "a.extxyz")
    assert shown.positions.shape == (2, 20_000, 3)
    assert shown.notes == ["20,000 of 3,000,000 atoms are shown, drawn at random"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("2\nno end", "has no whole frame yet"),
        ("hello\n", "cannot be read as the number of atoms"),
        (frames(1) + "1\n\nSi 0 0 0\n", "the number of atoms changes"),
        ("1\n\nSi 0 0 nan\n", "not a finite number"),
        ("1\n\nSi 0 0\n", "frame 0 cannot be read"),
        ("1\nProperties=pos:R:3\n0 0 0\n", "species and pos"),
    ],
)
def test_what_cannot_be_shown_is_one_line(tmp_path, text, told):
    (tmp_path / "a.extxyz").write_text(text)
    with pytest.raises(StructureError, match=told):
        shown_frames(tmp_path / "a.extxyz")


def test_groups_come_from_the_checkpoint_beside_a_trajectory(tmp_path, monkeypatch):
    from taichimd import Langevin, Source
    from taichimd.ensembles.groups.given import GroupBath
    from taichimd.report.groups import baths_of
    from taichimd.report.view import _groups
    from taichimd.report.words import baths_method

    baths = [
        GroupBath("hot", Langevin(320.0), np.arange(3)),
        GroupBath("cold", Source(-0.1), np.array([5, 7])),
    ]
    checkpoint_of(tmp_path, 10, baths, fixed=np.arange(10) == 9)
    write(tmp_path / "a.extxyz", Atoms("Si10", np.arange(30).reshape(-1, 3) * 1.0))
    for name in ("a.extxyz", "checkpoint.npz"):
        shown = shown_frames(tmp_path / name)
        assert {group: np.flatnonzero(inside).tolist() for group, inside in shown.groups.items()} == {
            "hot": [0, 1, 2], "cold": [5, 7], "fixed": [9],
        }  # fmt: skip
    found = _groups(shown)
    assert found["members"] == [0, 0, 0, 3, 3, 1, 3, 1, 3, 2]
    assert [(name, size) for name, _, size in found["looks"]] == [
        ("hot", 3), ("cold", 2), ("fixed", 1), ("no group", 4),
    ]  # fmt: skip
    text, keys = baths_method(baths_of(tmp_path))
    assert "In the group hot (3 atoms) Langevin dynamics \\cite{leimkuhler2013} held 320 K." in text
    assert "-0.1 eV/ps acted on the group cold (2 atoms)" in text
    assert keys == ["leimkuhler2013", "wirnsberger2015"]
    monkeypatch.setattr(module, "MAX_ATOMS", 4)
    thinned = shown_frames(tmp_path / "a.extxyz")
    numbers = (thinned.positions[0, :, 0] / 3).round().astype(int)
    assert np.array_equal(thinned.groups["hot"], numbers < 3)


def test_named_groups_and_drives_are_shown_below_baths_and_told(tmp_path):
    from taichimd import Drag, Langevin, Move
    from taichimd.ensembles.drives.given import GroupDrive
    from taichimd.ensembles.groups.given import GroupBath
    from taichimd.report.groups import drives_of
    from taichimd.report.words import drives_method

    drives = [
        GroupDrive("top", Move((0.5, 0.0, 0.0)), np.array([8, 9])),
        GroupDrive("film", Drag(100.0), np.arange(8)),
        GroupDrive("every", Drag(1e6), np.arange(10)),
    ]
    checkpoint_of(tmp_path, 10, [GroupBath("hot", Langevin(320.0), np.arange(3))], drives=drives)
    write(tmp_path / "a.extxyz", Atoms("Si10", np.arange(30).reshape(-1, 3) * 1.0))
    shown = shown_frames(tmp_path / "a.extxyz")
    assert [(name, int(inside.sum())) for name, inside in shown.groups.items()] == [
        ("film", 8), ("top", 2), ("hot", 3),
    ]  # fmt: skip
    text = drives_method(drives_of(tmp_path))
    assert text.startswith(
        "Besides the potential, these drives acted on atoms: top: move, velocity (0.5, 0.0, "
    )
    assert drives_method([]) == ""


def test_a_checkpoint_of_other_atoms_names_no_groups(tmp_path):
    checkpoint_of(tmp_path, 3, fixed=np.array([True, False, False]))
    (tmp_path / "a.extxyz").write_text(frames(1))
    write(tmp_path / "c.extxyz", Atoms("SiCSi", np.eye(3) * 3))
    assert shown_frames(tmp_path / "a.extxyz").groups.keys() == {"fixed"}, "its first atoms are the same"
    assert shown_frames(tmp_path / "c.extxyz").groups == {}


def test_frames_in_netcdf_are_shown_and_a_cut_end_is_left_out(tmp_path):
    from taichimd.io.netcdf_trajectory import NetcdfTrajectoryWriter
    from taichimd.io.snapshot import Snapshot
    from taichimd.report.of_run import trajectory_of

    writer = NetcdfTrajectoryWriter(tmp_path / "trajectory.nc", ["Si", "Si"], np.ones(3, bool))
    for k in range(3):
        positions = np.array([[1.0, 1, 1], [3.0 + k, 1, 1]])
        writer.append_frame(
            Snapshot(
                step=10 * k, time_ps=0.01 * k, energy=-8.0, stress=None, cell=10 * np.eye(3),
                positions=positions, velocities=0 * positions, masses=np.full(2, 28.0), terms={},
                forces=0 * positions, fixed=None, values={}, energies=None, virials=None,
            )
        )  # fmt: skip
    writer.close()
    assert trajectory_of(tmp_path) == tmp_path / "trajectory.nc"
    shown = shown_frames(tmp_path / "trajectory.nc")
    assert shown.labels == ["0 ps", "0.01 ps", "0.02 ps"]
    assert np.allclose(shown.positions[:, 1, 0], [3, 4, 5])
    data = (tmp_path / "trajectory.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(data[:-20])
    assert shown_frames(tmp_path / "cut.nc").labels == ["0 ps", "0.01 ps"]
