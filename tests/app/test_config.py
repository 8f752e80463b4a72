from dataclasses import replace

import pytest

from taichimd.core.errors import SettingsError
from taichimd.observables.registry import OF_RUNS
from taichimd.settings.config import make_settings
from taichimd.settings.observed import USED_BY
from taichimd.settings.run import SETTINGS, ObserveSettings
from taichimd.settings.types import parse_time


def test_time_texts_are_read_in_fs():
    assert parse_time("500fs") == 500
    assert parse_time("10ps") == 10_000
    assert parse_time(" 0.5 ns ") == 500_000
    assert parse_time("1e2ps") == 100_000


TIMESTEP = 'expected a number above 0 (fs), or a time such as "1fs"'
STEPS = "expected a whole number above 0, at most 1e15 (steps)"
EITHER = "expected energy, virial or both as energy,virial; or none"


@pytest.mark.parametrize("text", ["10", "ps", "-1ps", "0ps", "1.2.3ps", "10 parsec"])
def test_time_that_cannot_be_read(text):
    with pytest.raises(SettingsError, match=r"time .*: expected a length of time with its unit, such as"):
        parse_time(text)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("timestep", 0.0, f"timestep = 0.0: {TIMESTEP}"),
        ("timestep", float("nan"), f"timestep = nan: {TIMESTEP}"),
        ("timestep", "1kg", f"timestep = '1kg': {TIMESTEP}"),
        ("timestep", "-1fs", f"timestep = '-1fs': {TIMESTEP}"),
        ("frames", "dcd", "frames = 'dcd': expected extxyz, netcdf, traj or none"),
        ("frames_every", 0, f"frames_every = 0: {STEPS}"),
        ("velocities", "new", "velocities = 'new': expected auto, file or draw"),
        ("temperature", -5.0, "temperature = -5.0: expected a number above 0 (K)"),
        ("steps", 0, f"steps = 0: {STEPS}"),
        ("steps", 1.5, f"steps = 1.5: {STEPS}"),
        ("steps", 10**15 + 1, f"steps = {10**15 + 1}: {STEPS}"),
        ("every", -1, f"every = -1: {STEPS}"),
        ("backend", "metal", "backend = 'metal': expected auto, cuda or cpu"),
        (
            "precision",
            "float16",
            "precision = 'float16': expected float64, mixed or float32; did you mean 'float64'?",
        ),
        (
            "decomposition",
            "tuples",
            "decomposition = 'tuples': expected particle, tuple or auto; did you mean 'tuple'?",
        ),
        ("profile", "yes", "profile = 'yes': expected true or false"),
        (
            "ensemble",
            "npt",
            "ensemble = 'npt': expected nve, nvt-langevin, nvt-berendsen, nvt-bussi, "
            "nvt-nose-hoover, npt-berendsen, npt-scr, npt-mtk, npt-berendsen-langevin, "
            "npt-berendsen-bussi, npt-berendsen-nose-hoover, nph-berendsen, npt-scr-langevin, "
            "npt-scr-nose-hoover, npt-mtk-langevin or npt-mtk-nose-hoover",
        ),
        ("seed", -1, "seed = -1: expected a whole number from 0 to 2^63 - 1 (9.2e18)"),
        ("seed", 2**63, f"seed = {2**63}: expected a whole number from 0 to 2^63 - 1 (9.2e18)"),
        (
            "per_atom",
            "energy,mass",
            f"per_atom = 'energy,mass': {EITHER}",
        ),
        (
            "per_atom",
            "energy,energy",
            f"per_atom = 'energy,energy': {EITHER}",
        ),
        (
            "per_atom",
            "",
            f"per_atom = '': {EITHER}",
        ),
    ],
)
def test_wrong_value_is_one_line_with_key_value_and_expectation(key, value, expected):
    with pytest.raises(SettingsError) as caught:
        make_settings({key: value})
    assert str(caught.value) == expected


def test_time_gives_the_number_of_steps():
    assert make_settings({"time": "1ps", "timestep": 0.5}).run.number_of_steps() == 2000
    with pytest.raises(SettingsError, match="time '1fs' is shorter than the time step of 4 fs"):
        make_settings({"time": "1fs", "timestep": 4.0})
    with pytest.raises(
        SettingsError, match=r"time '1e30us' takes 1e\+39 steps of 1 fs; expected 1e\+15 at most"
    ):
        make_settings({"time": "1e30us"})
    with pytest.raises(SettingsError, match=r"takes inf steps of 1e-300 fs; expected 1e\+15 at most"):
        make_settings({"time": "1us", "timestep": 1e-300})


def test_both_steps_and_time_are_refused():
    with pytest.raises(SettingsError, match="--steps and --time both say how long the run is"):
        make_settings({"steps": 5, "time": "1ps"})


@pytest.fixture
def job(tmp_path):
    (tmp_path / "si.xyz").write_text("")
    (tmp_path / "own.tersoff").write_text("")
    path = tmp_path / "job.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_job_file_paths_are_relative_to_it(job, tmp_path):
    path = job(
        'structure = "si.xyz"\npotential = "own.tersoff"\noutput = "out"\nsteps = 5\ntemperature = 80\n'
    )
    settings = make_settings({}, path)
    assert settings.system.structure == str(tmp_path / "si.xyz")
    assert settings.potential.file == str(tmp_path / "own.tersoff")
    assert settings.output.folder == str(tmp_path / "out")
    assert settings.ensemble.temperature == 80


def test_an_empty_output_of_a_job_file_is_not_its_folder(job):
    with pytest.raises(SettingsError, match=r"output = '': expected the name of a folder"):
        make_settings({}, job('output = ""'))


def test_job_file_keeps_shipped_names(job):
    assert make_settings({}, job('potential = "Si.tersoff"\n')).potential.file == "Si.tersoff"


def test_flags_win_over_the_job_file(job):
    path = job('time = "1ps"\nevery = 7\nseed = 3\n')
    settings = make_settings({"steps": 12, "seed": 4}, path)
    assert (settings.run.steps, settings.run.time) == (12, None)
    assert (settings.output.every, settings.ensemble.seed) == (7, 4)


@pytest.mark.parametrize(
    ("steps", "rows", "frames"),
    [(20_000, 20, 100), (50_000, 50, 250), (2_000, 10, 10), (95, 10, 10), (20_011, 21, 101)],
)
def test_rows_and_frames_are_as_many_in_a_long_run_as_in_a_short_one(steps, rows, frames):
    output = make_settings({}).with_intervals(steps, 1000).output
    assert (output.steps_between_rows, output.steps_between_frames) == (rows, frames)


@pytest.mark.parametrize(
    ("frames", "n_atoms", "every"),
    [("extxyz", 13_000, 100), ("extxyz", 64_000, 500), ("netcdf", 128_000, 200), ("extxyz", 10**7, 2000)],
)
def test_large_systems_have_fewer_frames_unless_a_number_is_given(frames, n_atoms, every):
    output = make_settings({"frames": frames}).with_intervals(20_000, n_atoms).output
    assert output.steps_between_frames == every
    given = make_settings({"frames": frames, "n_frames": 400}).with_intervals(20_000, n_atoms).output
    assert given.steps_between_frames == 50


@pytest.mark.parametrize(
    ("given", "rows", "frames"),
    [
        ({"every": 7}, 7, 7),  # as in job files of before
        ({"frames_every": 7}, 20, 7),
        ({"n_rows": 40}, 500, 100),
        ({"n_frames": 3}, 20, 6667),
        ({"every": 7, "n_frames": 10}, 7, 2000),
        ({"n_rows": 10**6, "n_frames": 10**6}, 1, 1),
    ],
)
def test_rows_and_frames_by_interval_or_number(given, rows, frames):
    output = make_settings(given).with_intervals(20_000, 1000).output
    assert (output.steps_between_rows, output.steps_between_frames) == (rows, frames)


def test_a_restart_keeps_its_intervals_unless_it_is_given_others():
    saved = make_settings({"n_frames": 100}).with_intervals(20_000, 1000).record()
    for given, rows, frames in (
        ({}, 20, 200), ({"n_frames": 100}, 20, 200), ({"n_frames": 10}, 20, 50), ({"every": 3}, 3, 200),
        ({"n_rows": 50}, 10, 200),
    ):  # fmt: skip
        output = make_settings({"restart": "run", **given}, None, saved).with_intervals(500, 1000).output
        assert (output.steps_between_rows, output.steps_between_frames) == (rows, frames), given


def test_fewer_steps_than_rows_are_refused_unless_the_command_line_shortens_a_job(job):
    text = "steps = 100\nn_rows = 50\n"
    assert make_settings({"steps": 9}, job(text)).output.n_rows == 50
    with pytest.raises(SettingsError, match="n_rows = 101: the run has 100 steps; expected as many or fewer"):
        make_settings({"n_rows": 101}, job(text))
    with pytest.raises(SettingsError, match="n_frames = 2: the run has 1 step; expected as many or fewer"):
        make_settings({"time": "1fs", "n_frames": 2})


def test_settings_of_observables_have_users_that_there_are():
    assert {user for users in USED_BY.values() for user in users} <= OF_RUNS.keys()
    correlated = {name for name, kind in OF_RUNS.items() if kind.correlated}
    assert set(USED_BY["observe_window"]) == correlated
    assert USED_BY.keys() <= SETTINGS.keys()


def test_observing_something_else_drops_settings_of_other_observables(job):
    own = {"spectrum_window": "2ps", "observe_r_max": 6.0}
    saved = make_settings({"observe": "spectrum,rdf", **own}).record()
    for given, kept in (("rdf", ["observe_r_max"]), ("spectrum", ["spectrum_window"]), ("none", [])):
        restart = make_settings({"restart": "run", "observe": given}, None, saved).observe
        text = "".join(f"{key} = {saved[key]!r}\n" for key in ("observe", *own))
        for found in (restart, make_settings({"observe": given}, job(text)).observe):
            default = ObserveSettings(quantities=found.quantities)
            assert found == replace(default, **{SETTINGS[key].name: own[key] for key in kept})


@pytest.mark.parametrize(("interval", "number", "what"), [
    ("every", "n_rows", "rows"), ("frames_every", "n_frames", "frames"),
])  # fmt: skip
def test_an_interval_and_a_number_are_refused_together(interval, number, what, job):
    with pytest.raises(SettingsError, match=f"^--{interval} and --{number}".replace("_", "-")):
        make_settings({interval: 5, number: 5})
    with pytest.raises(SettingsError, match=f"{interval} and {number} both say how many {what} there are"):
        make_settings({}, job(f"{interval} = 5\n{number} = 5\n"))
    assert make_settings({number: 5}, job(f"{interval} = 5\n")).record()[interval] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timestp = 1.0", r"job\.toml: unknown key 'timestp'; did you mean 'timestep'\?"),
        (
            "checkpoint-interval = 1.0",
            r"unknown key 'checkpoint-interval'; did you mean 'checkpoint_interval'\?",
        ),
        ("zzz = 1", r"unknown key 'zzz'; known keys: structure, from_frame"),
        ("timestep = -1", r"job\.toml: timestep = -1: expected a number above 0 \(fs\)"),
        ('steps = "5"', r"job\.toml: steps = '5': expected a whole number above 0"),
        ("steps = 5\ntime = '1ps'", r"job\.toml: steps and time both say how long the run is"),
        ("steps = = 5", r"job\.toml is not valid TOML: "),
    ],
)
def test_mistakes_in_a_job_file(job, text, message):
    with pytest.raises(SettingsError, match=message):
        make_settings({}, job(text))


def test_missing_job_file(tmp_path):
    with pytest.raises(SettingsError, match=r"job file .*none\.toml does not exist"):
        make_settings(job_file=tmp_path / "none.toml")
