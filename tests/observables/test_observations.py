"""What a run observes on the device is what `analyze` and NumPy find from the same samples."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from interrupted import interrupted

from taichimd import BerendsenNPT, Langevin, LennardJones, Simulation
from taichimd.app.live import Observations
from taichimd.app.observer import Sampler
from taichimd.core.errors import AnalysisError, SettingsError
from taichimd.core.units import FS, KB
from taichimd.estimators.transport import green_kubo_conductivity, green_kubo_viscosity
from taichimd.io.analysis_files import read_table
from taichimd.observables import observable
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.plan import Plan
from taichimd.observables.planning import make_plan, parse_kinds
from taichimd.observables.registry import OF_RUNS
from taichimd.program.heat import heat_current
from taichimd.system.velocities import drift, maxwell_boltzmann

ARGON = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=7.0, truncation="force-shifted")
ALL = "rdf,msd,vacf,heat,viscosity"
TABLES = [f"{name}.csv" for kind in ALL.split(",") for name in OF_RUNS[kind].tables]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    crystal = bulk("Ar", a=5.6, cubic=True) * 3
    crystal.symbols[::3] = "Kr"
    crystal.rattle(0.05, seed=1)
    crystal.write("s.extxyz")
    (tmp_path / "two.py").write_text(
        "from taichimd import LennardJones\n"
        "mixture = LennardJones(cutoff=7.0, pairs={'Ar': {'epsilon': 0.0104, 'sigma': 3.4}, "
        "'Kr': {'epsilon': 0.0140, 'sigma': 3.65}})\n"
    )
    return tmp_path


RUN = "run s.extxyz --potential two.py:mixture --temperature 300 --backend cpu "


def columns_agree(one, other, names, **tolerance):
    for name in names:
        np.testing.assert_allclose(one[name], other[name], err_msg=name, **tolerance)


def test_a_run_observes_what_analyze_finds_in_its_trajectory(call):
    """Every sample is a frame: the same blocks, the same windows, so the same curves and the same errors."""
    code, out, err = call(RUN + f"--steps 243 --every 3 --observe {ALL} --observe-every 3 --output o")
    assert (code, err) == (0, "")
    assert "kappa" in out
    assert "viscosity" in out
    assert call("analyze o/trajectory.extxyz --equilibrate 0fs --output a --backend cpu")[0] == 0
    for name in ("rdf.csv", "msd.csv", "vacf.csv", "dos.csv"):
        found, expected = read_table(Path(f"o/{name}")), read_table(Path(f"a/{name}"))
        assert list(found) == list(expected)
        columns_agree(found, expected, expected, rtol=1e-6, atol=1e-7 if name != "dos.csv" else 1e-5)
    report = json.load(open("o/run.json"))["observed"]
    assert report["samples_taken"] == report["plan"]["samples"] == 82
    assert report["plan"]["blocks"] == 5
    assert any(row[0] == "kappa" for row in report["results"])
    check_values(report["values"], report["plan"], dict(report["results"]))


def assert_found(one, expected, unit):
    """A transport coefficient; one that is below zero by more than its error has no value."""
    assert one["unit"] == unit
    if one["status"] == "no value":
        assert one["value"] is None
        assert expected < 0
        assert "cannot be negative" in one["note"]
    else:
        assert one["value"] == pytest.approx(expected, rel=1e-9)


def check_values(values, plan, rows):
    """The numbers of run.json are what its tables say."""
    assert {tuple(value) for value in values.values()} == {("value", "error", "unit", "status", "note")}
    # Where there is no error the note says why.
    assert all(one["note"] for one in values.values() if one["error"] is None)
    tables = {name: read_table(Path(f"o/{name}.csv")) for name in ("rdf", "msd", "dos", "kappa", "viscosity")}
    for table, unit, channels in (("kappa", "W/(m K)", "xyz"), ("viscosity", "Pa s", ("xy", "xz", "yz"))):
        plateau = slice(plan["lags"] // 2, None)
        column = next(name for name in tables[table] if name.startswith(f"{table}_"))
        expected = tables[table][column][plateau].mean()
        assert_found(values[table], expected, unit)
        for channel in channels:
            found = values[f"{table}_{channel}"]
            expected = tables[table][f"{table}_{channel}"][plateau].mean()
            assert_found(found, expected, unit)
    for name in ("Ar", "Kr"):
        start = float(re.search(r"slope from ([\d.]+) to", rows[f"D {name}"])[1]) / plan["interval"]
        line = slice(round(start), None)
        time, squares = tables["msd"]["time_ps"][line], tables["msd"][f"msd_{name}_A2"][line]
        slope = np.polyfit(time, squares, 1)[0]
        assert values[f"D_{name}"]["value"] == pytest.approx(slope / 6.0 * 1e-4, rel=1e-7)  # Å²/ps in cm²/s
        assert (values[f"D_{name}"]["unit"], values[f"D_{name}"]["error"] > 0.0) == ("cm²/s", True)
        top = tables["dos"][f"dos_{name}_per_THz"].argmax()
        found = values[f"dos_{name}_position"]
        assert found["value"] == pytest.approx(tables["dos"]["frequency_THz"][top])
        assert (found["error"], found["unit"]) == (None, "THz")
    top = tables["rdf"]["g_Ar-Kr"].argmax()
    for what, column, unit in (("position", "r_A", "Å"), ("height", "g_Ar-Kr", "1")):
        found = values[f"rdf_Ar-Kr_{what}"]
        assert (found["value"], found["unit"]) == (pytest.approx(tables["rdf"][column][top]), unit)
    error, in_table = values["rdf_Ar-Kr_height"]["error"], tables["rdf"]["error_Ar-Kr"][top]
    assert in_table == pytest.approx(np.nan if error is None else error, nan_ok=True)
    edge = values["rdf_Ar-Kr_edge"]["value"]
    around = np.interp(edge, tables["rdf"]["edge_A"], tables["rdf"]["n_Kr_around_Ar"])
    assert values["n_Kr_around_Ar"]["value"] == pytest.approx(around)


def test_a_single_block_has_values_without_errors():
    simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, temperature=100.0, backend="cpu")
    observations = Observations(simulation.engine, make_plan(("rdf", "msd"), 0, 6, 1.0, 1))
    simulation.run(6, samplers=[observations])
    observations.write(Path("."), "argon")
    assert observations.values["D_Ar"]["error"] is None
    text = json.dumps(observations.values, allow_nan=False)
    assert json.loads(text) == observations.values
    # A plan that begins later leaves out what comes before it.
    late = Observations(simulation.engine, make_plan(("rdf", "msd"), 9, 6, 1.0, 1))
    simulation.run(9, samplers=[late])
    assert (late.taken, late.complete) == (7, True)


class Host(Sampler):
    """Heat current and stress of each sample by NumPy, from the per-atom numbers."""

    at_rest = False  # relative to the centre of mass

    def __init__(self, every):
        self.every, self.heat, self.stress, self.kinetic = every, [], [], []

    def sample(self, simulation):
        engine = simulation.engine
        found, v, m = engine.evaluate(), engine.velocities(), engine.masses
        v = v - drift(m, v) if self.at_rest else v
        self.heat.append(np.ravel(heat_current(found.energies, found.virials, v, m)))
        full = found.virials.sum(axis=0)
        full = 0.5 * (full + full.T) + np.einsum("i,ia,ib->ab", m, v, v)
        self.stress.append(full[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]])
        self.kinetic.append(0.5 * (m[:, None] * v**2).sum())


def test_sums_are_those_of_numpy_and_tables_those_of_the_estimators():
    atoms = bulk("Ar", a=5.6, cubic=True) * 5  # 500 atoms: two pieces of the sums
    simulation = Simulation(atoms, ARGON, timestep=4.0, temperature=200.0, backend="cpu")
    plan = make_plan(("heat", "viscosity"), 0, 120, 4.0, 4, 40.0)
    observations, host = Observations(simulation.engine, plan), Host(4)
    simulation.run(120, samplers=[observations, host])
    heat, stress = (
        observations.observables["heat"].series.rows(),
        observations.observables["viscosity"].series.rows(),
    )
    assert heat.shape == (31, 7)
    scale = np.abs(host.heat).max()
    np.testing.assert_allclose(heat[:, :6], host.heat, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(stress[:, :6], host.stress, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(heat[:, 6], host.kinetic, rtol=1e-12)
    # Bits, because both add up the same pieces.
    assert heat[-1, :6].tolist() == np.ravel(simulation.engine.heat_current()).tolist()
    observations.write(Path("."), "argon")
    temperature = 2 * np.mean(host.kinetic) / ((3 * 500 - 3) * KB)
    current = np.array(host.heat)[:, :3] + np.array(host.heat)[:, 3:]
    common = {
        "volume": atoms.cell.volume,
        "temperature": temperature,
        "window": 40 * FS,
    }
    expected = green_kubo_conductivity(current, 16 * FS, **common, plateau=(0.0, 32 * FS))
    table = read_table(Path("kappa.csv"))
    np.testing.assert_allclose(table["kappa_W_per_mK"], expected.running_mean.value, rtol=1e-8)
    np.testing.assert_allclose(table["error_y"], expected.running.error[:, 1], rtol=1e-6)
    stresses = np.array(host.stress) / atoms.cell.volume
    viscous = green_kubo_viscosity(stresses, 16 * FS, **common, plateau=(0.0, 32 * FS))
    np.testing.assert_allclose(
        read_table(Path("viscosity.csv"))["viscosity_xy"], viscous.running.value[:, 0], rtol=1e-8
    )
    series = read_table(Path("heat_current.csv"))
    np.testing.assert_allclose(series["kinetic_z_eVA_per_fs"], np.array(host.heat)[:, 5] * FS, rtol=1e-9)
    assert series["time_ps"][1] == pytest.approx(0.016)


def test_samples_wait_on_the_device_and_none_is_lost(monkeypatch):
    from taichimd.observables.samplers import sum_series

    monkeypatch.setattr(sum_series, "MAX_SAMPLES", 7)
    simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, temperature=100.0, backend="cpu")
    observations = Observations(simulation.engine, make_plan(("heat",), 0, 20, 1.0, 1))
    seen = []

    class Watch(Sampler):
        def sample(self, simulation):
            seen.append(np.ravel(simulation.engine.heat_current()))

    simulation.run(20, samplers=[observations, Watch()])
    np.testing.assert_array_equal(observations.observables["heat"].series.rows()[:, :6], seen)


def test_observing_changes_no_bit_of_the_trajectory():
    ends = []
    for observe in (False, True):
        simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, temperature=150.0, backend="cpu")
        plan = make_plan(tuple(ALL.split(",")), 0, 60, 1.0, 3)
        simulation.run(60, samplers=[Observations(simulation.engine, plan)] if observe else ())
        ends.append(simulation.positions())
    np.testing.assert_array_equal(*ends)


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("ensemble", ["nve", "nvt-langevin"])
def test_a_stopped_and_restarted_run_writes_the_same_tables(call, monkeypatch, ensemble):
    observe = f"--ensemble {ensemble} --observe {ALL} --observe-every 5 --every 50 --observe-window 60fs "
    monkeypatch.setattr(
        observable, "draw", lambda *_: None
    )  # pictures are not the point, and take most of the time
    assert call(RUN + observe + "--steps 200 --output whole")[0] == 0
    with interrupted(monkeypatch, 90):
        code, out, _ = call(RUN + observe + "--steps 200 --output cut")
    assert code == 130
    assert "19 of 41 samples" in out
    assert not os.path.exists("cut/rdf.csv")
    # Another ensemble samples another thing.
    code, out, err = call("run --trust --restart cut/checkpoint.npz --observe none --output without")
    assert (code, err, os.path.exists("without/rdf.csv")) == (0, "", False)
    out = call("run --trust --restart cut/checkpoint.npz --ensemble nvt-bussi --output other")[1]
    assert "observations start again at step 90" in out
    code, out, err = call("run --trust --restart cut/checkpoint.npz")
    assert (code, err) == (0, "")
    for name in TABLES:
        assert open(f"cut/{name}").read() == open(f"whole/{name}").read(), name
    # Killed while its tables were written, too.
    with monkeypatch.context() as patch:
        patch.setattr(Observations, "write", interrupt)
        assert call(RUN + observe + "--steps 200 --output late")[0] == 130
    assert call("run --trust --restart late/checkpoint.npz")[0] == 0
    for name in TABLES:
        assert open(f"late/{name}").read() == open(f"whole/{name}").read(), name
    # A longer run is another plan: its samples begin where it begins.
    code, out, err = call("run --trust --restart cut/checkpoint.npz --steps 70 --output more")
    assert (code, err) == (0, "")
    assert "observations start again at step 200" in out
    assert json.load(open("more/run.json"))["observed"]["plan"]["first_step"] == 200


class Hottest(RunObservable):
    """The kinetic energy of the fastest atom: all that another observable takes."""

    name, tables, picture = "hottest", ("hottest",), "hottest"

    def __init__(self, run):
        super().__init__(run)
        self.seen = []
        run.samplers["hottest"] = self

    def sample(self, state, energies, virials, centre):
        self.seen.append((0.5 * state.vel.to_numpy() ** 2).sum(axis=1).max())

    def save(self):
        return {"seen": np.array(self.seen)}

    def load(self, saved):
        self.seen = saved["seen"].tolist()

    def result(self):
        return Result([{"e": np.array(self.seen)}], [lambda axis: axis.plot(self.seen)], [("hottest", "yes")])


def test_another_observable_is_a_class_and_a_line_of_the_registry(call, monkeypatch):
    monkeypatch.setitem(OF_RUNS, "hottest", Hottest)
    line = RUN + "--steps 40 --observe hottest,msd --observe-every 10 --output "
    assert call(line + "whole")[0] == 0
    with interrupted(monkeypatch, 20):
        assert call(line + "cut")[0] == 130
    code, out, _ = call("run --trust --restart cut/checkpoint.npz")
    assert code == 0
    assert "hottest" in out
    assert os.path.exists("cut/hottest.png")
    assert open("cut/hottest.csv").read() == open("whole/hottest.csv").read()
    assert len(read_table(Path("cut/hottest.csv"))["e"]) == 5


def test_checkpoints_of_earlier_versions_go_on():
    simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, temperature=100.0, backend="cpu")
    plan = make_plan(("rdf", "msd", "vacf"), 0, 40, 1.0, 1)
    whole = Observations(simulation.engine, plan)
    simulation.run(25, samplers=[whole])
    names = {"radial.blocks": "counts", "motion.msd": "blocks.msd", "motion.vacf": "blocks.vacf"}
    saved = whole.save()
    assert len(saved["radial.blocks"]) == 26
    # They counted distances in the five blocks of the plan, of 9, 8, 8, 8, 8 samples.
    saved["radial.blocks"] = saved["radial.blocks"][[8, 16, 24]]
    assert len(saved["motion.msd"]) == 3
    second = Observations(simulation.engine, plan)
    second.load({names.get(name, name): value for name, value in saved.items()})
    simulation.run(15, samplers=[whole, second])
    whole.write(Path("."), "argon")
    tables = {name: open(name).read() for name in ("msd.csv", "vacf.csv")}
    rdf = read_table(Path("rdf.csv"))
    second.write(Path("."), "argon")
    assert {name: open(name).read() for name in tables} == tables
    # Blocks of 9 and of 8 samples have the same weight.
    np.testing.assert_allclose(read_table(Path("rdf.csv"))["g_Ar-Ar"], rdf["g_Ar-Ar"], rtol=0.026)


def test_earlier_tables_are_in_the_way(call):
    line = RUN + "--steps 8 --observe rdf --observe-every 2 --output o "
    assert call(line)[0] == 0
    os.remove("o/run.json")
    code, _, err = call(line)
    assert (code, err.count("\n")) == (2, 1)
    assert "holds an earlier run" in err
    assert call(line + "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--observe msd --observe-window 5ps",
            "observe_window = 5 ps is too long for the run of 40 steps ",
        ),
        ("--observe vacf --observe-window 50fs", "which takes 5 samples; expected at most 0.03 ps"),
        (
            "--observe heat --observe-window 40fs",
            "at most 0.03 ps, which leaves two time origins to average over",
        ),
        ("--observe heat --observe-window 2fs", "is shorter than the 10 fs between samples"),
        ("--observe msd --observe-window 10fs", "spans one sample: msd needs two or more for the slope"),
        ("--observe heat --observe-every 50", "would take 1 samples; expected 4 or more"),
        ("--observe rfd", "unknown 'rfd'; did you mean 'rdf'?"),
        ("--observe ,", "expected some of rdf, msd, vacf, heat, viscosity, species"),
        ("--observe-window 1ps", "nothing is observed; also give observe"),
        ("--observe rdf --observe-every 0", "observe_every = 0: expected a whole number above 0"),
        ("--observe rdf --observe-r-max 1e5", "distances up to it, with images; expected 1e+10 or fewer"),
        ("--observe rdf --observe-r-max -1", "observe_r_max = -1.0: expected a number above 0"),
        ("--observe msd --observe-window 5", "expected a length of time with its unit"),
    ],
)
def test_bad_observations_end_in_one_line_before_the_run(call, options, message):
    code, _, err = call(RUN + f"--steps 40 --output o {options}")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not os.path.exists("o")


@pytest.mark.parametrize("kind", ["heat", "viscosity", "rdf", "vacf"])
def test_what_a_structure_does_not_allow_is_said_before_there_is_an_engine(call, monkeypatch, kind):
    slab = bulk("Ar", a=5.6, cubic=True)
    slab.pbc = [True, True, kind == "vacf"]
    slab.set_masses([36.0, 40.0, 40.0, 40.0])
    slab.write("slab.extxyz")
    monkeypatch.setattr(
        "taichimd.program.engine.Engine.__init__", lambda *_, **__: pytest.fail("an engine was made")
    )
    code, _, err = call(f"run slab.extxyz --potential Ar.lj --steps 40 --output o --observe {kind}")
    assert (code, err.count("\n")) == (2, 1)
    assert f"observe = {kind}: {'atoms of Ar have 2' if kind == 'vacf' else 'needs a cell that is'}" in err
    assert not os.path.exists("o")


def test_cells_and_masses_that_cannot_be_observed():
    cluster = Simulation(Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]]), ARGON, backend="cpu")
    with pytest.raises(SettingsError, match="observe = heat: needs a cell that is periodic"):
        Observations(cluster.engine, make_plan(("heat",), 0, 100, 1.0, 10))
    isotopes = bulk("Ar", a=5.6, cubic=True)
    isotopes.set_masses([36.0, 40.0, 40.0, 40.0])
    simulation = Simulation(isotopes, ARGON, backend="cpu")
    with pytest.raises(SettingsError, match="atoms of Ar have 2 different masses"):
        Observations(simulation.engine, make_plan(("vacf",), 0, 100, 1.0, 10))
    observations = Observations(simulation.engine, make_plan(("msd",), 0, 100, 1.0, 10))
    with pytest.raises(AnalysisError, match="0 of 11 samples taken"):
        observations.write(None, "")
    with pytest.raises(AnalysisError, match="with a different plan"):
        observations.load(Observations(simulation.engine, make_plan(("msd",), 0, 90, 1.0, 10)).save())


def observed(velocities, ensemble=None):
    """All sums of a short run of argon from given velocities, and the samples of `Host`."""
    atoms = bulk("Ar", a=5.6, cubic=True) * 3
    atoms.set_velocities(velocities)
    simulation = Simulation(atoms, ARGON, timestep=4.0, ensemble=ensemble, backend="cpu")
    plan = make_plan(("msd", "vacf", "heat", "viscosity"), 0, 80, 4.0, 4, 64.0)
    observations, host = Observations(simulation.engine, plan), Host(4)
    simulation.run(80, samplers=[observations, host])
    observations.write(Path("."), "argon")
    return observations, host


def test_a_moving_centre_of_mass_is_in_nothing_that_is_observed():
    rest = maxwell_boltzmann(np.full(108, 39.948), 150.0, 3)
    at_rest, moving = observed(rest)[0], observed(rest + np.array([0.02, -0.01, 0.005]))[0]
    for name, found in moving.values.items():
        # Forces of atoms that move along differ in last digits, which grow.
        assert found["value"] == pytest.approx(at_rest.values[name]["value"], rel=1e-5), name
    for kind in ("heat", "viscosity"):
        expected = at_rest.observables[kind].series.rows()
        np.testing.assert_allclose(
            moving.observables[kind].series.rows(), expected, rtol=0, atol=1e-6 * np.abs(expected).max()
        )


def test_noise_that_moves_the_centre_of_mass_is_seen_through(monkeypatch):
    monkeypatch.setattr(Host, "at_rest", True)
    observations, host = observed(np.zeros((108, 3)), Langevin(300.0, coupling_time=50.0))
    heat, stress = (
        observations.observables["heat"].series.rows(),
        observations.observables["viscosity"].series.rows(),
    )
    np.testing.assert_allclose(heat[:, :6], host.heat, rtol=0, atol=1e-11 * np.abs(host.heat).max())
    np.testing.assert_allclose(stress[:, :6], host.stress, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(stress[:, 6], host.kinetic, rtol=1e-12)


def test_an_integral_that_grows_is_noted():
    """A current and stresses that never forget: their integrals grow to the end of any window."""
    simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, temperature=100.0, backend="cpu")
    for offset, expected in ((0.0, []), (10.0, ["kappa", "viscosity"])):
        observations = Observations(simulation.engine, make_plan(("heat", "viscosity"), 0, 400, 1.0, 1))
        rows = np.random.default_rng(0).normal(size=(401, 7)) + offset
        rows[:, 6] = 1.0  # kinetic energy
        for one in observations.observables.values():
            one.series.rows = lambda rows=rows: rows
            one.run.volumes = [simulation.engine.volume] * 401
        observations.write(Path("."), "argon")
        assert [note.split(":")[0] for note in observations.notes] == expected
        assert all(
            "still changes at the end of the window: take a longer --observe-w" in n
            for n in observations.notes
        )


@pytest.mark.parametrize("ensemble", [Langevin(60.0), BerendsenNPT(60.0)])
def test_a_bath_that_acts_on_correlations_is_noted(ensemble):
    simulation = Simulation(bulk("Ar", a=5.6, cubic=True) * 3, ARGON, ensemble=ensemble, backend="cpu")
    (note,) = Observations(simulation.engine, make_plan(("heat", "rdf"), 0, 100, 1.0, 10)).notes
    assert note.startswith(f"heat: {ensemble.name} acts on the velocities")
    assert Observations(simulation.engine, make_plan(("rdf",), 0, 100, 1.0, 10)).notes == []


def test_plans():
    assert parse_kinds("vacf, rdf") == ("rdf", "vacf")
    # From step 7 to 107, every 10: 10, 20 ... 100.
    plan = make_plan(("msd",), 7, 100, 2.0, 10)
    assert (plan.samples, plan.interval, plan.blocks, plan.lags) == (10, 0.02, 2, 2)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    # A window that only one or two blocks can hold takes fewer blocks.
    assert make_plan(("msd",), 0, 1000, 1.0, 10, 300.0).blocks == 3
    assert make_plan(("msd",), 0, 1000, 1.0, 10, 990.0).blocks == 1
    assert make_plan(("msd",), 0, 100_000, 1.0, 10, 10_000.0).origin_every == 10


@pytest.mark.parametrize("samples", [4, 5, 7, 50, 201, 203, 204, 205, 1000])
def test_the_longest_window_leaves_two_time_origins(samples):
    steps = samples - 1
    longest = max(
        lags for lags in range(1, samples) if len(range(0, samples - lags, max(1, lags // 100))) > 1
    )
    plan = make_plan(("msd",), 0, steps, 1.0, 1, float(longest))
    assert (plan.blocks, plan.lags) == (1, longest)
    with pytest.raises(SettingsError, match=f"expected at most {longest / 1000:g} ps, which leaves two"):
        make_plan(("msd",), 0, steps, 1.0, 1, float(longest + 1))
    # In each of the blocks, too.
    for window in (steps // 2 + 1.0, steps // 3 + 1.0, None):
        plan = make_plan(("msd",), 0, steps, 1.0, 1, window)
        assert len(range(0, plan.length - plan.lags, plan.origin_every)) > 1
