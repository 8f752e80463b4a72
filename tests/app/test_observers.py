"""The observers of the command line, used from Python."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from ase import Atoms
from fake_engine import fake  # noqa: F401  (a fixture)
from rich.console import Console

from taichimd import ProgressObserver, Simulation, ThermoPlot, ThermoTable
from taichimd.app.observer import Observer
from taichimd.app.progress import _Drift

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def simulation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = np.indices((2, 2, 2)).reshape(3, -1).T * 2.0 + 0.1
    return Simulation(Atoms("Si8", places, cell=[4] * 3, pbc=True), "springs")


def lines(text):
    return [line.split()[:2] for line in text.getvalue().splitlines()]


def test_progress_follows_each_run(simulation):
    text = io.StringIO()
    progress = ProgressObserver(Console(file=text, width=80))
    assert text.getvalue() == ""
    simulation.run(20, observers=[progress])
    simulation.run(10, observers=[progress])
    assert lines(text) == [["step", "done"], ["20", "100%"], ["30", "100%"]]


def test_speed_and_time_left_leave_out_the_first_piece_which_waits_for_kernels(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("taichimd.app.progress.time", SimpleNamespace(perf_counter=lambda: now[0]))
    text = io.StringIO()
    progress = ProgressObserver(Console(file=text, width=90))
    thermo = SimpleNamespace(temperature=300.0, conserved=None)
    run = SimpleNamespace(
        step=0, last_step=1000, timestep=1.0, time_ps=0.0, engine=SimpleNamespace(n_atoms=8),
        thermo=lambda: thermo,
    )  # fmt: skip
    progress.report(run, thermo)
    for seconds, run.step in ((60.0, 1), (70.0, 101), (80.0, 201)):
        now[0] = seconds
        progress.tick(run)
    head, *rows = (line.split()[2:5] for line in text.getvalue().splitlines())
    assert head == ["left", "ns/day", "atom-step/s"]
    assert rows == [["-"] * 3, ["1:30", "0.864", "8.00e+01"], ["1:20", "0.864", "8.00e+01"]]


def test_a_bar_ends_with_its_block(simulation):
    text = io.StringIO()
    with ProgressObserver(Console(file=text, width=80, force_terminal=True)) as progress:
        simulation.run(20, observers=[progress])
    assert "20/20 steps" in text.getvalue()
    shown = text.getvalue()
    simulation.run(20, observers=[progress])
    assert "100%" in text.getvalue()[len(shown) :]


def test_a_plot_is_drawn_when_the_run_ends(simulation, tmp_path):
    seen = []

    class Look(Observer):
        every = 5

        def report(self, simulation, thermo):
            seen.append((thermo.step, (tmp_path / "rows.png").exists()))

    with ThermoTable("rows.csv", every=5) as table:
        plot = ThermoPlot("rows.png", table)
        simulation.run(20, observers=[Look(), table, plot, Look()])
    assert seen == [(s, s == 20 and later) for s in (0, 5, 10, 15, 20) for later in (False, True)]
    (tmp_path / "rows.png").unlink()
    plot.draw(simulation)
    assert (tmp_path / "rows.png").read_bytes()[:4] == b"\x89PNG"


def test_the_drift_of_a_long_run_is_the_slope_of_means_of_its_reports():
    noise = np.random.default_rng(2).standard_normal(9000)
    drift = _Drift()
    assert drift.shown(1) == "-"
    for k in range(9000):
        drift.add(0.01 * k, 5.0 + 8 * 1e-6 * (3.0 * 0.01 * k + noise[k]))
    assert len(drift._means) < 2000
    value, _, error = drift.shown(8).split()
    assert abs(float(value) - 3.0) < 3 * float(error) < 0.01
    flat = _Drift()
    for k in range(500):
        flat.add(0.01 * k, 5.0 + 1e-6 * noise[k])
    assert flat.shown(8).startswith("none ± ")
    flat.add(5.0, np.inf)
    assert flat.shown(8) == "-"
    flat.add(5.1, None)
    assert flat.shown(8) == "-"
