"""The picture of a run is the same, whoever draws it."""

import subprocess
import sys

import numpy as np
import pytest
from ase.build import bulk
from ase.io import write
from matplotlib.figure import Figure
from matplotlib.image import imread

from taichimd.core.errors import OutputError
from taichimd.io import artist, plots
from taichimd.io.thermo import read_thermo

TABLE = "step,time_ps,temperature_K,potential_eV,kinetic_eV,total_eV,conserved_eV,pressure_GPa,volume_A3\n"
REPORT = {"formula": "Si2", "n_atoms": 2, "potential": {"name": "sw"}, "settings": {"ensemble": "nve"}}


@pytest.fixture
def table(tmp_path, monkeypatch):
    path = tmp_path / "thermo.csv"
    path.write_text(TABLE + "".join(f"{k},{k / 1000},300,-9,{k / 10},-8,-8,1.5,40\n" for k in range(3)))
    monkeypatch.setattr(artist, "_waiting", None)
    return path


def prepared(monkeypatch):
    monkeypatch.setattr(artist.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    loaded = {name: one for name, one in sys.modules.items() if name != "matplotlib"}
    with monkeypatch.context() as patch:
        patch.setattr(artist.sys, "modules", loaded)
        artist.prepare()
    process = artist._waiting
    assert process is not None
    return process


def test_another_process_draws_the_same_picture(table, tmp_path, monkeypatch):
    # The other process does not have the pictures of tests, which are drawn once a kind.
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", Figure.savefig.__wrapped__)
        plots.plot_run(table, tmp_path / "expected.png", REPORT)
    process = prepared(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(plots, "plot_run", None)
        artist.draw(table, tmp_path / "found.png", REPORT)()
    assert process.returncode == 0
    # Bytes differ: in tests pictures are compressed less.
    np.testing.assert_array_equal(imread(tmp_path / "found.png"), imread(tmp_path / "expected.png"))


def test_a_picture_drawn_once_has_the_pixels_of_matplotlib(table, tmp_path, monkeypatch):
    monkeypatch.setattr(Figure, "savefig", Figure.savefig.__wrapped__)
    plots.rehearse()
    plots.plot_thermo(table, tmp_path / "once.png", 2, "title")
    plots.thermo_figure(read_thermo(table), 2, "title").savefig(tmp_path / "twice.png")
    opaque = imread(tmp_path / "twice.png")
    assert (opaque[..., 3] == 1.0).all()
    np.testing.assert_array_equal(imread(tmp_path / "once.png"), opaque[..., :3])


@pytest.mark.parametrize("late", [False, True])
def test_a_process_that_is_gone_is_not_missed(table, tmp_path, monkeypatch, late):
    process = prepared(monkeypatch)
    if not late:
        process.kill()
        process.wait()
    wait = artist.draw(table, tmp_path / "found.png", REPORT)
    if late:
        process.kill()
    wait()
    assert (tmp_path / "found.png").stat().st_size > 10_000


def test_what_the_process_cannot_write_is_an_error_of_the_run(table, tmp_path, monkeypatch):
    prepared(monkeypatch)
    with pytest.raises(OutputError, match=r"no-folder/found\.png"):
        artist.draw(table, tmp_path / "no-folder" / "found.png", REPORT)()


def test_a_run_that_ends_early_leaves_no_process(table, monkeypatch):
    process = prepared(monkeypatch)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(("program", "expected"), [("taichimd.__main__", 1), ("taichimd.cli.app", 0)])
def test_only_the_program_prepares_the_picture(tmp_path, program, expected):
    write(tmp_path / "si.xyz", bulk("Si"), format="extxyz")
    code = (
        "import sys\nfrom taichimd.io import artist\ncalls = []\nartist.prepare = lambda: calls.append(1)\n"
        "sys.argv = ['taichimd', 'run', 'si.xyz', '--potential', 'Si.sw', '--steps', '5']\n"
        "sys.modules['taichimd.app.driver'] = None\n"
        f"from {program} import main\ntry:\n    main()\nexcept (SystemExit, ImportError):\n    pass\n"
        "print(len(calls))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == f"{expected}\n", done.stderr
