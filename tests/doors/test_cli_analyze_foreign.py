"""`taichimd analyze` of other programs' trajectories: the right D whatever a dump looks like, or one line."""

import re
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms, units
from dumps import dump_text, random_walk

BOX = np.diag([9.0, 10.0, 11.0])
# Steps of 4.5 Å and more are common: half a cell, which nobody can unwrap by guessing.
FAR = random_walk(frames=600, atoms=30, diffusion=30.0, dt=0.1, seed=3)
D = 30.0 * 29 / 30 * 1e-4
"""cm²/s; relative to the centre of mass of 30 atoms."""
STEPS = 100 * np.arange(len(FAR))
OPTIONS = "--msd --window 3ps --fit 0.1ps,2ps --backend cpu"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def diffusion(call, options="--timestep 1fs", name="a.dump"):
    """D (cm²/s), its error, and what was said."""
    code, out, err = call(f"analyze {name} {OPTIONS} {options} --overwrite")
    assert (code, err) == (0, "")
    line = next(line for line in out.splitlines() if line.startswith("D Ar"))
    value, error, power = re.search(r"\(?([\d.]+) ± ([\d.]+)(?:\)e(\S+))? cm", line).groups()
    scale = 10.0 ** int(power or 0)
    return float(value) * scale, float(error) * scale, " ".join(out.split())


@pytest.mark.parametrize("columns", ["id element xu yu zu", "id element xs ys zs ix iy iz"])
def test_unwrapped_columns_and_flags_give_the_diffusion_that_was_put_in(call, columns):
    shuffled = np.random.default_rng(0)
    Path("a.dump").write_text(dump_text(FAR, BOX, STEPS, columns, shuffle=shuffled))
    value, error, said = diffusion(call)
    assert abs(value - D) < 4 * error < 0.3 * D
    assert "taken for wrapping" not in said
    assert "steps of 100 fs" in said
    assert "metal was assumed" in said
    # Without them it can only be guessed, and is far too small: that it was guessed is said.
    Path("a.dump").write_text(dump_text(FAR, BOX, STEPS, "id element x y z"))
    guessed, _, said = diffusion(call)
    assert guessed < 0.9 * D
    assert "jumps of more than half a cell between frames were taken for wrapping" in said


def test_a_tilted_cell_whose_volume_changes(call):
    cells = np.array([[[9.0, 0, 0], [-2.0, 10.0, 0], [1.5, 3.0, 11.0]]]) * (
        1 + 0.01 * np.sin(np.arange(len(FAR)))[:, None, None]
    )
    inside = FAR @ np.linalg.inv(cells.mean(axis=0)) @ cells
    Path("a.dump").write_text(dump_text(inside, cells, STEPS, "id element x y z ix iy iz"))
    value, error, said = diffusion(call)
    assert abs(value - D) < 4 * error < 0.3 * D
    assert "the cell changes: displacements are those at the mean cell" in said
    # Frames alone, with images guessed from fractions: a slower walk, in the same cell.
    slow = FAR / 10.0
    inside = slow @ np.linalg.inv(cells.mean(axis=0)) @ cells
    Path("a.dump").write_text(dump_text(inside, cells, STEPS, "id element xs ys zs"))
    value, error, _ = diffusion(call)
    assert abs(value - D / 100) < 4 * error < 0.003 * D


def test_the_time_of_a_dump_is_its_own(call):
    text = dump_text(FAR, BOX, STEPS, "id element xu yu zu", "ITEM: UNITS\nreal\n", times=STEPS * 1.0)
    Path("a.dump").write_text(text)
    with_time = diffusion(call, "")[0]
    Path("b.dump").write_text(dump_text(FAR, BOX, STEPS, "id element xu yu zu"))
    for options in (
        "--timestep 1fs",
        "--timestep 1",
        "--interval 100fs",
        "--timestep 0.001ps --input-units real",
    ):
        assert diffusion(call, options, "b.dump")[0] == with_time
    assert diffusion(call, "--timestep 2fs --window 6ps --fit 0.2ps,4ps", "b.dump")[0] == pytest.approx(
        with_time / 2, rel=0.01
    )


def test_a_dump_that_a_restart_appended_to_has_the_same_diffusion(call):
    Path("a.dump").write_text(dump_text(FAR, BOX, STEPS, "id element xu yu zu"))
    k = np.r_[0:400, 380:600]
    Path("b.dump").write_text(dump_text(FAR[k], BOX, STEPS[k], "id element xu yu zu"))
    plain, appended = diffusion(call), diffusion(call, name="b.dump")
    assert appended[:2] == plain[:2]
    assert "20 repeated frames were left out" in appended[2]


def test_an_interval_that_changes_keeps_the_common_grid(call):
    """First every 10 steps, then every 100: the frames at multiples of 100 stay."""
    early = random_walk(frames=40, atoms=30, diffusion=30.0, dt=0.01, seed=5)
    early += FAR[0] - early[0]
    x = np.concatenate([early[:10], FAR[1:]])
    steps = np.concatenate([np.arange(10) * 10, STEPS[1:]])
    Path("a.dump").write_text(dump_text(x, BOX, steps, "id element xu yu zu"))
    value, error, said = diffusion(call)
    assert abs(value - D) < 4 * error < 0.3 * D
    assert "left out, because their times are no multiples of 0.1 ps: 9 frames" in said


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (np.r_[STEPS[:300], STEPS[300:] + 250], "MSD needs frames equally spaced in time"),
        (
            np.r_[STEPS[:300], STEPS[:300]],
            "in the order of time, but frame 300 (0 ps) is at the time of frame 0",
        ),
        (
            np.r_[STEPS[:300], STEPS[:300] + 50],
            "but frame 300 (0.05 ps) goes back in time; analyse one run at",
        ),
    ],
)
def test_uneven_and_backward_clocks_are_refused(call, steps, message):
    Path("a.dump").write_text(dump_text(FAR, BOX, steps, "id element xu yu zu"))
    code, _, err = call(f"analyze a.dump {OPTIONS} --timestep 1fs")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("id element xu yu zu", "--msd", "so give --timestep 1fs, or --interval 10fs"),
        ("element xu yu zu", "--msd --timestep 1fs", "MSD needs the ids of the atoms"),
        ("id element xu yu zu", "--vacf --timestep 1fs", "VACF needs velocities"),
        ("id type xu yu zu", "--msd --timestep 1fs", "give --elements, one for each type in turn"),
        ("id element xu yu zu", "--rdf --input-units lj", "input_units = 'lj': expected metal, real"),
        ("id element xu yu zu", "--msd --timestep 0", "timestep = '0': expected a number above 0 (fs)"),
        ("id element xu yu zu", "--msd --elements ,", "elements = ',': expected elements with commas"),
    ],
)
def test_what_a_dump_lacks_is_one_line(call, columns, options, message):
    types = np.full(30, 1)
    Path("a.dump").write_text(dump_text(FAR[:20], BOX, STEPS[:20], columns, types=types))
    code, _, err = call(f"analyze a.dump {options}")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def images(n=60, **more):
    x = random_walk(frames=n, atoms=8, seed=2)
    return [Atoms("Ar8", positions=p, cell=BOX, pbc=True, **more) for p in x]


def test_extxyz_of_other_programs_is_checked_by_whatever_clock_it_has(call):
    frames = images()
    for k, atoms in enumerate(frames):
        atoms.info["Time"] = 100.0 * k + (70.0 if k > 30 else 0.0)
        atoms.arrays["vel"] = np.random.default_rng(k).normal(size=(8, 3))
    ase.io.write("gpumd.xyz", frames, format="extxyz")
    code, _, err = call("analyze gpumd.xyz --msd --interval 100fs")
    assert code == 2
    assert "needs frames equally spaced in time, but not all are 100" in err
    for atoms in frames:
        atoms.info["Time"] = 0.0
    ase.io.write("gpumd.xyz", frames, format="extxyz")
    assert "frame 1 (time 0) is at the time of frame 0" in call("analyze gpumd.xyz --msd --interval 100fs")[2]
    for k, atoms in enumerate(frames):
        atoms.info["Time"] = 100.0 * k
    ase.io.write("gpumd.xyz", frames, format="extxyz")
    code, out, _ = call("analyze gpumd.xyz --vacf --interval 100fs")
    assert code == 0
    assert (
        "the unit of the column 'vel' is not stated: it is used where only ratios of velocities count" in out
    )


def test_a_trajectory_without_a_clock_drops_frames_that_stand_twice(call):
    frames = images()
    ase.io.write("a.traj", [*frames[:30], frames[29], *frames[30:]])
    code, out, _ = call("analyze a.traj --msd --interval 100fs")
    assert code == 0
    assert "60 frames, 8 atoms, 5.9 ps in steps of 100 fs" in out
    assert "1 repeated frames were left out" in out


def test_an_xdatcar_needs_its_interval(call):
    ase.io.write("XDATCAR", images(), format="vasp-xdatcar")
    code, _, err = call("analyze XDATCAR --msd")
    assert code == 2
    assert "MSD needs the time between frames, which the file does not say: give --interval" in err
    code, out, _ = call("analyze XDATCAR --msd --interval 10fs")
    assert code == 0
    assert "60 frames, 8 atoms" in out


def test_the_interval_of_ases_dynamics_is_taken_from_their_header(call):
    from ase.calculators.lj import LennardJones
    from ase.md.verlet import VelocityVerlet

    atoms = Atoms("Ar2", positions=[[0, 0, 0], [0, 0, 1.1]], cell=[9, 9, 9], pbc=True)
    atoms.calc = LennardJones()
    VelocityVerlet(atoms, 2 * units.fs, trajectory="md.traj", loginterval=5).run(100)
    code, out, _ = call("analyze md.traj --msd --equilibrate 0fs")
    assert code == 0
    assert "21 frames, 2 atoms, 0.2 ps in steps of 10 fs" in out
    assert "frames are taken to be 10 fs apart, as the header of the file says" in " ".join(out.split())
    given = "analyze md.traj --msd --interval 20fs --equilibrate 0fs --overwrite"
    assert "in steps of 20 fs" in call(given)[1]
