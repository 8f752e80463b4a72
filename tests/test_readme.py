"""The README's blocks run, one after the other, in one folder: what a reader would type.

A block "```python name.py" or "```toml name.toml" is a file of that name; "```python" is executed; lines of
"```console" that begin with "$ taichimd" go through the command line, at tiny size. Others install.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from ase import Atoms

from taichimd.cli.app import main
from taichimd.config import RunSettings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
TINY = {
    "--time 10ps": "--steps 40",
    "--time 20ps": "--steps 20",
    "--time 200ps": "--steps 20",
    "--time 1ns --window 100ps": "--equilibrate 5fs --time 100fs --window 20fs",
    "--cells 8": "--cells 1",
    "--runs 10": "--runs 2",
    "--steps 1000": "--steps 20",
    "--steps 500": "--steps 20",
}
NOT_RUN = ("make demo", "make test", "pip install .", "taichimd demo")  # demo: tests/test_cli.py


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def commands(text):
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def call(command):
    for full, tiny in TINY.items():
        command = command.replace(full, tiny)
    if command == "taichimd run job.toml":
        command += " --steps 40"
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(command)[1:])
    return caught.value.code


def test_every_block_runs_in_turn(folder, capsys):
    kinds = []
    for kind, name, text in BLOCKS:
        kinds.append(kind)
        if name:
            (folder / name).write_text(text, encoding="utf-8")
        elif kind == "python":
            exec(compile(text, "README.md", "exec"), {"__name__": "readme"})
        elif kind == "console":
            for command in commands(text):
                if command not in NOT_RUN:
                    assert command.startswith("taichimd "), f"unknown kind of command: {command}"
                    assert call(command) == 0, f"{command}\n{capsys.readouterr().err}"
    assert set(kinds) == {"console", "python", "toml"}
    for result in ("taichimd-run", "my-run", "second", "copper", "sampled"):
        assert (folder / result / "thermo.png").exists()


def test_own_force_field_in_python(folder):
    from taichimd import TaichiMD, load_forcefield

    text = next(text for _, name, text in BLOCKS if name == "my_file.py")
    (folder / "my_file.py").write_text(text, encoding="utf-8")
    assert 15 <= len(text.splitlines()) <= 25
    dimer = Atoms("Cu2", positions=[[0, 0, 0], [2.866, 0, 0]])
    dimer.calc = TaichiMD(load_forcefield("my_file.py:my_potential"))
    assert dimer.get_potential_energy() == pytest.approx(-0.3429, abs=1e-3)


def test_relaxed_silicon_has_the_energy_that_the_comment_says(capsys):
    text = next(text for kind, _, text in BLOCKS if kind == "python" and "FrechetCellFilter" in text)
    exec(compile(text, "README.md", "exec"), {})
    last = capsys.readouterr().out.splitlines()[-1]
    said = re.search(r"# (-[\d.]+)", text).group(1)
    assert float(last.split()[0]) == pytest.approx(float(said), abs=5e-5)


def test_option_table_is_complete_and_its_defaults_are_true():
    table = dict(re.findall(r"^\| `--([a-z-]+)[^|]*\| *([^|]*?) *\|", README, flags=re.MULTILINE))
    fields = RunSettings.model_fields
    missing = {name.replace("_", "-") for name in fields} - set(table) - {"structure", "time", "overwrite"}
    assert not missing, f"options not in the README's table: {missing}"
    for name, shown in table.items():
        default = fields[name.replace("-", "_")].default
        if shown:
            same = float(shown) == default if isinstance(default, float) else shown == str(default)
            assert same, f"--{name}: the README says {shown}, the default is {default}"


def test_thermo_columns_are_those_of_the_table():
    from taichimd.io.thermo import CELL_COLUMNS, COLUMNS

    section = README[README.index("Columns of `thermo.csv`") : README.index("A frame holds")]
    described = re.findall(
        r"`(\w+)`", "\n".join(line.split("|")[1] for line in section.splitlines() if "|" in line)
    )
    columns = COLUMNS + CELL_COLUMNS
    assert tuple(name for name in described if name in columns) == columns


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "taichimd/README.md",
        "docs/citing.md",
        "examples/README.md",
        "potentials/README.md",
        "CHANGELOG.md",
    ],
)
def test_links_lead_somewhere(page):
    file = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (file.parent / target).exists(), f"{page} links to {target}"


def test_readme_names_every_command():
    from taichimd.cli.app import app

    for command in app.registered_commands:
        assert f"$ taichimd {command.callback.__name__}" in README
