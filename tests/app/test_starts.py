"""What a run starts from: velocities drawn or brought, checkpoints and frames of earlier runs, time units."""

import io
import json
import re
from pathlib import Path

import ase.io
import numpy as np
import pytest
from driving import drive, same_bytes, structure  # noqa: F401  (a fixture)
from fake_engine import fake  # noqa: F401  (a fixture)
from rich.console import Console

from taichimd.app.driver import run_job
from taichimd.app.job import prepare_job
from taichimd.core.errors import CheckpointError, SettingsError, StructureError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.structures import read_structure
from taichimd.io.thermo import read_thermo
from taichimd.settings.config import make_settings
from taichimd.system.velocities import maxwell_boltzmann

pytestmark = pytest.mark.usefixtures("fake", "structure")


def report_of(folder):
    return json.loads(open(f"{folder}/run.json").read())


def first_velocities(folder):
    return ase.io.read(f"{folder}/trajectory.extxyz", 0).get_velocities()


def words(text):
    return " ".join(text.split())


# Velocities.


def test_velocities_are_drawn_beside_what_a_file_brings():
    drive(steps=20, output="melt", temperature=900.0)
    start = {"structure": "melt/trajectory.extxyz", "steps": 5}
    _, text = drive(**start, output="drawn", velocities="draw", temperature=200.0, seed=7)
    assert "Maxwell-Boltzmann at 200 K, seed 7" in text
    assert report_of("drawn")["velocities"] == "Maxwell-Boltzmann"
    assert report_of("drawn")["settings"]["velocities"] == "draw"
    masses = ase.io.read("s.extxyz").get_masses()
    np.testing.assert_allclose(first_velocities("drawn"), maxwell_boltzmann(masses, 200.0, 7), rtol=1e-13)
    last, first = ase.io.read("melt/trajectory.extxyz"), ase.io.read("drawn/trajectory.extxyz", 0)
    assert first.positions.tobytes() == last.positions.tobytes()
    drive(**start, output="kept")
    assert report_of("kept")["velocities"] == "structure file"


def test_a_refused_temperature_says_how_to_draw():
    drive(steps=5, output="a", temperature=100.0)
    with pytest.raises(SettingsError) as caught:
        drive(structure="a/trajectory.extxyz", steps=5, temperature=300.0)
    assert str(caught.value).endswith(
        "leave temperature out, choose a thermostat, or draw new ones with --velocities draw"
    )


def test_velocities_of_a_file_that_has_none():
    with pytest.raises(SettingsError) as caught:
        drive(steps=5, velocities="file")
    assert str(caught.value) == ("velocities = file: s.extxyz has none (ASE's momenta); choose auto or draw")
    drive(steps=5, output="a")
    drive(structure="a/trajectory.extxyz", steps=5, velocities="file", output="b")
    assert report_of("b")["velocities"] == "structure file"


def test_a_restart_draws_velocities_anew():
    drive(steps=20, every=10, output="out", temperature=100.0)
    before = read_checkpoint("out/checkpoint.npz")
    _, text = drive(restart="out", steps=20, velocities="draw", temperature=600.0, seed=5, output="hot")
    note = "new velocities are drawn at 600 K, seed 5: thermostats and barostats are reset, and conserved_eV"
    assert f"note: {note}" in words(text)
    assert "Maxwell-Boltzmann at 600 K, seed 5" in text
    assert report_of("hot")["velocities"] == "Maxwell-Boltzmann"
    rows = read_thermo("hot/thermo.csv")
    assert rows["step"].tolist() == [20, 30, 40]
    assert rows["temperature_K"][0] == pytest.approx(600.0, rel=1e-12)
    first = ase.io.read("hot/trajectory.extxyz", 0)
    assert first.positions.tobytes() == before.positions.tobytes()
    # The energy of these velocities, not that of the run before, is where drifts begin.
    assert read_checkpoint("hot/checkpoint.npz").first_total == rows["conserved_eV"][0]
    # Drawn once: going on needs no word of it, and says none.
    _, text = drive(restart="hot", steps=10)
    assert "drawn" not in text
    assert report_of("hot")["velocities"] == "checkpoint"


def test_drawing_in_the_same_folder_counts_drifts_from_there():
    drive(steps=20, every=5, output="out", temperature=100.0)
    drive(restart="out", steps=20, velocities="draw", temperature=600.0)
    assert read_thermo("out/thermo.csv")["step"].tolist() == list(range(0, 41, 5))
    assert read_checkpoint("out/checkpoint.npz").counted_from == 21
    # µeV/atom/ps over 0.015 ps: far below the leap of the energy, 0.06 eV/atom.
    assert abs(report_of("out")["energy_drift"]["slope"]) * 0.015 < 1e3


def test_velocities_drawn_in_a_ramp_have_its_temperature():
    ramp = {"ensemble": "nvt-bussi", "temperature": 100.0, "final_temperature": 300.0}
    drive(steps=100, output="out", **ramp)
    _, text = drive(restart="out", steps=10, velocities="draw")
    assert "new velocities are drawn at 300 K" in words(text)


def test_a_job_file_that_draws_goes_on_with_what_it_has_drawn():
    with open("job.toml", "w") as file:
        file.write(
            'structure = "s.extxyz"\npotential = "springs.txt"\nsteps = 10\nvelocities = "draw"\n'
            'temperature = 80\noutput = "out"\n'
        )
    console = Console(file=io.StringIO(), width=80)
    assert run_job(prepare_job({}, Path("job.toml")), console) == 0
    job = prepare_job({"restart": "out"}, Path("job.toml"))
    assert job.settings.system.velocities == "auto"
    np.testing.assert_array_equal(job.checkpoint.velocities, read_checkpoint("out/checkpoint.npz").velocities)


# Structures of earlier runs.


@pytest.mark.parametrize("start", ["melt/checkpoint.npz", "melt"])
def test_another_potential_after_a_melt(start):
    drive(steps=30, output="melt", temperature=500.0)
    with open("stiff.txt", "w") as file:
        file.write("9.0")
    code, text = drive(structure=start, potential="stiff.txt", steps=10, every=5, output="after")
    assert code == 0
    saved, first = read_checkpoint("melt/checkpoint.npz"), ase.io.read("after/trajectory.extxyz", 0)
    assert first.positions.tobytes() == saved.positions.tobytes()
    np.testing.assert_allclose(first.get_velocities(), saved.velocities, rtol=1e-13)
    assert f"note: a new run from step 30 of {start}: its own steps and time begin at 0" in words(text)
    assert read_thermo("after/thermo.csv")["step"].tolist() == [0, 5, 10]
    np.testing.assert_allclose(first.get_forces(), -9.0 * (first.positions - np.round(first.positions)))
    # It stands on its own feet.
    assert drive(restart="after", steps=5)[0] == 0


def test_masses_of_a_checkpoint_are_kept():
    atoms = ase.io.read("s.extxyz")
    atoms.set_masses([45.0] * len(atoms))
    atoms.write("heavy.extxyz")
    drive(structure="heavy.extxyz", steps=5, output="heavy")
    assert read_structure("heavy/checkpoint.npz").get_masses().tolist() == [45.0] * 4
    drive(structure="heavy", steps=5, output="more", velocities="draw", temperature=50.0)
    assert read_checkpoint("more/checkpoint.npz").masses.tolist() == [45.0] * 4


def test_a_restart_with_another_potential_names_the_command():
    drive(steps=10, output="out")
    with open("stiff.txt", "w") as file:
        file.write("9.0")
    with pytest.raises(CheckpointError) as caught:
        drive(restart="out", potential="stiff.txt", steps=5)
    said = str(caught.value)
    assert "start a new run from it: taichimd run out/checkpoint.npz --potential" in said
    assert said.split("--potential ")[1].split(",")[0].endswith("stiff.txt")


@pytest.mark.parametrize("frames", ["extxyz", "traj"])
def test_a_run_starts_from_any_frame(frames):
    drive(steps=40, every=10, output="out", frames=frames)
    name = f"out/trajectory.{frames}"
    images = ase.io.read(name, ":")
    for start, frame, expected in (
        (name, 1, 1),
        (name, -2, 3),
        ("out", 0, 0),
        ("out", -1, 4),
        (name, None, 4),
    ):
        drive(structure=start, from_frame=frame, steps=5, output="b", overwrite=True)
        first = ase.io.read("b/trajectory.extxyz", 0)
        assert first.positions.tobytes() == images[expected].positions.tobytes()


@pytest.mark.parametrize("frame", [5, -6])
@pytest.mark.parametrize("frames", ["extxyz", "traj"])
def test_a_frame_out_of_range(frames, frame):
    drive(steps=40, every=10, output="out", frames=frames)
    with pytest.raises(StructureError) as caught:
        drive(structure=f"out/trajectory.{frames}", from_frame=frame, steps=5, output="b")
    assert str(caught.value) == (
        f"trajectory out/trajectory.{frames} has 5 frames; from_frame = {frame}: expected -5 to 4"
    )


def test_frames_that_cannot_be():
    drive(steps=10, output="out", frames="none")
    with pytest.raises(StructureError, match="folder out has no trajectory, so there is no frame 2"):
        drive(structure="out", from_frame=2, steps=5, output="b")
    with pytest.raises(StructureError, match=r"checkpoint out/checkpoint.npz has one state and no frame 2"):
        drive(structure="out/checkpoint.npz", from_frame=2, steps=5, output="b")
    with pytest.raises(
        SettingsError, match="from_frame = 2: a restart continues from its checkpoint; give the"
    ):
        drive(restart="out", from_frame=2, steps=5)
    with open("bad.npz", "wb") as file:
        file.write(b"garbage")
    with pytest.raises(CheckpointError, match=r"checkpoint bad\.npz is truncated or is not a checkpoint"):
        drive(structure="bad.npz", steps=5)


def test_the_first_error_of_an_unreadable_file_stays():
    with open("bad.extxyz", "w") as file:
        file.write("2\nProperties=species:S:1:pos:R:3\nSi 0 0\n")
    with pytest.raises(StructureError, match=r"structure file bad\.extxyz cannot be read"):
        drive(structure="bad.extxyz", from_frame=0, steps=5)


# Units of time, and options.


@pytest.mark.parametrize(
    ("key", "text", "number"),
    [
        ("timestep", "1fs", 1.0),
        ("timestep", "0.5", 0.5),
        ("timestep", "0.002 ps", 2.0),
        ("coupling_time", "0.1ps", 100.0),
        ("pressure_coupling_time", "1ps", 1000.0),
    ],
)
def test_times_take_a_unit(key, text, number):
    settings = make_settings({key: text, "ensemble": "npt-scr"})
    assert settings.record()[key] == number


def test_a_time_step_with_a_unit_runs_as_one_without():
    drive(steps=20, every=10, timestep=0.5, output="a")
    with open("job.toml", "w") as file:
        file.write('timestep = "0.5fs"\n')
    drive(steps=20, every=10, timestep="0.5fs", output="b")
    assert same_bytes("a", "b", "trajectory.extxyz", "thermo.csv")
    assert report_of("b")["settings"]["timestep"] == 0.5
    assert make_settings({}, Path("job.toml")).run.timestep == 0.5


@pytest.mark.parametrize("text", ["1kg", "fs", "1 f s", "nan", "-1fs", "0fs", "inf"])
def test_a_wrong_time_is_one_line(text):
    with pytest.raises(
        SettingsError, match=r"timestep = .*: expected a number above 0 \(fs\), or a time such"
    ):
        make_settings({"timestep": text})


def test_what_is_likely_a_mistake_is_noted():
    atoms = ase.io.read("s.extxyz")
    plain = drive(steps=5, timestep=0.02, output="plain")[1]
    assert not re.search("LAMMPS|0 K, and|numbers in", plain)
    assert (
        "note: time step of 0.001 fs: LAMMPS's metal units count ps"
        in drive(steps=5, timestep=0.001, output="short")[1]
    )
    atoms.set_momenta(np.zeros((4, 3)))
    ase.io.write("rest.extxyz", atoms)
    assert (
        "note: velocities of the structure are 0 K, and are used"
        in drive(structure="rest.extxyz", steps=5, output="rest")[1]
    )
    drawn = drive(structure="rest.extxyz", steps=5, velocities="draw", output="drawn")[1]
    assert "0 K, and are used" not in drawn
