"""The record of a run of several segments, and its picture."""

import json
import os

import numpy as np
import pytest
from driving import drive, structure  # noqa: F401  (a fixture)
from fake_engine import FakeEngine, fake  # noqa: F401  (a fixture)

from taichimd.cli.app import main
from taichimd.core.errors import BlowUpError, SettingsError
from taichimd.io.analysis_files import PICTURES
from taichimd.io.plots import marks_of, thermo_figure
from taichimd.io.report import segments
from taichimd.io.thermo import read_thermo

pytestmark = pytest.mark.usefixtures("fake", "structure")


def _report(folder="out"):
    return json.loads(open(f"{folder}/run.json").read())


def test_each_segment_has_its_full_record():
    drive(steps=20, output="out", timestep=0.5, ensemble="nvt-langevin", temperature=500.0)
    drive(restart="out/checkpoint.npz", steps=30, timestep=1.0, ensemble="nve")
    one, two = _report()["segments"]
    assert [one["settings"][k] for k in ("ensemble", "timestep", "temperature")] == ["nvt-langevin", 0.5, 500]
    assert [two["settings"][k] for k in ("ensemble", "timestep")] == ["nve", 1.0]
    for key in ("potential", "versions", "runtime", "host", "started", "notes"):
        assert one[key] == two[key] or key in ("started", "notes")
    assert one["potential"]["terms"][0]["parameters"] == {"Si": {"strength": 5.0}}
    assert [(s["first_step"], s["last_step"]) for s in (one, two)] == [(0, 20), (20, 50)]
    assert [(s["first_ps"], s["simulated_ps"]) for s in (one, two)] == [(0, 0.01), (0.01, 0.04)]
    assert [s["exit_reason"] for s in (one, two)] == ["finished", "finished"]


def test_a_segment_that_broke_off_ends_where_the_next_begins():
    drive(steps=20, output="out")

    def fail(engine):
        if engine.step > 22:
            raise BlowUpError("gone", engine.step, 0)

    FakeEngine.after_advance = fail
    with pytest.raises(BlowUpError):
        drive(restart="out/checkpoint.npz", steps=30)
    FakeEngine.after_advance = None
    drive(restart="out/checkpoint.npz", steps=5)
    assert [(s["first_step"], s["last_step"]) for s in _report()["segments"]] == [(0, 20), (20, 25)]
    killed = {"segments": [{"first_step": 0, "last_step": 0, "exit_reason": "running"}]}
    now = {"first_step": 7, "first_ps": 0.007, "planned_last_step": 9}
    assert segments(killed, now)[0]["last_step"] == 7


@pytest.mark.parametrize(
    ("plot_format", "lost"), [(f, f"thermo.{f}") for f in PICTURES] + [("png", "run.json")]
)
def test_a_complete_run_that_lost_a_result_gets_it_by_a_restart(plot_format, lost):
    drive(steps=20, output="out", plot_format=plot_format)
    with pytest.raises(SettingsError, match="is complete"):
        drive(restart="out")
    os.remove(f"out/{lost}")
    drive(restart="out")
    assert os.path.getsize(f"out/{lost}") > 0
    assert _report()["exit_reason"] == "finished"
    (one,) = _report()["segments"]
    assert one["last_step"] == 20


def test_a_checkpoint_alone_is_no_run_that_lacks_results():
    drive(steps=20, output="out")
    os.mkdir("alone")
    os.rename("out/checkpoint.npz", "alone/checkpoint.npz")
    with pytest.raises(SettingsError, match="is complete"):
        drive(restart="alone")
    assert os.listdir("alone") == ["checkpoint.npz"]


def test_a_complete_run_gets_pictures_of_another_format_by_a_restart():
    drive(steps=20, output="out")
    drive(restart="out", plot_format="pdf")
    assert sorted(name for name in os.listdir("out") if name.startswith("thermo.")) == [
        "thermo.csv",
        "thermo.pdf",
    ]
    with pytest.raises(SettingsError, match="is complete"):
        drive(restart="out")


def test_segments_are_marked_and_the_drift_begins_where_conservation_does():
    drive(steps=20, output="out", every=5, ensemble="nvt-langevin")
    drive(restart="out", steps=30, ensemble="nve", velocities="draw")
    drive(restart="out", steps=10)
    report = _report()
    marks = marks_of(report["segments"])
    assert marks == [(0.0, "nvt-langevin 300 K"), (0.02, "nve"), (0.05, "")]
    assert report["conserved_from_step"] == 21
    columns = read_thermo("out/thermo.csv")
    figure = thermo_figure(columns, 4, "title", report["conserved_from_step"], marks)
    by_label = {axis.get_ylabel().split(" (")[0]: axis for axis in figure.axes}

    def verticals(axis):
        return [x[0] for x in (line.get_xdata() for line in axis.lines) if len(x) == 2 and x[0] == x[1]]

    assert verticals(by_label["temperature"]) == [0.0, 0.02, 0.05]
    assert [text.get_text() for text in by_label["temperature"].texts] == ["nvt-langevin 300 K", "nve", ""]
    drift = by_label["conserved energy since start"]
    time = drift.lines[0].get_xdata()
    np.testing.assert_allclose(time, columns["time_ps"][columns["step"] > 20])
    assert drift.get_xlim()[0] > 0.02
    assert marks_of(report["segments"][:1]) == []


def test_plot_draws_a_run_again(capsys):
    drive(steps=20, output="out", every=5)
    before = open("out/thermo.png", "rb").read()
    os.remove("out/thermo.png")

    def call(line):
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        return caught.value.code, capsys.readouterr().err

    assert call("plot out") == (0, "")
    assert open("out/thermo.png", "rb").read() == before
    drive(steps=20, output="drawn", plot_format="svg")
    os.remove("drawn/thermo.svg")
    assert call("plot drawn") == (0, "")
    assert sorted(name for name in os.listdir("drawn") if name.startswith("thermo.")) == [
        "thermo.csv",
        "thermo.svg",
    ]
    assert call("plot out --output own.pdf") == (0, "")
    assert open("own.pdf", "rb").read(4) == b"%PDF"
    code, err = call("plot .")
    assert (code, err.count("\n")) == (2, 1)
    assert "error: . is not the folder of a run: expected thermo.csv and run.json" in err
    assert "own.doc: expected the name of a picture" in call("plot out --output own.doc")[1]
