"""taichimd as ASE finds it: registry of names, and both groups of plugin entry points."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from ase.calculators.calculator import get_calculator_class, names

from taichimd import TaichiMD

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def entry_points():
    """The entry points as pyproject.toml declares them, installed or not."""
    try:
        import tomllib
    except ModuleNotFoundError:
        import tomli as tomllib
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]
    return {
        group: EntryPoint(*next(iter(declared[group].items())), group)
        for group in ("ase.plugins", "ase.ioformats")
    }


def test_the_name_is_registered_when_the_calculator_is_imported():
    assert get_calculator_class("taichimd") is TaichiMD
    assert names.count("taichimd") == 1


def test_reloading_the_calculator_does_not_break_the_registry():
    # In a process of its own: a reloaded class would not be the one the other tests hold.
    code = (
        "import importlib, taichimd.calculator as c; importlib.reload(c);"
        "from ase.calculators.calculator import get_calculator_class as g; assert g('taichimd') is c.TaichiMD"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT.parent)


def test_looking_for_plugins_starts_no_taichi():
    code = (
        "import sys, taichimd.ase_plugin, taichimd.calculator;"
        "assert not {'taichi', 'quadrants'} & set(sys.modules), 'imported a runtime'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT.parent)


def test_plugin_entry_point_gives_the_calculator(entry_points, monkeypatch):
    collection = pytest.importorskip("ase._4.plugins.plugin_collection", reason="ASE before 3.29")
    monkeypatch.setattr(collection, "entry_points", lambda group: [entry_points[group]])
    plugins = collection.PluginCollection.from_entry_points()
    (plugin,) = plugins.calculators
    assert plugin.name == "taichimd"
    assert plugin.implementation is TaichiMD
    assert plugin.package == "taichimd"


def test_format_entry_point_is_accepted_by_ase(entry_points, monkeypatch):
    from ase.io import formats

    monkeypatch.setattr(formats, "ioformats", dict(formats.ioformats))
    formats.ioformats.pop("taichimd-checkpoint", None)
    formats.define_external_io_format(entry_points["ase.ioformats"])
    format_ = formats.ioformats["taichimd-checkpoint"]
    assert format_.can_read
    assert not format_.can_write
    assert format_.match_name("run/checkpoint.npz")
    assert not format_.match_name("other.npz"), "other people's npz files are not ours"


def test_format_as_a_plugin_claims_no_other_file(entry_points):
    io = pytest.importorskip("ase._4.plugins.io", reason="ASE before 3.29")
    plugin = io.LegacyIOFormatPlugin.from_legacy_entry_point(entry_points["ase.ioformats"])
    assert plugin.can_read
    assert plugin.match_name("checkpoint.npz")
    assert not plugin.match_name("POSCAR"), "ASE takes a bare string for a list of patterns"


def test_ase_reads_a_checkpoint(tmp_path, entry_points, monkeypatch):
    checkpoint = pytest.importorskip("taichimd.io.checkpoint")
    from ase.io import formats, read

    n, rng = 5, np.random.default_rng(1)
    arrays = {name: rng.normal(size=(n, 3)) for name in ("positions", "velocities", "forces")}
    saved = checkpoint.Checkpoint(
        step=7,
        cell=np.diag([9.0, 8.0, 7.0]),
        pbc=np.array([True, True, False]),
        numbers=np.full(n, 18),
        masses=np.full(n, 39.9),
        settings={},
        potential_hash="",
        clock={"time_fs": 0.0, "step": 0},
        last_step=10,
        first_total=0.0,
        **arrays,
    )
    checkpoint.write_checkpoint(tmp_path / "checkpoint.npz", saved)
    monkeypatch.setattr(formats, "ioformats", dict(formats.ioformats))
    if "taichimd-checkpoint" not in formats.ioformats:
        formats.define_external_io_format(entry_points["ase.ioformats"])
    atoms = read(tmp_path / "checkpoint.npz")
    np.testing.assert_array_equal(atoms.positions, saved.positions)
    np.testing.assert_allclose(atoms.get_velocities(), saved.velocities, rtol=1e-15)
    np.testing.assert_array_equal(atoms.get_forces(), saved.forces)
    np.testing.assert_array_equal(atoms.pbc, saved.pbc)
