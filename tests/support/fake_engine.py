"""An engine without kernels for tests of the driver: atoms on springs at the nearest points of a grid.

Plain NumPy, one step at a time, so that its bits do not depend on how steps are split into calls. What the
driver may expect of any engine, `app/test_engine_protocol.py` tests of this one, too.
"""

import pkgutil
import sys
import time
import types
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import taichimd
import taichimd.observables
import taichimd.program.energy_terms  # with the real runtime, before it is replaced
from taichimd.core.errors import BackendError, BlowUpError, SettingsError
from taichimd.core.units import GPA, KB
from taichimd.ensembles.registry import NVE
from taichimd.program.results import Evaluation, Thermo
from taichimd.program.totals import stress_of
from taichimd.system.checks import check_atoms, check_positions, check_shape, check_vectors

# So are observables, which are loaded when they are asked for.
for found in pkgutil.walk_packages(taichimd.observables.__path__, "taichimd.observables."):
    import_module(found.name)

SPRING = 5.0  # eV/Å^2
FURTHEST = 3.0  # Å from its site before an atom counts as lost
STRESS = 1e-3 * np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])  # eV/Å^3, always


class FakeForceField:
    def __init__(self, name="springs", source=None, strength=SPRING):
        self.name, self.source, self.strength = name, source, strength
        self.cutoff, self.elements, self.citation = 3.0, None, None
        self.timestep, self.charged, self.terms = 1.0, False, ()

    def remarks_on_timestep(self, timestep, species):
        return []

    def remarks_on_time(self, n, evaluations, backend):
        return []

    def remarks_on_charges(self):
        return []

    def check_heat_current(self):
        pass

    def check_bounded(self):
        pass

    def check_bonds(self):
        pass

    def describe(self, species=None):
        term = {
            "kind": "spring", "name": self.name, "source": self.source, "truncation": None,
            "parameters": {"Si": {"strength": self.strength}}, "code": {},
        }  # fmt: skip
        return {
            "name": self.name,
            "cutoff_A": self.cutoff,
            "terms": [term],
            "fingerprint": f"v2:{self.strength}",
        }


class FakeEngine:
    step_seconds = 0.0  # set by a test to imitate a slow device
    calls: list = []  # noqa: RUF012  (filled by advance, cleared by the fixture)
    after_advance = None  # hook of a test

    def __init__(
        self, atoms, forcefield, *, backend="auto", precision="float64", skin=None, ensemble=None,
        decomposition="auto", fixed=None, acting=None,
    ):  # fmt: skip
        self.acting = list(acting or [])
        self.forcefield, self.precision, self.ensemble = forcefield, precision, ensemble or NVE()
        self.moves_centre = self.ensemble.moves_centre
        self.fixed = self.held = self.still = fixed if fixed is not None and fixed.any() else None
        if backend == "cuda":
            raise BackendError("backend cuda: no CUDA device found; use --backend cpu")
        check_atoms(atoms)
        self.n_atoms = len(atoms)
        self.symbols = atoms.get_chemical_symbols()
        self.masses = atoms.get_masses()
        self.cell, self.pbc = atoms.cell.array.copy(), atoms.pbc.copy()
        self.volume = atoms.get_volume() if atoms.pbc.all() else None
        self.step = 0
        self.members, self.alive, self.error = [self], [0], None
        self.decomposition = "particle" if decomposition == "auto" else decomposition
        # Sites on a grid, not at the starting positions: a restarted engine must find the same ones.
        self._sites = np.round(atoms.positions)
        self._k = forcefield.strength
        self._x = atoms.positions.copy()
        self._f = self._force()
        self.set_state(velocities=atoms.get_velocities())

    def _force(self):
        return -self._k * (self._x - self._sites)

    def positions(self):
        return self._x.copy()

    turns, folded_positions = None, positions

    def velocities(self):
        return self._v.copy()

    def single_vectors(self):
        """None: a frame takes the vectors in float64."""
        return None

    def forces(self):
        return self._f.copy()

    def set_state(
        self, *, positions=None, turns=None, velocities=None, forces=None, step=None, cell=None, bath=None
    ):
        if positions is not None:
            check_positions(np.asarray(positions), self.n_atoms)
            self._x = np.array(positions)
            self._f = self._force()
        if velocities is not None:
            check_vectors(np.asarray(velocities), self.n_atoms, "velocity", "velocities")
            self._v = np.array(velocities)
            if self.fixed is not None:
                self._v[self.fixed] = 0.0
        if forces is not None:
            check_shape(np.asarray(forces), self.n_atoms, "forces")
            self._f = np.array(forces)
        if step is not None:
            self.step = step

    def deformation(self):
        return None

    def bath_state(self):
        return {}

    def drives(self):
        return {}

    def heats(self):
        return {}

    def atom_states(self):
        return {}

    def atom_values(self):
        return {}

    def set_atom_states(self, states):
        assert not states

    def recorder(self):
        return None

    def advance(self, n_steps, timestep):
        if n_steps < 0:
            raise SettingsError(f"advance by {n_steps} steps: expected a whole number, 0 or more")
        if n_steps and not timestep > 0.0:
            raise SettingsError(f"timestep is {timestep}, expected a positive time")
        FakeEngine.calls.append(n_steps)
        time.sleep(self.step_seconds * n_steps)
        half = 0.5 * timestep / self.masses[:, None]
        if self.fixed is not None:
            half = np.where(self.fixed[:, None], 0.0, half)
        for _ in range(n_steps):
            self._v = self._v + half * self._f
            self._x = self._x + timestep * self._v
            self._f = self._force()
            self._v = self._v + half * self._f
            self.step += 1
            far = np.flatnonzero(~(np.abs(self._x - self._sites).max(axis=1) < FURTHEST))
            if far.size:
                raise BlowUpError(f"atom {far[0]} left at step {self.step}", self.step, int(far[0]))
        if FakeEngine.after_advance is not None:
            FakeEngine.after_advance(self)

    def evaluate(self):
        energies = 0.5 * self._k * ((self._x - self._sites) ** 2).sum(axis=1)
        virials = np.tile(-STRESS * abs(np.linalg.det(self.cell)) / self.n_atoms, (self.n_atoms, 1, 1))
        stress = stress_of(virials.sum(axis=0), self.cell)
        return Evaluation(float(energies.sum()), energies, self._f.copy(), virials, stress)

    def observe(self, take):
        found = self.evaluate()
        take(self, found.energies, found.virials)

    def warm_up(self):
        return 0.25

    def thermo(self):
        energy = self.evaluate().energy
        kinetic = 0.5 * float((self.masses[:, None] * self._v**2).sum())
        freedom = 3 * self.n_atoms - 3 if self.fixed is None else 3 * int((~self.fixed).sum())
        stress = pressure = None
        if self.volume:
            stress, pressure = self.evaluate().stress, self.pressures()[:3].mean()
        temperature, total = 2 * kinetic / (freedom * KB), energy + kinetic
        return Thermo(self.step, energy, kinetic, temperature, pressure, self.volume, stress, total)

    def pressures(self):
        if not self.volume:
            return None
        flows = np.einsum("n,na,nb->ab", self.masses, self._v, self._v) / self.volume - STRESS
        return flows[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]] / GPA

    def bonds(self):
        return None

    def statistics(self):
        lists = {"rebuilds": 0, "neighbours_mean": 3.0, "neighbours_max": 3}
        return {**lists, "cutoff_A": 3.0, "outer_skin_A": 0.5, "inner_skin_A": 0.2}


def load_forcefield(spec):
    if not isinstance(spec, str):
        return spec
    source = spec if Path(spec).is_file() else None
    strength = float(Path(spec).read_text()) if source else SPRING
    return FakeForceField(Path(spec).name, source, strength)


@pytest.fixture
def fake(monkeypatch):
    """Put the fake in the place of the engine, the runtime and the potential reader."""
    engine = types.ModuleType("taichimd.program.engine")
    engine.Engine = FakeEngine
    runtime = types.ModuleType("taichimd.core.runtime")
    runtime.info = lambda: {"runtime": "none 0", "backend": "cpu", "device": "fake", "threads": 1}
    runtime.start = lambda backend="auto": None
    load = types.ModuleType("taichimd.forcefields.load")
    load.load_forcefield = load_forcefield
    for module in (engine, runtime, load):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    if "taichimd.forcefields" not in sys.modules:
        package = types.ModuleType("taichimd.forcefields")
        package.__path__ = [str(Path(taichimd.__file__).with_name("forcefields"))]
        monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setattr(FakeEngine, "calls", [])
    monkeypatch.setattr(FakeEngine, "after_advance", None)
    monkeypatch.setattr(FakeEngine, "step_seconds", 0.0)
    return FakeEngine
