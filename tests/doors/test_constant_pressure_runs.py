"""Barostats through the command line: options, files, restarts, mistakes."""

import json

import argon_job
import ase.io
import numpy as np
import pytest
from ase.build import bulk

from taichimd import BerendsenNPT, LennardJones, Simulation
from taichimd.core.errors import SettingsError
from taichimd.core.matrix3 import determinant
from taichimd.core.units import GPA
from taichimd.io.checkpoint import check_same_system, read_checkpoint
from taichimd.io.thermo import CELL_COLUMNS, read_thermo
from taichimd.settings.config import make_settings

RUN = argon_job.RUN + "--temperature 60 --coupling-time 60 "
NPT = "--pressure 0.1 --pressure-coupling-time 200 "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return argon_job.enter_folder(tmp_path, monkeypatch, a=5.4)


@pytest.mark.parametrize(
    ("ensemble", "more"),
    [
        ("npt-berendsen", "--bulk-modulus 3"),
        ("npt-scr", "--bulk-modulus 3 --cell-control triclinic --barostat-period 5"),
        ("npt-mtk", ""),
    ],
)
def test_restart_is_bit_for_bit_and_every_file_has_the_cell(call, ensemble, more):
    run = RUN + f"--ensemble {ensemble} {NPT} {more} --final-pressure 0.4 "
    code, out, _ = call(run + "--steps 200 --output straight")
    assert code == 0
    shown = " ".join(out.split())
    assert "barostat 0.1 to 0.4 GPa, coupling time 200 fs" in shown
    assert ("energy is not conserved" in shown) == (ensemble == "npt-berendsen")
    # What an interrupted run leaves, so that the ramp goes over 200 steps in both.
    from taichimd.app.job import prepare_job
    from taichimd.program.engine import Engine

    advance = Engine.advance
    with pytest.MonkeyPatch.context() as patched:

        def interrupted(engine, steps, timestep):
            import os
            import signal

            advance(engine, steps, timestep)
            if engine.step >= 80:
                os.kill(os.getpid(), signal.SIGTERM)

        patched.setattr(Engine, "advance", interrupted)
        assert call(run + "--steps 200 --output cut")[0] == 143
    assert prepare_job({"restart": "cut/checkpoint.npz"}).settings.ensemble.control == (
        "triclinic" if "triclinic" in more else "isotropic"
    )
    assert call("run --restart cut/checkpoint.npz")[0] == 0
    for name in ("trajectory.extxyz", "thermo.csv"):
        assert open(f"cut/{name}", "rb").read() == open(f"straight/{name}", "rb").read(), name
    one, other = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("cut", "straight"))
    assert one.positions.tobytes() == other.positions.tobytes()
    assert one.cell.tobytes() == other.cell.tobytes()
    assert (one.bath, one.first_total) == (other.bath, other.first_total)

    # Frames of another rhythm and format change nothing.
    assert call(run + "--steps 200 --frames traj --frames-every 7 --output often")[0] == 0
    assert open("often/thermo.csv", "rb").read() == open("straight/thermo.csv", "rb").read()
    often = read_checkpoint("often/checkpoint.npz")
    assert (often.positions.tobytes(), often.bath) == (other.positions.tobytes(), other.bath)

    report = json.loads(open("cut/run.json").read())
    frames, rows = ase.io.read("cut/trajectory.extxyz", ":"), read_thermo("cut/thermo.csv")
    np.testing.assert_allclose([frame.get_volume() for frame in frames], rows["volume_A3"], rtol=1e-12)
    assert np.ptp(rows["volume_A3"]) > 1.0
    np.testing.assert_array_equal(frames[-1].cell.array, one.cell)
    assert [rows[name][-1] for name in CELL_COLUMNS[:6]] == frames[-1].cell.cellpar().tolist()
    pressures = np.array([rows[name] for name in CELL_COLUMNS[6:]])
    np.testing.assert_allclose(pressures[:3].mean(axis=0), rows["pressure_GPa"], rtol=0, atol=1e-12)
    v, m, volume = frames[-1].get_velocities(), frames[-1].get_masses(), frames[-1].get_volume()
    kinetic = np.einsum("i,ia,ib->ab", m, v, v)[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]] / volume
    expected = (kinetic - frames[-1].get_stress()) / GPA
    np.testing.assert_allclose(pressures[:, -1], expected, rtol=0, atol=1e-12)
    # A table that continues keeps its columns, whatever moves.
    assert call("run --restart cut/checkpoint.npz --ensemble nve --steps 20")[0] == 0
    assert read_thermo("cut/thermo.csv")["a_A"].tolist() == [*rows["a_A"], rows["a_A"][-1]]
    assert np.isnan(rows["conserved_eV"]).all() == (ensemble == "npt-berendsen")
    np.testing.assert_array_equal(report["last_cell_A"], one.cell)
    assert report["last_volume_A3"] == rows["volume_A3"][-1]
    produced = rows["step"] >= report["production"]["start_step"]
    assert report["means"]["pressure_GPa"]["mean"] == rows["pressure_GPa"][produced].mean()
    assert (report["energy_drift"] is None) == (ensemble == "npt-berendsen")


@pytest.mark.long
def test_equilibrate_then_sample_then_hold(call):
    """From one barostat to another the pressure stays; at constant volume the cell is what it had become."""
    start = RUN + f"--ensemble npt-berendsen {NPT} --bulk-modulus 3 --steps 60 --output warm"
    assert call(start)[0] == 0
    code, out, _ = call("run --restart warm/checkpoint.npz --ensemble npt-mtk --steps 40 --output sample")
    assert code == 0
    assert "0.1 GPa" in out
    moved = read_checkpoint("sample/checkpoint.npz")
    check_same_system("sample", moved, ase.io.read("ar.extxyz"))  # its cell may differ
    assert call("run --restart sample/checkpoint.npz --ensemble nve --steps 40 --output hold")[0] == 0
    rows = read_thermo("hold/thermo.csv")
    assert (rows["volume_A3"] == abs(determinant(moved.cell))).all()
    assert np.ptp(rows["conserved_eV"]) / 108 < 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            "--pressure 1",
            "pressure = 1.0 needs a barostat, but the ensemble is nve; choose one of npt-berendsen",
        ),
        (
            "--ensemble nvt-bussi --cell-axes xy",
            "cell_axes = xy needs a barostat, but the ensemble is nvt-bussi",
        ),
        (
            "--ensemble nvt-bussi --final-pressure 1",
            "final_pressure = 1.0 needs a barostat, but",
        ),
        ("--ensemble npt-scr --pressure 1,2", "pressure = '1,2': expected a number, or three"),
        ("--ensemble npt-scr --pressure high", "pressure = 'high': expected a number, or three"),
        ("--ensemble npt-scr --pressure nan", "pressure = 'nan': expected a number, or three"),
        ("--ensemble npt-scr --bulk-modulus 0", "bulk_modulus = 0.0: expected a number above 0 (GPa)"),
        ("--ensemble npt-mtk --bulk-modulus 9", "bulk_modulus = 9: npt-mtk has no use for it"),
        ("--ensemble npt-mtk --barostat-period 9", "barostat_period = 9: npt-mtk acts each step"),
        ("--ensemble npt-scr --barostat-period 0", "barostat_period = 0: expected a whole number above 0"),
        ("--ensemble npt-scr --pressure-coupling-time 30", "is shorter than 10 time steps of 4 fs"),
        (
            "--ensemble npt-scr --pressure-coupling-time 300",
            "acts every 10 steps, 40 fs, which is more than a tenth of pressure_coupling_time = 300 fs",
        ),
        ("--ensemble npt-scr --cell-control cubic", "cell_control = 'cubic': expected isotropic, orthorh"),
        (
            "--ensemble npt-scr --pressure 1,2,3",
            'pressure = (1.0, 2.0, 3.0): control "isotropic" changes xyz by',
        ),
        (
            "--ensemble npt-mtk --final-pressure 1,1,2",
            'final_pressure = (1.0, 1.0, 2.0): control "isotropic"',
        ),
        ("--ensemble npt-scr --cell-axes ab", "axes (--cell-axes) = 'ab': expected some of x, y and z"),
    ],
)
def test_mistakes_are_one_line(call, folder, options, words):
    code, _, err = (
        call(RUN + "--steps 5 " + options)
        if "nve" not in words
        else call("run ar.extxyz --potential own.py:argon --steps 5 " + options)
    )
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (folder / "taichimd-run").exists()


def test_what_a_restart_takes_over():
    old = json.loads(json.dumps(make_settings({
        "ensemble": "npt-scr", "pressure": "1,2,3", "final_pressure": 4.0, "bulk_modulus": 9.0,
        "cell_axes": "xyz", "cell_control": "orthorhombic",
    }).record()))  # fmt: skip
    same = make_settings({"restart": "c"}, None, old).ensemble
    assert (same.pressure, same.final_pressure, same.bulk_modulus) == ((1.0, 2.0, 3.0), 4.0, 9.0)
    held = make_settings({"restart": "c", "pressure": 2.0}, None, old).ensemble
    assert (held.pressure, held.final_pressure) == (2.0, None)
    further = make_settings({"restart": "c", "final_pressure": 6.0}, None, old).ensemble
    assert (further.pressure, further.final_pressure) == (4.0, 6.0)
    other = make_settings({"restart": "c", "ensemble": "npt-mtk"}, None, old).ensemble
    assert (other.pressure, other.final_pressure) == (4.0, None)
    assert other.control == "orthorhombic"
    fixed = make_settings({"restart": "c", "ensemble": "nvt-bussi"}, None, old).ensemble
    assert (fixed.pressure, fixed.bulk_modulus, fixed.control) == (0.0, 50.0, "isotropic")
    with pytest.raises(SettingsError, match="needs a barostat, but the ensemble is nvt-bussi"):
        make_settings({"restart": "c", "ensemble": "nvt-bussi", "pressure": 1.0}, None, old)


@pytest.mark.parametrize(
    ("options", "temperatures", "pressures"),
    [
        ({}, (600.0, 300.0), ((4.0, 2.0, 1.0), (0.0, 0.0, 1.0))),
        # Said again, they are the same ramps.
        (
            {"final_temperature": 300.0, "pressure": "4,2,1", "final_pressure": "0,0,1"},
            (600.0, 300.0),
            ((4.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
        ),
        ({"ensemble": "npt-mtk"}, (300.0, None), ((0.0, 0.0, 1.0), None)),
        ({"ensemble": "npt-mtk", "final_temperature": 900.0}, (300.0, 900.0), ((0.0, 0.0, 1.0), None)),
        ({"ensemble": "npt-mtk", "temperature": 50.0}, (50.0, None), ((0.0, 0.0, 1.0), None)),
        (
            {"ensemble": "npt-mtk", "final_pressure": "1,1,3"},
            (300.0, None),
            ((0.0, 0.0, 1.0), (1.0, 1.0, 3.0)),
        ),
        ({"ensemble": "nvt-langevin"}, (300.0, None), (0.0, None)),
        ({"ensemble": "nvt-langevin", "final_temperature": 900.0}, (300.0, 900.0), (0.0, None)),
        ({"ensemble": "nve"}, (300.0, None), (0.0, None)),
        # A new ramp of one does not begin that of the other again.
        ({"final_temperature": 900.0}, (300.0, 900.0), ((0.0, 0.0, 1.0), None)),
        ({"temperature": 600.0}, (600.0, None), ((0.0, 0.0, 1.0), None)),
        ({"pressure": 3.0}, (300.0, None), (3.0, None)),
        ({"final_pressure": 5.0}, (300.0, None), ((0.0, 0.0, 1.0), 5.0)),
    ],
)
def test_a_restart_goes_on_from_where_ramps_end(options, temperatures, pressures):
    ramps = {"temperature": 600.0, "final_temperature": 300.0, "pressure": "4,2,1", "final_pressure": "0,0,1"}
    control = {"ensemble": "npt-scr", "cell_control": "orthorhombic"}
    old = json.loads(json.dumps(make_settings(ramps | control).record()))
    new = make_settings({"restart": "c", **options}, None, old).ensemble
    assert (new.temperature, new.final_temperature) == temperatures
    assert (new.pressure, new.final_pressure) == pressures


def test_a_job_file_takes_three_pressures(folder):
    # Isotropic control of one axis holds the pressure along that one.
    (folder / "job.toml").write_text('ensemble = "npt-scr"\npressure = [0.0, 0.0, 1.0]\ncell_axes = "z"\n')
    assert make_settings({}, folder / "job.toml").ensemble.pressure == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("ensemble", ["npt-mtk", "npt-berendsen"])
def test_a_restart_moves_only_what_it_controls(call, ensemble):
    """Neither the velocity of the cell nor a deformation that is yet to come moves an axis that is let go."""
    run = RUN + f"--ensemble {ensemble} --pressure 1 --pressure-coupling-time 400 "
    run += "" if ensemble == "npt-mtk" else "--bulk-modulus 5 "
    assert call(run + "--every 10 --cell-control orthorhombic --steps 100 --output on")[0] == 0
    code, out, _ = call("run --restart on --every 10 --cell-axes xy --steps 60")
    assert (code, "its bath begins again" in " ".join(out.split())) == (0, True)
    rows = read_thermo("on/thermo.csv")
    after = rows["step"] >= 100
    assert np.ptp(rows["c_A"][~after]) > 0.01
    assert np.ptp(rows["c_A"][after]) == 0.0
    assert np.ptp(rows["a_A"][after]) > 0.01


def test_a_restart_that_is_isotropic_keeps_the_shape(call):
    run = RUN + "--ensemble npt-mtk --pressure 0.3 --pressure-coupling-time 300 --cell-control triclinic "
    assert call(run + "--every 10 --steps 80 --output on")[0] == 0
    assert call("run --restart on --every 10 --cell-control isotropic --steps 80")[0] == 0
    rows = read_thermo("on/thermo.csv")
    after = rows["step"] >= 80
    assert np.ptp(rows["alpha_deg"][~after]) > 1e-3
    assert np.ptp(rows["alpha_deg"][after]) < 1e-9
    assert np.ptp((rows["b_A"] / rows["a_A"])[after]) < 1e-12


@pytest.mark.long
def test_a_shorter_period_does_no_deformation_twice(call):
    run = RUN + "--ensemble npt-berendsen --pressure 1 --pressure-coupling-time 200 --bulk-modulus 3 "
    assert call(run + "--every 5 --steps 15 --output on")[0] == 0
    assert call("run --restart on --every 1 --barostat-period 5 --steps 6")[0] == 0
    rows = read_thermo("on/thermo.csv")
    a = dict(zip(rows["step"].tolist(), rows["a_A"].tolist(), strict=True))
    assert a[10] != a[15], "the drift behind step 10 moves the cell"
    assert a[15] == a[16] == a[20] != a[21]


def test_analysis_takes_the_cell_of_each_frame(call):
    """Two sizes of one perfect lattice: each frame has its own first peak."""
    frames = [bulk("Ar", cubic=True, a=a) * 2 for a in (5.0, 6.0)]
    ase.io.write("two.extxyz", frames)
    assert call("analyze two.extxyz --rdf --r-max 5 --bins 500 --blocks 1 --output a")[0] == 0
    table = np.genfromtxt("a/rdf.csv", delimiter=",", names=True)
    peaks = table["r_A"][table["g_ArAr"] > 0]
    np.testing.assert_allclose(peaks, [5.0 / 2**0.5, 6.0 / 2**0.5], atol=0.0101)


@pytest.mark.parametrize(("pressure", "torn"), [(-1.0, True), (0.1, False)])
def test_a_crystal_that_is_torn_apart_is_noted(call, pressure, torn):
    bath = f"--pressure {pressure} --pressure-coupling-time 200 --bulk-modulus 3 "
    code, out, _ = call(RUN + f"--ensemble npt-berendsen {bath} --steps 400 --output o")
    assert code == 0
    volume, report = read_thermo("o/thermo.csv")["volume_A3"], json.load(open("o/run.json"))
    assert (report["first_volume_A3"], report["last_volume_A3"]) == (volume[0], volume[-1])
    assert (volume[-1] > 1.5 * volume[0]) == torn
    note = f"the volume went from {volume[0]:.5g} to {volume[-1]:.5g} Å³, by a factor of "
    assert (note.strip() in " ".join(out.split())) == torn
    assert [n.startswith(note) for n in report["notes"]] == [True] * torn


def test_a_slab_is_told_why_its_pressure_is_empty(call):
    slab = ase.io.read("ar.extxyz")
    slab.pbc = [True, True, False]
    slab.write("slab.extxyz")
    run = RUN.replace("ar.", "slab.") + f"--ensemble npt-berendsen {NPT} --cell-axes xy --steps 20 "
    note = "note: periodic along xy only: pressure and volume stay empty in thermo.csv; the barostat"
    code, out, _ = call(run + "--output slab")
    assert code == 0
    assert note in " ".join(out.split())
    rows = read_thermo("slab/thermo.csv")
    assert np.isnan([rows["volume_A3"], rows["pxx_GPa"]]).all()
    assert np.isfinite(rows["a_A"]).all()
    sides = [frame.cell.lengths() for frame in ase.io.read("slab/trajectory.extxyz", ":")]
    assert sides[0][0] != sides[-1][0]
    assert sides[0][2] == sides[-1][2]
    assert note in " ".join(call("run --restart slab/checkpoint.npz --steps 20")[1].split())
    held = call("run --restart slab/checkpoint.npz --ensemble nve --steps 20 --output held")[1]
    assert "periodic along" not in held


def test_python_door():
    argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
    bath = BerendsenNPT(
        60.0, coupling_time=60.0, pressure=0.3, pressure_coupling_time=200.0, bulk_modulus=3.0
    )
    simulation = Simulation(ase.io.read("ar.extxyz"), argon, timestep=4.0, ensemble=bath)
    simulation.run(400)
    assert simulation.thermo().pressure == pytest.approx(0.3, abs=0.06)
    atoms = simulation.atoms()
    np.testing.assert_array_equal(atoms.cell.array, simulation.engine.cell)
    assert atoms.get_volume() == pytest.approx(simulation.thermo().volume, rel=1e-14)
