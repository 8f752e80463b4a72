"""Damaged and edited checkpoints end in one line, before anything of them is used."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from saved_checkpoints import of_springs

from taichimd.app.job import prepare_job
from taichimd.app.restart import read_run
from taichimd.core.errors import CheckpointError, TaichimdError
from taichimd.io.checkpoint import read_checkpoint, write_checkpoint
from taichimd.io.npz import DamagedFileError, read_arrays

CASES = 1500


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_checkpoint(Path("c.npz"), of_springs())
    read_run("c.npz")
    return Path("c.npz")


def rewrite(path, edits=None, save=np.savez, **arrays):
    """The file with other values of its text, and other arrays; None: without that one."""
    with np.load(path) as archive:
        kept = dict(archive)
    text = json.loads(str(kept["meta"])) | (edits or {})
    kept["meta"] = np.array(json.dumps({key: value for key, value in text.items() if value is not ...}))
    kept |= arrays
    with open(path, "wb") as file:
        save(file, **{name: value for name, value in kept.items() if value is not None})


def test_random_bytes_are_one_line_or_harmless(path):
    whole, said = path.read_bytes(), []
    for case in range(CASES):
        rng = np.random.default_rng([46, case])
        found = bytearray(whole)
        for _ in range(int(rng.integers(1, 9))):
            found[int(rng.integers(len(found)))] = int(rng.integers(256))
        path.write_bytes(found)
        try:
            read_run(path)
        except CheckpointError as error:
            said.append(str(error))
    assert 0.9 * CASES < len(said) < CASES
    assert all(one.startswith("checkpoint c.npz ") and "\n" not in one for one in said)


BATH = {"ensemble": "nvt-bussi", "identity": ["nvt-bussi"], "bath": [0.0] * 5}
EDITS = {
    "step": ["5", -5, 1.5, None, True, 10**30, [], float("nan")],
    "clock": [
        [], {}, {"time_fs": "0", "step": 0}, {"time_fs": 0.0, "step": -1},
        {"time_fs": float("nan"), "step": 0},
    ],
    "bath": [
        [], None, "x", {"ensemble": 5}, {"ensemble": "nvt-none"}, {"ensemble": "nvt-bussi"},
        BATH | {"bath": [0.0]}, BATH | {"bath": ["0"] * 5}, BATH | {"bath": [float("inf")] * 5},
        BATH | {"ensemble": "npt-scr"}, {"ensemble": "nvt-langevin", "identity": ["nvt-langevin"]},
        {"ensemble": "nvt-langevin", "ledger": 2**70},
        {"kind": "metropolis"}, {"kind": "other"}, {"unknown": 1},
    ],
    "ramp": [5, [1], [5, 5], [9, 3], ["0", "1"], [0, 10**30], {}],
    "versions": [[], {"runtime": 5}, "x", None],
    "settings": [
        [], None, {}, {"timestep": "x", "every": 10}, {"timestep": -1.0, "every": 10},
        {"timestep": 1.0, "every": 0}, {"timestep": 1.0},
        {"timestep": 1.0, "every": 10, "unknown": 1}, {"timestep": [], "every": 10},
        {"timestep": 1.0, "every": 10, "temperature": "hot"}, {"timestep": 1.0, "every": 10, "ensemble": 5},
        {"timestep": 1.0, "every": 10, "potential": 5}, {"timestep": 1.0, "every": 10, "observe": 5},
    ],
    "first_total": ["x", [], True, float("inf")],
    "last_step": ["x", -1, None],
    "counted_from": ["x", -1, None],
    "potential_hash": [5, None],
    "potential": [[], None, {"terms": 5}, {"terms": [5]}, {"terms": [{"kind": 1, "name": "x"}]}],
    "format": [2, None, "1"],
    "more": [1],
}  # fmt: skip


@pytest.mark.parametrize("key", EDITS)
def test_values_of_other_types_are_one_line(path, key):
    whole = path.read_bytes()
    for value in [*EDITS[key], *([...] if key not in ("more", "potential", "bath") else [])]:
        path.write_bytes(whole)
        rewrite(path, {key: value})
        with pytest.raises(CheckpointError) as found:
            read_run(path)
        assert "\n" not in str(found.value)
        # A wrong setting is answered with the names of all settings.
        assert len(str(found.value)) < 1000


POSITIONS = of_springs().positions
ARRAYS = {
    "positions": [
        POSITIONS.astype(complex), POSITIONS[:7], POSITIONS.T, POSITIONS * np.nan, POSITIONS.astype(str),
        POSITIONS.ravel(), np.array(5.0), POSITIONS.astype(np.int64), None,
    ],
    "velocities": [POSITIONS.astype(complex), POSITIONS * np.inf, None],
    "forces": [POSITIONS.astype(complex), POSITIONS[:1], None],
    "cell": [
        np.eye(2), np.zeros(3), np.eye(3) * np.nan, np.eye(3, dtype=complex), np.eye(3, dtype=bool), None,
    ],
    "pbc": [np.array(True), np.ones(4, bool), np.ones(3), None],
    "masses": [
        np.ones(7), np.zeros(8), -np.ones(8), np.ones(8) * np.nan, np.ones((8, 1)), np.array("x"), None,
    ],
    "numbers": [
        np.zeros(8, int), np.full(8, 200), np.full(8, 14.0), np.full(8, -14), np.zeros(0, int),
        np.array(14), np.full(8, 2**63, np.uint64), None,
    ],
    "fixed": [np.zeros(8), np.zeros(7, bool)],
    "state.charge": [np.zeros(7), np.zeros(8, complex), np.full(8, np.nan)],
    "meta": [
        np.array(5), np.array("{"), np.array("[" * 100_000), np.array(["{}"]), np.array("9" * 6000), None,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_other_types_and_shapes_are_one_line(path, name):
    whole = path.read_bytes()
    for array in ARRAYS[name]:
        path.write_bytes(whole)
        rewrite(path, **{name: array})
        with pytest.raises(CheckpointError) as found:
            read_checkpoint(path)
        assert "\n" not in str(found.value)


@pytest.mark.parametrize("plan", ["x", "{}", "[]", '{"kinds": ["rdf"]}', '{"kinds": 5}', "[" * 9999])
def test_observations_that_are_damaged_are_one_line(path, plan):
    rewrite(path, **{"observed.plan": np.array(plan), "observed.taken": np.zeros(2, int)})
    with pytest.raises(TaichimdError, match="what the checkpoint has observed is damaged"):
        prepare_job({"restart": "c.npz", "steps": 10})


def test_a_packed_file_is_refused_before_it_is_unpacked(path):
    rewrite(path, save=np.savez_compressed, positions=np.zeros((10**5, 3)))
    with pytest.raises(
        CheckpointError, match=r"is compressed, and taichimd never compresses|larger than the file"
    ):
        read_checkpoint(path)


def test_a_header_that_says_more_than_the_file_has_is_refused(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 3)})
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("positions.npy", file.getvalue() + b"\0" * 24)
    with pytest.raises(DamagedFileError, match="does not have the length that its header states"):
        read_arrays(tmp_path / "c.npz")


def test_objects_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    np.savez(tmp_path / "c.npz", positions=np.array([Evil()], dtype=object))
    with pytest.raises(DamagedFileError, match="holds object"):
        read_arrays(tmp_path / "c.npz")
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "c.npz")
    assert not (tmp_path / "ran").exists()


def test_arrays_are_read_as_numpy_reads_them(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.array("ünï"), "d": np.array(True), "e": np.empty((0, 3)), "f": np.arange(3, dtype=">f4"),
    }  # fmt: skip
    np.savez(tmp_path / "x.npz", **arrays)
    found = read_arrays(tmp_path / "x.npz")
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable
