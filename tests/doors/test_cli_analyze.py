"""`taichimd analyze`: right numbers from files, and what is said of them."""

import csv
import json
import re
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from matplotlib.figure import Figure
from oscillators import frames, save, uneven, without_cell
from scipy.integrate import trapezoid

from taichimd.estimators.series import Mean
from taichimd.io.analysis_files import read_table
from taichimd.observables.numbers import finding, never_negative, plus_minus


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_everything_from_one_file(call, folder):
    save(frames(600))
    code, out, err = call("analyze t.extxyz --window 1ps --r-max 6 --bins 300")
    assert (code, err) == (0, "")
    assert "600 frames, 8 atoms, 5.99 ps in steps of 10 fs" in out
    assert "DOS C       highest at 10 THz, integral 12" in out
    assert "DOS Si      highest at 5 THz, integral 12" in out
    assert "faster than 50 THz folds back" in out
    assert len(out.splitlines()) < 24
    results = folder / "taichimd-analysis"
    assert sorted(f.name for f in results.iterdir()) == [
        "analysis.csv", "analysis.json", "dos.csv", "msd.csv", "msd.png", "rdf.csv", "rdf.png", "vacf.csv",
        "vacf.png",
    ]  # fmt: skip
    rdf = read_table(results / "rdf.csv")
    for name, number in (("n_Si_around_C", 4), ("n_C_around_Si", 4), ("n_C_around_C", 0)):
        assert np.interp(2.5, rdf["edge_A"], rdf[name]) == pytest.approx(number)
    np.testing.assert_allclose(rdf["n_C_around_C"][-1], 12 + 6 + 24)
    msd = read_table(results / "msd.csv")
    # An oscillator of amplitude A: A^2 (1 - cos wt), and the centre of mass stays out of it, roughly.
    np.testing.assert_allclose(
        msd["msd_Si_A2"], 0.05**2 * (1 - np.cos(10 * np.pi * msd["time_ps"])), atol=2e-3
    )
    vacf = read_table(results / "vacf.csv")
    np.testing.assert_allclose(vacf["vacf_C"], np.cos(20 * np.pi * vacf["time_ps"]), atol=0.08)
    dos = read_table(results / "dos.csv")
    assert trapezoid(dos["dos_all_per_THz"], dos["frequency_THz"]) == pytest.approx(24, rel=1e-9)


def test_diffusion_of_wrapped_brownian_motion(call, folder):
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(2000, 60, 3)) * np.sqrt(2 * 0.5 * 0.1)  # D = 0.5 Å²/ps, 0.1 ps
    images = [Atoms("Ar60", positions=p, cell=[9, 10, 11], pbc=True) for p in np.cumsum(steps, axis=0)]
    for image in images:
        image.wrap()
    ase.io.write("walk.traj", images)
    code, out, err = call("analyze walk.traj --msd --interval 100fs --window 4ps --fit 1ps,4ps --output o")
    assert (code, err) == (0, "")
    assert "jumps of more than half a cell between frames were taken for wrapping" in out
    value, error = re.search(r"D Ar +\(([\d.]+) ± ([\d.]+)\)e-05 cm²/s", out).groups()
    # 0.5 Å²/ps are 5e-5 cm²/s; without the drift of the centre of mass, 59/60 of it.
    assert abs(float(value) - 5 * 59 / 60) < 6 * float(error) < 1
    assert "slope from 1 to 4 ps" in out
    assert sorted(f.name for f in (folder / "o").glob("msd*")) == ["msd.csv", "msd.png"]


def test_folded_atoms_without_their_cell_are_suspected(call):
    x = np.random.default_rng(1).uniform(0, 10, (20, 3)) + 0.3 * np.arange(40)[:, None, None]
    for name, positions in (("whole.xyz", x), ("folded.xyz", x % 10.0)):
        ase.io.write(name, [Atoms("Ar20", positions=p) for p in positions], format="xyz")
        out = call(f"analyze {name} --msd --interval 10fs --output {name[:-4]}")[1]
        assert ("the file has no cell, and atoms jump" in " ".join(out.split())) == (name == "folded.xyz")


def test_a_single_atom_is_not_taken_for_its_drift(call):
    walk = np.cumsum(np.random.default_rng(2).normal(size=(400, 1, 3)), axis=0)
    ase.io.write("one.extxyz", [Atoms("Ar", p, cell=[20, 20, 20], pbc=True) for p in walk])
    assert call("analyze one.extxyz --msd --interval 10fs --output one")[0] == 0
    found = read_table(Path("one/msd.csv"))
    np.testing.assert_allclose(found["msd_Ar_A2"][1:4], [3, 6, 9], rtol=0.3)


def test_atoms_that_fly_freely_do_not_diffuse(call):
    velocities = np.random.default_rng(1).normal(size=(8, 3))
    images = frames(40)
    for k, image in enumerate(images):
        image.positions = images[0].positions + 0.01 * k * velocities
    save(images)
    code, out, _ = call("analyze t.extxyz --msd")
    assert code == 0
    shown = " ".join(out.split())
    assert "slope from 0.02 to 0.04 ps (NOT DIFFUSIVE: the window ends in the ballistic regime)" in shown


def test_what_the_file_lacks_is_left_out_with_a_note(call):
    images = frames(12, times=False, velocities=False)
    for image in images:
        image.pbc = (True, True, False)
    save(images)
    assert call("analyze t.extxyz")[0] == 2
    code, out, _ = call("analyze t.extxyz --interval 10fs")
    assert code == 0
    assert "note: RDF left out: it needs a cell that is periodic in three directions" in out
    assert "note: VACF left out: it needs velocities" in out


def test_one_frame_has_a_radial_distribution(call):
    save(frames(1))
    code, out, _ = call("analyze t.extxyz")
    assert code == 0
    assert "RDF C-Si    highest at" in out
    assert "note: too few frames for errors" in out
    assert "note: MSD left out: it needs 4 frames or more, the file has 1" in out


def test_bonds_of_a_length(call, folder):
    save(frames(40))
    code, out, err = call("analyze t.extxyz --angles 2.2 --blocks 4")
    assert (code, err) == (0, "")
    # Zincblende: four bonds of 1.89 Å an atom, all between unlike atoms.
    assert "angle Si-C-Si  highest at 109" in out
    assert "Si around C    4 ± 0 within 2.2 Å: 100% have 4" in out
    assert "C around C" not in out
    assert "RDF" not in out
    results = folder / "taichimd-analysis"
    assert sorted(f.name for f in results.glob("[!a]*")) == ["coordination.csv"]
    angles = read_table(results / "angles.csv")
    density = angles["p_C-Si-C_per_deg"]
    assert density.sum() == pytest.approx(1.0)
    assert angles["angle_deg"][density > 0].min() > 100
    assert np.isfinite(angles["error_C-Si-C"]).all()
    table = read_table(results / "coordination.csv")
    np.testing.assert_array_equal(table["fraction_C_around_Si"], table["neighbours"] == 4)
    np.testing.assert_array_equal(table["fraction_C_around_C"], table["neighbours"] == 0)


def without_cell_far_apart():
    """4,000 atoms of a cluster, in a ball of about the bonds' length."""
    atoms = Atoms("Ar4000", positions=np.random.default_rng(0).uniform(0, 100, (4000, 3)))
    return [atoms]


def test_one_block_is_a_choice_and_not_a_short_run(call):
    save(frames(12))
    assert (
        "note: too few blocks for errors: take two blocks or more" in call("analyze t.extxyz --blocks 1")[1]
    )


@pytest.mark.parametrize("make", [lambda: frames(4), without_cell_far_apart])
def test_bonds_as_long_as_a_town_are_refused_before_they_are_counted(call, make):
    save(make())
    code, _, err = call("analyze t.extxyz --angles 100")
    assert (code, err.count("\n")) == (2, 1)
    assert "bonds of 100 Å: about" in err
    assert "expected 300 or fewer: take a shorter bond length" in err


def test_bonds_need_no_periodic_cell(call):
    save(without_cell())
    code, out, _ = call("analyze t.extxyz --angles 2.2 --interval 10fs")
    assert code == 0
    assert "angle C-Si-C" in out


def test_a_frame_at_another_time_is_left_out(call):
    images = frames(21)
    images[20].info["time_ps"] = 0.193
    save(images)
    code, out, _ = call("analyze t.extxyz --msd")
    assert code == 0
    assert "20 frames, 8 atoms, 0.19 ps in steps of 10 fs" in out
    assert "note: left out, because their times are no multiples of 0.01 ps: 1 frame" in out


def test_earlier_analysis_is_replaced_only_on_demand(call):
    save(frames(12))
    assert call("analyze t.extxyz --msd --output o")[0] == 0
    code, _, err = call("analyze t.extxyz --msd --output o")
    assert code == 2
    assert "already; choose another --output, or give --overwrite to replace them" in err
    assert call("analyze t.extxyz --msd --output o --overwrite")[0] == 0


def drawn(monkeypatch, call, options):
    """Axes of the pictures that `analyze` draws, panel after panel."""
    axes = []

    def draw(path, title, panels):
        for panel in panels:
            axes.append(Figure().add_subplot())
            panel(axes[-1])

    with monkeypatch.context() as patched:
        patched.setattr("taichimd.observables.observable.draw", draw)
        code, out, _ = call(f"analyze t.extxyz {options} --overwrite")
    assert code == 0
    return axes, " ".join(out.split())


def test_a_radial_distribution_is_drawn_with_a_line_at_1(call, monkeypatch):
    save(frames(12))
    (g, neighbours), _ = drawn(monkeypatch, call, "--rdf")
    assert [list(line.get_ydata()) for line in g.lines].count([1.0, 1.0]) == 1
    assert all(list(line.get_ydata()) != [1.0, 1.0] for line in neighbours.lines)


def test_a_displacement_is_drawn_with_its_line_and_d(call, monkeypatch):
    """The line has the slope 6 D of the summary, and goes through the mean of what it was fitted to."""
    save(frames(40))
    (axis,), out = drawn(monkeypatch, call, "--msd --fit 0.01ps,0.03ps")
    table = read_table(Path("taichimd-analysis/msd.csv"))
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    curves, fits = axis.lines[:2], axis.lines[2:]
    assert legend == [*(line.get_label() for line in curves), "fit"]
    for curve, fit, name in zip(curves, fits, ("C", "Si"), strict=True):
        t, y = fit.get_data()
        np.testing.assert_allclose(t, [0.01, 0.03], rtol=1e-12)
        written = re.search(rf"D {name} (\(?)(\S+) ± [^ )]+\)?(\S*) cm²/s, slope", out)
        d = float(written[2] + written[3])
        assert (y[1] - y[0]) / (t[1] - t[0]) / 6.0 * 1e-4 == pytest.approx(d, rel=0.1)
        assert y.mean() == pytest.approx(table[f"msd_{name}_A2"][1:4].mean(), rel=1e-9)
        assert str(curve.get_label()).startswith(f"{name}: D = {written[1]}{written[2]} ±")


@pytest.mark.parametrize(("plot_format", "first"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_pictures_have_the_format_that_was_asked_for(call, folder, plot_format, first):
    save(frames(12))
    assert call(f"analyze t.extxyz --plot-format {plot_format} --output o")[0] == 0
    names = {kind: folder / "o" / f"{kind}.{plot_format}" for kind in ("rdf", "msd", "vacf")}
    assert {path for path in (folder / "o").iterdir() if path.suffix not in (".csv", ".json")} == set(
        names.values()
    )
    assert all(path.read_bytes().startswith(first) for path in names.values())


def test_quiet_prints_nothing_but_errors(call):
    save(frames(12))
    assert call("analyze t.extxyz --quiet --output o") == (0, "", "")
    code, out, err = call("analyze t.extxyz --quiet --output o")
    assert (code, out) == (2, "")
    assert "o has " in err


def test_uneven_times_do_not_matter_to_a_radial_distribution(call):
    save(uneven())
    code, out, _ = call("analyze t.extxyz")
    assert code == 0
    assert "12 frames, 8 atoms" in out
    assert "note: MSD left out: it needs frames equally spaced in time" in out
    assert "the start of production is not looked for, because frames are not evenly spaced" in " ".join(
        out.split()
    )
    code, out, _ = call("analyze t.extxyz --rdf --equilibrate 60fs --overwrite")
    assert code == 0
    assert "6 frames, 8 atoms" in out


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (78.26, 39.2, "78 ± 39"),
        (0.29104, 0.0174, "0.291 ± 0.017"),
        (2.4498e-5, 3.1e-7, "(2.450 ± 0.031)e-05"),
        (-1.5e-7, 8.2e-6, "(-0.1 ± 8.2)e-06"),
        (2847.3, 490.0, "2847 ± 490"),
        (3.97e8, 1.2e6, "(3.970 ± 0.012)e+08"),
        (4.0, 0.0, "4 ± 0"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (1.2345, float("nan"), "1.23"),
    ],
)
def test_a_value_has_the_digits_that_its_error_leaves(value, error, words):
    assert plus_minus(Mean(value, error, 5)) == words


def test_vibrations_are_those_about_the_centre_of_mass(call, folder):
    images = frames(400)
    for name, speed in (("resting", 0.0), ("moving", 0.3)):
        for atoms in images:
            atoms.set_velocities(atoms.get_velocities() + np.array([speed, 0.0, 0.0]))
        save(images, f"{name}.extxyz")
        assert call(f"analyze {name}.extxyz --vacf --output {name}")[0] == 0
    for table in ("vacf.csv", "dos.csv"):
        at_rest, moving = (read_table(folder / name / table) for name in ("resting", "moving"))
        for column, values in at_rest.items():
            np.testing.assert_allclose(moving[column], values, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("step", "folded"), [(0.01, ""), (0.052, "C, Si, all")])
def test_vibrations_that_the_frames_fold_back_are_noted(call, step, folded):
    # Of 10 THz; frames show up to 50 and 9.6 THz. What C does, Si does relative to the centre of mass.
    save(frames(400, step=step))
    out = " ".join(call("analyze t.extxyz --vacf --window 2ps")[1].split())
    assert f"note: DOS {folded}: states reach" in out if folded else "note" not in out


def test_atoms_that_stay_near_their_places_do_not_diffuse(call):
    save(frames(400))
    out = " ".join(call("analyze t.extxyz --msd")[1].split())
    assert "(NOT DIFFUSIVE: atoms stay near their places; in a solid the slope means nothing)" in out


def test_what_a_person_is_told_the_record_has_too(call, monkeypatch):
    """A solid's D is no D: on the terminal, in both records, in the picture; a negative one has no value."""
    save(frames(400))
    (axis,), out = drawn(monkeypatch, call, "--msd --window 1ps --blocks 2 --equilibrate 0fs")
    report = json.loads(Path("taichimd-analysis/analysis.json").read_text())
    with open("taichimd-analysis/analysis.csv") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    for name, one in report["values"].items():
        assert one["status"] == "not diffusive"
        assert "atoms stay near their places; in a solid the slope means nothing" in one["note"]
        assert one["value"] is None or one["value"] > 0
        row = rows[name]
        assert (row["status"], row["note"], row["unit"]) == (one["status"], one["note"], one["unit"])
        assert row["value"] == ("" if one["value"] is None else repr(one["value"]))
        assert any(text.endswith("(not diffusive)") for text in legend if text.startswith(name[2:] + ":"))
    assert out.count("NOT DIFFUSIVE") == 2
    assert report["observables"]["msd"]["status"] == "not diffusive"


def test_a_shrinking_displacement_has_no_diffusion_coefficient(call):
    """Two atoms that return to where they were: the slope is below zero, and said."""
    images = []
    for k in range(100):
        atoms = Atoms("Ar2", positions=[[2, 2, 2], [6, 6, 6.0]], cell=[9, 9, 9], pbc=True)
        atoms.positions[0, 0] += np.sin(2 * np.pi * k / 20)
        images.append(atoms)
    save(images)
    out = " ".join(
        call("analyze t.extxyz --msd --interval 10fs --window 200fs --fit 100fs,200fs --blocks 4")[1].split()
    )
    one = json.loads(Path("taichimd-analysis/analysis.json").read_text())["values"]["D_Ar"]
    assert (one["value"], one["error"], one["status"]) == (None, None, "not diffusive")
    assert re.search(r"-\S+( ± \S+)? cm²/s was found, and it cannot be negative", one["note"])
    assert "D Ar no value, slope from 0.1 to 0.2 ps (NOT DIFFUSIVE: " in out


@pytest.mark.parametrize(
    ("value", "error", "expected", "status", "words"),
    [
        (5.0, 1.0, 5.0, "ok", ""),
        (5.0, np.nan, 5.0, "ok", ""),
        (1.0, 1.0, 1.0, "zero within error", "1.0 ± 1.0 Pa s does not differ from zero by more than 2"),
        (-1.0, 1.0, -1.0, "zero within error", "-1.0 ± 1.0 Pa s does not differ from zero"),
        (-5.0, 1.0, None, "no value", "-5.0 ± 1.0 Pa s was found, and it cannot be negative"),
        (-5.0, np.nan, None, "no value", "-5 Pa s was found, and it cannot be negative"),
        (np.nan, np.nan, None, "no value", ""),
    ],
)
def test_what_nature_has_above_zero(value, error, expected, status, words):
    one = never_negative(finding(value, error, "Pa s"))
    assert (one.value, one.status) == (expected, status)
    assert one.note.startswith(words)
    assert (one.error is None) == (expected is None or np.isnan(error))


def heated(count=200):
    """A record whose first quarter is hotter and a little larger, in its numbers alone."""
    rng = np.random.default_rng(0)
    images = frames(count)
    for k, atoms in enumerate(images):
        energy = -10.0 + 0.1 * rng.normal() + (5.0 if k < count // 4 else 0.0)
        atoms.set_velocities(rng.normal(size=(8, 3)) * (2.0 if k < count // 4 else 1.0))
        atoms.calc = SinglePointCalculator(atoms, energy=energy)
    return images


@pytest.mark.parametrize(
    ("options", "method", "left_out"),
    [
        ("", "detected", 50),
        ("--equilibrate 0.8ps", "equilibrate", 80),
        ("--equilibrate 0fs", "equilibrate", 0),
        ("--skip 30", "skip", 0),
    ],
)
def test_where_production_begins_is_found_or_given(call, options, method, left_out):
    save(heated())
    code, out, _ = call(f"analyze t.extxyz --rdf {options}")
    assert code == 0
    production = json.loads(Path("taichimd-analysis/analysis.json").read_text())["production"]
    assert production["method"] == method
    assert abs(production["left_out"] - left_out) <= (2 if method == "detected" else 0)
    assert production["frames"] == 200 - production["left_out"] - 30 * (method == "skip")
    if method == "detected":
        assert production["decided_by"] == ["potential energy", "temperature"]
        assert "frames are equilibration (found from potential energy, temperature)" in " ".join(out.split())


def test_a_file_that_tells_nothing_of_equilibration_is_used_whole(call):
    save(frames(40, velocities=False))
    out = " ".join(call("analyze t.extxyz --msd")[1].split())
    assert "production all frames" in out
    assert "nothing in the file says where production begins" in out
    assert "leave equilibration out with --equilibrate" in out
    code, _, err = call("analyze t.extxyz --msd --equilibrate 1ns --overwrite")
    assert (code, err.count("\n")) == (2, 1)
    assert "equilibrate = 1000 ps leaves none of the 40 frames" in err
    save(frames(40, times=False))
    assert "needs the time between frames" in call("analyze t.extxyz --rdf --equilibrate 1ps --output b")[2]
