"""The examples run, say what their first lines promise, and lie beside their pictures."""

import re
import runpy
import shutil
from pathlib import Path

import ase.io
import numpy as np
import pytest

from taichimd.cli.app import main
from taichimd.io.analysis_files import read_table

EXAMPLES = Path(__file__).parents[2] / "examples"
SCREEN = 80  # lines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy, so that the committed pictures stay as they are."""
    for file in EXAMPLES.iterdir():
        if file.suffix in (".py", ".toml", ".extxyz", ".csv"):
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def script(folder, capsys):
    def run(name):
        runpy.run_path(str(folder / name), run_name="__main__")
        picture = (folder / name).with_suffix(".png")
        assert picture.stat().st_size < 60_000, f"{picture.name} is too large to be committed"
        return capsys.readouterr().out

    return run


@pytest.fixture
def call(capsys):
    def run(line):
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        return caught.value.code, capsys.readouterr().out

    return run


def number(out, label):
    """The number after a label at the start of a line."""
    match = re.search(rf"^{re.escape(label)}\s+(-?[\d.]+)", out, flags=re.MULTILINE)
    assert match, f"no line begins with {label!r} in:\n{out}"
    return float(match.group(1))


def test_argon_nve_melts_and_keeps_its_energy(script):
    out = script("argon_nve.py")
    assert number(out, "temperature") == pytest.approx(89, abs=3)
    assert number(out, "fluctuation") < 0.001
    assert number(out, "rms distance") > 2.0, "the crystal should have melted"


@pytest.mark.long
def test_heat_flows_from_hot_to_cold(script):
    out = script("heat_flow.py")
    hot, cold = number(out, "power hot"), number(out, "power cold")
    assert hot == pytest.approx(-cold, rel=0.2)
    assert hot > 0.02
    assert number(out, "gradient") == pytest.approx(-0.3, abs=0.2)
    assert 0.1 < number(out, "kappa") < 1.5


@pytest.mark.long
def test_silicon_is_stretched_until_it_fails(script):
    out = script("stretch_silicon.py")
    for name, low, high in (("modulus", 88, 101), ("Poisson", 0.26, 0.39)):
        found = re.search(rf"^{name} +([\d.]+) to ([\d.]+)", out, flags=re.MULTILINE)
        assert [float(one) for one in found.groups()] == pytest.approx([low, high], rel=0.05)
    assert number(out, "strength") == pytest.approx(20, abs=2)
    assert number(out, "at the end") < 10


@pytest.mark.long
def test_a_beam_grows_a_film(script):
    out = script("grow_film.py")
    assert number(out, "inserted") == 144
    assert number(out, "in the film") + number(out, "deleted") == 144
    assert number(out, "deleted") < 8
    assert number(out, "temperature") == pytest.approx(34, abs=5)
    assert abs(number(out, "drift")) < 100


@pytest.mark.long
def test_a_ball_indents_silicon_by_the_law_of_hertz(script):
    out = script("indent_silicon.py")
    assert number(out, "E*") == pytest.approx(160, abs=15)
    assert number(out, "contact") == pytest.approx(0.03, abs=0.1)
    assert number(out, "work") == pytest.approx(27.6, abs=2.0)


@pytest.mark.long
def test_argon_monte_carlo_expands_when_it_is_hotter(script):
    out = script("argon_monte_carlo.py")
    assert number(out, "volume at 100 K") == pytest.approx(46, abs=1.5)
    assert number(out, "volume at 130 K") == pytest.approx(55, abs=2.5)
    assert 0.3 < number(out, "accepted at 100 K") < 0.5


def test_own_pair_is_consistent_and_runs(script):
    out = script("own_pair.py")
    assert "morse: consistent" in out
    assert number(out, "fcc copper:") == pytest.approx(-3.515, abs=6e-4)
    assert number(out, "500 atoms, 2 ps: the total energy stays within") < 100


@pytest.mark.long
def test_own_triplet_is_stillinger_weber(script):
    out = script("own_triplet.py")
    assert "sw_pair + sw_angle: consistent" in out
    energies = {kind: number(out, kind) for kind in ("diamond", "sc", "bcc", "fcc")}
    assert energies["diamond"] == pytest.approx(-4.3366, abs=5e-5)
    assert min(energies, key=energies.get) == "diamond"


def test_own_many_body_is_consistent_and_binds_copper(script):
    out = script("own_many_body.py")
    assert "second_moment: consistent" in out
    assert number(out, "cohesive energy") == pytest.approx(3.550, abs=6e-4)
    assert number(out, "lattice constant") == 3.61


def test_ase_relax_prints_what_ase_tersoff_gives(script):
    printed = [float(re.search(r" (-?\d+\.\d+) ", line)[1]) for line in script("ase_relax.py").splitlines()]
    # The same script run with ASE's own Tersoff calculator on the same parameters.
    expected = [5.4312, -4.6304, 121.7, 85.8, 10.3, 92.3, 16.66]
    np.testing.assert_allclose(printed, expected, rtol=1e-3, atol=0.06)


def test_compressed_silicon_has_the_known_modulus(script):
    out = script("compress_silicon.py")
    assert number(out, "lattice constant") == pytest.approx(5.4310, abs=2e-4)
    assert number(out, "bulk modulus") == pytest.approx(101.4, abs=0.2)


@pytest.mark.long
def test_silica_glass_is_a_network(script, folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["silica_glass.py", "2", "600"])
    out = script("silica_glass.py")
    assert number(out, "RDF O-Si         highest at") == pytest.approx(1.62, abs=0.03)
    assert number(out, "angle O-Si-O     highest at") == pytest.approx(109, abs=3)
    assert number(out, "O around Si") == pytest.approx(4.0, abs=0.1)
    assert len(ase.io.read(folder / "silica-glass" / "glass.extxyz", ":")) == 20


def test_native_labels_score_lower_than_shuffled_ones(script):
    assert "native lowest in 9 of 10 chains" in script("protein_labels.py")


@pytest.mark.long
def test_hydrogen_burns_to_water(script, folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["hydrogen_combustion.py"])
    out = script("hydrogen_combustion.py")
    table = read_table(folder / "hydrogen-combustion" / "species.csv")
    assert [table[name][0] for name in ("H2", "H2O")] == [40, 0]
    assert table["H2"][-1] < 25
    assert table["H2O"][-20:].mean() > 10
    assert "H2O" in out


def test_silicon_melt_job_runs(call, folder):
    code, out = call("run silicon_melt.toml --steps 80")
    assert code == 0
    assert "216 atoms, Si" in out
    assert (folder / "silicon-melt" / "thermo.png").exists()


@pytest.mark.long
def test_silicon_loses_its_order_when_it_melts(script):
    out = script("silicon_structure.py")
    assert number(out, "neighbours, crystal") == 4.0
    assert number(out, "first peak, crystal") == pytest.approx(2.36, abs=0.03)
    assert number(out, "first peak, melt") > 2.45


def test_triples_of_processes(script):
    """In one process; `tests/program` has several."""
    pytest.importorskip("mpi4py")
    assert "500 atoms  2.03437434303724 eV" in script("triples_of_processes.py")


@pytest.mark.parametrize(
    "potential",
    ["own_pair.py:copper --elements Cu", "own_triplet.py:silicon", "own_many_body.py:copper --elements Cu"],
)
def test_check_command_on_the_examples(call, folder, potential):
    code, out = call(f"check {potential}")
    assert code == 0
    assert ": consistent" in out


def test_run_command_takes_the_declared_potential(call, folder):
    assert call("run silicon.extxyz --potential own_triplet.py:silicon --steps 20 --output o")[0] == 0


def test_table_lists_every_example_and_each_has_a_picture():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    files = [file for file in EXAMPLES.iterdir() if file.suffix in (".py", ".toml")]
    assert len(files) > 10
    for file in files:
        assert f"({file.name})" in readme, f"{file.name} is missing in examples/README.md"
        assert file.with_suffix(".png").exists(), f"{file.name} has no picture of its result"
        assert len(file.read_text(encoding="utf-8").splitlines()) <= SCREEN, f"{file.name} is too long"
