"""Drives of a job: options, job files, mistakes in one line."""

import json
from pathlib import Path

import ase.io
import numpy as np
import pytest
from argon_job import RUN, enter_folder

from taichimd import Drag, Force, Move, Wall
from taichimd.app.job import prepare_job
from taichimd.core.errors import SettingsError
from taichimd.core.seeds import derived_seed
from taichimd.io.thermo import read_thermo

TABLES = """
structure = "ar.extxyz"
potential = "Ar.lj"
steps = 40

[groups]
tip = "fx < 0.3"
top = "0.5 <= fx"

[force.tip]
force = [0, 0, 0.05]
period = "0.1ps"

[move.top]
velocity = [0.5, 0, 0]

[wall.floor]
room = "z > -5"
style = "harmonic"
constant = 2
cutoff = 1.5

[drag.film]
group = "tip"
coupling_time = "1ps"
"""
OPTIONS = {
    "structure": "ar.extxyz",
    "potential": "Ar.lj",
    "steps": 40,
    "group": ["tip=fx < 0.3", "top=0.5 <= fx"],
    "force": ["tip:force=0,0,0.05,period=0.1ps"],
    "move": ["top:velocity=0.5,0,0"],
    "wall": ["room=z > -5,style=harmonic,constant=2,cutoff=1.5,name=floor"],
    "drag": ["tip:coupling_time=1ps,name=film"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return enter_folder(tmp_path, monkeypatch, a=5.5)


def test_a_job_file_says_what_options_say():
    Path("job.toml").write_text(TABLES)
    jobs = [prepare_job({}, Path("job.toml")), prepare_job(OPTIONS)]
    records = [sorted((one.record() for one in job.acting.baths), key=lambda r: r["name"]) for job in jobs]
    assert records[0] == records[1]
    by_name = {one.name: one.what for one in jobs[1].acting.baths}
    assert by_name["tip"] == Force((0, 0, 0.05), period=100.0)
    assert by_name["top"] == Move((0.5, 0, 0))
    assert by_name["film"] == Drag(1000.0, name="film")
    assert by_name["floor"] == Wall("z > -5", "harmonic", constant=2, cutoff=1.5, name="floor")
    assert any(
        kind == "drive" and "tip: force, force (0, 0, 0.05)" in text for kind, text in jobs[0].acting.rows()
    )
    assert {one["kind"] for one in jobs[0].acting.record()["baths"]} == {"force", "move", "wall", "drag"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"force": ["tip:forse=0,0,1"]}, "force tip: unknown key 'forse'; did you mean"),
        ({"force": ["tip:force=0,1"]}, "force tip: force: expected three numbers (eV/Å), or a table"),
        ({"force": ["tipp:force=0,0,1"]}, "there is no group 'tipp'"),
        ({"wall": ["z > 0"]}, "expected"),
        ({"move": ["velocity=1,0,0"]}, "expected a group, a colon and settings"),
        ({"drag": ["tip:"]}, "drag tip: coupling_time is missing"),
        ({"drag": ["tip:coupling_time=1ps"]}, "two drives are called tip"),
    ],
)
def test_a_mistake_ends_in_one_line_before_anything_runs(more, words):
    with pytest.raises(SettingsError) as caught:
        prepare_job({**OPTIONS, **more})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_velocity_per_step_or_per_femtosecond_is_said():
    slow = prepare_job({**OPTIONS, "move": ["top:velocity=1e-5,0,0"], "drag": None})
    assert any(
        "move top moves 4e-07 Å in this run" in note and "is 0.01 Å/ps" in note for note in slow.acting.notes
    ), slow.acting.notes
    fast = prepare_job({**OPTIONS, "move": ["top:velocity=500,0,0"], "drag": None})
    assert any("move top moves at 500 Å/ps, faster than sound" in note for note in fast.acting.notes)


@pytest.mark.long
def test_a_restart_has_the_bits_of_an_uncut_run_and_other_drives_begin_anew(call):
    run = RUN + (
        "--group tip=fx<0.3 --group top=fx>=0.8 --force tip:force=0,0,0.05,period=0.1ps "
        "--move top:velocity=0.5,0,0 --drag 0.3<=fx<0.5:coupling_time=1ps,name=film "
        "--spring 0.5<=fx<0.8:constant=0.2,velocity=0,1,0,name=base "
    )
    assert call(run + "--steps 100 --output straight")[0] == 0
    assert call(run + "--steps 60 --output cut")[0] == 0
    assert call("run --restart cut --steps 40")[0] == 0
    for name in ("thermo.csv", "trajectory.extxyz"):
        assert Path("straight", name).read_bytes() == Path("cut", name).read_bytes()
    rows = read_thermo("cut/thermo.csv")
    assert abs(rows["work_tip_eV"]).max() > 1e-3
    driven = rows["energy_base_eV"] - sum(rows[f"work_{name}_eV"] for name in ("tip", "top", "film", "base"))
    np.testing.assert_allclose(rows["conserved_eV"], rows["total_eV"] + driven, rtol=0, atol=1e-12)
    code, out, _ = call("run --restart cut --steps 10 --force none --output other")
    assert code == 0
    assert "count from this restart" in " ".join(out.split())
    assert "work_tip_eV" not in read_thermo("other/thermo.csv")
    assert call("run --restart cut --steps 10 --ensemble npt-scr --pressure 0 --output press")[0] == 2


@pytest.mark.long
def test_runs_in_one_launch_and_a_sweep_have_groups_and_drives_of_their_own(call):
    ase.io.write("wide.extxyz", ase.io.read("ar.extxyz").repeat((2, 1, 1)))
    options = (
        "--potential own.lj --timestep 4 --every 20 --steps 40 --group tip=x<6 --force tip:force=0,0,0.05 "
        "--move x>=13:velocity=0.5,0,0,name=top --source 6<=x<10:power=0.2,name=warm "
    )
    assert call(f"run ar.extxyz wide.extxyz {options} --output both")[0] == 0
    folders = ["both/000-ar", "both/001-wide"]
    for name, together in zip(("ar", "wide"), folders, strict=True):
        seed = derived_seed(1, {"structure": f"{name}.extxyz"})
        assert call(f"run {name}.extxyz {options} --output {name} --seed {seed}")[0] == 0
        assert Path(together, "thermo.csv").read_bytes() == Path(name, "thermo.csv").read_bytes()
    counts = [json.loads(Path(one, "run.json").read_text())["groups"]["top"] for one in folders]
    assert counts[1] > counts[0] > 0
    Path("job.toml").write_text(
        TABLES.split("[wall.floor]")[0]
        .replace("Ar.lj", "own.lj")
        .replace("steps = 40", "steps = 40\nevery = 20")
    )
    assert call("sweep job.toml --set temperature=40,80 --output swept")[0] == 0
    swept = [read_thermo(file) for file in sorted(Path("swept").glob("*/thermo.csv"))]
    assert len(swept) == 2
    assert swept[0]["work_tip_eV"][-1] != swept[1]["work_tip_eV"][-1]
    assert {"work_top_eV", "force_top_x_eV_per_A"} <= swept[0].keys()
