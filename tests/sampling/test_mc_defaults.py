"""What `taichimd mc` takes where the user says nothing: moves, sizes, equilibration, rows, seeds."""

import json
import re
import shutil

import ase.io
import numpy as np
import pytest
from ase.build import bulk
from pages import ROOT, commands, text_of

from taichimd.core.seeds import derived_seed
from taichimd.forcefields.load import load_forcefield
from taichimd.sampling.best_moves import best_moves, periodic_heights
from taichimd.sampling.prepare import prepare_mc


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ase.io.write("ar.extxyz", bulk("Ar", cubic=True, a=5.4) * 2)
    ase.io.write("si.extxyz", bulk("Si", cubic=True) * 2)


def prepared(**told):
    return prepare_mc({"structure": "ar.extxyz", "potential": "Ar.lj", "backend": "cpu"} | told)


def settings_of(**told):
    return prepared(**told).chains[0].settings


def test_single_moves_where_one_atom_needs_no_full_evaluation():
    argon, silicon = bulk("Ar", cubic=True, a=5.4) * 2, bulk("Si", cubic=True) * 2
    pairs, both = load_forcefield("Ar.lj"), load_forcefield(["Ar.lj", "Ar.atm"])
    assert best_moves(pairs, argon, None) == best_moves(both, argon, 0.1) == ("single", "")
    drop = argon.copy()
    drop.pbc = False
    assert best_moves(both, drop, None) == ("single", "")
    for forcefield, atoms, pressure, why in (
        (load_forcefield("Si.sw"), silicon, None, "need a full evaluation for the move of one atom"),
        (pairs, bulk("Ar", cubic=True, a=5.4), None, "the cell (5.4 Å) is not wider than the cutoff (8.5 Å)"),
        (pairs, drop, 0.1, "npt between walls moves all atoms together"),
    ):
        kind, found = best_moves(forcefield, atoms, pressure)
        assert kind == "all"
        assert why in found


def test_a_tilted_cell_is_as_wide_as_its_faces_are_apart():
    tilted = bulk("Ar", a=5.4) * (4, 4, 4)
    assert tilted.cell.lengths().min() > 15.0
    heights = tilted.get_volume() / np.linalg.norm(np.cross(tilted.cell[1], tilted.cell[2]))
    forcefield = load_forcefield("Ar.lj")
    assert (heights > forcefield.cutoff) == (best_moves(forcefield, tilted, None)[0] == "single")
    thin = bulk("Ar", a=5.4) * (2, 4, 4)
    assert best_moves(forcefield, thin, None)[0] == "all"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"sweeps": 200}, ("single", 0.3, 50, 1, 100)),
        ({"sweeps": 1000}, ("single", 0.3, 250, 5, 100)),
        ({"sweeps": 100_000}, ("single", 0.3, 25_000, 10, 100)),
        ({"sweeps": 100_000, "moves": "all"}, ("all", 0.053, 25_000, 100, 100)),
        ({"sweeps": 20, "equilibration": 0, "every": 7, "move": 0.1}, ("single", 0.1, 0, 7, 7)),
        ({"sweeps": 20, "every": 7, "frames_every": 14}, ("single", 0.3, 5, 7, 14)),
    ],
)
def test_defaults(told, expected):
    found = settings_of(**told)
    assert (found.moves, found.move, found.equilibration, found.every, found.frames_every) == expected


def test_defaults_are_told():
    notes = prepared(sweeps=200).notes
    assert "equilibration: 50 sweeps, a quarter of --sweeps (--equilibration SWEEPS sets it)" in notes
    notes = prepared(structure="si.extxyz", potential="Si.sw", sweeps=200, equilibration=10).notes
    assert notes == [
        "moves of all atoms together: Si.sw has terms that need a full evaluation for the move of one atom"
    ]


def test_commands_with_neighbouring_seeds_share_no_chain():
    many = {"temperature": "80,90", "replicas": 3, "sweeps": 1}
    seeds = [{one.settings.seed for one in prepared(seed=seed, **many).chains} for seed in (1, 2, 3)]
    assert all(len(own) == 6 for own in seeds)
    assert len(set.union(*seeds)) == 18
    assert derived_seed(2, {"chain": 4}) in seeds[1]
    assert settings_of(sweeps=1, seed=5).seed == 5


def test_a_restart_equilibrates_from_where_it_is(call):
    assert call("mc ar.extxyz --potential Ar.lj --sweeps 20 --temperature 80 --backend cpu --quiet")[0] == 0
    code, _, _ = call("mc --restart taichimd-mc --temperature 100 --equilibration 15 --sweeps 25")
    assert code == 0
    report = json.loads(open("taichimd-mc/run.json").read())
    assert (report["first_step"], report["last_step"]) == (25, 65)
    assert report["production"]["first_sweep"] > 40
    assert report["production"]["method"].endswith("after the equilibration, sweep 40")
    # A restart with nothing else continues, and averages over the sweeps of both.
    assert call("mc --restart taichimd-mc --sweeps 60")[0] == 0
    report = json.loads(open("taichimd-mc/run.json").read())
    assert 40 < report["production"]["first_sweep"] < 65
    assert report["production"]["last_sweep"] == 125
    # At another temperature, without an equilibration, no row from before counts.
    assert call("mc --restart taichimd-mc --sweeps 10 --temperature 90")[0] == 0
    report = json.loads(open("taichimd-mc/run.json").read())
    assert report["production"]["first_sweep"] > 125
    assert report["production"]["method"].endswith("after the last change of conditions, sweep 125")
    assert report["averages"]["potential_eV"]["error"] is None
    assert report["averages"]["potential_eV"]["note"].startswith("no error: ")


def test_a_folder_with_names_of_an_earlier_version_goes_on(call):
    line = "mc ar.extxyz --potential Ar.lj --temperature 80 --replicas 2 --sweeps 8 --backend cpu --quiet"
    assert call(line)[0] == 0
    for name in ("000-80K-replica1", "001-80K-replica2"):
        shutil.move(f"taichimd-mc/{name}", "taichimd-mc/" + name.replace("replica", "seed"))
    assert call("mc --restart taichimd-mc --sweeps 5 --quiet") == (0, "", "")
    assert json.loads(open("taichimd-mc/001-80K-seed2/run.json").read())["last_step"] == 15


def test_the_page_s_command_has_the_mean_of_a_long_run(call):
    """Within four errors of both, of the run that docs/howto/monte_carlo.md begins with."""
    for line in commands(text_of("docs/howto/monte_carlo.md"))[:2]:
        code, out, err = call(line.removeprefix("taichimd ") + (" --backend cpu" if " mc " in line else ""))
        assert (code, err) == (0, "")
    found = json.loads(open("taichimd-mc/run.json").read())["averages"]["potential_eV"]
    told = json.loads((ROOT / "validation" / "results" / "mc_moves_cpu.json").read_text())["page"]
    long_run = told["potential_eV"]
    assert long_run["error"] < 0.6 * found["error"]
    assert abs(found["mean"] - long_run["mean"]) < 4 * np.hypot(found["error"], long_run["error"])
    assert found["error"] < 0.01 * abs(found["mean"])
    assert re.search(rf"potential +{found['mean']:.8g} ± {found['error']:.2g} eV", out)


def test_the_height_of_a_slab_does_not_depend_on_its_third_vector():
    slab = bulk("Ar", cubic=True, a=5.3)
    slab.pbc = (True, True, False)
    for third in ([0, 0, 5.3], [9, 4, 5.3], [0, 0, 0]):
        slab.set_cell([[5.3, 0, 0], [1, 5.3, 0], third])
        assert periodic_heights(slab) == pytest.approx([5.3 / np.hypot(1, 1 / 5.3), 5.3])
