"""A setting is declared once: option, key of a job file, record and page follow from it or are compared."""

import inspect
import json
import re
from typing import get_args

import numpy as np
import pytest
from pages import text_of

from taichimd.cli.kappa import kappa
from taichimd.cli.relax import relax
from taichimd.cli.run import run
from taichimd.core.errors import SettingsError
from taichimd.ensembles.registry import ENSEMBLES
from taichimd.relaxation.cell import SHAPES
from taichimd.relaxation.settings import RelaxSettings
from taichimd.settings.config import make_settings
from taichimd.settings.declared import settings_of
from taichimd.settings.run import SETTINGS, TOPICS, RunSettings
from taichimd.transport.settings import KappaSettings

EXAMPLES = {
    "structure": "a.xyz", "from_frame": -2, "velocities": "draw", "restart": "a.npz",
    "potential": ["a.sw", "b.lj"], "ensemble": "npt-scr", "temperature": 80.0, "final_temperature": 90.0,
    "coupling_time": 50.0, "pressure": [0.0, 0.0, 1.0], "final_pressure": [0.0, 0.0, 2.0],
    "pressure_coupling_time": 500.0, "bulk_modulus": 9.0, "cell_control": "orthorhombic", "cell_axes": "z",
    "barostat_period": 5, "stretch": "x=1e9/s", "shear": "xy=2/ns", "strain_rate": "true",
    "remap": "positions", "seed": 3, "timestep": 0.5, "time": "1ps", "equilibrate": 500.0,
    "observe": "rdf", "observe_every": 4, "group": ["hot=x < 3"], "bath": ["hot:bussi,temperature=3"],
    "source": ["hot:power=1"], "force": ["hot:force=0,0,1"], "spring": ["hot:constant=2"],
    "wall": ["room=z > 0"], "indenter": ["shape=plane,centre=0,0,9"], "move": ["hot:velocity=1,0,0"],
    "drag": ["hot:coupling_time=9"], "momentum": ["every=5"],
    "insert": ["molecule=Ar,every=1ps,temperature=3"], "delete": ["formula=Ar,every=1ps"],
    "profile_axis": "y", "spectrum_axis": "z", "spectrum_of": "hot", "interface_of": "hot>cold",
    "spectrum_window": "2ps", "profile_bin": 2.5,
    "observe_window": "20fs", "observe_r_max": 5.0, "observe_bond_order": 0.4,
    "bond_formed": 0.6, "bond_broken": 0.2, "bond_lifetime": 20.0, "output": "out", "n_rows": 7,
    "frames": "traj", "n_frames": 8, "per_atom": "virial", "terms": True, "plot_format": "svg",
    "checkpoint_interval": 5.0, "overwrite": True, "profile": True, "backend": "cpu", "precision": "float32",
    "decomposition": "tuple", "input_units": "real", "atom_style": "charge",
}  # fmt: skip
"""Of each setting a value that is not the default; those of `INSTEAD` are instead of others."""
INSTEAD = {"steps", "every", "frames_every"}


def test_each_setting_has_an_option_and_each_option_a_setting():
    parameters = inspect.signature(run).parameters
    # What the terminal shows, how many runs there are, and whom the user trusts, is no property of the run.
    others = {"quiet", "replicas", "common_noise", "trust"}
    assert set(parameters) - others == set(SETTINGS) == {*EXAMPLES, *INSTEAD}
    for name, one in SETTINGS.items():
        declared = get_args(parameters[name].annotation)[1]
        assert declared.help == one.help
        assert declared.rich_help_panel == (None if name == "structure" else one.topic)
        assert parameters[name].default is None, "a default would win over the job file"


def test_each_option_reaches_its_setting(monkeypatch):
    """An option that is not passed on would be without effect, silently."""
    seen = {}
    for name in ("look_at", "look_for"):
        monkeypatch.setattr(f"taichimd.cli.run.{name}", lambda *of: None)
    monkeypatch.setattr("taichimd.app.job.prepare_job", lambda flags, job_file, trust: seen.update(flags))
    monkeypatch.setattr("taichimd.app.driver.run_job", lambda job, console: 0)
    given = {name: f"given {name}" for name in SETTINGS} | {"temperature": "250"}
    run(**given | {"structure": [given["structure"]]})
    assert seen == given | {"temperature": 250.0}


def toml(values):
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def tables(values):
    text = ""
    for topic in TOPICS:
        own = {SETTINGS[option].name: v for option, v in values.items() if SETTINGS[option].topic == topic}
        text += f"[{topic}]\n{toml(own)}"
    return text


@pytest.mark.parametrize("written", [toml, tables])
def test_each_setting_has_a_key_in_a_job_file(written, tmp_path):
    (tmp_path / "job.toml").write_text(written(EXAMPLES))
    found = json.loads(json.dumps(make_settings({}, tmp_path / "job.toml").record()))
    paths = {key: str(tmp_path / EXAMPLES[key]) for key in ("structure", "restart", "output")}
    assert found == {**EXAMPLES, **paths, **dict.fromkeys(INSTEAD)}
    # A record is read again as it was written.
    assert json.loads(json.dumps(RunSettings.of(found).record())) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ensembl]\nname = 'nve'", r"unknown table 'ensembl'; did you mean 'ensemble'\?"),
        ("[speed]\nx = 1", "unknown table 'speed'; known tables: system, potential, ensemble, acting, run"),
        ("[observe]\nevry = 1", r"unknown key 'evry' in \[observe\]; did you mean 'every'\?"),
        (
            "[observe]\nobserve_every = 1",
            r"unknown key 'observe_every' in \[observe\]; it is 'every' in \[observe\]",
        ),
        (
            "[output]\ntemperature = 5",
            r"unknown key 'temperature' in \[output\]; it is 'temperature' in \[ensemble\]",
        ),
        ("seed = 1\n[ensemble]\nseed = 2", "seed is given twice, in a table and outside; give it once"),
        ("[observe]\nevery = 0", "observe_every = 0: expected a whole number above 0"),
    ],
)
def test_mistakes_in_tables(text, message, tmp_path):
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(SettingsError, match=f"job.toml: {message}"):
        make_settings({}, tmp_path / "job.toml")


def test_a_record_of_another_version_with_an_unknown_setting_is_one_line():
    record = RunSettings().record() | {"colour": "red"}
    with pytest.raises(SettingsError, match=r"checkpoint c\.npz: unknown key 'colour'; "):
        make_settings({"restart": "c.npz"}, None, record)


def test_numbers_of_numpy_and_texts_are_read_alike():
    found = KappaSettings(np.float32(60), time="100fs", every=np.int64(2), window=10, plateau="5fs,9fs")
    same = KappaSettings(60.0, time=100.0, every=2, window=10.0, plateau=(5.0, 9.0))
    assert (found, found.record()) == (same, same.record())


def test_the_page_lists_each_setting_with_its_table_key_and_default():
    section = text_of("docs/options.md").split("## taichimd run\n")[1].split("\n## ")[0]
    shown = {}
    for topic, rows in re.findall(r"^### \[(\w+)\]\n(.*?)(?=^### |\Z)", section, flags=re.M | re.S):
        for option, key, default in re.findall(
            r"^\| `(?:--)?([a-z-]+).*?` \| `(\w+)` \| (.*?) ?\|", rows, flags=re.M
        ):
            shown[option.replace("-", "_")] = topic, key, default
    assert shown == {name: (one.topic, one.name, one.shown_default) for name, one in SETTINGS.items()}


@pytest.mark.parametrize(
    ("command", "kind", "page"),
    [(kappa, KappaSettings, "docs/options.md"), (relax, RelaxSettings, "docs/howto/relax.md")],
)
def test_each_setting_of_kappa_and_relax_has_an_option_and_a_row(command, kind, page):
    declared = settings_of(kind)
    parameters = inspect.signature(command).parameters
    by_hand = {"structure", "structures", "potential", "output", "overwrite", "plot_format", "json", "quiet"}
    by_hand |= {"input_units", "atom_style"}
    engine = {"backend", "precision", "decomposition"}
    assert set(parameters) - by_hand - engine == set(declared) - engine
    text = text_of(page).split("## taichimd kappa")[-1]
    rows = dict(re.findall(r"^\| `--([a-z-]+)[^|]*\| *([^|]*?) *\|", text, flags=re.M))
    assert {name.replace("-", "_") for name in rows} - by_hand == set(declared) - engine
    for name, one in declared.items():
        shown = rows.get(name.replace("_", "-"))
        assert shown in (None, one.shown_default) or not one.shown_default, f"--{name}: {shown}"


def test_types_agree_with_what_they_are_of():
    assert RelaxSettings.__annotations__["cell"].__args__ == ("none", *SHAPES)
    assert SETTINGS["ensemble"].values.expected.replace(" or ", ", ").split(", ") == list(ENSEMBLES)
