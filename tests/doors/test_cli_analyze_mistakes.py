"""`taichimd analyze`: one line for every mistake, before anything is written."""

import numpy as np
import pytest
from oscillators import frames, save, uneven, without_cell


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_an_unknown_format_of_pictures_is_refused_first(call, folder):
    save(frames(12))
    code, _, err = call("analyze t.extxyz --plot-format gif --output o")
    assert (code, err) == (2, "error: plot_format = 'gif': expected png, pdf or svg\n")
    assert not (folder / "o").exists()


def changing():
    images = frames(3)
    images[2].symbols[0] = "Ge"
    return images


def broken():
    images = frames(3)
    images[1].positions[2, 0] = np.nan
    return images


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda: frames(4), "--skip -1", "skip = -1: expected a number of frames, 0 or more"),
        (lambda: frames(4), "--angles 0", "angles = 0.0: expected a number above 0 (Å)"),
        (lambda: frames(1), "--msd", "MSD needs 4 frames or more, the file has 1"),
        (lambda: frames(3), "--msd", "MSD needs 4 frames or more, the file has 3"),
        (lambda: frames(1), "--vacf", "VACF needs 4 frames or more, the file has 1"),
        (lambda: frames(12, velocities=False), "--vacf", "VACF needs velocities (ASE's momenta) in every"),
        (
            lambda: frames(12, times=False),
            "--msd",
            "MSD needs the time between frames, which the file does not",
        ),
        (lambda: frames(12), "--window 1ps", "ps, which leaves a block (3 of 12 frames) two time origins"),
        (lambda: frames(12), "--window 30fs", "window of 0.03 ps: expected 0.01 to 0.02 ps, which leaves a"),
        (lambda: frames(12), "--window 2fs", "window of 0.002 ps: expected 0.01 to 0.02 ps, which leaves a"),
        (
            lambda: frames(12),
            "--window 110fs --blocks 1",
            "0.01 to 0.1 ps, which leaves the run of 12 frames two",
        ),
        (lambda: frames(12), "--vacf --blocks 5", "a block (5 of 12 frames) is too short for any window"),
        (lambda: frames(12), "--msd --window 20fs --fit 10fs,50fs", "fit from 0.01 to 0.05 ps: expected two"),
        (
            lambda: frames(12),
            "--msd --fit 5ps,1ps",
            "within the window of 0.02 ps, a frame (0.01 ps) or more apart",
        ),
        (
            lambda: frames(12),
            "--msd --window 10fs",
            "window of 0.01 ps spans one frame: MSD needs two or more",
        ),
        (lambda: frames(12), "--fit 5ps", "fit = '5ps': expected two times, such as"),
        (lambda: frames(12), "--window 5", "window = '5': expected a length of time with its unit"),
        (lambda: frames(12), "--interval 20fs", "interval of 0.02 ps, but the file says 0.01 ps"),
        (lambda: frames(12), "--skip 12", "t.extxyz has 12 frames; skip = 12 leaves none"),
        (lambda: frames(12), "--blocks 13", "12 frames make no 13 blocks"),
        (lambda: frames(12), "--blocks 0", "blocks = 0: expected a whole number above 0"),
        (lambda: frames(12), "--rdf --r-max 0", "r_max = 0.0: expected a number above 0 (Å)"),
        (lambda: frames(12), "--rdf --bins 0", "bins = 0: expected a whole number above 0"),
        (lambda: frames(12), "--backend tpu", "backend = 'tpu': expected auto, cuda or cpu"),
        (lambda: frames(12), "--angles 1.2", "no atom has two bonds shorter than 1.2 Å; take a longer"),
        (without_cell, "--rdf", "RDF needs a cell that is periodic in three directions"),
        (uneven, "--msd", "MSD needs frames equally spaced in time, but not all are 0.01 ps apart"),
        (changing, "", "frame 2 has different atoms or periodic directions than the first"),
        (broken, "", "frame 1 has positions that are not finite numbers"),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(call, make, options, message):
    save(make())
    code, out, err = call(f"analyze t.extxyz {options}")
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_files_that_are_no_trajectory(call, folder):
    assert "trajectory none.xyz does not exist" in call("analyze none.xyz")[2]
    (folder / "x.extxyz").write_text("nonsense")
    code, _, err = call("analyze x.extxyz")
    assert code == 2
    assert "trajectory x.extxyz cannot be read: " in err
    (folder / "file").write_text("")
    save(frames(12))
    assert "cannot write file: a file is in the way" in call("analyze t.extxyz --output file")[2]


@pytest.mark.parametrize("options", ["--window 50ps", "--rdf --r-max -1", "--msd --fit 5ps,1ps"])
def test_a_refused_analysis_leaves_nothing(call, folder, options):
    save(frames(12))
    before = sorted(folder.iterdir())
    code, _, err = call(f"analyze t.extxyz {options} --output new/o")
    assert (code, err.count("\n")) == (2, 1)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "line",
    [
        "run s.extxyz --potential springs.txt --steps 5",
        "analyze s.extxyz",
        "relax s.extxyz --potential springs.txt",
        "kappa s.extxyz --potential springs.txt --temperature 60",
        "demo",
    ],
)
def test_an_empty_name_of_a_folder_is_refused(call, folder, line):
    before = sorted(folder.iterdir())
    (code, _, err) = call(f"{line} --output=")
    assert (code, err) == (2, "error: output = '': expected the name of a folder\n")
    assert sorted(folder.iterdir()) == before
