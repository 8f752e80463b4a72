"""Rows of totals that wait on the device are those of their steps, whatever happens meanwhile."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
import warps
from ase.build import bulk

from taichimd import (
    Langevin,
    Observer,
    Simulation,
    Source,
    StochasticCellRescaling,
    ThermoTable,
    TrajectoryFile,
    testing,
)
from taichimd.app import loop
from taichimd.app.checkpoint_keeper import SavedTogether
from taichimd.core.errors import BlowUpError
from taichimd.core.runtime import DEVICE_LOOPS
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.neighbours.lists import Lists
from taichimd.program import recorder as of_rows
from taichimd.program.batch import Batch
from taichimd.program.engine import Engine
from taichimd.program.recorder import Recorder

LJ = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
RUNS = loop._runs
STEP = 0.4  # internal units, about 4 fs


def argon():
    return testing.with_velocities(bulk("Ar", cubic=True, a=5.3).repeat(3), 80.0, 2)


def shown(system):
    """All that a row of a table shows."""
    found = asdict(system.thermo())
    pressures = system.pressures() if system.ensemble.moves_cell else None
    return {**found, "now": system.step, "cell": system.cell, "pressures": pressures}


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_equal(a, b)


def nve():
    return Engine(argon(), LJ)


def barostat():
    return Engine(argon(), LJ, ensemble=StochasticCellRescaling(80.0, 100.0, period=3))


def groups():
    with_baths = Simulation(
        argon(), LJ, acting=[Langevin(90.0, on=range(30)), Source(0.01, on=range(40, 90))]
    )
    return with_baths.engine


@pytest.mark.parametrize("make", [nve, pytest.param(barostat, marks=pytest.mark.long), groups])
@pytest.mark.parametrize("busy", [False, True])
def test_rows_that_wait_are_those_of_their_steps(make, busy, monkeypatch):
    monkeypatch.setattr(of_rows, "MAX_ROWS", 3)
    engine = make()
    recorder, now, later = Recorder(engine.systems, busy), [], []
    for steps in (1, 4, 5, 7, 3, 1, 1):
        engine.advance(steps, STEP)
        now.append(shown(engine))
        recorder.add(lambda: later.append(shown(engine)))
    assert len(later) == (3 if busy else 0)
    recorder.flush()
    recorder.close()
    assert_same(later, now)
    # What was shown meanwhile is forgotten.
    np.testing.assert_equal(shown(engine), now[-1])


def langevin():
    return Engine(argon(), LJ, ensemble=Langevin(400.0, 20.0))


def batch():
    return Batch([argon(), argon()], LJ, ensembles=[Langevin(80.0, 100.0), Langevin(400.0, 20.0)])


@pytest.mark.parametrize("builds", [None, 0, 1])
@pytest.mark.parametrize("make", [nve, langevin, batch, barostat])
def test_rows_that_are_queued_before_the_host_looks_are_those_of_single_ones(make, builds, monkeypatch):
    """With few builds on the device, lists end in the middle of what is queued."""
    if builds is not None:
        monkeypatch.setattr(Lists, "builds_allowed", builds)
    found, looks = [], []
    look = Lists.look
    monkeypatch.setattr(Lists, "look", lambda lists: looks.append(0) or look(lists))
    for most in (1, 7):
        systems = make()
        recorder, rows = systems.recorder(), []

        def add(systems=systems, rows=rows):
            rows.append([shown(system) for system in systems.members])

        systems.advance(1, STEP)
        looks.clear()
        while systems.step < 121:
            runs = min(most, (121 - systems.step) // 5, recorder.most_runs(5))
            with recorder.rows_between(runs, 5, add) as between:
                systems.advance(5, STEP, between)
            recorder.add(add)
        recorder.flush()
        device = systems.members[0].device
        last = [device.state.get(name) for name in ("pos", "vel", "force")]
        found.append((rows, last, len(looks), device.lists.verlet.builds))
    (one, end, looks_of_one, _), (other, same_end, looks_of_queued, _) = found
    assert_same(other, one)
    assert_same(same_end, end)
    assert len(one) == 24
    queues = systems.members[0].device.queues_runs(5)
    assert queues == (DEVICE_LOOPS and make is not barostat)
    assert looks_of_queued < 0.6 * looks_of_one if queues else looks_of_queued == looks_of_one


def test_of_queued_rows_those_before_an_explosion_are_reported():
    engine = nve()
    recorder, rows = engine.recorder(), []
    velocities = engine.velocities()
    velocities[5] = 2.0, 0.1, 0.0
    engine.set_state(velocities=velocities)

    def go():
        while True:
            with recorder.rows_between(recorder.most_runs(2), 2, lambda: rows.append(engine.step)) as between:
                engine.advance(2, STEP, between)
            recorder.add(lambda: rows.append(engine.step))

    with pytest.raises(BlowUpError) as error:
        go()
    recorder.flush()
    assert error.value.step == engine.step > 4
    assert rows == list(range(2, engine.step, 2))


def test_a_table_is_the_same_whether_rows_are_queued_or_not(tmp_path, monkeypatch):
    queued = []
    rows_between = Recorder.rows_between

    def counted(recorder, runs, *rest):
        queued.append(runs)
        return rows_between(recorder, runs, *rest)

    monkeypatch.setattr(Recorder, "rows_between", counted)
    for name, most in (("queued", 16), ("single", 1)):
        monkeypatch.setattr(loop, "_runs", lambda *args, most=most, of=RUNS: min(of(*args), most))
        simulation = Simulation(argon(), LJ, timestep=4.0)
        path = tmp_path / name
        with ThermoTable(f"{path}.csv", every=2) as table, TrajectoryFile(f"{path}.nc", every=22) as frames:
            for steps in (180, 121):
                simulation.run(steps, observers=[table, frames])
    for suffix in ("csv", "nc"):
        assert (tmp_path / f"queued.{suffix}").read_bytes() == (tmp_path / f"single.{suffix}").read_bytes()
    assert sum(1 for _ in open(tmp_path / "queued.csv")) == 153
    if DEVICE_LOOPS:
        assert max(queued) == 11


def test_rows_of_a_batch_whose_system_explodes_meanwhile():
    hot = argon()
    batch = Batch([argon(), hot], LJ, ensembles=Langevin(80.0, 100.0))
    recorder, now, later = batch.recorder(), [], []

    def add():
        for member in batch.members:
            if member.error is None:
                now.append(shown(member))
                recorder.add(lambda member=member: later.append(shown(member)))

    add()
    batch.advance(3, STEP)
    add()
    velocities = batch.members[1].velocities()
    velocities[7] = 1e3
    batch.members[1].set_state(velocities=velocities)
    batch.advance(5, STEP)
    add()
    assert batch.members[1].error is not None
    recorder.flush()
    assert [one["now"] for one in later] == [0, 0, 3, 3, 8]
    assert_same(later, now)
    assert batch.members[1].error is not None


def test_an_error_of_a_report_waits_for_the_steps_and_ends_the_rows():
    engine, seen = nve(), []
    recorder = Recorder(engine.systems, while_busy=True)

    def full():
        raise OSError("no room")

    for report in (lambda: seen.append(engine.step), full, lambda: seen.append(engine.step)):
        recorder.add(report)
        engine.advance(1, STEP)
    recorder._fetch()
    engine.advance(5, STEP)
    assert (engine.step, seen) == (8, [0])
    for again in (lambda: recorder.add(full), recorder.flush):
        with pytest.raises(OSError, match="no room"):
            again()
    assert seen == [0]


class Live(Observer):
    """Looks at positions, so at the present."""

    def __init__(self, table, every):
        self.table, self.every, self.rows = table, every, []

    def report(self, simulation, thermo):
        assert simulation.thermo().potential == thermo.potential
        self.rows.append(sum(1 for _ in open(self.table)) - 1)

    def tick(self, simulation):
        self.ticked = simulation.step, sum(1 for _ in open(self.table)) - 1


def test_a_table_is_the_same_beside_an_observer_that_looks_at_positions(tmp_path):
    alone = Simulation(argon(), LJ, timestep=4.0)
    with ThermoTable(tmp_path / "alone.csv", every=2) as table:
        alone.run(50, observers=[table])
    beside = Simulation(argon(), LJ, timestep=4.0)
    live = Live(tmp_path / "beside.csv", 10)
    with ThermoTable(tmp_path / "beside.csv", every=2) as table:
        beside.run(50, observers=[table, live])
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "beside.csv").read_bytes()
    assert live.rows == [1, 6, 11, 16, 21, 26]
    assert live.ticked == (50, 26)


class Lazy(Observer):
    """A tick that waits for no report."""

    totals_only = True

    def __init__(self, table):
        self.table, self.seen = table, []

    def needs_reports(self):
        return False

    def tick(self, simulation):
        self.seen.append((simulation.step, sum(1 for _ in open(self.table)) - 1))


def test_a_checkpoint_finds_all_rows_though_ticks_do_not_wait_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "TICK_SECONDS", 0.0)
    monkeypatch.setattr(Engine, "recorder", lambda self: Recorder(self.systems, while_busy=True))
    simulation, saved = Simulation(argon(), LJ, timestep=4.0), []
    lazy = Lazy(tmp_path / "rows.csv")

    class Keeper:
        @property
        def due(self):
            return simulation.step % 7 == 0

        def save(self, simulation):
            saved.append((simulation.step, sum(1 for _ in open(lazy.table)) - 1))

    together = SavedTogether(lambda: [(Keeper(), simulation)])
    with ThermoTable(lazy.table) as table:
        simulation.run(40, every=1, observers=[table, lazy, together])
    assert saved == [(step, step + 1) for step in (7, 14, 21, 28, 35)]
    behind = {step: step + 1 - rows for step, rows in lazy.seen}
    assert behind[6] == behind[20] == 1
    assert behind[7] == behind[40] == 0


def test_rows_before_an_explosion_are_written(tmp_path):
    simulation = Simulation(argon(), LJ, timestep=4.0)
    velocities = simulation.velocities()
    velocities[5] = 2.0, 0.1, 0.0
    simulation.engine.set_state(velocities=velocities)
    with ThermoTable(tmp_path / "rows.csv", every=1) as table:
        with pytest.raises(BlowUpError) as error:
            simulation.run(100, observers=[table])
        assert error.value.step > 2
        steps = [int(line.split(",")[0]) for line in open(tmp_path / "rows.csv").readlines()[1:]]
    assert steps == list(range(error.value.step))


(totals,) = warps.emulated("program.totals")


@pytest.mark.parametrize("atoms", [1, 33, 70])
@pytest.mark.parametrize("what", ["totals", "heat", "stress", "centre"])
def test_the_threads_of_a_warp_add_up_as_one_thread_does(what, atoms):
    random = np.random.default_rng(atoms)
    n = 300
    given = SimpleNamespace(
        pos=random.normal(size=(n, 3)), vel=random.normal(size=(n, 3)), inverse_mass=random.random(n) + 0.01
    )
    pieces = SimpleNamespace(
        sorted_of=random.permutation(n), energy=random.normal(size=n), virial=random.normal(size=9 * n),
        first=5,
    )  # fmt: skip
    velocity, found = random.normal(size=3), []
    for shared in (True, False):
        pieces.sums = np.zeros(40)
        add = totals.piece_adder(what, shared)
        if shared:
            warps.run(lambda add=add: add(64 + warps.lane(), 17, 17 + atoms, velocity, given, pieces))
        else:
            add(2, 17, 17 + atoms, velocity, given, pieces)
        found.append(pieces.sums)
    columns = totals.COLUMNS[what]
    assert np.count_nonzero(found[0]) == columns
    assert found[0][5 + 2 * columns] != 0.0
    np.testing.assert_array_equal(*found)
