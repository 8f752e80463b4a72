import errno
from dataclasses import replace

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones
from fake_engine import FakeEngine, FakeForceField

from taichimd.core.errors import CheckpointError, OutputError
from taichimd.io.analysis_files import curves, draw
from taichimd.io.checkpoint import (
    Checkpoint,
    check_same_system,
    read_checkpoint,
    write_checkpoint,
)
from taichimd.io.files import write_atomically
from taichimd.io.frames import read_frames
from taichimd.io.plots import plot_thermo
from taichimd.io.report import read_report, write_report
from taichimd.io.thermo import TERM, ThermoWriter, lacks, read_thermo, term_names
from taichimd.io.trajectory import TrajectoryWriter
from taichimd.system.velocities import maxwell_boltzmann


def small_system(pbc=True):
    cell = [[4.0, 0, 0], [1.0, 4.0, 0], [0.5, 0.25, 4.0]]
    atoms = Atoms("SiCSi", positions=[[0.1, 0, 0], [-2.03, 0, 1e-7], [0, 1.9, 7]], cell=cell, pbc=pbc)
    engine = FakeEngine(atoms, FakeForceField())
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, 300, 1))
    return atoms, engine


def write_frames(path, steps, drop_from=None, pbc=True):
    atoms, engine = small_system(pbc)
    writer = TrajectoryWriter(path, engine.symbols, atoms.pbc, drop_from)
    for step in steps:
        engine.set_state(step=step)
        writer.write(engine, engine.thermo(), step / 1000)
    writer.close()
    return atoms, engine


def test_ase_reads_a_frame_back_exactly(tmp_path):
    atoms, engine = write_frames(tmp_path / "t.extxyz", [40])
    frame = ase.io.read(tmp_path / "t.extxyz")
    assert frame.get_chemical_symbols() == ["Si", "C", "Si"]
    assert np.array_equal(frame.positions, engine.positions())
    assert np.array_equal(frame.cell.array, atoms.cell.array)
    assert frame.pbc.all()
    np.testing.assert_allclose(frame.get_velocities(), engine.velocities(), rtol=1e-14)
    assert frame.info["momenta_unit"] == "sqrt(eV*amu)"
    assert "vel" not in frame.arrays
    assert np.array_equal(frame.get_forces(), engine.forces())
    assert frame.get_potential_energy() == engine.thermo().potential
    assert np.array_equal(frame.get_stress(), engine.thermo().stress)
    assert frame.info["step"] == 40
    assert frame.info["time_ps"] == 0.04


def test_masses_that_are_not_ases_come_with_the_frame(tmp_path):
    atoms = Atoms("SiCSi", positions=[[0, 0, 0], [2, 0, 0], [0, 2, 0]], cell=[9, 9, 9], pbc=True)
    for masses, there in ((atoms.get_masses(), False), ([28.0855, 13.5, 30.0], True)):
        atoms.set_masses(masses)
        engine = FakeEngine(atoms, FakeForceField())
        engine.set_state(velocities=maxwell_boltzmann(engine.masses, 300, 1))
        path = tmp_path / f"{there}.extxyz"
        writer = TrajectoryWriter(path, engine.symbols, atoms.pbc, per_atom=("energy",), masses=engine.masses)
        writer.write(engine, engine.thermo(), 0.0)
        writer.close()
        assert ("masses:R:1" in path.read_text()) == there
        frame = ase.io.read(path)
        np.testing.assert_array_equal(frame.get_masses(), atoms.get_masses())
        np.testing.assert_allclose(frame.get_velocities(), engine.velocities(), rtol=1e-14)
        np.testing.assert_allclose(read_frames(path).velocities[0], engine.velocities(), rtol=1e-14)


def test_stress_is_written_as_ase_writes_it(tmp_path):
    atoms = Atoms("Ar4", positions=np.random.default_rng(0).random((4, 3)) * 5, cell=[6, 7, 8], pbc=True)
    atoms.calc = LennardJones(sigma=2.5)
    stress = atoms.get_stress()
    ase.io.write(tmp_path / "theirs.extxyz", atoms)
    engine = FakeEngine(atoms, FakeForceField())
    thermo = replace(engine.thermo(), stress=stress)
    writer = TrajectoryWriter(tmp_path / "ours.extxyz", engine.symbols, atoms.pbc)
    writer.write(engine, thermo, 0.0)
    writer.close()
    theirs = ase.io.read(tmp_path / "theirs.extxyz").get_stress()
    np.testing.assert_allclose(ase.io.read(tmp_path / "ours.extxyz").get_stress(), theirs, rtol=1e-12)


def test_cluster_has_neither_stress_nor_cell_lost(tmp_path):
    write_frames(tmp_path / "t.extxyz", [0], pbc=False)
    frame = ase.io.read(tmp_path / "t.extxyz")
    assert not frame.pbc.any()
    assert "stress" not in frame.calc.results


def test_first_columns_are_what_ovito_expects(tmp_path):
    write_frames(tmp_path / "t.extxyz", [0])
    comment = (tmp_path / "t.extxyz").read_text().splitlines()[1]
    assert "Properties=species:S:1:pos:R:3:momenta:R:3:forces:R:3 " in comment
    assert 'momenta_unit="sqrt(eV*amu)"' in comment


def test_per_atom_columns_read_back_exactly(tmp_path, monkeypatch):
    atoms, engine = small_system()
    now = replace(engine.evaluate(), virials=np.random.default_rng(1).normal(size=(3, 3, 3)))
    monkeypatch.setattr(engine, "evaluate", lambda: now)
    for names in (("energy",), ("virial", "energy")):
        writer = TrajectoryWriter(tmp_path / "t.extxyz", engine.symbols, atoms.pbc, None, names)
        writer.write(engine, engine.thermo(), 0.0)
        writer.close()
        frame = ase.io.read(tmp_path / "t.extxyz")
        assert np.array_equal(frame.get_potential_energies(), now.energies)
        assert np.array_equal(frame.get_forces(), engine.forces())
        assert ("virials" in frame.arrays) == ("virial" in names)
    assert np.array_equal(frame.arrays["virials"].reshape(3, 3, 3), now.virials)


def test_trajectory_is_cut_at_a_step(tmp_path):
    write_frames(tmp_path / "all.extxyz", [0, 10, 20, 30])
    write_frames(tmp_path / "cut.extxyz", [0, 10, 20, 25, 27])
    with open(tmp_path / "cut.extxyz", "a") as file:
        file.write("3\nhalf a fra")  # a killed run
    write_frames(tmp_path / "cut.extxyz", [20, 30], drop_from=20)
    assert (tmp_path / "cut.extxyz").read_bytes() == (tmp_path / "all.extxyz").read_bytes()


@pytest.mark.parametrize("missing_bytes", [1, 30, 200])
def test_unfinished_last_frame_is_cut(tmp_path, missing_bytes):
    write_frames(tmp_path / "all.extxyz", [0, 10])
    write_frames(tmp_path / "cut.extxyz", [0, 10])
    content = (tmp_path / "cut.extxyz").read_bytes()
    (tmp_path / "cut.extxyz").write_bytes(content[:-missing_bytes])
    write_frames(tmp_path / "cut.extxyz", [10], drop_from=11)
    assert (tmp_path / "cut.extxyz").read_bytes() == (tmp_path / "all.extxyz").read_bytes()


def test_foreign_trajectory_is_not_cut(tmp_path):
    (tmp_path / "t.extxyz").write_text("1\nno step here\nSi 0 0 0\n")
    with pytest.raises(OutputError, match="is not a trajectory that taichimd wrote, at byte 0"):
        write_frames(tmp_path / "t.extxyz", [1], drop_from=1)


def test_thermo_rows_have_full_precision_and_units(tmp_path):
    _, engine = small_system()
    thermo = engine.thermo()
    writer = ThermoWriter(tmp_path / "thermo.csv")
    writer.write(thermo, 0.1 + 0.2)
    header, row = (tmp_path / "thermo.csv").read_text().splitlines()  # flushed before it is closed
    writer.close()
    assert header == (
        "step,time_ps,temperature_K,potential_eV,kinetic_eV,total_eV,conserved_eV,pressure_GPa,volume_A3"
    )
    values = [float(field) for field in row.split(",")]
    assert values[1:8] == [
        0.1 + 0.2, thermo.temperature, thermo.potential, thermo.kinetic,
        thermo.potential + thermo.kinetic, thermo.conserved, thermo.pressure,
    ]  # fmt: skip


def test_thermo_without_volume_has_empty_fields(tmp_path):
    _, engine = small_system(pbc=False)
    writer = ThermoWriter(tmp_path / "thermo.csv")
    writer.write(engine.thermo(), 0.0)
    writer.close()
    assert (tmp_path / "thermo.csv").read_text().splitlines()[1].endswith(",,")
    assert np.isnan(read_thermo(tmp_path / "thermo.csv")["pressure_GPa"]).all()
    plot_thermo(tmp_path / "thermo.csv", tmp_path / "thermo.png", 3, "one row, no pressure")
    assert (tmp_path / "thermo.png").read_bytes()[:4] == b"\x89PNG"


def test_pictures_of_tests_have_the_same_bytes_if_they_show_the_same(tmp_path):
    """Tests draw a picture once a kind; its bytes tell apart what pictures of the kind show."""

    def bytes_of(title="argon", label="x", y=(1.0, 2.0, 3.0), band=0.1):
        def panel(axis):
            curves(axis, np.arange(len(y)), {"": (np.array(y), np.full(len(y), band))}, label, "y")

        draw(tmp_path / "curve.png", title, [panel])
        return (tmp_path / "curve.png").read_bytes()

    first = bytes_of()
    assert first.startswith(b"\x89PNG")
    assert bytes_of() == first
    others = [bytes_of("neon"), bytes_of(label="r"), bytes_of(y=(1.0, 2.0, 3.1)), bytes_of(band=0.2)]
    others += [bytes_of(y=(1.0, np.nan, 3.0)), bytes_of(y=(1.0,))]
    assert len({first, *others}) == 7


def test_thermo_is_cut_at_a_step(tmp_path):
    _, engine = small_system()
    path = tmp_path / "thermo.csv"
    for steps, drop_from in (([0, 10, 20, 30], None), ([20], 20)):
        writer = ThermoWriter(path, drop_from)
        for step in steps:
            engine.step = step
            writer.write(engine.thermo(), step / 1000)
        writer.close()
    assert [line.split(",")[0] for line in path.read_text().splitlines()] == ["step", "0", "10", "20"]
    assert not lacks(path, "volume_A3")
    assert lacks(path, TERM)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(OutputError, match="is not a thermo table of this version"):
        ThermoWriter(path, 5)


def test_columns_of_terms_are_those_with_which_the_table_began(tmp_path):
    _, engine = small_system()
    path, terms = tmp_path / "thermo.csv", term_names({"lone pair": -0.25, "a, 'b' (2)": 0.1 + 0.2})
    assert list(terms) == ["E_lone_pair_eV", "E_a_b_2_eV"]
    for drop_from, found in ((None, terms), (1, None)):
        writer = ThermoWriter(path, drop_from, charges=True, terms=tuple(found or ()))
        engine.step = drop_from or 0
        writer.write(engine.thermo(), 0.0, terms=found)
        writer.close()
    rows = read_thermo(path)
    assert list(rows)[-3:] == ["charge_iterations", *terms]
    assert [rows[name][0] for name in terms] == list(terms.values())
    assert np.isnan(rows["E_a_b_2_eV"][1])
    assert not lacks(path, TERM)


def a_checkpoint(**changes):
    atoms, engine = small_system()
    values = {
        "step": 7, "positions": engine.positions(), "velocities": engine.velocities(),
        "forces": engine.forces(), "cell": atoms.cell.array, "pbc": atoms.pbc, "numbers": atoms.numbers,
        "masses": engine.masses, "settings": {"timestep": 0.1}, "potential_hash": "abc",
        "clock": {"time_fs": 0.1, "step": 3}, "last_step": 9, "first_total": 0.1 + 0.2,
    }  # fmt: skip
    return Checkpoint(**values | changes)


def test_checkpoint_comes_back_bit_for_bit(tmp_path):
    written = a_checkpoint()
    write_checkpoint(tmp_path / "c.npz", written)
    found = read_checkpoint(tmp_path / "c.npz")
    for name in ("positions", "velocities", "forces", "cell", "masses"):
        assert getattr(found, name).tobytes() == getattr(written, name).tobytes()
    assert (found.step, found.settings, found.clock) == (7, {"timestep": 0.1}, {"time_fs": 0.1, "step": 3})
    assert found.first_total == 0.1 + 0.2
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated_checkpoint(tmp_path, share):
    path = tmp_path / "c.npz"
    write_checkpoint(path, a_checkpoint())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CheckpointError, match=r"checkpoint .*c\.npz is truncated or is not a checkpoint"):
        read_checkpoint(path)


def test_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "c.npz"
    write_checkpoint(path, a_checkpoint())
    content = bytearray(path.read_bytes())
    at = content.find(a_checkpoint().positions.tobytes())
    content[at + 3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is truncated or is not a checkpoint"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"garbage", b"\x80\x04N.", b"PK\x03\x04rest"])
def test_garbage_checkpoint(tmp_path, content):
    (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(CheckpointError, match="is truncated or is not a checkpoint"):
        read_checkpoint(tmp_path / "c.npz")


def test_plain_array_file_is_no_checkpoint(tmp_path):
    np.save(tmp_path / "c.npy", np.zeros(3))
    with pytest.raises(CheckpointError, match="is truncated or is not a checkpoint"):
        read_checkpoint(tmp_path / "c.npy")


def test_missing_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        read_checkpoint(tmp_path / "c.npz")


def test_other_format_of_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("taichimd.io.checkpoint.FORMAT", 99)
    write_checkpoint(tmp_path / "c.npz", a_checkpoint())
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has a format other than 1; use the version that wrote it"):
        read_checkpoint(tmp_path / "c.npz")


def test_nan_in_a_checkpoint(tmp_path):
    write_checkpoint(tmp_path / "c.npz", a_checkpoint(velocities=np.full((3, 3), np.nan)))
    with pytest.raises(CheckpointError, match="velocities holds what is not a finite number"):
        read_checkpoint(tmp_path / "c.npz")


def test_other_system_says_what_differs():
    checkpoint = a_checkpoint()
    atoms = checkpoint.atoms()
    check_same_system("c.npz", checkpoint, atoms)
    with pytest.raises(CheckpointError, match=r"it has 3 atoms, the structure 2; give the structure it came"):
        check_same_system("c.npz", checkpoint, atoms[:2])
    other = atoms.copy()
    other.symbols[1] = "Ge"
    with pytest.raises(CheckpointError, match="atom 1 is C, in the structure Ge"):
        check_same_system("c.npz", checkpoint, other)
    other = atoms.copy()
    other.pbc = [True, True, False]
    with pytest.raises(
        CheckpointError, match=r"pbc is \[True, True, True\], in the structure \[True, True, F"
    ):
        check_same_system("c.npz", checkpoint, other)
    other = atoms.copy()
    other.set_masses([*atoms.get_masses()[:2], 14.0])
    with pytest.raises(CheckpointError, match=r"atom 2 has a mass of \S+, in the structure 14"):
        check_same_system("c.npz", checkpoint, other)
    other = atoms.copy()
    other.cell[0, 0] += 0.1
    with pytest.raises(CheckpointError, match="the cell differs"):
        check_same_system("c.npz", checkpoint, other)


def test_atomic_write_keeps_the_old_file_when_the_disk_is_full(tmp_path):
    path = tmp_path / "c.npz"
    path.write_text("old")

    def full(file):
        file.write(b"new")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"cannot write .*c\.npz: the disk is full; free some space"):
        write_atomically(path, full)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.parametrize(
    ("number", "text"), [(errno.EACCES, "no permission"), (errno.EROFS, "no permission"), (errno.EIO, "I")]
)
def test_reason_of_a_failed_write(tmp_path, number, text):
    def fails(file):
        raise OSError(number, "Input/output error")

    with pytest.raises(OutputError, match=f"cannot write .*: {text}"):
        write_atomically(tmp_path / "f", fails)


def test_reports(tmp_path):
    write_report(tmp_path / "run.json", {"a": np.float64(0.1), "b": np.arange(2), "c": tmp_path})
    assert read_report(tmp_path / "run.json") == {"a": 0.1, "b": [0, 1], "c": str(tmp_path)}
    assert read_report(tmp_path / "none.json") == {}
