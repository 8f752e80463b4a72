"""Means, their errors and the energy drift: from rows that are known, and in runs and their records."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from driving import drive, structure  # noqa: F401  (a fixture)
from fake_engine import fake  # noqa: F401  (a fixture)
from processes import ornstein_uhlenbeck

from taichimd.app.averages import (
    averages,
    drift_text,
    energy_drift,
    first_of_stretch,
    mean_text,
    observed_equilibration,
    production_text,
    without_error,
)
from taichimd.app.job import prepare_job
from taichimd.app.observing import plan_of_restart
from taichimd.core.errors import SettingsError
from taichimd.io.thermo import read_thermo
from taichimd.settings.run import RunSettings

pytestmark = pytest.mark.usefixtures("fake", "structure")

NVT = {"ensemble": "nvt-bussi", "temperature": 300.0, "timestep": 1.0}


def report_of(folder):
    return json.loads(open(f"{folder}/run.json").read())


def rows_of(temperature, every=10, **more):
    n = len(temperature)
    steps = np.arange(n) * every
    rows = {"step": steps.astype(float), "time_ps": steps / 1000.0, "temperature_K": temperature}
    rows |= {"potential_eV": temperature * 0.1, "pressure_GPa": np.full(n, np.nan)}
    return rows | {"volume_A3": np.full(n, np.nan)} | more


def record(settings=NVT, **more):
    segments = [{"first_step": 0, "settings": settings, "velocities": "Maxwell-Boltzmann"}]
    return {"settings": settings, "segments": segments, "n_atoms": 10, "first_step": 0} | more


def noise(n, seed=0, tau=3.0):
    return 5.0 * ornstein_uhlenbeck(np.random.default_rng(seed), (n, 1), tau)[:, 0]


def test_equilibration_is_found_and_left_out():
    heated = 300.0 + noise(1000) - 150.0 * np.exp(-np.arange(1000) / 20.0)
    found = averages(record(), rows_of(heated))
    production, mean = found["production"], found["means"]["temperature_K"]
    assert 30 < production["left_out"] < 300
    assert production["start_step"] == 10 * production["left_out"]
    assert (production["method"], production["rows"]) == ("detected", 1000 - production["left_out"])
    assert production["decided_by"] == ["temperature_K", "potential_eV"]
    assert abs(mean["mean"] - 300.0) < 3 * mean["error"]
    assert heated.mean() < 300.0 - 3 * mean["error"]
    assert found["means"]["potential_eV_per_atom"]["mean"] == pytest.approx(mean["mean"] * 0.01)
    assert "pressure_GPa" not in found["means"]
    assert f"the first {production['left_out']} rows are left out" in production_text(production)


def test_what_the_user_says_wins():
    settings = NVT | {"equilibrate": 2000.0}
    found = averages(record(settings, equilibrate_from_step=0), rows_of(300.0 + noise(1000)))
    assert found["production"] | {"note": ""} == {
        "method": "equilibrate", "start_ps": 2.0, "end_ps": 9.99, "start_step": 2000, "rows": 800,
        "left_out": 0, "decided_by": [], "note": "",
    }  # fmt: skip
    found = averages(record(settings, equilibrate_from_step=9000), rows_of(300.0 + noise(1000)))
    assert found == {
        "production": {
            "method": "equilibrate", "start_step": 11000, "rows": 0,
            "note": "no means: the table has no row from step 11,000 on",
        },
        "means": {},
    }  # fmt: skip
    assert averages(record(), rows_of(np.array([]))) == {}


def test_a_mean_without_an_error_says_why():
    found = averages(record(), rows_of(300.0 + noise(8)))
    assert found["means"]["temperature_K"]["error"] is None
    (why,) = without_error(found["means"])
    assert why.startswith("no error, fewer than 10 independent samples: temperature (")
    assert mean_text(found["means"]["temperature_K"], ".1f").startswith(("29", "30"))


def test_what_is_constant_has_no_scatter():
    found = averages(record(), rows_of(300.0 + noise(8), volume_A3=np.full(8, 0.1)))
    assert (found["means"]["volume_A3"]["mean"], found["means"]["volume_A3"]["error"]) == (0.1, 0.0)
    assert "volume" not in without_error(found["means"])[0]


def test_a_ramp_has_no_error_and_what_comes_after_it_has_one():
    settings = NVT | {"final_temperature": 600.0}
    rows = rows_of(np.r_[np.linspace(300, 600, 101), 600.0 + noise(900)])
    found = averages(record(settings, ramp=[0, 10_000]), rows)
    assert found["production"]["method"] == "ramp"
    assert found["means"]["temperature_K"]["mean"] == pytest.approx(rows["temperature_K"].mean())
    assert found["means"]["temperature_K"]["error"] is None
    assert without_error(found["means"]) == ["no error: the mean is over a ramp"]
    found = averages(record(settings, ramp=[0, 1000]), rows)
    assert found["production"]["start_step"] > 1000
    assert abs(found["means"]["temperature_K"]["mean"] - 600.0) < 3 * found["means"]["temperature_K"]["error"]


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({}, 0),
        ({"coupling_time": 50.0, "pressure": 3.0}, 0),  # no barostat, so no pressure
        ({"temperature": 600.0}, 101),
        ({"timestep": 0.5}, 101),
        ({"ensemble": "nve"}, 101),
        ({"final_temperature": 400.0}, 101),
    ],
)
def test_rows_of_other_conditions_do_not_count(change, first):
    parts = [
        record()["segments"][0],
        {"first_step": 100, "settings": NVT | change, "velocities": "checkpoint"},
    ]
    assert first_of_stretch(parts) == first
    drawn = [parts[0], parts[1] | {"velocities": "Maxwell-Boltzmann"}]
    assert first_of_stretch(drawn) == 101
    barostat = NVT | {"ensemble": "npt-scr", "pressure": [0.0, 0.0, 1.0]}
    squeezed = [
        {"first_step": 0, "settings": barostat},
        {"first_step": 9, "settings": barostat | {"pressure": 1}},
    ]
    assert first_of_stretch(squeezed) == 10
    squeezed[1]["settings"] = barostat | {"pressure": (0.0, 0.0, 1.0)}
    assert first_of_stretch(squeezed) == 0


def test_a_restart_at_another_temperature_has_the_mean_of_that():
    drive(steps=400, every=2, output="out", ensemble="nvt-langevin", temperature=300.0)
    drive(restart="out", steps=400, temperature=900.0)
    report, rows = report_of("out"), read_thermo("out/thermo.csv")
    assert report["production"]["start_step"] > 400
    new = rows["temperature_K"][rows["step"] >= report["production"]["start_step"]]
    assert report["means"]["temperature_K"]["mean"] == pytest.approx(new.mean())
    # Going on as before, all rows of these conditions count.
    drive(restart="out", steps=100)
    assert 400 < report_of("out")["production"]["start_step"] < 800


def test_equilibrate_counts_from_the_run_that_it_was_given_to():
    drive(steps=100, every=5, output="out", equilibrate="50fs", ensemble="nvt-langevin")
    report = report_of("out")
    assert (report["settings"]["equilibrate"], report["equilibrate_from_step"]) == (50.0, 0)
    assert (report["production"]["start_step"], report["production"]["method"]) == (50, "equilibrate")
    drive(restart="out", steps=100)
    assert report_of("out")["production"]["start_step"] == 50
    drive(restart="out", steps=100, equilibrate="20fs")
    assert report_of("out")["equilibrate_from_step"] == 200
    assert report_of("out")["production"]["start_step"] == 220
    # Other conditions equilibrate again.
    drive(restart="out", steps=100, temperature=500.0)
    assert report_of("out")["settings"]["equilibrate"] is None
    assert report_of("out")["production"]["method"] == "detected"


def test_equilibrate_that_makes_no_sense():
    with pytest.raises(SettingsError, match=r"equilibrate = 0\.1 ps: the run is 0\.1 ps long"):
        drive(steps=100, output="out", equilibrate="100fs")
    with pytest.raises(SettingsError, match="equilibrate = '5': expected a length of time with its unit"):
        drive(steps=100, output="out", equilibrate="5")
    drive(steps=100, every=10, output="out", equilibrate="0fs")
    assert report_of("out")["production"]["rows"] == 11


def test_the_summary_says_what_means_are_over():
    _, text = drive(steps=100, every=10, output="out")
    shown = " ".join(text.split())
    assert "means over" in shown
    assert "no error, fewer than 10 independent samples" in shown
    _, text = drive(steps=2000, every=1, output="long", equilibrate="100fs", ensemble="nvt-langevin")
    assert "means over 0.1 to 2 ps (1,901 rows); production begins where --equilibrate says" in " ".join(
        text.split()
    )
    assert " ± " in text


def test_observables_that_contain_equilibration_are_named():
    report = record(production={"method": "detected", "left_out": 12, "start_step": 123})
    report["observed"] = {"plan": {"first_step": 0}, "results": []}
    (note,) = observed_equilibration(report)
    assert "equilibration was found until step 123" in note
    assert "--equilibrate 0.13ps" in note
    report["observed"]["plan"]["first_step"] = 123
    assert observed_equilibration(report) == []
    report["observed"] = {"plan": {"first_step": 0}}
    assert observed_equilibration(report) == []


def test_observables_begin_where_equilibrate_says():
    flags = {"structure": "s.extxyz", "potential": "springs.txt", "steps": 100, "observe": "msd"}
    plan = prepare_job(flags | {"equilibrate": "40fs"}).plan
    assert (plan.first_step, plan.samples) == (40, 7)
    assert prepare_job(flags).plan.first_step == 0
    settings = RunSettings.of({"observe": "msd", "equilibrate": 40.0, "timestep": 1.0, "ensemble": "nve"})
    saved = SimpleNamespace(
        step=20, settings={"ensemble": "nve"}, observed={"plan": json.dumps(plan.to_json())}
    )
    # A run that was stopped while it equilibrated: the same plan, and with more steps one from there on.
    assert plan_of_restart(settings, saved, 80) == (plan, [])
    longer, (note,) = plan_of_restart(settings, saved, 180)
    assert (longer.first_step, longer.samples) == (40, 17)
    assert "observations start again at step 40" in note
    # Given once more it counts from this run on.
    again, _ = plan_of_restart(settings, saved, 80, equilibrate=40)
    assert (again.first_step, again.samples) == (60, 5)


def test_drift_is_a_slope_with_its_error():
    time = np.linspace(0.0, 100.0, 1001)
    quiet = 1e-6 * ornstein_uhlenbeck(np.random.default_rng(1), (1001, 1), 2.0)[:, 0]
    found = energy_drift(time, 5.0 + 4 * (quiet + 3e-6 * time), 4)
    assert abs(found["slope"] - 3.0) < 3 * found["error"] < 0.1
    assert found["fluctuation"] == pytest.approx(1.0, rel=0.2)
    assert drift_text(found).startswith("+3.0")
    assert drift_text(found).endswith("µeV/atom/ps")
    flat = energy_drift(time, 5.0 + 4 * (quiet - np.polyval(np.polyfit(time, quiet, 1), time)), 4)
    assert drift_text(flat).startswith("none measurable: ")
    assert energy_drift(time, time * np.nan, 4) is None
    assert drift_text(None) == "energy is not conserved in this ensemble"
    assert drift_text(energy_drift(time[:2], np.ones(2), 1)) == "no slope: fewer than three rows"
    assert "no error" in drift_text(energy_drift(time[:5], quiet[:5], 1))
