import json
import subprocess
import sys
import types
import warnings
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from fake_engine import FakeEngine, fake  # noqa: F401  (a fixture)
from typer.testing import CliRunner

import taichimd
from taichimd.cli.commands import COMMANDS, program
from taichimd.io.checkpoint import read_checkpoint
from taichimd.observables.registry import OF_RUNS

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    positions = np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]]) + 0.03
    ase.io.write("s.extxyz", Atoms("Si2C2", positions=positions, cell=[4, 4, 4], pbc=True))
    (tmp_path / "springs.txt").write_text("5.0")
    return tmp_path


RUN = "run s.extxyz --potential springs.txt "


def test_run_with_every_option_of_the_manual(call):
    code, out, err = call(
        RUN
        + "--ensemble nve --temperature 300 --timestep 1.0 --time 50fs --output o --every 10 --backend cpu "
        "--precision float64 --seed 3 --overwrite"
    )
    assert (code, err) == (0, "")
    assert "50 steps of 1 fs = 0.05 ps" in out
    assert read_checkpoint("o/checkpoint.npz").step == 50


def test_job_file_and_flags_over_it(call, folder):
    (folder / "job").mkdir()
    (folder / "job" / "job.toml").write_text(
        'structure = "../s.extxyz"\npotential = "../springs.txt"\nsteps = 40\noutput = "results"\nseed = 9\n'
    )
    assert call("run job/job.toml --steps 20")[0] == 0
    report = json.loads((folder / "job/results/run.json").read_text())
    assert (report["last_step"], report["seed"]) == (20, 9)


def test_default_output_folder(call):
    assert call(RUN + "--steps 5")[0] == 0
    assert read_checkpoint("taichimd-run/checkpoint.npz").step == 5


def test_restart_from_the_command_line(call):
    call(RUN + "--steps 5 --output o")
    assert call("run --restart o/checkpoint.npz --steps 5")[0] == 0
    assert read_checkpoint("o/checkpoint.npz").step == 10


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run none.xyz --potential springs.txt --steps 5", "structure file none.xyz does not exist"),
        ("run springs.txt --potential springs.txt --steps 5", "structure file springs.txt cannot be read: "),
        (RUN + "--steps 0", "steps = 0: expected a whole number above 0"),
        (RUN + "--steps 5 --timestep -1", "timestep = '-1': expected a number above 0 (fs)"),
        (RUN + "--steps 5 --temperature 0", "temperature = 0.0: expected a number above 0 (K)"),
        (RUN + "--steps 5 --time 1ps", "--steps and --time both say how long the run is; give one of them"),
        (RUN, "the length of the run is not given: expected --steps N or --time 10ps"),
        (RUN + "--time 10", "time = '10': expected a length of time with its unit, such as"),
        ("run s.extxyz --steps 5", "no potential given: expected a parameter file"),
        (RUN + "--steps 5 --backend cuda", "backend cuda: no CUDA device found; use --backend cpu"),
        (RUN + "--steps 5 --backend tpu", "backend = 'tpu': expected auto, cuda or cpu"),
        (RUN + "--steps 5 --precision half", "precision = 'half': expected float64, mixed or float32"),
        (RUN + "--steps 5 --decomposition atom", "decomposition = 'atom': expected particle, tuple or auto"),
        (
            "energy s.extxyz --potential springs.txt --decomposition atom",
            "decomposition = 'atom': expected particle, tuple or auto",
        ),
        (RUN + "--steps 5 --ensemble npt", "ensemble = 'npt': expected nve"),
        (RUN + "--steps 5 --output springs.txt/o", "cannot write springs.txt/o: a file is in the way"),
        (RUN + "--steps 5 --output springs.txt", "cannot write springs.txt: a file is in the way"),
        (RUN + "--steps five", "Invalid value for '--steps'"),
        (RUN + "--stps 5", "No such option: --stps (Possible options: --steps"),
        ("run --restart none.npz --steps 5", "checkpoint none.npz does not exist"),
        ("run --restart springs.txt --steps 5", "checkpoint springs.txt is truncated or is not a checkpoint"),
        ("run none.toml", "job file none.toml does not exist"),
        ("energy none.xyz --potential springs.txt", "structure file none.xyz does not exist"),
        ("enrgy", "No such command 'enrgy'. Did you mean 'energy'?"),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(call, line, message):
    code, out, err = call(line)
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


@pytest.mark.parametrize("mass", ["0.0", "-28.1", "nan"])
@pytest.mark.parametrize("command", ["run", "energy"])
def test_a_mass_that_is_none_is_one_line(call, folder, command, mass):
    rows = [f"Si {k} 0 0 {mass if k == 3 else 28.1}\n" for k in range(5)]
    what = 'Lattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3:masses:R:1\n'
    (folder / "m.extxyz").write_text("5\n" + what + "".join(rows))
    length = " --steps 5" if command == "run" else ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, out, err = call(f"{command} m.extxyz --potential springs.txt{length}")
    assert (code, out) == (2, "")
    said = f"the mass of atom 3 is {float(mass):g}; expected a number above 0 (amu)"
    assert err == f"error: structure file m.extxyz: {said}\n"


def test_decomposition_from_job_file_flag_and_checkpoint(call, folder):
    (folder / "job.toml").write_text(
        'structure = "s.extxyz"\npotential = "springs.txt"\nsteps = 5\ndecomposition = "tuple"\n'
    )

    def ran():
        report = json.loads((folder / "taichimd-run/run.json").read_text())
        return report["settings"]["decomposition"], report["decomposition"]

    out = call("run job.toml")[1]
    assert ran() == ("tuple", "tuple")
    assert "decomposition  tuple" in out
    call("run job.toml --decomposition auto --overwrite")
    assert ran() == ("auto", "particle")
    out = call("run --restart taichimd-run/checkpoint.npz --steps 5 --decomposition particle")[1]
    assert "last digits" not in out
    assert ran() == ("particle", "particle")
    out = call("run --restart taichimd-run/checkpoint.npz --steps 5 --decomposition tuple")[1]
    note = "note: the checkpoint is of decomposition particle (now tuple): last digits may differ"
    assert note in " ".join(out.split())
    call("run --restart taichimd-run/checkpoint.npz --steps 5")
    assert ran() == ("tuple", "tuple"), "what is not given comes from the checkpoint"
    parts = json.loads((folder / "taichimd-run/run.json").read_text())["segments"]
    assert [part["decomposition"] for part in parts] == ["particle", "particle", "tuple", "tuple"]


def test_profile_says_where_the_time_went_and_is_not_inherited(call, folder):
    FakeEngine.step_seconds = 2e-3
    assert "setup" not in call(RUN + "--steps 20 --output plain")[1]
    out = call(RUN + "--steps 100 --every 10 --output o --profile")[1]
    report = json.loads((folder / "o/run.json").read_text())
    seconds = report["profile"]["seconds"]
    assert list(seconds) == ["setup", "compile", "steps", "samples", "output", "end"]
    assert seconds["compile"] == 0.25
    assert 0.2 < seconds["steps"] == report["stepping_seconds"]
    assert report["profile"]["steps_per_second"] == pytest.approx(100 / seconds["steps"])
    assert seconds["output"] > 0
    inside = sum(seconds[name] for name in ("steps", "samples", "output", "end"))
    assert inside == pytest.approx(report["wall_seconds"], abs=0.1)
    for name in seconds:
        assert f"\n{name} " in out
    assert "setup" not in call("run --restart o/checkpoint.npz --steps 5")[1]
    assert "profile" not in json.loads((folder / "o/run.json").read_text())


def test_precisions_that_exist_are_in_every_help(call):
    for command in ("run", "relax", "kappa"):
        assert "float64, mixed or float32" in " ".join(call(f"{command} --help")[1].replace("│", " ").split())
    assert "--thickness" in call("kappa --help")[1].split("Options")[0]


def test_earlier_output_and_exploding_run(call):
    call(RUN + "--steps 5 --output o")
    code, _, err = call(RUN + "--steps 5 --output o")
    assert (code, err.count("\n")) == (2, 1)
    assert "o holds an earlier run" in err
    code, _, err = call("run --restart o/checkpoint.npz --steps 5000 --timestep 300")
    assert (code, err.count("\n")) == (2, 1)
    assert "the last good checkpoint is o/checkpoint.npz (step 5)" in err


def test_quiet_prints_nothing_but_errors(call):
    assert call(RUN + "--steps 20 --every 5 --quiet") == (0, "", "")
    code, out, err = call(RUN + "--steps 20 --every 5 --quiet")
    assert (code, out) == (2, "")
    assert "holds an earlier run" in err


def test_a_picture_has_the_format_that_was_asked_for(call, folder):
    """Also in a restart, which has none in another format beside it."""
    assert call(RUN + "--steps 5 --plot-format pdf --output o")[0] == 0
    assert (folder / "o" / "thermo.pdf").read_bytes().startswith(b"%PDF")
    assert not (folder / "o" / "thermo.png").exists()
    assert "o holds an earlier run" in call(RUN + "--steps 5 --output o")[2]
    assert call("run --restart o --steps 5")[0] == 0
    assert not (folder / "o" / "thermo.png").exists()
    out = call("run --restart o --steps 5 --plot-format svg")[1]
    assert "thermo.svg" in out
    assert sorted(path.name for path in (folder / "o").glob("thermo.*")) == ["thermo.csv", "thermo.svg"]
    code, _, err = call(RUN + "--steps 5 --plot-format gif --output p")
    assert (code, err) == (2, "error: plot_format = 'gif': expected png, pdf or svg\n")


def test_energy_prints_every_digit(call):
    code, out, _ = call("energy s.extxyz --potential springs.txt --per-atom")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].endswith(" eV")
    rows = [line.split() for line in lines[lines.index("# atom element energy/eV fx fy fz / eV/Å") + 1 :]]
    assert [row[1] for row in rows] == ["Si", "Si", "C", "C"]
    energy = float(lines[0].split()[1])
    assert sum(float(row[2]) for row in rows) == pytest.approx(energy, rel=1e-15)
    assert all(len(row) == 6 for row in rows)


def test_energy_prints_the_ten_largest_forces(call):
    atoms = bulk("Si", cubic=True) * 2
    atoms.rattle(0.1, seed=1)
    ase.io.write("large.extxyz", atoms)
    out = call("energy large.extxyz --potential springs.txt")[1].splitlines()
    largest = next(k for k, line in enumerate(out) if line.startswith("largest force"))
    rows = [line.split() for line in out[largest + 2 :]]
    everything = json.loads(call("energy large.extxyz --potential springs.txt --json")[1])["forces"]
    magnitudes = np.linalg.norm(everything, axis=1)
    assert [int(row[0]) for row in rows] == np.argsort(-magnitudes)[:10].tolist()
    assert [[float(x) for x in row[2:]] for row in rows] == [everything[int(row[0])] for row in rows]
    assert float(out[largest].split()[2]) == pytest.approx(magnitudes.max(), rel=1e-15)


def test_energy_as_json(call):
    code, out, _ = call("energy s.extxyz --potential springs.txt --json")
    content = json.loads(out)
    assert code == 0
    assert len(content["energies"]) == content["n_atoms"] == 4
    assert np.shape(content["forces"]) == (4, 3)
    assert len(content["stress"]) == 6
    assert content["potential"] == "springs.txt"


def test_energy_of_a_cluster_has_no_stress(call):
    ase.io.write("c.xyz", Atoms("Si2", positions=[[0, 0, 0], [2.1, 0, 0]]))
    assert (
        "stress          none (periodic in fewer than three directions)"
        in call("energy c.xyz --potential springs.txt")[1]
    )
    assert json.loads(call("energy c.xyz --potential springs.txt --json")[1])["stress"] is None


def test_info(call):
    code, out, _ = call("info")
    assert code == 0
    assert "backend" in out
    assert "numpy" in out
    assert json.loads(call("info --json")[1])["backend"] == "cpu"


def test_potentials_lists_shipped_files(call, monkeypatch):
    known = {"valid_range": "solids", "warnings": ("not [liquids]",)}
    header = types.SimpleNamespace(citation="Someone, J. Phys. 1 (1999)", doi="10.1/x", **known)
    file = types.SimpleNamespace(name="Si.tersoff", kind="tersoff", elements=("Si",), header=header)
    library = types.ModuleType("taichimd.forcefields.library")
    library.shipped = lambda: [file]
    monkeypatch.setitem(sys.modules, "taichimd.forcefields.library", library)
    code, out, _ = call("potentials")
    assert code == 0
    words = ("Someone, J. Phys. 1 (1999)", "doi:10.1/x", "range: solids", "warning: not [liquids]")
    for word in ("Si.tersoff", "tersoff", *words):
        assert word in out


def test_demo_runs_twice_but_replaces_nobody_elses_files(call, monkeypatch):
    monkeypatch.setattr("taichimd.cli.demo.CELLS", 1)
    for _ in range(2):
        code, out, err = call("demo --steps 20")
        assert (code, err) == (0, "")
    assert "thermo.png" in out
    assert "taichimd run demo-output/silicon.extxyz --potential Si.tersoff" in out
    call(RUN + "--steps 5 --output o")
    code, _, err = call("demo --steps 20 --output o")
    assert code == 2
    assert "o holds an earlier run" in err


def test_version(call):
    assert call("--version")[:2] == (0, f"taichimd {taichimd.__version__}\n")


def test_help_names_every_command(call):
    code, out, _ = call("--help")
    assert code == 0
    for command in ("run", "energy", "potentials", "check", "info", "demo"):
        assert command in out


def test_help_is_whole_and_has_no_python_types(call, monkeypatch):
    """Switches have no "<bool>", and no list of choices is cut on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    names = [name for name in COMMANDS if name != "cssp"]
    assert "run" in names
    for command in [*names, "cssp train", "cssp score"]:
        code, out, _ = call(f"{command} --help")
        assert code == 0, command
        for cut in ("bool", "list[", "int range", "…"):
            assert cut not in out, (command, cut)
    words = " ".join(call("run --help")[1].replace("│", " ").split())
    assert ", ".join(OF_RUNS) in words, "the whole list of --observe"


def test_help_starts_neither_taichi_nor_matplotlib():
    code = (
        "import sys\n"
        "from taichimd.cli.app import main\n"
        "try:\n"
        "    main(['run', '--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.exit(' '.join({'taichi', 'quadrants', 'matplotlib', 'ase', 'numpy'} & set(sys.modules)) or 0)"
    )
    root = Path(taichimd.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_help_of_commands_that_are_not_loaded_is_theirs():
    few, whole = (CliRunner().invoke(program(words), ["--help"]) for words in ((), COMMANDS))
    assert few.exit_code == whole.exit_code == 0
    assert few.output == whole.output


def test_a_command_after_a_double_dash_is_loaded(call):
    assert "taichimd" in call("-- info")[1]


def test_no_command_shows_the_help(call):
    code, out, err = call("")
    assert (code, err) == (0, "")
    assert "potentials" in out


def test_folder_name_that_looks_like_markup(call):
    code, out, _ = call(RUN + "--steps 5 --output [red]o")
    assert code == 0
    assert "[red]o/" in out


@pytest.mark.parametrize(("text", "number"), [("2fs", 2.0), ("0.5", 0.5), ("0.001ps", 1.0)])
def test_the_time_step_of_kappa_takes_a_unit(call, monkeypatch, text, number):
    seen, job = [], types.ModuleType("taichimd.transport.job")
    job.run_kappa = lambda *of: seen.append(of[2])
    monkeypatch.setitem(sys.modules, job.__name__, job)
    assert call(f"kappa s.extxyz --potential Si.tersoff --temperature 50 --timestep {text}")[0] == 0
    assert seen[0].timestep == number
    code, _, err = call("kappa s.extxyz --potential Si.tersoff --temperature 50 --timestep 1kg")
    assert (code, err) == (
        2,
        "error: timestep = '1kg': expected a number above 0 (fs), or a time such as \"1fs\"\n",
    )
