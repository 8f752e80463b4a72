"""What a parameter file says of its range and its weak sides is told where a user chooses a potential."""

import re
import shutil
import warnings
from pathlib import Path

import pytest
from ase import Atoms

import taichimd
from taichimd import Simulation, TaichiMD
from taichimd.core.errors import TaichimdWarning
from taichimd.forcefields import library
from taichimd.forcefields.base import _warned
from taichimd.forcefields.library import shipped
from taichimd.forcefields.load import load_forcefield

FILES = {file.name: file for file in shipped()}
README = Path(taichimd.__file__).parents[1] / "potentials" / "README.md"


@pytest.mark.parametrize("name", FILES)
def test_every_shipped_file_states_its_range(name):
    header = FILES[name].header
    assert header.valid_range
    assert header.citation
    about = load_forcefield(name).about
    assert any(line.endswith(f": {header.valid_range}") for line in about)
    assert [line for line in about if line.startswith("warning of")] == [
        f"warning of {name}: {text}" for text in header.warnings
    ]


def test_the_elastic_constants_of_t2_are_warned_of():
    assert "elastic constants and phonons are poor" in FILES["Si.tersoff"].header.warnings[0]


def test_the_list_and_the_table_show_ranges_and_warnings(call):
    code, out, _ = call("potentials")
    assert code == 0
    listed = re.sub(r"\s+", "", out)
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in README.read_text().splitlines()]
    for name, file in FILES.items():
        header = file.header
        for text in (f"range: {header.valid_range}", *(f"warning: {text}" for text in header.warnings)):
            assert re.sub(r"\s+", "", text) in listed
        assert [name, header.valid_range, " ".join(header.warnings)] in rows


def test_check_shows_ranges_and_warnings(call):
    code, out, _ = call("check Si.tersoff")
    assert code == 0
    header = FILES["Si.tersoff"].header
    assert f"range of Si.tersoff: {header.valid_range}" in out
    assert f"warning of Si.tersoff: {header.warnings[0]}" in out
    assert "range           liquid water" in call("check H2O.ffield")[1]


@pytest.fixture
def suspicious(tmp_path, monkeypatch):
    """A file of water in which a radius of oxygen has lost its point, and a molecule."""
    _warned.clear()
    monkeypatch.chdir(tmp_path)
    lines = library.find("H2O.ffield").read_text().split("\n")
    at = next(k for k, line in enumerate(lines) if line.split()[:1] == ["O"])
    words = lines[at].split()
    lines[at] = f" {words[0]} {10 * float(words[1]):.4f} " + " ".join(words[2:])
    (tmp_path / "odd.ffield").write_text("\n".join(lines))
    Atoms("OHH", [[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]], cell=[8, 8, 8], pbc=True).write("water.extxyz")
    yield "odd.ffield"
    _warned.clear()


@pytest.mark.parametrize(
    "command",
    [
        "energy water.extxyz --potential odd.ffield",
        "run water.extxyz --potential odd.ffield --steps 1 --temperature 10",
        "relax water.extxyz --potential odd.ffield --steps 1",
    ],
)
def test_every_command_says_once_what_is_suspicious(call, suspicious, command):
    _, out, err = call(command)
    told = [line for line in (out + err).splitlines() if "suspicious" in line]
    assert len(told) == 1, out + err
    assert re.search(
        r"note: ReaxFF odd.ffield is suspicious: line \d+: r_sigma of atom O is 12\.\d+", told[0]
    )


@pytest.mark.parametrize("door", ["calculator", "simulation"])
def test_python_warns_once_of_what_is_suspicious(suspicious, door):
    atoms = Atoms("OHH", [[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]], cell=[8, 8, 8], pbc=True)
    atoms.calc = TaichiMD(suspicious)
    begin = {
        "calculator": atoms.get_potential_energy,
        "simulation": lambda: Simulation(atoms, suspicious, temperature=10.0),
    }[door]
    with pytest.warns(TaichimdWarning, match=r"odd\.ffield is suspicious: .* r_sigma of atom O"):
        begin()
    with warnings.catch_warnings():
        warnings.simplefilter("error", TaichimdWarning)
        load_forcefield(suspicious).bind(["H", "O"])


def test_entries_of_other_elements_are_not_told(suspicious):
    with warnings.catch_warnings():
        warnings.simplefilter("error", TaichimdWarning)
        load_forcefield(suspicious).bind(["H"])


def test_a_file_of_ones_own_may_state_them(tmp_path):
    file = tmp_path / "mine.tersoff"
    shutil.copy(library.find("Si.tersoff"), file)
    file.write_text("# RANGE: nothing\n# WARNING: one\n# WARNING: two\n" + bare(file.read_text()))
    told = ["range of mine.tersoff: nothing", "warning of mine.tersoff: one", "warning of mine.tersoff: two"]
    assert load_forcefield(file).about == told
    assert load_forcefield([file, "Si.sw"]).about[:3] == told


def bare(text):
    return "\n".join(line for line in text.split("\n") if not line.startswith("#"))
