"""Python code that a checkpoint or a batch.json names runs only if the user says so."""

import json
import py_compile
import subprocess
import sys
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest
from ase.build import bulk

from taichimd import Simulation, load_forcefield
from taichimd.app.job import prepare_job
from taichimd.app.run_set import RunSet, RunSpec, spread
from taichimd.app.trust import check_trusted, hashes_of, more_to_go_on
from taichimd.core.errors import CheckpointError
from taichimd.io.checkpoint import read_checkpoint, write_checkpoint
from taichimd.sampling.prepare import prepare_mc

CODE = """
from pathlib import Path
from taichimd import LennardJones
Path("ran").touch()
pair = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0, truncation="force-shifted")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(CODE)
    bulk("Si", cubic=True).write("si.xyz")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint whose potential is a parameter file."""
    path = tmp_path_factory.mktemp("saved") / "checkpoint.npz"
    Simulation(bulk("Si", cubic=True), "Si.sw", temperature=300).save(path)
    return read_checkpoint(path)


def naming(saved, spec, files=None, **more):
    """Write a checkpoint that names code, with recorded hashes or, as those of earlier versions, without."""
    record = saved.potential | ({} if files is None else {"python_files": files})
    if files is None:
        record.pop("python_files", None)
    settings = {**saved.settings, "potential": spec}
    write_checkpoint(Path("c.npz"), replace(saved, settings=settings, potential=record, **more))


SPECS = ["own.py:pair", ["Si.sw", "own.py:pair"]]


@pytest.mark.parametrize("spec", SPECS)
def test_code_of_a_checkpoint_does_not_run(saved, spec):
    naming(saved, spec, hashes_of(spec))
    with pytest.raises(CheckpointError, match=r"names Python code .*own\.py:pair.*--potential own\.py:pair"):
        prepare_job({"restart": "c.npz", "steps": 5})
    with pytest.raises(CheckpointError, match=r"Simulation\.load\(path, .*own\.py:pair.*or trust=True"):
        Simulation.load("c.npz")
    assert not Path("ran").exists()


def test_code_of_a_chain_does_not_run(saved):
    moves = {"size": 0.1, "tried": 0, "accepted": 0}
    chain = {"kind": "metropolis", "energy": 0.0, "homogeneous": None}
    chain |= {"moves": moves, "volume_moves": moves, "exchanges": moves}
    mc = {"temperature": 300.0, "potential": "own.py:pair"}
    naming(replace(saved, settings=mc), "own.py:pair", hashes_of("own.py:pair"), bath=chain)
    with pytest.raises(CheckpointError, match="names Python code"):
        prepare_mc({"restart": "c.npz", "sweeps": 5})
    assert not Path("ran").exists()
    assert prepare_mc({"restart": "c.npz", "sweeps": 5}, trust=True).steps == 5
    assert Path("ran").exists()


def test_code_of_a_checkpoint_runs_if_it_is_trusted_and_unchanged(saved):
    naming(saved, "own.py:pair", hashes_of("own.py:pair"))
    assert prepare_job({"restart": "c.npz", "steps": 5}, trust=True).steps == 5
    Path("ran").unlink()
    Path("own.py").write_text(CODE + "# another\n")
    with pytest.raises(CheckpointError, match=r"has changed since checkpoint c\.npz was written"):
        prepare_job({"restart": "c.npz", "steps": 5}, trust=True)
    assert not Path("ran").exists()


def test_an_earlier_checkpoint_cannot_be_trusted(saved):
    naming(saved, "own.py:pair")
    with pytest.raises(CheckpointError, match=r"does not record what own\.py:pair was.*name it again"):
        prepare_job({"restart": "c.npz", "steps": 5}, trust=True)
    assert not Path("ran").exists()


def test_code_that_the_user_names_runs(saved):
    naming(saved, "own.py:pair")
    assert prepare_job({"restart": "c.npz", "steps": 5, "potential": "own.py:pair"}).steps == 5
    Path("job.toml").write_text('restart = "c.npz"\npotential = "own.py:pair"\nsteps = 5\n')
    assert prepare_job({}, Path("job.toml")).steps == 5


def test_a_record_has_the_hashes_of_all_python_files_of_a_sum():
    Path("helper_of_own.py").write_text("DEPTH = 0.01\n")
    Path("other.py").write_text(CODE.replace("0.01", "DEPTH") + "\n")
    Path("other.py").write_text("from helper_of_own import DEPTH\n" + Path("other.py").read_text())
    record = load_forcefield(["own.py:pair", "Si.sw", "other.py:pair"]).describe()
    names = {Path(name).name for name in record["python_files"]}
    assert names == {"own.py", "other.py", "helper_of_own.py"}
    check_trusted("x", ["own.py:pair", "other.py:pair"], record["python_files"], trust=True)
    Path("helper_of_own.py").write_text("DEPTH = 0.02\n")
    with pytest.raises(CheckpointError, match=r"helper_of_own\.py has changed since x"):
        check_trusted("x", ["own.py:pair", "other.py:pair"], record["python_files"], trust=True)


@pytest.mark.parametrize("name", ["own", "helper_of_own", "package_of_own.inner"])
def test_planted_bytecode_does_not_run(name, monkeypatch):
    """Bytecode that claims to need no check against its text."""
    monkeypatch.setattr(sys, "pycache_prefix", None)
    Path("package_of_own").mkdir()
    for file in ("helper_of_own.py", "package_of_own/__init__.py", "package_of_own/inner.py"):
        Path(file).write_text("DEPTH = 0.01\n")
    imports = "import sys\nsys.path.insert(0, '.')\nimport helper_of_own\nfrom package_of_own import inner\n"
    Path("own.py").write_text(imports + CODE)
    planted = Path(cache_from_source(name.replace(".", "/") + ".py"))
    Path("evil.py").write_text("open('evil', 'w')\n")
    py_compile.compile("evil.py", str(planted), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    finders = set(sys.path_hooks)
    assert load_forcefield("own.py:pair").name
    assert Path("ran").exists()
    assert not Path("evil").exists()
    assert set(sys.path_hooks) == finders
    # Python itself would have run it.
    script = "import own"
    subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert Path("evil").exists()


def test_what_goes_on_says_whether_it_needs_trust():
    assert more_to_go_on("Si.sw") == more_to_go_on(None) == ""
    assert more_to_go_on(["Si.sw", "/a/own.py:pair"]) == " --trust"


def of_batch(flags, trust=False):
    """The job of the first run of a folder of several, read from its file."""
    flags = {"structure": "si.xyz", "steps": 5, **flags}
    RunSet(Path("out"), spread(flags, {"seed": [1, 2]}, None)).write()
    there = replace(RunSet.read(Path("out")), trust=trust)
    return lambda more: there.job(there.runs[0], more)


def test_code_of_a_batch_does_not_run():
    Path("out").mkdir()
    job = of_batch({"potential": "own.py:pair"})
    with pytest.raises(CheckpointError, match=r"out/batch\.json names Python code"):
        job({})
    assert not Path("ran").exists()
    assert job({"potential": "own.py:pair"}).steps == 5
    assert of_batch({"potential": "own.py:pair"}, trust=True)({}).steps == 5
    Path("own.py").write_text(CODE + "# another\n")
    with pytest.raises(CheckpointError, match="has changed since"):
        replace(RunSet.read(Path("out")), trust=True).job(RunSet.read(Path("out")).runs[0], {})


def test_runs_of_the_present_command_need_no_trust():
    Path("out").mkdir()
    flags = {"structure": "si.xyz", "steps": 5, "potential": "own.py:pair"}
    all_of = RunSet(Path("out"), spread(flags, {"seed": [1, 2]}, None))
    assert all_of.job(all_of.runs[0], {}).steps == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "../victim"}, "members.0.name"),
        ({"name": "/tmp/victim"}, "members.0.name"),
        ({"name": ".."}, "members.0.name"),
        ({"name": "a/b"}, "members.0.name"),
        ({"name": "a\\b"}, "members.0.name"),
        ({"name": "\x1b[2J"}, "members.0.name"),
        ({"name": 5}, "members.0.name"),
        ({"name": "001-seed2"}, "twice"),
        ({"flags": []}, "members.0.flags"),
        ({"flags": {"output": "../victim"}}, "a record must not set output"),
        ({"flags": {"restart": "../victim"}}, "a record must not set restart"),
        ({"more": 1}, "members.0.more"),
        ({"varied": None}, "members.0.varied"),
    ],
)
def test_a_batch_names_folders_of_its_own(change, said):
    Path("out").mkdir()
    names = ["000-seed1", "001-seed2"]
    RunSet(Path("out"), [RunSpec(name, {}, {}) for name in names]).write()
    content = json.loads(Path("out/batch.json").read_text())
    assert [one.name for one in RunSet.read(Path("out")).runs] == names
    content["members"][0] |= change
    Path("out/batch.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=said) as error:
        RunSet.read(Path("out"))
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"members": 1}', "[" * 5000, '{"members": [1]}', "\x00"])
def test_a_damaged_batch_is_one_line(text):
    Path("out").mkdir()
    Path("out/batch.json").write_text(text)
    with pytest.raises(CheckpointError, match="cannot be read as the record of a batch"):
        RunSet.read(Path("out"))


def test_a_folder_of_a_batch_that_is_a_link_elsewhere_is_refused():
    Path("out").mkdir()
    Path("victim").mkdir()
    RunSet(Path("out"), [RunSpec("000", {}, {})]).write()
    Path("out/000").symlink_to("../victim")
    with pytest.raises(CheckpointError, match="lies outside of out, behind a link"):
        RunSet.read(Path("out"))
