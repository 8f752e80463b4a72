"""`taichimd kappa`: the estimator's number, on currents that NumPy adds up; runs are kept, not repeated."""

import json
import os

import numpy as np
import pytest
from ase.build import bulk
from conducting import ARGON, SHORT

from taichimd.core.errors import OutputError, SettingsError
from taichimd.core.seeds import derived_seed
from taichimd.core.units import FS, KB
from taichimd.ensembles.registry import Langevin, NoseHoover
from taichimd.estimators.green_kubo import growing, read_off
from taichimd.estimators.series import Mean
from taichimd.estimators.transport import green_kubo_conductivity
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine
from taichimd.program.heat import heat_current
from taichimd.transport import files, kappa, sampling
from taichimd.transport.job import _notes
from taichimd.transport.kappa import (
    Kappa,
    conductivity,
    sample_runs,
    supercell,
    thermal_conductivity,
)
from taichimd.transport.linear import Linear
from taichimd.transport.settings import KappaSettings


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    ARGON.write("s.extxyz")
    return tmp_path


def test_kappa_is_the_estimator_on_currents_of_numpy(monkeypatch):
    settings = KappaSettings(**SHORT, supercell=(2, 2, 2), runs=2, window=40.0)
    host = []

    class Host(sampling.Current):
        def __init__(self, every):
            super().__init__(every)
            self.found = [], []
            host.append(self.found)

        @classmethod
        def sample_all(cls, due):
            super().sample_all(due)
            for one, simulation in due:
                engine = simulation.engine
                found, v = engine.evaluate(), engine.velocities()
                one.found[0].append(heat_current(found.energies, found.virials, v, engine.masses).total)
                one.found[1].append((engine.masses[:, None] * v * v).sum() / ((3 * 64 - 3) * KB))
                assert abs(engine.masses @ v).max() < 1e-10, "the crystal as a whole must rest"

    monkeypatch.setattr(sampling, "Current", Host)
    found = thermal_conductivity(ARGON, "Ar.lj", settings)
    temperature = np.mean([np.mean(t) for _, t in host])
    expected = green_kubo_conductivity(
        [np.array(j) for j, _ in host], 5 * FS, 8 * ARGON.cell.volume, temperature, 40 * FS,
        (20 * FS, 40 * FS),
    )  # fmt: skip
    assert found.temperature.value == pytest.approx(temperature, rel=1e-10)
    assert found.mean.samples == found.runs == 2
    assert found.mean.value == pytest.approx(expected.mean.value, rel=1e-8)
    assert found.mean.error == pytest.approx(expected.mean.error, rel=1e-6)
    np.testing.assert_allclose(found.channels.value, expected.channels.value, rtol=1e-7)
    assert not np.allclose(host[0][0], host[1][0]), "runs must be independent"


def test_a_seed_decides_a_run():
    settings = KappaSettings(**SHORT, seed=5)
    system, potential = supercell(ARGON, settings), load_forcefield("Ar.lj")
    moving = ARGON.copy()
    moving.set_velocities(np.ones((8, 3)))
    first = sample_runs(system, potential, settings, [1])[0]
    again = sample_runs(supercell(moving, settings), potential, settings, [1])[0]
    np.testing.assert_array_equal(first.current, again.current)
    neighbour = sample_runs(system, potential, KappaSettings(**SHORT, seed=6), [0])[0]
    assert not np.allclose(first.current, neighbour.current)
    assert first.current.shape == (21, 6)


def test_finished_runs_are_not_repeated(folder, monkeypatch):
    def go(**changes):
        options = {**SHORT, "runs": 2} | changes
        return thermal_conductivity(ARGON, "Ar.lj", KappaSettings(**options), folder=folder)

    first = go()
    numbers, plain = [], kappa.sample_runs

    def counted(*args):
        numbers.extend(args[3])
        return plain(*args)

    monkeypatch.setattr(kappa, "sample_runs", counted)
    assert go().mean == first.mean
    assert numbers == []
    assert go(runs=3).runs == 3
    assert numbers == [2]
    assert go(window=25.0).mean != first.mean
    assert numbers == [2]
    os.remove("run-02.npz")
    assert go().mean == first.mean
    for changes, key in (({"temperature": 61.0}, "temperature"), ({"timestep": 0.5}, "timestep")):
        with pytest.raises(OutputError, match=f"run-01.npz was made with a different {key} "):
            go(**changes)
    with pytest.raises(OutputError, match="different system"):
        thermal_conductivity(bulk("Ar", a=5.4, cubic=True), "Ar.lj", KappaSettings(**SHORT), folder=folder)
    (folder / "run-01.npz").write_bytes(b"PK")
    with pytest.raises(OutputError, match=r"run-01.npz cannot be read as a finished run; remove it"):
        go()


def test_a_stopped_run_leaves_the_finished_ones(folder):
    settings, asked = KappaSettings(**SHORT, runs=3), []

    def tell(run, what, fraction):
        asked.append((run, what))

    def stop():
        return (1, "green-kubo") in asked

    found = thermal_conductivity(ARGON, "Ar.lj", settings, folder=folder, should_stop=stop, progress=tell)
    # How soon progress is told depends on the machine.
    assert found.runs in (1, 2)
    assert len([f for f in folder.glob("*.npz") if ".part" not in f.name]) == found.runs
    assert {what for _, what in asked} == {"equilibration", "green-kubo"}
    assert thermal_conductivity(ARGON, "Ar.lj", settings, should_stop=lambda: True) is None


def samples_in(folder):
    return [np.load(file)["current"] for file in sorted(folder.glob("run-??.npz"))]


def test_runs_of_one_launch_have_the_samples_of_runs_alone(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    for folder in (alone, together):
        folder.mkdir()

    def go(folder, runs, at_once, **more):
        settings = KappaSettings(**SHORT, runs=runs, at_once=at_once)
        return thermal_conductivity(ARGON, "Ar.lj", settings, folder=folder, **more)

    found, told = go(alone, 3, 1), []
    asked = iter([*[False] * 4, *[True] * 99])
    assert go(together, 2, 2, should_stop=asked.__next__) is None
    assert len(list(together.glob("run-0?.part.npz"))) == 2
    # One is at another step, as after a kill; one run is new.
    (together / "run-01.part.npz").unlink()
    ended = go(together, 3, 3, progress=lambda *what: told.append(what))
    assert {number for number, *_ in told} == {1, 2}
    assert (ended.mean, ended.temperature) == (found.mean, found.temperature)
    for one, other in zip(samples_in(together), samples_in(alone), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not list(together.glob("*.part.npz"))


@pytest.mark.long
def test_directions_and_both_driving_forces_go_in_one_launch(tmp_path):
    """Three directions with F and with F/2, after a stop: samples as of one run after the other."""
    options = {**SHORT, "method": "hnemd", "direction": "xyz", "runs": 3, "check_force": True}
    alone, together = tmp_path / "alone", tmp_path / "together"
    found = thermal_conductivity(
        ARGON, "Ar.lj", KappaSettings(**options, window=20.0, at_once=1), folder=alone
    )
    settings = KappaSettings(**options, window=20.0, at_once=6)
    asked = iter([*[False] * 4, *[True] * 99])
    assert thermal_conductivity(ARGON, "Ar.lj", settings, folder=together, should_stop=asked.__next__) is None
    assert len(list(together.glob("**/run-0?.part.npz"))) == 6
    ended = thermal_conductivity(ARGON, "Ar.lj", settings, folder=together)
    for part in (".", "half-force"):
        mine, theirs = samples_in(together / part), samples_in(alone / part)
        assert len(mine) == 3
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    assert ended.mean == found.mean
    assert ended.linear == found.linear
    assert ended.linear.full == ended.mean
    half = KappaSettings(**options, window=20.0).of_half_force
    assert half.driving_force == 5e-5
    saved = [np.load(file) for file in sorted((together / "half-force").glob("*.npz"))]
    runs = [kappa.RunSamples(one["current"], float(one["temperature"])) for one in saved]
    assert ended.linear.half == conductivity(runs, half, ARGON.cell.volume, len(ARGON), range(3)).mean


def test_whether_two_driving_forces_agree_is_said():
    same = Linear(1e-3, Mean(10.0, 0.3, 5), Mean(10.5, 0.4, 5))
    assert same.agrees
    assert same.notes == []
    assert same.verdict.endswith("agree within errors")
    assert same.difference.error == pytest.approx(0.5)
    other = Linear(1e-3, Mean(12.0, 0.3, 5), Mean(10.5, 0.4, 5))
    assert (
        "differ by 1.50 ± 0.50 W/(m K): the response is not linear; take --driving-force 0.0005"
        in (other.notes[0])
    )
    assert Linear(1e-3, Mean(12.0, np.nan, 1), Mean(10.5, 0.4, 5)).agrees is None


@pytest.mark.parametrize("method", ["green-kubo", "hnemd"])
def test_a_run_under_way_goes_on_with_the_same_bits(folder, method, monkeypatch):
    options = {**SHORT, "method": method, "runs": 1, "window": 10.0}
    monkeypatch.setattr("taichimd.app.loop._MAX_GROWTH", 6)
    system, potential = supercell(ARGON, KappaSettings(**options)), load_forcefield("Ar.lj")
    whole = sample_runs(system, potential, KappaSettings(**options), [0])[0]
    stages = []
    part = folder / "run-01.part.npz"
    for _ in range(100):
        asked = iter([False, False, True])
        found = thermal_conductivity(
            ARGON, "Ar.lj", KappaSettings(**options), folder=folder, should_stop=asked.__next__
        )
        if found is not None:
            break
        with np.load(part) as kept:
            stages.append((json.loads(str(kept["stage"])), json.loads(str(kept["step"]))))
    assert len({step for stage, step in stages if stage == "equilibration"}) > 1
    assert len({step for stage, step in stages if stage == method}) > 1
    assert not part.exists()
    with np.load(folder / "run-01.npz") as saved:
        np.testing.assert_array_equal(saved["current"], whole.current)
        assert (float(saved["temperature"]), float(saved["moved"])) == (whole.temperature, whole.moved)


def test_a_run_under_way_of_other_settings_is_refused(folder):
    def go(**changes):
        settings = KappaSettings(**{**SHORT, "runs": 1, "window": 10.0, **changes})
        return thermal_conductivity(ARGON, "Ar.lj", settings, folder=folder, should_stop=lambda: True)

    assert go() is None
    with pytest.raises(OutputError, match=r"run-01.part.npz was made with a different temperature "):
        go(temperature=61.0)
    (folder / "run-01.part.npz").write_bytes(b"PK")
    with pytest.raises(OutputError, match=r"run-01.part.npz cannot be read as a run under way; remove it"):
        go()


def test_one_finished_run_of_several_is_enough_to_say_so(tmp_path, folder):
    """The run is too short for the window: no error, but no failure."""
    settings = KappaSettings(**SHORT, runs=3, window=50.0)
    system = supercell(ARGON, settings)
    run = sample_runs(system, load_forcefield("Ar.lj"), settings, [0])[0]
    found = conductivity([run], settings, system.cell.volume, len(system))
    assert found.runs == 1
    assert np.isfinite(found.mean.value)
    assert np.isnan(found.mean.error)
    assert files.error_is(found).startswith("unknown: one run")
    both = conductivity([run, run], settings, system.cell.volume, len(system))
    assert files.error_is(both) == "standard error, over independent runs"
    assert found.mean.value == pytest.approx(both.mean.value)


def test_an_integral_that_grows_is_told():
    rng = np.random.default_rng(0)
    runs = [
        kappa.RunSamples(np.hstack([rng.normal(size=(4000, 3)), np.zeros((4000, 3))]), 600.0)
        for _ in range(8)
    ]
    settings = KappaSettings(temperature=600.0, time=40_000.0, window=500.0)
    white = conductivity(runs, settings, 1000.0, 8)
    assert not growing(white.green_kubo)
    drift = [kappa.RunSamples(run.current + 0.5, 600.0) for run in runs]
    assert growing(conductivity(drift, settings, 1000.0, 8).green_kubo)


def test_growth_is_told_where_samples_differ_by_more():
    """All integrals grow by a fifth, and are themselves uncertain by two thirds."""
    time, size = np.linspace(0.0, 1.2, 121), np.array([0.5, 1.0, 1.5, 2.0, 2.5])
    found = read_off((size[:, None] * np.exp(-time))[:, :, None], 0.01, 1.0, (0.6, 1.2))
    assert found.gain.value < 2.0 * found.running_mean.error[-1]
    assert growing(found)


def test_hnemd_gives_the_engine_its_force_and_a_chain(monkeypatch):
    """An engine that takes a force and does nothing with it: what is asked of it, and the mean of noise."""
    asked = []

    class Deaf(Engine):
        def __init__(self, *args, driving_force=None, ensemble=None, **options):
            asked.append((driving_force, ensemble))
            super().__init__(*args, ensemble=ensemble, **options)

    monkeypatch.setattr("taichimd.transport.sampling.Engine", Deaf)
    settings = KappaSettings(**SHORT, method="hnemd", driving_force=1e-3, direction="y", runs=1, window=20.0)
    found = thermal_conductivity(ARGON, "Ar.lj", settings)
    (_, warm), (force, chain) = asked
    assert warm == Langevin(60.0, seed=derived_seed(1, {"run": 1}))
    assert (force, chain) == ((0.0, 1e-3, 0.0), NoseHoover(60.0))
    assert found.mean.value == pytest.approx(found.channels.value[1], rel=1e-12)


def test_hnemd_is_the_mean_current_over_the_force():
    settings = KappaSettings(**SHORT, method="hnemd", driving_force=1e-3, direction="y", runs=2, window=20.0)
    system, potential = supercell(ARGON, settings), load_forcefield("Ar.lj")
    runs = [sample_runs(system, potential, settings, [k])[0] for k in range(2)]
    found = conductivity(runs, settings, system.cell.volume, len(system))
    rows = len(found.driven.time)
    assert 8 <= rows <= 17  # production begins in the first half of what the window leaves
    mean = np.mean([run.current[-rows:, 1].mean() for run in runs])
    size = mean / (found.temperature.value * system.cell.volume * 1e-3)
    from taichimd.core.units import WATT_PER_METRE_KELVIN

    assert found.mean.value == pytest.approx(size / WATT_PER_METRE_KELVIN, rel=1e-9)
    assert found.mean.samples == 2
    widened = 12.7062 / 1.95996  # Student's t of two runs over the normal distribution, 95 %
    assert found.mean.error == pytest.approx(widened * np.ptp(found.driven.of_runs) / 2, rel=1e-5)
    # Of the running mean at each time; at the end that of kappa.
    means = [np.cumsum(run.current[-rows:, 1])[4] / 5 for run in runs]
    scale = size / mean / WATT_PER_METRE_KELVIN
    assert found.driven.running.value[4] == pytest.approx(np.mean(means) * scale, rel=1e-9)
    expected = widened * abs(means[0] - means[1]) / 2 * abs(scale)
    assert found.driven.running.error[4] == pytest.approx(expected, rel=1e-5)
    assert found.driven.running.error[-1] == pytest.approx(found.mean.error, rel=1e-9)
    single = conductivity(runs[:1], settings, system.cell.volume, len(system)).driven.running
    assert np.isnan(single.error).all()


def test_runs_of_hnemd_take_three_directions_in_turn():
    settings = KappaSettings(
        **SHORT, method="hnemd", driving_force=1e-3, direction="xyz", runs=3, window=20.0
    )
    assert [settings.force_of(run).index(1e-3) for run in range(4)] == [0, 1, 2, 0]
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(3, 100, 6))
    for run in range(3):
        noise[run, :, run] += 5.0
    runs = [kappa.RunSamples(one, 60.0) for one in noise]
    found = conductivity(runs, settings, 1000.0, 8)
    single = KappaSettings(**SHORT, method="hnemd", driving_force=1e-3, runs=3, window=20.0)
    turned = [
        kappa.RunSamples(np.hstack([np.roll(one[:, :3], -k, axis=1), one[:, 3:]]), 60.0)
        for k, one in enumerate(noise)
    ]
    assert found.mean == conductivity(turned, single, 1000.0, 8).mean
    with pytest.raises(SettingsError, match="a multiple of three runs, got 2"):
        KappaSettings(**SHORT, method="hnemd", direction="xyz", runs=2)


def hot(method, temperature, error=0.0, **more):
    settings = KappaSettings(temperature=500.0, time=1000.0, method=method, **more)
    mean = Mean(temperature, error, 2)
    found = Kappa(Mean(1.0, 0.1, 2), Mean(np.ones(3), np.ones(3), 2), mean, 1000.0, 8, 2)
    return _notes(found, bulk("Si", cubic=True), settings)


def test_runs_at_another_temperature_are_not_told_as_if_nothing_were():
    """A driving force that heats more than the thermostats take away gives a number all the same."""
    assert hot("hnemd", 500.0) == []
    assert hot("hnemd", 540.0, error=20.0) == []
    assert "571 K on average, not 500: so large a --driving-force" in hot("hnemd", 571.0)[0]
    assert "300 K on average, not 500: take a longer --equilibrate" in hot("green-kubo", 300.0, np.nan)[0]


def test_a_crystal_is_no_sheet():
    assert "extend over 4.07 Å across the sheet" in hot("hnemd", 500.0, thickness=3.0)[0]
    assert hot("hnemd", 500.0, thickness=6.0) == []


def test_the_error_of_one_run_is_null(tmp_path):
    """JSON has no NaN."""
    settings = KappaSettings(600.0, time=2000.0)
    found = conductivity([kappa.RunSamples(np.ones((200, 6)), 600.0)], settings, 1.0, 8)
    files.write(files.paths(tmp_path, "png", settings), found, settings, {}, "title", [], {}, 0.0)
    text = (tmp_path / "kappa.json").read_text()
    assert "NaN" not in text
    kept = json.loads(text)["temperature_K"]
    assert (kept["value"], kept["error"]) == (600.0, None)
    assert kept["note"].startswith("no error: one run with fewer than ten independent samples")
    assert files.temperature_of(found) == f"600.0 K, one run ({kept['note']})"


def test_more_than_a_hundred_runs_are_replaced(tmp_path):
    names = [f"run-{k:02d}.npz" for k in (1, 99, 100, 1234)]
    for name in (*names, "run-mine.npz"):
        (tmp_path / name).write_bytes(b"")
    files.prepare(tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.glob("run*")] == ["run-mine.npz"]


@pytest.mark.parametrize("method", ["green-kubo", "hnemd"])
def test_a_sheet_conducts_per_its_thickness(method):
    """Whatever stands for the vacuum: a high box, or no third period. NumPy's own ratio of volumes."""
    high = ARGON.copy()
    high.center(vacuum=5.0, axis=2)
    height = high.cell[2, 2]
    open_ = high.copy()
    open_.pbc = [True, True, False]
    short = {**SHORT, "window": 20.0, "runs": 2, "method": method}
    whole, sheet, thin = (
        thermal_conductivity(atoms, "Ar.lj", KappaSettings(**short, thickness=thickness))
        for atoms, thickness in ((high, None), (high, 3.35), (open_, 6.7))
    )
    axes = 2 if method == "green-kubo" else 3
    np.testing.assert_allclose(sheet.channels.value, whole.channels.value[:axes] * height / 3.35, rtol=1e-12)
    np.testing.assert_allclose(thin.channels.value, sheet.channels.value / 2, rtol=1e-12)
    expected = sheet.channels.value.mean() if method == "green-kubo" else sheet.channels.value[0]
    assert sheet.mean.value == pytest.approx(expected, rel=1e-12)
    assert sheet.mean.value != 0.0
