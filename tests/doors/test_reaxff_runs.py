"""ReaxFF on the command line: run and restart, energy, potentials, and errors at these doors."""

import json
import os
import shutil

import ase.io
import numpy as np
import pytest
from reaxff_doors import hydroxyl, soft_oxygen, water

from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff.arrays import TERMS
from taichimd.io.thermo import CELL_COLUMNS, CHARGE_COLUMNS, COLUMNS, read_thermo

LIGHT = """\
# UNITS: metal
mixing geometric
truncation force-shifted
O O 0.01 2.0 6.0
H H 0.001 1.0 6.0
"""
RUN = "run water.extxyz --potential ffield.water --every 2 --quiet "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ase.io.write("water.extxyz", water())
    shutil.copy(find("H2O.ffield"), "ffield.water")
    return tmp_path


def test_a_run_and_its_restart(call, folder):
    """Time step, charge columns, record; files of a run that was cut are those of a straight one."""
    assert call(RUN + "--steps 8 --terms --output straight")[0] == 0
    assert call(RUN + "--steps 4 --terms --output cut")[0] == 0
    code, _, err = call("run --restart cut --steps 4 --quiet")
    assert (code, err) == (0, "")
    for name in ("thermo.csv", "trajectory.extxyz"):
        assert (folder / "cut" / name).read_bytes() == (folder / "straight" / name).read_bytes()
    rows = read_thermo(folder / "straight" / "thermo.csv")
    names = tuple(f"E_{name.replace(' ', '_')}_eV" for name in TERMS)
    assert tuple(rows) == COLUMNS + CHARGE_COLUMNS + names
    np.testing.assert_allclose(sum(rows[name] for name in names), rows["potential_eV"], rtol=1e-12)
    assert (rows["charge_iterations"] >= 1).all()
    assert np.ptp(rows["total_eV"]) < 0.01 * np.ptp(rows["potential_eV"])
    frames = ase.io.read("straight/trajectory.extxyz", ":")
    assert all(abs(frame.get_charges().sum()) < 1e-12 for frame in frames)
    assert all([frame.info[name] for frame in frames] == list(rows[name]) for name in names)
    report = json.loads((folder / "straight" / "run.json").read_text())
    assert report["settings"]["timestep"] == 0.25
    assert report["notes"] == []
    (term,) = report["potential"]["terms"]
    assert term["options"] == {
        "constants": "lammps", "charge_tolerance": 1e-6, "net_charge": 0.0, "lammps_forces": False,
            "tables": True, "charges": "converged", "matrix_precision": "float64", "max_iterations": 200,
    }  # fmt: skip
    norm = "sqrt(sum of r^2/eta)/|b|, for s and for t"
    assert term["charge_norm"] == report["statistics"]["charges"]["norm"] == norm
    assert report["statistics"]["charges"]["tolerance"] == 1e-6
    assert max(report["statistics"]["charges"]["last_residuals"]) < 1e-6


def test_a_barostat_a_long_step_and_binary_frames(call, folder):
    options = "--steps 2 --ensemble npt-berendsen --frames traj --timestep 0.6 --output npt"
    assert call(RUN + options)[0] == 0
    assert tuple(read_thermo(folder / "npt" / "thermo.csv")) == COLUMNS + CHARGE_COLUMNS + CELL_COLUMNS
    assert ase.io.read("npt/trajectory.traj", -1).get_charges().shape == (6,)
    notes = json.loads((folder / "npt" / "run.json").read_text())["notes"]
    assert any(
        "time step of 0.6 fs: ReaxFF ffield.water with hydrogen needs 0.5 fs or less" in n for n in notes
    )


def test_another_potential_beside_it_is_said_and_has_a_term(call, folder):
    (folder / "light.lj").write_text(LIGHT)
    code, _, err = call(RUN + "--potential light.lj --steps 2 --terms --frames traj --output both")
    assert (code, err) == (0, "")
    rows = read_thermo(folder / "both" / "thermo.csv")
    terms = json.loads(call("energy both --potential ffield.water --potential light.lj --terms --json")[1])[
        "terms"
    ]
    assert rows["E_light_lj_eV"][-1] == terms["light.lj"] != 0.0
    assert rows["E_bond_eV"][-1] == terms["bond"]
    assert ase.io.read("both/trajectory.traj", -1).info["E_light_lj_eV"] == terms["light.lj"]
    notes = json.loads((folder / "both" / "run.json").read_text())["notes"]
    assert "charges follow from ReaxFF ffield.water alone; light.lj acts on the same atoms" in notes


def test_options_behind_the_file_are_kept(call, folder):
    """By record, checkpoint and restart; in a job file, beside it; by energy and relax."""
    options = "charges=extended-lagrangian,charge_tolerance=1e-8,lammps-forces=true,max_iterations=90"
    (folder / "job.toml").write_text(f'structure = "water.extxyz"\npotential = "ffield.water:{options}"\n')
    (folder / "elsewhere").mkdir()
    os.chdir("elsewhere")
    assert call("run ../job.toml --steps 8 --quiet --output one")[0] == 0
    code, _, err = call("run --restart one --steps 2 --quiet")
    assert (code, err) == (0, "")
    report = json.loads((folder / "elsewhere" / "one" / "run.json").read_text())
    assert report["settings"]["potential"] == f"{folder}/ffield.water:{options}"
    found = report["potential"]["terms"][0]["options"]
    assert found["charges"] == "extended-lagrangian"
    assert (found["charge_tolerance"], found["lammps_forces"], found["max_iterations"]) == (1e-8, True, 90)
    assert report["statistics"]["charges"]["last_iterations"] == 1
    code, _, err = call("run --restart one --potential ../ffield.water:charge_tolerance=1e-8 --steps 2")
    assert (code, err.count("\n")) == (2, 1)
    assert "charges 'extended-lagrangian' (now 'converged')" in err
    for command in ("energy ../water.extxyz", "relax ../water.extxyz --steps 5 --output relaxed"):
        code, _, err = call(f"{command} --potential ../ffield.water:max_iterations=1")
        assert (code, err.count("\n")) == (2, 1)
        assert "after 1 iterations, charge_tolerance is 1.0e-06; raise charge_tolerance or max_iter" in err


def test_another_file_in_a_restart_is_named(call, folder):
    assert call(RUN + "--steps 2 --output one")[0] == 0
    soft_oxygen(folder).rename(folder / "other")
    code, _, err = call("run --restart one --potential other --steps 2 --quiet")
    assert code == 2
    assert "atom parameters" in err


def test_energy_with_terms_and_charges(call):
    code, out, err = call("energy water.extxyz --potential ffield.water --terms --per-atom --json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert list(found["terms"]) == list(TERMS)
    assert sum(found["terms"].values()) == pytest.approx(found["energy"], abs=1e-12)
    assert len(found["charges"]) == 6
    code, out, _ = call("energy water.extxyz --potential ffield.water")
    assert code == 0
    assert "# atom element charge/e fx fy fz / eV/Å" in out
    assert f"0 O {found['charges'][0]!r} {found['forces'][0][0]!r}" in out


def test_shipped_files_and_what_one_defines(call):
    code, out, _ = call("potentials")
    assert code == 0
    for name, elements in (("CHO", "C H O"), ("CHON", "C H O N"), ("H2O", "H O"), ("SiO", "H O Si")):
        assert any(
            line.split()[:2] == [f"{name}.ffield", "reaxff"] and elements in line for line in out.split("\n")
        )
    code, out, _ = call("check --potential ffield.water --elements H,O")
    assert code == 0
    assert "ffield.water: ReaxFF" in out


def test_relaxation(call, folder):
    code, _, err = call("relax water.extxyz --potential ffield.water --fmax 0.05 --output relaxed --quiet")
    assert (code, err) == (0, "")
    assert ase.io.read("relaxed/relaxed.extxyz").get_charges().shape == (6,)


def test_a_failed_equilibration_keeps_the_last_checkpoint(call, folder):
    soft_oxygen(folder)
    ase.io.write("oh.extxyz", hydroxyl(1.6, speed=0.06))
    code, _, err = call("run oh.extxyz --potential ffield.soft --steps 100 --output oh --quiet")
    assert code == 2
    assert "charge_tolerance 1.0e-06" in err
    assert "the last good checkpoint is oh/checkpoint.npz (step 0)" in err
    assert json.loads((folder / "oh" / "run.json").read_text())["exit_reason"].startswith("ChargeError")
    assert (folder / "oh" / "checkpoint.npz").exists()
    ase.io.write("oh.extxyz", hydroxyl(0.1))
    for command in (
        "energy oh.extxyz",
        "relax oh.extxyz --output other",
        "run oh.extxyz --steps 2 --output new",
    ):
        code, _, err = call(f"{command} --potential ffield.soft")
        assert code == 2
        assert "look for overlapping atoms" in err


REFUSED = {
    "run water.extxyz --steps 100 --observe heat": "has no heat current",
    "kappa water.extxyz --temperature 300": "has no heat current",
    "energy water.extxyz --precision mixed": 'give the potential matrix_precision="float32"',
    "run water.extxyz --steps 2 --precision float32": "computed in float64 only",
    "energy water.extxyz --decomposition tuple": "has no lists of tuples",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused(call, folder, line):
    code, _, err = call(f"{line} --potential ffield.water")
    assert code == 2
    assert REFUSED[line] in err
    assert err.count("\n") == 1 or "\n" not in err.strip()
    assert sorted(path.name for path in folder.iterdir()) == ["ffield.water", "water.extxyz"]
