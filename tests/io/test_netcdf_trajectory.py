"""Trajectories in AMBER's binary format: the numbers of the run, the convention's names and units, cuts."""

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.constraints import FixAtoms
from scipy.io import netcdf_file

from taichimd.core.errors import OutputError, StructureError
from taichimd.forcefields.load import load_forcefield
from taichimd.io import netcdf_trajectory
from taichimd.io.frames import read_frames
from taichimd.io.netcdf_trajectory import (
    NetcdfTrajectoryWriter,
    cut_netcdf,
    is_netcdf,
    layout_of,
    netcdf_frames,
)
from taichimd.io.snapshot import Snapshot
from taichimd.io.structures import read_structure
from taichimd.program.engine import Engine

SYMBOLS, PBC = ["Si", "C", "O", "Si"], np.array([True, True, False])
CELL = np.array([[4.0, 0, 0], [1.0, 4.0, 0], [0.5, 0.25, 4.0]])


def a_frame(step, **changes):
    rng = np.random.default_rng(step)
    frame = Snapshot(
        step=step, time_ps=step / 1000, energy=rng.normal(), stress=rng.normal(size=6), cell=CELL,
        positions=rng.normal(size=(4, 3)), velocities=rng.normal(size=(4, 3)),
        masses=Atoms(SYMBOLS).get_masses(), forces=rng.normal(size=(4, 3)), fixed=None, values={},
        energies=None, virials=None, terms={},
    )  # fmt: skip
    return replace(frame, **changes)


def write(path, frames, drop_from=None, **options):
    writer = NetcdfTrajectoryWriter(path, SYMBOLS, PBC, drop_from, **options)
    for frame in frames:
        writer.append_frame(frame)
    writer.close()


def rounded(values):
    """What the file has of the numbers of atoms."""
    return np.asarray(values).astype(np.float32).astype(float)


def test_frames_come_back_with_numbers_of_atoms_in_float32(tmp_path):
    path = tmp_path / "t.nc"
    more = {
        "values": {"charges": np.arange(4.0) / 3}, "energies": np.arange(4) / 7,
        "virials": np.arange(36.0).reshape(4, 3, 3) / 11, "terms": {"E_bond_eV": 1 / 3},
        "fixed": np.array([True, False, False, True]),
    }  # fmt: skip
    frames = [a_frame(step, **more) for step in (0, 5, 10**15)]
    write(path, frames)
    assert is_netcdf(path)
    for atoms, frame in zip(netcdf_frames(path), frames, strict=True):
        assert atoms.get_chemical_symbols() == SYMBOLS
        assert atoms.pbc.tolist() == PBC.tolist()
        assert atoms.positions.tobytes() == rounded(frame.positions).tobytes()
        assert atoms.cell.array.tobytes() == frame.cell.tobytes()
        expected = rounded(frame.velocities) * frame.masses[:, None]
        assert atoms.get_momenta().tobytes() == expected.tobytes()
        assert atoms.get_forces(apply_constraint=False).tobytes() == rounded(frame.forces).tobytes()
        assert atoms.get_potential_energy() == frame.energy
        assert np.array_equal(atoms.get_stress(apply_constraint=False), frame.stress)
        assert np.array_equal(atoms.get_charges(), rounded(frame.values["charges"]))
        assert np.array_equal(atoms.get_potential_energies(), rounded(frame.energies))
        assert np.array_equal(atoms.info["virials"], rounded(frame.virials))
        assert (atoms.info["step"], atoms.info["time_ps"]) == (frame.step, frame.time_ps)
        assert atoms.info["E_bond_eV"] == 1 / 3
        assert isinstance(atoms.constraints[0], FixAtoms)


def test_the_convention_has_its_names_and_units(tmp_path):
    """As AMBER, VMD and MDAnalysis look for them; scale_factor makes the units of the numbers of the run."""
    frames = [a_frame(0), a_frame(7)]
    write(tmp_path / "t.nc", frames)
    with netcdf_file(tmp_path / "t.nc", "r", mmap=False, maskandscale=True) as file:
        assert (file.Conventions, file.ConventionVersion) == (b"AMBER", b"1.0")
        assert (file.dimensions["frame"], file.dimensions["atom"]) == (None, 4)
        found = file.variables
        for name, unit, factor, expected in (
            ("time", "picosecond", 1.0, "time_ps"),
            ("coordinates", "angstrom", 1.0, "positions"),
            ("velocities", "angstrom/picosecond", 1000 * units.fs, "velocities"),
            ("forces", "kilocalorie/mole/angstrom", units.mol / units.kcal, "forces"),
        ):
            assert found[name].units.decode() == unit
            values = np.array([getattr(frame, expected) for frame in frames])
            assert found[name].typecode() == ("d" if name == "time" else "f")
            values = values if name == "time" else rounded(values)
            np.testing.assert_allclose(found[name][:], factor * values, rtol=1e-14)
        assert found["atom_types"][:].tolist() == [14, 6, 8, 14]
        # A direction that is not periodic has no length.
        np.testing.assert_allclose(found["cell_lengths"][0], [4.0, np.sqrt(17), 0.0])


def test_ase_reads_positions_and_cells(tmp_path):
    pytest.importorskip("netCDF4")
    from ase.io import read

    cell = np.diag([4.0, 5.0, 6.0])
    writer = NetcdfTrajectoryWriter(tmp_path / "t.nc", SYMBOLS, np.ones(3, bool))
    for step in (0, 5):
        writer.append_frame(a_frame(step, cell=cell))
    writer.close()
    atoms = read(tmp_path / "t.nc", index=-1, format="netcdftrajectory")
    assert np.array_equal(atoms.positions, rounded(a_frame(5).positions))
    np.testing.assert_allclose(atoms.cell.array, cell, atol=1e-12)
    assert atoms.get_chemical_symbols() == SYMBOLS


@pytest.mark.parametrize("torn", [0, 1, 150])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_cut_leaves_the_bytes_of_before_and_goes_on_as_if_nothing_had_been(tmp_path, kept, torn):
    """Also of a file whose writer was killed within a frame, before it was counted."""
    frames = [a_frame(step) for step in (0, 5, 10)]
    write(tmp_path / "whole.nc", frames)
    write(tmp_path / "kept.nc", frames[:kept])
    with open(tmp_path / "whole.nc", "rb") as file:
        content = file.read()
    (tmp_path / "cut.nc").write_bytes(content + content[-torn:] * (torn > 0))
    assert cut_netcdf(tmp_path / "cut.nc", 5 * kept) == kept
    assert (tmp_path / "cut.nc").read_bytes() == (tmp_path / "kept.nc").read_bytes()
    write(tmp_path / "cut.nc", frames[kept:], drop_from=5 * kept)
    assert (tmp_path / "cut.nc").read_bytes() == content


def test_a_file_without_frames_begins_anew(tmp_path):
    frames = [a_frame(0), a_frame(5)]
    write(tmp_path / "t.nc", frames)
    content = (tmp_path / "t.nc").read_bytes()
    write(tmp_path / "t.nc", frames, drop_from=0)
    assert (tmp_path / "t.nc").read_bytes() == content


def test_a_frame_that_is_cut_off_is_not_read(tmp_path):
    write(tmp_path / "t.nc", [a_frame(0), a_frame(5)])
    content = (tmp_path / "t.nc").read_bytes()
    (tmp_path / "t.nc").write_bytes(content[:-1])
    assert layout_of(tmp_path / "t.nc").count == 1
    assert [atoms.info["step"] for atoms in netcdf_frames(tmp_path / "t.nc")] == [0]


def test_frames_with_other_quantities_are_refused(tmp_path):
    with pytest.raises(OutputError, match=r"frames with different quantities \(energies\)"):
        write(tmp_path / "t.nc", [a_frame(0), a_frame(5, energies=np.arange(4.0))])


def test_a_file_begun_in_float64_continues_in_float64(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(netcdf_trajectory, "_SINGLE", ">f8")
        write(tmp_path / "t.nc", [a_frame(0)])
    writer = NetcdfTrajectoryWriter(tmp_path / "t.nc", SYMBOLS, PBC, 5)
    assert not writer.single
    writer.append_frame(a_frame(5))
    writer.close()
    found = [atoms.positions for atoms in netcdf_frames(tmp_path / "t.nc")]
    assert np.array_equal(found, [a_frame(step).positions for step in (0, 5)])


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_frame_of_a_run_is_rounded_once(tmp_path, held, precision):
    """On the device, or on the host if atoms are held; in the user's order after sorts."""
    atoms = bulk("Si", cubic=True) * 3
    fixed = np.arange(216) == 5 if held else None
    engine = Engine(atoms, load_forcefield("Si.sw"), precision=precision, fixed=fixed)
    engine.set_state(velocities=np.random.default_rng(1).normal(scale=0.02, size=(216, 3)))
    engine.advance(200, units.fs)
    assert (engine.single_vectors() is None) == held
    writer = NetcdfTrajectoryWriter(tmp_path / "t.nc", engine.symbols, engine.pbc)
    writer.write(engine, engine.thermo(), 0.2)
    writer.close()
    (found,) = netcdf_frames(tmp_path / "t.nc")
    assert found.positions.tobytes() == rounded(engine.positions()).tobytes()
    assert found.get_forces(apply_constraint=False).tobytes() == rounded(engine.forces()).tobytes()
    momenta = rounded(engine.velocities()) * found.get_masses()[:, None]
    assert np.array_equal(found.get_momenta(), momenta)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "t.nc").write_bytes(b"CDF\x02 something else")
    with pytest.raises(OutputError, match="is not a trajectory that taichimd wrote"):
        NetcdfTrajectoryWriter(tmp_path / "t.nc", SYMBOLS, PBC, 0)


def test_commands_that_read_trajectories_read_it(tmp_path):
    frames = [a_frame(step, cell=4 * CELL) for step in (0, 5, 10)]
    write(tmp_path / "t.nc", frames)
    found = read_frames(tmp_path / "t.nc")
    assert np.array_equal(found.positions, [rounded(frame.positions) for frame in frames])
    assert np.array_equal(found.times, [0.0, 0.005, 0.01])
    assert np.array_equal(found.energies, [frame.energy for frame in frames])
    assert not found.wrapped
    for number, frame in ((None, frames[2]), (1, frames[1]), (-3, frames[0])):
        assert np.array_equal(read_structure(tmp_path / "t.nc", number).positions, rounded(frame.positions))
    with pytest.raises(StructureError, match="has 3 frames; from_frame = 3: expected -3 to 2"):
        read_structure(tmp_path / "t.nc", 3)
