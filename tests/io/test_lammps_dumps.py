"""LAMMPS dumps: of any columns, boxes, orders and units the same atoms come out, or one line."""

import gzip
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import units
from dumps import dump_text, random_walk

from taichimd.errors import StructureError
from taichimd.io.frames import read_frames

BOX = np.diag([9.0, 10.0, 11.0])
TILTED = np.array([[9.0, 0.0, 0.0], [-2.0, 10.0, 0.0], [1.5, 3.0, 11.0]])
X = random_walk(frames=30)
STEPS = np.arange(30) * 100


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def save(text, name="a.dump"):
    Path(name).write_text(text)
    return name


def apart(frames, positions, cell=BOX):
    """Largest distance from positions but for whole cell vectors, and without them."""
    away = frames.positions - positions
    return np.abs(away - np.round(away @ np.linalg.inv(cell)) @ cell).max(), np.abs(away).max()


@pytest.mark.parametrize("cell", [BOX, TILTED])
@pytest.mark.parametrize("origin", [(0.0, 0.0, 0.0), (-4.0, 3.0, 1.0)])
@pytest.mark.parametrize(
    ("columns", "unwrapped"),
    [
        ("id element x y z", False),
        ("id element xs ys zs", False),
        ("id element xu yu zu", True),
        ("id element xsu ysu zsu", True),
        ("id element x y z ix iy iz", True),
        ("iz iy ix zs ys xs element id", True),
        ("id element x y z xu yu zu vx vy vz", True),
    ],
)
def test_every_column_of_positions_gives_the_same_atoms(columns, unwrapped, cell, origin):
    text = dump_text(X, cell, STEPS, columns, velocities=X, origin=origin, shuffle=np.random.default_rng(0))
    frames = read_frames(save(text))
    folded, whole = apart(frames, X + np.array(origin), cell)
    assert folded < 1e-9
    assert frames.wrapped == (not unwrapped)
    if unwrapped:
        assert whole < 1e-9
    np.testing.assert_allclose(frames.cells, np.tile(cell, (30, 1, 1)), atol=1e-12)
    assert frames.pbc.all()
    assert frames.clock.tolist() == STEPS.tolist()
    assert frames.times is None


def test_ase_reads_the_same_wrapped_atoms():
    save(dump_text(X, TILTED, STEPS, "id element x y z"))
    images = ase.io.read("a.dump", index=":", format="lammps-dump-text")
    frames = read_frames("a.dump")
    np.testing.assert_allclose(frames.positions, [image.positions for image in images], atol=1e-12)
    np.testing.assert_allclose(frames.cells, [image.cell.array for image in images], atol=1e-12)


@pytest.mark.parametrize(("name", "factor"), [("metal", 1e-3), ("real", 1.0)])
def test_units_are_those_that_the_dump_states(name, factor):
    header = f"ITEM: UNITS\n{name}\n"
    times = STEPS * 0.5 * (1e-3 if name == "metal" else 1.0)
    text = dump_text(X, BOX, STEPS, "id element x y z vx vy vz", header, velocities=X, times=times)
    frames = read_frames(save(text))
    np.testing.assert_allclose(frames.velocities, X * factor / units.fs, rtol=1e-12)
    np.testing.assert_allclose(frames.times, STEPS * 0.5e-3, rtol=1e-12)
    assert not [note for note in frames.notes if "units" in note]
    # What the user says counts more than what the file does.
    other = read_frames("a.dump", units="si")
    np.testing.assert_allclose(other.cells, frames.cells * 1e10, rtol=1e-12)


def test_units_that_nothing_states_are_said():
    frames = read_frames(save(dump_text(X, BOX, STEPS)))
    assert frames.notes == [
        "a.dump does not state its LAMMPS units; metal was assumed (Å, ps, eV): give --input-units if the "
        "file has others"
    ]
    assert read_frames("a.dump", units="real").notes == []


def test_elements_of_types_and_of_masses():
    types = np.array([1, 2] * 10)
    save(dump_text(X, BOX, STEPS, "id type x y z", types=types))
    with pytest.raises(StructureError, match=r"a\.dump has the atom types 1, 2 and no elements; give --ele"):
        read_frames("a.dump")
    with pytest.raises(StructureError, match="atom types 1, 2, but --elements names 1"):
        read_frames("a.dump", elements=("Si",))
    with pytest.raises(StructureError, match="unknown element 'Xx'"):
        read_frames("a.dump", elements=("Si", "Xx"))
    frames = read_frames("a.dump", elements=("Si", "D"))
    assert frames.symbols.tolist() == ["Si", "H"] * 10
    assert frames.masses[1] == pytest.approx(2.014, abs=1e-3)


def test_a_dump_without_ids_gives_structure_and_no_motion():
    types = ["Ar", "Kr"] * 10
    save(dump_text(X, BOX, STEPS, "element x y z", elements=types, shuffle=np.random.default_rng(0)))
    frames = read_frames("a.dump")
    assert not frames.ordered
    assert frames.symbols.tolist() == ["Ar"] * 10 + ["Kr"] * 10


def test_a_restart_that_appends_repeats_frames_that_are_dropped():
    x, steps = np.concatenate([X[:20], X[19:]]), np.concatenate([STEPS[:20], STEPS[19:]])
    frames = read_frames(save(dump_text(x, BOX, steps)))
    assert frames.clock.tolist() == STEPS.tolist()
    assert "1 repeated frames were left out" in frames.notes
    assert frames.backward == ""
    # One that was killed later than its last checkpoint repeats several.
    x, steps = np.concatenate([X[:20], X[15:]]), np.concatenate([STEPS[:20], STEPS[15:]])
    frames = read_frames(save(dump_text(x, BOX, steps)))
    assert apart(frames, X)[0] < 1e-9
    assert "5 repeated frames were left out" in frames.notes


def test_a_clock_that_goes_back_is_found():
    frames = read_frames(save(dump_text(X, BOX, np.concatenate([STEPS[:20], STEPS[:10]]))))
    assert frames.backward == "frame 20 (step 0) is at the time of frame 0, with other positions"
    frames = read_frames(save(dump_text(X, BOX, np.concatenate([STEPS[:20], STEPS[:10] + 50]))))
    assert frames.backward == "frame 20 (step 50) goes back in time"


def test_an_unfinished_last_frame_is_left_out():
    text = dump_text(X, BOX, STEPS)
    frames = read_frames(save(text[: len(text) - 100]))
    assert len(frames.positions) == 29
    assert "the last frame of a.dump is incomplete and was left out" in frames.notes


def test_compressed_dumps_and_directions_without_periodicity():
    with gzip.open("a.dump.gz", "wt") as file:
        file.write(dump_text(X, BOX, STEPS, "id element xu yu zu", boundary="pp ff ss"))
    frames = read_frames("a.dump.gz")
    assert frames.pbc.tolist() == [True, False, False]
    assert apart(frames, X)[1] < 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "ITEM: UNITS\nlj\n" + t, "a.dump: units lj are ratios to an epsilon, a sigma"),
        (lambda t: "ITEM: UNITS\nfeet\n" + t, "unknown units 'feet'; expected one of metal, real"),
        (lambda t: t.replace("id element", "id q"), "frame 0 has neither a column element nor type"),
        (lambda t: t.replace("x y z", "vx vy vz"), "frame 0 has no positions; expected columns x y z"),
        (lambda t: t.replace("1 Ar", "2 Ar", 1), "frame 0 has two atoms with the same id"),
        (lambda t: t.replace("Ar", "Argon"), "unknown element 'Argon'"),
        (lambda t: t[:300], "a.dump ends within its first frame"),
        (lambda t: t.replace("ITEM: BOX BOUNDS", "ITEM: BOX"), "unknown item BOX pp pp pp of a dump"),
        (lambda t: t.replace("1 Ar", "1 Ar one", 1), "frame 0 cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_line(change, message):
    save(change(dump_text(X[:3], BOX, STEPS[:3])))
    with pytest.raises(StructureError) as caught:
        read_frames("a.dump")
    assert message in str(caught.value).replace("'BOX pp pp pp'", "BOX pp pp pp")
    assert "\n" not in str(caught.value)


def test_atoms_that_come_and_go_are_refused():
    one, fewer = dump_text(X[:1], BOX, [0]), dump_text(X[1:2, :15], BOX, [100])
    save(one + fewer)
    with pytest.raises(StructureError, match=r"frame 1 has different atoms \(ids\) than the first"):
        read_frames("a.dump")
    types = dump_text(X[:1], BOX, [0], "id element x y z") + dump_text(
        X[1:2], BOX, [100], "id element x y z", elements=["Kr"] * 20
    )
    save(types)
    with pytest.raises(
        StructureError, match="frame 1 has different atoms or periodic directions than the first"
    ):
        read_frames("a.dump")


def test_options_of_dumps_are_refused_for_other_files():
    ase.io.write("a.xyz", ase.Atoms("Ar"), format="extxyz")
    with pytest.raises(StructureError, match=r"input_units: a\.xyz is not a LAMMPS dump or data file; leave"):
        read_frames("a.xyz", units="real")
    with pytest.raises(StructureError, match=r"elements: a\.xyz is not a LAMMPS dump; leave it out"):
        read_frames("a.xyz", elements=("Ar",))
    with pytest.raises(StructureError, match=r"timestep: a\.xyz does not number its frames by steps"):
        read_frames("a.xyz", timestep=0.001)
