"""Groups and baths of a job: options, job files, restarts, `taichimd groups`, mistakes in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from argon_job import RUN, enter_folder

from taichimd import Bussi, Langevin, Source
from taichimd.app.job import prepare_job
from taichimd.core.errors import SettingsError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import read_thermo

TABLES = """
structure = "ar.extxyz"
potential = "Ar.lj"
steps = 40

[groups]
hot = "fx < 0.3"
cold = "0.5 <= fx and fx < 0.8"
ends = [0, -1]

[bath.hot]
thermostat = "langevin"
temperature = 120
final_temperature = 160
coupling_time = "0.2ps"

[source.sink]
group = "cold and not ends"
power = -0.5
correction = false
"""
OPTIONS = {
    "structure": "ar.extxyz",
    "potential": "Ar.lj",
    "steps": 40,
    "group": ["hot=fx < 0.3", "cold=0.5 <= fx and fx < 0.8", "ends=0 -1"],
    "bath": ["hot:langevin,temperature=120,final_temperature=160,coupling_time=0.2ps"],
    "source": ["cold and not ends:power=-0.5,correction=false,name=sink"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return enter_folder(tmp_path, monkeypatch, a=5.5)


def test_a_job_file_says_what_options_say():
    Path("job.toml").write_text(TABLES)
    jobs = [prepare_job({}, Path("job.toml")), prepare_job(OPTIONS)]
    records = [[bath.record() for bath in job.acting.baths] for job in jobs]
    assert records[0] == records[1]
    assert [job.acting.groups.runs() for job in jobs] == [jobs[0].acting.groups.runs()] * 2
    hot, sink = jobs[0].acting.baths
    assert hot.what == Langevin(120, coupling_time=200.0, final_temperature=160, ramp=(0, 40))
    assert (sink.name, sink.what) == ("sink", Source(-0.5, correction=False))
    n = len(jobs[0].atoms)
    assert (
        0 < len(sink.atoms) == len(jobs[0].acting.groups["cold"]) - (n - 1 in jobs[0].acting.groups["cold"])
    )
    assert jobs[0].acting.record()["groups"]["ends"] == 2
    assert any("hot: nvt-langevin, 120 to 160 K" in text for _, text in jobs[0].acting.rows())


def test_a_bath_of_a_selection_has_a_name_of_its_own_and_the_seed_of_the_run():
    job = prepare_job({**OPTIONS, "bath": ["fx < 0.2:bussi,temperature=90", "fx >= 0.9:bussi,temperature=80"],
                       "source": None, "seed": 7})  # fmt: skip
    assert [bath.name for bath in job.acting.baths] == ["bath1", "bath2"]
    assert [bath.what for bath in job.acting.baths] == [Bussi(90, seed=7), Bussi(80, seed=7)]
    one = prepare_job({**OPTIONS, "group": None, "source": None, "bath": ["mobile:bussi,temperature=90"]})
    assert [(bath.name, len(bath.atoms)) for bath in one.acting.baths] == [("mobile", len(one.atoms))]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"bath": ["hot:langevin,temprature=3"]}, "bath hot: unknown key 'temprature'; did you mean"),
        ({"bath": ["hot:warm"]}, "'warm' is none of langevin, bussi, nose-hoover, berendsen"),
        ({"bath": ["hot:langevin"]}, "bath hot: temperature is missing; expected such as"),
        ({"bath": ["langevin,temperature=3"]}, "expected a group, a colon and settings"),
        ({"bath": ["hot:langevin,temperature=-3"]}, "bath hot: temperature = -3: nvt-langevin expects"),
        ({"bath": ["hot:langevin,temperature=3,temperature=4"]}, "temperature is given twice"),
        ({"bath": ["warm:langevin,temperature=3"]}, "there is no group 'warm'"),
        ({"bath": ["x < -5:langevin,temperature=3"]}, "group bath1 (x < -5) is empty"),
        ({"bath": ["[0]:bussi,temperature=3"]}, "has one atom, which has no velocity relative"),
        (
            {"bath": ["hot:bussi,temperature=3", "fx < 0.1:bussi,temperature=4"]},
            "is in two baths, hot and bath1",
        ),
        ({"source": ["hot:power=much"]}, "source hot: power = 'much': expected a finite number"),
        ({"source": ["hot:"]}, "source hot: power is missing"),
        ({"group": ["hot"]}, "expected NAME=WHERE"),
        ({"group": ["hot=x < 3", "hot=x < 4"]}, "there is a group hot already"),
        ({"group": ["all=x < 3"]}, "the name of a built-in group"),
        ({"group": ["hot=x <"]}, "group hot: x <: the end at character 4"),
        ({"group": ["hot=x < -3"]}, "group hot (x < -3) is empty"),
    ],
)  # fmt: skip
def test_a_mistake_ends_in_one_line_before_anything_runs(more, words):
    with pytest.raises(SettingsError) as caught:
        prepare_job({**OPTIONS, "source": None, "bath": None, **more})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_without_a_name_is_refused():
    Path("job.toml").write_text(TABLES.replace("[bath.hot]", "[bath]"))
    with pytest.raises(SettingsError, match=r"expected a table such as \[bath.hot\]"):
        prepare_job({}, Path("job.toml"))


def test_the_command_groups_counts_and_draws(call):
    code, out, _ = call("groups ar.extxyz fx<0.3 --group cold=fx>=0.5")
    assert code == 0
    assert out.splitlines()[0].startswith("cold    56 of 108 atoms (51.9%): 56 Ar")
    assert "fx<0.3" in out
    assert Path("groups.png").stat().st_size > 10_000
    Path("job.toml").write_text(TABLES)
    assert call("groups job.toml --picture none")[1].count("atoms (") == 4
    assert call("groups ar.extxyz q<3")[2].startswith("error: selection: q<3: 'q' at character 1")
    assert call("groups ar.extxyz")[0] == 2
    Path("d.xyz").write_text("2\n\nO 0 0 0\nD 0 0 1\n")
    code, out, err = call("groups d.xyz all --picture none")
    assert (code, out.split(":")[0]) == (0, "all  2 of 2 atoms (100.0%)")
    assert err.startswith("note: D and T in d.xyz are hydrogen")


@pytest.mark.long
def test_restarts_are_bit_for_bit_and_other_baths_begin_anew(call):
    run = RUN + (
        "--group hot=fx<0.3 --group rest=fx>=0.3 --bath hot:langevin,temperature=90,final_temperature=120 "
        "--source 0.5<=fx<0.8:power=-0.1,name=sink "
    )
    assert call(run + "--steps 60 --output straight")[0] == 0
    assert call(run + "--steps 60 --output cut")[0] == 0
    checkpoint = read_checkpoint("cut/checkpoint.npz")
    assert sorted(checkpoint.groups) == ["hot", "rest", "sink"]
    assert call("run --restart cut --steps 40")[0] == 0
    assert call("run --restart straight --steps 25")[0] == 0
    assert call("run --restart straight --steps 15")[0] == 0
    for name in ("thermo.csv", "trajectory.extxyz"):
        assert Path("straight", name).read_bytes() == Path("cut", name).read_bytes()
    rows = read_thermo("cut/thermo.csv")
    np.testing.assert_allclose(rows["heat_sink_eV"], -0.1 * rows["time_ps"], atol=1e-12)
    heat = rows["heat_hot_eV"] + rows["heat_sink_eV"]
    np.testing.assert_allclose(rows["conserved_eV"], rows["total_eV"] - heat, rtol=0, atol=1e-12)
    report = json.loads(Path("cut/run.json").read_text())
    assert report["groups"]["hot"] == report["baths"][0]["atoms"]
    code, out, _ = call("run --restart cut --steps 10 --bath none --output other")
    assert code == 0
    assert "the settings of baths of groups or drives differ" in " ".join(out.split())
    other = read_thermo("other/thermo.csv")
    assert "heat_hot_eV" not in other
    assert other["heat_sink_eV"][-1] == pytest.approx(-0.004)
