"""Reports of folders of commands: relaxation, conductivity, Monte Carlo, analysis, validation."""

import json
import re
from pathlib import Path

import pytest
from ase.build import bulk
from bond_files import lammps_text
from run_folders import write_run

from taichimd.report.compose import report_page
from taichimd.report.folders import parts_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def part_of(folder):
    """The part of a folder, whose page cites what its methods paragraph cites."""
    (part,) = parts_of(Path(folder))
    cited = set(",".join(re.findall(r"\\cite\{(.*?)\}", part.method)).split(","))
    assert cited <= set(re.findall(r"@\w+\{(\w+),", report_page([part])))
    return part


def test_an_analysis_has_its_command_and_its_averages(call):
    write_run(Path("run"), images=40)
    code, _, err = call("analyze run/trajectory.extxyz --msd --fit 50fs,100fs --blocks 2 --output a --quiet")
    assert code == 0, err
    part = part_of("a")
    assert part.commands == [
        "taichimd analyze run/trajectory.extxyz --msd --fit 50fs,100fs --blocks 2 --output a"
    ]
    assert dict(part.facts)["frames"] == "40, 0.01 ps apart"
    assert "frames, 0.01 ps apart, and were computed with taichimd" in part.method
    assert call(part.commands[0].removeprefix("taichimd ") + " --overwrite --quiet")[0] == 0


def test_an_analysis_of_bonds_has_its_rates_and_no_atoms(call):
    bonded, apart = {(0, 1): 0.9}, {}
    frames = [bonded if k < 30 else apart for k in range(60)]
    Path("bonds.reaxff").write_text(lammps_text(frames, "11"))
    code, _, err = call(
        "analyze bonds.reaxff --timestep 0.1 --elements H --bond-lifetime 1fs --output b --quiet"
    )
    assert code == 0, err
    part = part_of("b")
    assert part.kind == "analysis of bonds"
    assert "--bond-lifetime 1fs" in part.commands[0]
    assert "a bond forms above a bond order of 0.5 and breaks at or below 0.3" in part.method
    assert [title for title, _, _ in part.tables] == ["Rates", "Lifetimes"]
    assert part.trajectory is None
    assert "frames" not in dict(part.facts)


def test_a_conductivity_without_an_error_says_so(call):
    """The numbers of one short run have no error; several runs have one."""
    record = {
        "settings": {
            "method": "hnemd", "temperature": 300.0, "runs": 1, "equilibrate": 50.0, "time": 300.0,
            "timestep": 1.0, "driving_force": 1e-4,
        },
        "kappa_W_per_mK": {"value": None, "error": None, "status": "no value", "note": ""},
        "temperature_K": {"value": 300.0, "error": None}, "volume_A3": 1000.0, "n_atoms": 64, "runs": 1,
        "error_is": "unknown: one run, too short for an error", "wall_seconds": 61.0, "structure": "si.xyz",
    }  # fmt: skip
    Path("k").mkdir()
    Path("k/kappa.json").write_text(json.dumps(record))
    part = part_of("k")
    assert "One run was equilibrated for 0.05 ps" in part.method
    assert part.method.endswith("No standard error could be determined.")
    assert dict(part.timing)["wall time"] == "1:01"
    record["settings"]["runs"] = record["runs"] = 2
    record |= {"error_is": "standard error, over independent runs"}
    record["kappa_W_per_mK"] = {"value": 150.0, "error": 4.0, "status": "ok", "note": ""}
    Path("k/kappa.json").write_text(json.dumps(record))
    Path("k/kappa.csv").write_text("length_A,kappa_W_per_mK\n31.8,150.0\n")
    assert part_of("k").charts == [], "a table of one row has no curve"
    Path("k/kappa.csv").write_text("time_ps,kappa_W_per_mK\n1.0,140.0\n2.0,150.0\n")
    part = part_of("k")
    assert [(one.x, one.y) for one in part.charts] == [("time (ps)", "kappa (W/(m K))")]
    assert "2 independent runs were equilibrated" in part.method
    assert part.method.endswith("The error is the standard error, over independent runs.")


@pytest.mark.long
def test_commands_leave_folders_that_have_a_report(call):
    bulk("Ar", a=5.3, cubic=True).repeat(3).write("ar.xyz", format="extxyz")
    commands = {
        "relaxation": "relax ar.xyz --potential Ar.lj --output r",
        "thermal conductivity": "kappa ar.xyz --potential Ar.lj --temperature 30 --equilibrate 20fs "
        "--time 200fs --every 5 --window 20fs --runs 2 --output k",
        "Monte Carlo": "mc ar.xyz --potential Ar.lj --temperature 30 --sweeps 20 --output m",
        "validation": "validate Ar.lj --quick --only forces,third-law --output v",
    }
    for kind, command in commands.items():
        assert call(f"{command} --quiet")[0] == 0, kind
        part = part_of(command.split()[-1])
        assert part.kind == kind
        assert dict(part.timing)["wall time"]
        if kind != "validation":  # whose record has the words of the process, here those of pytest
            assert part.commands[0].split()[:2] == ["taichimd", command.split()[0]]
    assert call("report r k m v --output all.html")[:2] == (0, "all.html\n")
    assert "4 calculations side by side" in Path("all.html").read_text(encoding="utf-8")
