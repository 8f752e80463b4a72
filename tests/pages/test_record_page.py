"""docs/record.md: its examples run, and its tables name exactly the fields that the files have."""

import dataclasses
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from ase.build import bulk
from fake_engine import fake  # noqa: F401  (a fixture)

from taichimd.cli.app import main
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.thermo import COLUMNS
from taichimd.settings.run import SETTINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "record.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


OF_OPTIONS = {
    "interface_spectra", "free_paths", "linear_response", "stacie", "conductance_MW_per_m2K",
    "conductance_without_exchange_MW_per_m2K", "kapitza_resistance_m2K_per_GW", "exchange_time_ps",
}  # fmt: skip
"""Fields of kappa.json that only other methods and options give."""


def section(title):
    return re.split(r"^#+ ", PAGE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def fields(title, column=0):
    """Names in a column of a section's table, in turn."""
    rows = re.findall(r"^\| (.*) \|$", section(title), flags=re.MULTILINE)[2:]
    return [name for row in rows for name in re.findall(r"`([^`]*)`", row.split(" | ")[column])]


def call(line):
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(line))
    assert caught.value.code == 0, line


@pytest.mark.usefixtures("fake")
def test_the_examples_run_and_their_record_has_the_fields(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    parts = [
        (kind, part)
        for kind, text in BLOCKS
        for part in (text.splitlines() if kind == "console" else [text])
        if kind in ("console", "python")
    ]
    assert len(parts) > 3
    for kind, part in parts:
        if kind == "python":
            exec(compile(part, "record.md", "exec"), {"__name__": "page"})
        else:
            call(part.removeprefix("$ taichimd ").replace("10ps", "100fs"))
    said = capsys.readouterr().out
    assert "0.0 0.1 nvt-langevin 0.5" in said
    assert "0.1 0.2 nve 1.0" in said
    report = json.loads(Path("silicon/run.json").read_text())
    assert sorted(fields("run.json")) == sorted(report)
    named = re.findall(r"`(\w+)`", section("Segments").split("A segment that")[0])
    assert sorted(named) == sorted(report["segments"][0])
    assert sorted(fields("Settings", 1)) == sorted(SETTINGS) == sorted(report["settings"])


def test_fields_of_checkpoint_and_table():
    assert sorted(fields("checkpoint.npz")) == sorted(f.name for f in dataclasses.fields(Checkpoint))
    assert tuple(re.findall(r"`(\w+)`", section("thermo.csv and frames"))[: len(COLUMNS)]) == COLUMNS


@pytest.mark.long
def test_fields_of_kappa(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bulk("Ar", a=5.3, cubic=True).write("ar.xyz", format="extxyz")
    found = set()
    for method in ("green-kubo", "hnemd"):
        call(
            "kappa ar.xyz --potential Ar.lj --temperature 30 --equilibrate 20fs --time 200fs --every 5 "
            f"--window 20fs --runs 2 --backend cpu --method {method} --output {method}"
        )
        found |= set(json.loads(Path(method, "kappa.json").read_text()))
    call(
        "kappa ar.xyz --potential Ar.lj --temperature 30 --equilibrate 20fs --time 200fs --every 5 --runs 2 "
        "--backend cpu --method nemd --output nemd --supercell 8 2 2 --difference 5 --bath-length 10 "
        "--spectrum --spectrum-window 30fs"
    )
    found |= set(json.loads(Path("nemd", "kappa.json").read_text()))
    assert sorted(fields("kappa.json")) == sorted(found | OF_OPTIONS)


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert len(targets) > 1
    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []
