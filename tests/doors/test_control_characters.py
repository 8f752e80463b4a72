"""Control characters of files from elsewhere never reach the terminal."""

import ast
import io
import json
from pathlib import Path

import pytest
from ase.build import bulk
from saved_checkpoints import of_springs

import taichimd
from taichimd.app.console import Console
from taichimd.app.run_set import RunSet, RunSpec
from taichimd.cli.app import main
from taichimd.core.errors import CheckpointError, StructureError
from taichimd.core.printable import one_line, printable
from taichimd.io.checkpoint import write_checkpoint
from taichimd.io.lock import NAME

ESC = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e"
PARAMETERS = "# UNITS: metal\n# CITATION: x\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bulk("Si", cubic=True).write("si.xyz")


def structure(text):
    Path("bad.xyz").write_text(text, newline="")
    return "run bad.xyz --potential Si.sw --steps 5"


def parameters(text, name="bad.sw"):
    Path(name).write_text(text, newline="")
    return f"check {name}"


def job(text):
    Path("job.toml").write_text(text, newline="")
    return "run job.toml"


def lock():
    Path("out").mkdir()
    Path("out", NAME).write_text(json.dumps({"pid": ESC, "host": f"elsewhere{ESC}", "since": ESC}))
    return "run si.xyz --potential Si.sw --steps 5 --output out"


def batch():
    Path("out").mkdir()
    RunSet(
        Path("out"), [RunSpec("000", {"structure": f"no{ESC}.xyz", "potential": "Si.sw", "steps": 5}, {})]
    ).write()
    return "run --restart out"


def checkpoint(**changes):
    write_checkpoint(Path("c.npz"), of_springs(**changes))
    return "run --restart c.npz --steps 5"


CASES = {
    "a comment and a symbol of a structure": lambda: structure(f"1\n{ESC}\n{ESC} 0 0 0\n"),
    "a column's name": lambda: structure(f"1\nProperties=species:S:1:{ESC}:R:3\nSi 0 0 0\n"),
    "elements of a parameter file": lambda: parameters(PARAMETERS + f"Si Si {ESC} 1 1 1 1 1 1 1 1 1 1 1\n"),
    "a comment of a parameter file": lambda: parameters(f"# UNITS: {ESC}\nSi\n"),
    "a field of a pair file": lambda: parameters(f"truncation {ESC}\nAr Ar 1 1 {ESC}\n", "bad.lj"),
    "a value of a job file": lambda: job('structure = "si.xyz"\nensemble = "\\u001b[2J"\n'),
    "a key of a job file": lambda: job('"\\u001b[2J\\u009b" = 1\n'),
    "a broken job file": lambda: job(f"{ESC} = 1\n"),
    "the owner of a lock": lock,
    "a file that a batch names": batch,
    "a key of a checkpoint's settings": lambda: checkpoint(settings={ESC: 1, "timestep": 1.0, "every": 1}),
    "a potential of a checkpoint": lambda: checkpoint(
        settings={"potential": f"no{ESC}.sw", "timestep": 1.0, "every": 1}
    ),
    "a version of a checkpoint": lambda: checkpoint(versions={"runtime": 5, ESC: "x"}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_command_says_holds_none(case, capsys):
    line = CASES[case]()
    with pytest.raises(SystemExit):
        main(line.split())
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    for text in (said.out, said.err):
        assert printable(text) == text
    assert len(said.err.splitlines()) == 1


def test_the_lock_says_who_holds_it(capsys):
    with pytest.raises(SystemExit):
        main(lock().split())
    assert r"elsewhere\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e" in capsys.readouterr().err


@pytest.mark.parametrize("printed", [ESC, f"note: {ESC}", [ESC]])
def test_a_console_prints_none(capsys, printed):
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table.grid()
    table.add_row("name", Text(str(printed)))
    for what in (printed, table):
        console.print(what, highlight=False, markup=False)
    text = capsys.readouterr().out
    assert printable(text) == text
    assert r"\x1b" in text


def test_colours_of_the_program_itself_stay():
    stream = io.StringIO()
    console = Console()
    console.file, console._color_system, console._force_terminal = stream, 2, True
    console.print(ESC, style="red", markup=False, highlight=False)
    text = stream.getvalue()
    assert text.startswith("\x1b[31m")
    assert r"\x1b]0;title" in text


def test_errors_in_python_hold_none():
    assert str(StructureError(f"atom {ESC}")) == r"atom \x1b]0;title\x07\x1b[2J\r\x9b31m\u202e"
    with pytest.raises(CheckpointError) as found:
        raise CheckpointError("\x1b")
    assert "\x1b" not in str(found.value)


def test_what_is_printable_stays():
    assert printable("12 Å³, ünï/日本\n\tµeV") == "12 Å³, ünï/日本\n\tµeV"
    assert one_line("a\n  b\tc\x1cd\x85") == r"a b c\x1cd\x85"


def test_nothing_is_printed_around_it():
    """Modules print through `core.printable`, `cli.say` or the console."""
    allowed = {"core/printable.py", "cli/say.py", "cli/app.py", "__main__.py"}
    root = Path(taichimd.__file__).parent
    found = []
    for file in root.rglob("*.py"):
        if str(file.relative_to(root)) in allowed:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in (
                "print",
                "typer.echo",
                "typer.secho",
                "click.echo",
                "sys.stdout.write",
                "sys.stderr.write",
            ):
                found.append(f"{file.name} line {node.lineno}: {name}")
    assert not found
