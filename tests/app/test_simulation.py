import inspect
import os
import signal
import warnings

import numpy as np
import pytest
from ase import Atoms
from ase.constraints import FixAtoms
from fake_engine import FakeEngine, FakeForceField, fake  # noqa: F401  (a fixture)

from taichimd.app.loop import Pace
from taichimd.app.observer import Observer
from taichimd.app.simulation import Simulation
from taichimd.core.errors import SettingsError
from taichimd.core.signals import StopRequest
from taichimd.core.units import KB
from taichimd.system.velocities import maxwell_boltzmann

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def atoms():
    grid = np.stack(np.meshgrid(*[np.arange(0.0, 6, 2)] * 3), -1).reshape(-1, 3)
    return Atoms("Si27", positions=grid + 0.1, cell=[6, 6, 6], pbc=True)


class Recorder(Observer):
    def __init__(self):
        self.steps, self.ticks = [], 0

    def report(self, simulation, thermo):
        self.steps.append(thermo.step)

    def tick(self, simulation):
        self.ticks += 1


def test_help_shows_the_arguments():
    assert list(inspect.signature(Simulation).parameters)[:4] == [
        "atoms",
        "forcefield",
        "timestep",
        "temperature",
    ]


def test_velocities_have_the_temperature_and_no_momentum():
    masses = np.array([28.0, 12.0, 1.0, 200.0])
    v = maxwell_boltzmann(masses, 300, seed=5)
    assert np.abs(masses @ v).max() < 1e-12
    assert (masses[:, None] * v**2).sum() == pytest.approx(9 * KB * 300, rel=1e-14)
    assert np.array_equal(v, maxwell_boltzmann(masses, 300, seed=5))
    assert not np.array_equal(v, maxwell_boltzmann(masses, 300, seed=6))


def test_a_simulation_of_an_engine_has_its_masses(atoms):
    atoms.set_masses(np.where(np.arange(27) % 2, 28.0, 45.0))
    engine = FakeEngine(atoms, FakeForceField())
    shown = Simulation.from_engine(engine).atoms()
    np.testing.assert_array_equal(shown.get_masses(), engine.masses)
    np.testing.assert_array_equal(shown.get_masses(), atoms.get_masses())


def test_velocities_of_one_atom():
    v = maxwell_boltzmann(np.array([40.0]), 80, seed=1)
    assert 40.0 * (v**2).sum() == pytest.approx(3 * KB * 80)


def test_velocities_are_maxwell_distributed():
    masses = np.tile([1.0, 100.0], 5000)
    v = maxwell_boltzmann(masses, 300, seed=1)
    scaled = v * np.sqrt(masses / (KB * 300))[:, None]
    assert scaled.std() == pytest.approx(1, abs=1e-3)
    assert (scaled**4).mean() == pytest.approx(3, rel=0.05)
    assert scaled[::2].std() == pytest.approx(scaled[1::2].std(), rel=0.02)


def test_python_interface(atoms):
    before = atoms.positions.copy()
    simulation = Simulation(atoms, FakeForceField(), timestep=1.0, temperature=300, seed=1)
    assert simulation.thermo().temperature == pytest.approx(300)
    result = simulation.run(100)
    assert (result.first_step, result.last_step, result.finished) == (0, 100, True)
    assert simulation.time_ps == 0.1
    assert np.array_equal(atoms.positions, before)
    assert np.array_equal(simulation.atoms().positions, simulation.positions())
    assert simulation.atoms().cell[0, 0] == 6


def test_velocities_of_the_atoms_are_kept(atoms):
    atoms.set_velocities(np.arange(81.0).reshape(27, 3) * 1e-4)
    simulation = Simulation(atoms, FakeForceField(), temperature=300)
    np.testing.assert_allclose(simulation.velocities(), atoms.get_velocities())


def test_fixed_atoms_stay_and_a_warning_tells_of_velocities_they_had(atoms):
    atoms.set_velocities((np.arange(81.0).reshape(27, 3) - [39, 40, 41]) * 1e-4)
    fixed = atoms.copy()
    fixed.set_constraint(FixAtoms([0, 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        free = Simulation(atoms, FakeForceField())
    with pytest.warns(UserWarning, match="the velocities of fixed atoms are set to 0: 2 had others") as seen:
        held = Simulation(fixed, FakeForceField())
    assert [one.filename for one in seen if issubclass(one.category, UserWarning)] == [__file__]
    free.run(10)
    held.run(10)
    np.testing.assert_array_equal(held.positions()[:2], atoms.positions[:2])
    np.testing.assert_array_equal(held.positions()[2:], free.positions()[2:])
    shown = held.atoms()
    np.testing.assert_array_equal(shown.constraints[0].index, [0, 1])
    np.testing.assert_array_equal(shown.get_velocities()[:2], 0.0)
    assert not free.atoms().constraints
    np.testing.assert_array_equal(Simulation.from_engine(held.engine).atoms().constraints[0].index, [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timestep": 0.0}, r"timestep = 0\.0: expected a number above 0 \(fs\)"),
        ({"timestep": float("inf")}, r"timestep = inf: expected a number above 0 \(fs\)"),
        ({"temperature": -1}, r"temperature = -1: expected a number above 0 \(K\)"),
    ],
)
def test_wrong_values(atoms, options, message):
    with pytest.raises(SettingsError, match=message):
        Simulation(atoms, FakeForceField(), **options)


@pytest.mark.parametrize("steps", [0, -5, 2.5])
def test_wrong_number_of_steps(atoms, steps):
    with pytest.raises(SettingsError, match=r"steps = .*: expected a whole number above 0"):
        Simulation(atoms, FakeForceField()).run(steps)


def test_reports_at_multiples_of_every_and_at_the_ends(atoms):
    simulation, recorder = Simulation(atoms, FakeForceField()), Recorder()
    simulation.run(25, every=10, observers=[recorder])
    assert recorder.steps == [0, 10, 20, 25]
    recorder.steps.clear()
    simulation.run(20, every=10, observers=[recorder], report_first=False)
    assert recorder.steps == [30, 40, 45]


def test_pieces_do_not_change_the_result(atoms, monkeypatch):
    one = Simulation(atoms, FakeForceField(), seed=3)
    one.run(300)
    monkeypatch.setattr(Pace, "next", lambda self: 7)
    other = Simulation(atoms, FakeForceField(), seed=3)
    other.run(300, every=13, observers=[Recorder()])
    assert one.positions().tobytes() == other.positions().tobytes()
    assert max(FakeEngine.calls[-10:]) == 7


def test_pace_grows_to_the_target_and_shrinks_again():
    pace = Pace(0.2)
    taken = []
    for _ in range(6):
        taken.append(pace.next())
        pace.record(pace.next(), 1e-3 * pace.next())
    assert taken == [1, 10, 100, 200, 200, 200]
    pace.record(5, 5e-3)  # cut short by a report
    assert pace.next() == 200
    pace.record(200, 2.0)
    assert pace.next() == 20


def test_pace_of_a_slow_system_is_one_step():
    pace = Pace(0.2)
    pace.record(1, 3.0)
    assert pace.next() == 1


def test_ctrl_c_ends_after_the_steps_that_are_under_way(atoms):
    FakeEngine.step_seconds = 1e-4
    simulation = Simulation(atoms, FakeForceField())
    sent = []

    def press(engine):
        if not sent and engine.step > 200:
            sent.append(engine.step)
            os.kill(os.getpid(), signal.SIGINT)

    FakeEngine.after_advance = press
    with StopRequest() as stop:
        result = simulation.run(10**7, should_stop=stop)
    assert [result.last_step] == sent
    assert not result.finished
    assert stop.received == signal.SIGINT
    assert 200 < result.last_step == simulation.step < 10**7


def test_second_ctrl_c_is_an_ordinary_one():
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_longer_pieces_between_rare_reports(atoms):
    Simulation(atoms, FakeForceField()).run(2000)
    assert len(FakeEngine.calls) < 30


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(SettingsError, match="expected a whole number that is not negative"):
        maxwell_boltzmann(np.array([40.0]), 80, seed=seed)
