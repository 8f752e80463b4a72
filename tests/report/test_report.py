"""Reports: what they say of a folder, in numbers and words; and folders that are none."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from browsers import require_viewer
from run_folders import frames, record, settings_of, write_run

from taichimd.core.errors import OutputError
from taichimd.report import citations, folders
from taichimd.report.chart import side_by_side, thinned
from taichimd.report.compose import report_page, view_page
from taichimd.report.folders import parts_of
from taichimd.report.frames import Shown, shown_frames
from taichimd.report.view import view


def test_a_run_has_its_results_commands_and_citations(tmp_path):
    (part,) = parts_of(write_run(tmp_path / "run"))
    assert part.status == "finished"
    assert dict(part.facts)["ensemble"] == "constant energy and volume (NVE); 400 steps of 1 fs = 0.4 ps"
    assert part.commands == ["taichimd run two.extxyz --potential Si.sw --steps 400 --output run"]
    assert dict(part.facts)["velocities"] == "Maxwell-Boltzmann at 300 K"
    drift = dict(part.results)["energy drift"]
    assert drift.endswith("µeV/atom/ps")
    assert "velocity Verlet algorithm \\cite{swope1982}" in part.method
    assert "potential Si.sw (three-body) \\cite{stillinger1985}" in part.method
    temperature = next(one for one in part.charts if one.y == "temperature (K)")
    assert temperature.series[0].y.tolist() == [300.0 + k for k in range(41)]
    cited = set(",".join(re.findall(r"\\cite\{(.*?)\}", part.method)).split(","))
    text = citations.bibtex(part.keys, part.potentials)
    assert cited <= set(re.findall(r"^@\w+\{(\w+),", text, re.MULTILINE))
    page = report_page([part])
    assert "doi = {10.1103/PhysRevB.31.5262}" in page
    assert page.count("<h1>") == 1


def test_a_run_that_goes_on_says_so_and_has_means_so_far(tmp_path):
    folder = write_run(tmp_path / "run", rows=31, cut=7, report=record("running"))
    (part,) = parts_of(folder)
    assert part.status == f"killed at step 290 of 400 or later; taichimd run --restart {folder} continues it"
    (folder / ".taichimd-lock").write_text("{}")
    (part,) = parts_of(folder)
    assert part.status == "still running: step 290 of 400 when this page was made"
    assert "temperature" in dict(part.results)


def test_a_page_says_that_the_last_frame_is_cut_off(tmp_path):
    require_viewer()
    (part,) = parts_of(write_run(tmp_path / "run", rows=31, cut=7, report=record("running")))
    assert "the last frame is cut off and left out" in report_page([part])


def test_a_restart_is_a_command_of_its_own(tmp_path):
    first = settings_of(ensemble="nvt-langevin", temperature=600.0)
    second = settings_of(restart="run", ensemble="nve", structure=None, potential="Si.sw", steps=100)
    report = record()
    report["segments"] = [
        {**report["segments"][0], "settings": first},
        {"first_step": 400, "last_step": 500, "first_ps": 0.4, "settings": second},
    ]
    (part,) = parts_of(write_run(tmp_path / "run", report=report))
    assert part.commands == [
        "taichimd run two.extxyz --potential Si.sw --ensemble nvt-langevin --temperature 600 --steps 400 "
        "--output run",
        "taichimd run --restart run --ensemble nve --temperature 300 --steps 100",
    ]
    assert "In stage 1 the temperature was held at 600 K for 0.4 ps" in part.method
    assert "In stage 2 the system evolved at constant energy" in part.method


def test_names_are_escaped(tmp_path):
    evil = "<script>alert(1)"
    report = record(structure=f"{evil}.extxyz")
    report["potential"]["name"] = evil
    report["notes"] = [f"</script>{evil}"]
    page = report_page(parts_of(write_run(tmp_path / evil, report=report)))
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4
    shown = shown_frames(tmp_path / evil / "trajectory.extxyz")
    page = view_page(f"{evil}.extxyz", replace(shown, labels=[evil] * len(shown.labels), notes=[evil]))
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)") >= 2


def test_several_are_side_by_side(tmp_path):
    cold, hot = record(), record(temperature=900.0)
    parts = [
        *parts_of(write_run(tmp_path / "cold", report=cold)),
        *parts_of(write_run(tmp_path / "hot", report=hot)),
    ]
    page = report_page(parts)
    assert "2 calculations side by side" in page
    together = side_by_side({one.name: one.charts for one in parts})
    assert [one.name for one in together[0].series] == [str(tmp_path / "cold"), str(tmp_path / "hot")]
    assert page.count("<h2>Side by side</h2>") == 1
    require_viewer()
    assert page.count('id="view-1"') == page.count('id="view-2"') == page.count('id="viewer-library"')


def test_a_sweep_has_its_table_and_its_runs(tmp_path):
    for name in ("000-300K", "001-600K"):
        write_run(tmp_path / "sweep" / name)
    members = [
        {"name": name, "flags": {}, "varied": {"temperature": 300.0}, "python_files": {}}
        for name in ("000-300K", "001-600K", "002-900K")
    ]
    (tmp_path / "sweep" / "batch.json").write_text(json.dumps({"members": members}))
    (tmp_path / "sweep" / "batch.csv").write_text("run,temperature,no_error\n000-300K,300.123456789,\n")
    whole, *runs = parts_of(tmp_path / "sweep")
    assert (whole.status, len(runs)) == ("2 of 3 runs have begun", 2)
    assert whole.tables == [("Runs", ["run", "temperature"], [["000-300K", "300.123"]])]
    assert "Sweep of 3 runs" in report_page([whole, *runs])
    rows = "run,seed,exit_reason,mean_pressure_GPa\n000-300K,79596200739932,finished,0.25\n"
    (tmp_path / "sweep" / "batch.csv").write_text(rows)
    whole, *_ = parts_of(tmp_path / "sweep")
    assert whole.status == "1 of 3 runs finished"
    columns = ["run", "seed", "exit reason", "mean pressure (GPa)"]
    assert whole.tables == [("Runs", columns, [["000-300K", "79596200739932", "finished", "0.25"]])]


def test_a_validation_has_its_checks(tmp_path):
    check = {
        "name": "forces",
        "question": "Are they right?",
        "status": "failed",
        "value": 0.25,
        "limit": 1e-6,
    }
    report = {
        "certificates": [{"name": "Si.sw", "verdict": "1 of 1 failed", "outcomes": [check], "seconds": 1.0}]
    }
    (tmp_path / "validation.json").write_text(json.dumps(report))
    (part,) = parts_of(tmp_path / "validation.json")
    assert part.status == "1 failed"
    assert part.tables[0][2] == [["forces", "failed", "Are they right?", "0.25", "1e-06", ""]]
    assert "<td>failed</td>" in report_page([part]).replace("\n", "")


def test_folders_that_are_none_are_refused(tmp_path):
    with pytest.raises(OutputError, match="is not a folder; expected the --output of a command"):
        parts_of(tmp_path / "nothing")
    with pytest.raises(OutputError, match=r"has no calculation of taichimd: expected run\.json"):
        parts_of(tmp_path)
    for name, text in (("run.json", "{}"), ("relax.json", "[]"), ("kappa.json", "{"), ("batch.json", "{}")):
        folder = tmp_path / name.split(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)
        with pytest.raises(OutputError, match=name):
            parts_of(folder)


def test_a_command_ends_in_one_line(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("report nothing")
    assert (code, out, err.count("\n")) == (2, "", 1)
    write_run(tmp_path / "run")
    assert call("report run")[:2] == (0, "run/report.html\n")
    assert call("report run")[0] == 0, "a page may be replaced"
    (tmp_path / "mine.html").write_text("my own")
    code, _, err = call("report run --output mine.html")
    assert code == 2
    assert "--overwrite" in err
    assert call("view run/trajectory.extxyz") == (0, "trajectory.html\n", "")
    assert call("view run") == (0, "run.html\n", "")
    (tmp_path / "run" / "trajectory.extxyz").write_text(frames(3)[:-7])
    assert call("view run") == (0, "run.html\n", "note: the last frame is cut off and left out\n")
    (tmp_path / "one.dump").write_text(
        "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS ff ff ff\n0 9\n0 9\n0 9\n"
        "ITEM: ATOMS id type x y z\n1 1 1 2 3\n"
    )
    code, _, err = call("view one.dump --elements Si")
    assert code == 0
    assert err.startswith("note: one.dump")
    assert "metal" in err
    assert call("view nothing.xyz")[0] == 2
    (tmp_path / "empty").mkdir()
    for command in ("view empty", "report empty"):
        code, out, err = call(command)
        assert (code, out, err.count("\n")) == (2, "", 1), command


def test_long_tables_keep_their_extremes():
    values = np.zeros(100_000)
    values[[777, 50_001]] = 5.0, -3.0
    kept = thinned(values)
    assert len(kept) < 2100
    assert {0, 777, 50_001, 99_999} <= set(kept.tolist())


def test_methods_have_the_papers_of_the_citing_page():
    from pages import text_of

    page = text_of("docs/citing.md")
    dois = {key: re.search(r"doi = \{(.*)\}", entry)[1] for key, entry in citations._ENTRIES.items()}
    assert [key for key, doi in dois.items() if doi not in page] == []


def test_shipped_potentials_read_as_papers():
    from taichimd.forcefields.library import shipped

    for one in shipped():
        for entry in citations.of_potentials([(one.header.citation, one.header.doi)]).values():
            assert entry.startswith("@article"), one.name


def test_a_view_without_its_library_says_what_to_do(monkeypatch):
    from taichimd.report import view as module

    monkeypatch.setattr(module, "_LIBRARY", "nothing.js")
    shown = Shown(np.array(["Si"]), np.zeros((1, 1, 3)), np.zeros((1, 3, 3)), ["0 ps"])
    assert "hatch_build.py" in view(shown)
    assert folders.RECORDS[0] == "run.json"
