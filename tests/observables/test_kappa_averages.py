"""Averages of `taichimd kappa`: errors of one run, temperature, and what kappa.json says about them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk
from processes import ornstein_uhlenbeck

from taichimd.core.seeds import derived_seed
from taichimd.estimators.series import student
from taichimd.transport import files, kappa
from taichimd.transport.kappa import conductivity, thermal_conductivity
from taichimd.transport.settings import KappaSettings

SHORT = {"temperature": 60.0, "equilibrate": 20.0, "backend": "cpu"}
ARGON = bulk("Ar", a=5.3, cubic=True) * (2, 1, 1)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_the_temperature_has_an_error():
    settings = KappaSettings(600.0, time=2000.0)
    rng = np.random.default_rng(0)
    runs = [kappa.RunSamples(rng.normal(size=(200, 6)), t, temperature_error=2.5) for t in (598.0, 602.0)]
    both = conductivity(runs, settings, 1.0, 8)
    assert (both.temperature.value, both.temperature.error) == (600.0, pytest.approx(2.0 * student(1)))
    assert files.temperature_of(both) == "600 ± 13 K, mean of 2 runs"
    one = conductivity(runs[:1], settings, 1.0, 8)
    assert files.temperature_of(one) == "598.0 ± 2.5 K, one run"
    assert files.error_is(one) == "standard error, from the autocorrelation of one run"
    assert one.mean.error > 0


def test_a_run_keeps_the_error_of_its_temperature(folder):
    """Of the kinetic energy; a file of before it had one is read."""
    settings = KappaSettings(**SHORT, time=1000.0, every=1, runs=1, window=20.0)
    found = thermal_conductivity(ARGON, "Ar.lj", settings, folder=folder)
    assert found.seeds == (derived_seed(1, {"run": 1}),)
    with np.load("run-01.npz") as saved:
        old = {name: saved[name] for name in saved.files if name != "temperature_error"}
        kept = json.loads(str(saved["temperature_error"]))
    assert found.temperature.error == pytest.approx(kept) if kept is not None else found.temperature.note
    np.savez("run-01.npz", **old)
    again = thermal_conductivity(ARGON, "Ar.lj", settings, folder=folder)
    assert again.mean == found.mean
    assert again.temperature.note


@pytest.mark.parametrize("method", ["green-kubo", "hnemd"])
def test_more_runs_and_one_run_have_errors_of_one_size(method):
    """The error of one run is the scatter of many runs."""
    rng = np.random.default_rng(2)
    driven = {"driving_force": 1e-4} if method == "hnemd" else {}
    settings = KappaSettings(600.0, time=40_000.0, every=10, window=500.0, method=method, **driven)

    def run():
        current = ornstein_uhlenbeck(rng, (4001, 3), 5.0) + (1.0 if driven else 0.0)
        return kappa.RunSamples(np.hstack([current, np.zeros((4001, 3))]), 600.0)

    runs = [run() for _ in range(40)]
    together = conductivity(runs, settings, 1000.0, 8)
    each = [conductivity([one], settings, 1000.0, 8).mean for one in runs]
    rms = np.sqrt(np.mean([one.error**2 for one in each]))
    assert rms == pytest.approx(together.mean.error * np.sqrt(40), rel=0.35)
    assert np.mean([one.value for one in each]) == pytest.approx(together.mean.value, rel=0.02)


def test_kappa_json_has_what_the_terminal_says(call):
    atoms = ARGON.copy()
    atoms.set_initial_charges(np.linspace(-0.5, 0.5, len(atoms)))
    atoms.write("s.extxyz")
    line = "kappa s.extxyz --potential Ar.lj --temperature 60 --equilibrate 20fs --backend cpu --every 5 "
    for method, runs in (("green-kubo", 2), ("hnemd", 1)):
        times = f"--time 200fs --window 50fs --runs {runs} --method {method} "
        code, out, err = call(line + times + f"--output {method}")
        assert (code, err) == (0, "")
        report, said = json.loads(Path(method, "kappa.json").read_text()), " ".join(out.split())
        assert report["seeds"] == [derived_seed(1, {"run": k + 1}) for k in range(runs)]
        assert any("charge" in note for note in report["notes"])
        assert len(report["notes"]) == said.count("note: ")
        for note in report["notes"]:
            assert f"note: {note}" in said
        temperature = re.search(r"temperature +(.*)", out)[1]
        if runs > 1:
            assert re.match(r"[\d.]+ ± [\d.]+ K, mean of 2 runs", temperature)
            assert report["temperature_K"]["error"] > 0
            continue
        assert (report["temperature_K"]["error"] is None) == ("no error: " in temperature)
        assert report["production_from_ps"] >= 0.05
        assert f"from {report['production_from_ps']:.3g} ps on" in out
        error = report["kappa_W_per_mK"]["error"]
        assert error is not None or report["error_is"].startswith("unknown: one run")
