"""An engine without Taichi for tests of the driver: atoms on springs at their starting sites.

Plain NumPy, one step at a time, so that its bits do not depend on how steps are split into calls.
"""

import sys
import time
import types
from dataclasses import dataclass

import numpy as np
import pytest

from taichimd.core.errors import BackendError, BlowUpError, StructureError
from taichimd.core.units import KB
from taichimd.dynamics.ensembles import NVE

SPRING = 5.0  # eV/Å^2
FURTHEST = 3.0  # Å from its site before an atom counts as lost


@dataclass
class FakeThermo:
    step: int
    potential: float
    kinetic: float
    temperature: float
    pressure: float | None
    volume: float | None
    stress: np.ndarray | None

    @property
    def conserved(self):
        return self.potential + self.kinetic


@dataclass
class FakeEvaluation:
    energy: float
    energies: np.ndarray
    forces: np.ndarray
    virials: np.ndarray
    stress: np.ndarray | None
    charges: None = None


class FakeForceField:
    def __init__(self, name="springs", source=None, strength=SPRING):
        self.name, self.source, self.strength = name, source, strength
        self.cutoff, self.elements, self.citation = 3.0, None, None
        self.timestep, self.charged = 1.0, False

    def remarks_on_timestep(self, timestep, species):
        return []

    def check_heat_current(self):
        pass

    def describe(self, species=None):
        term = {
            "kind": "spring", "name": self.name, "source": self.source, "truncation": None,
            "parameters": {"Si": {"strength": self.strength}}, "code": {},
        }  # fmt: skip
        return {"name": self.name, "terms": [term], "fingerprint": f"v2:{self.strength}"}


class FakeEngine:
    step_seconds = 0.0  # set by a test to imitate a slow device
    calls: list = []  # noqa: RUF012  (filled by advance, cleared by the fixture)
    after_advance = None  # hook of a test

    def __init__(
        self, atoms, forcefield, *, backend="auto", precision="float64", skin=None, ensemble=None,
        decomposition="auto", fixed=None,
    ):  # fmt: skip
        self.forcefield, self.precision, self.ensemble = forcefield, precision, ensemble or NVE()
        self.fixed = fixed if fixed is not None and fixed.any() else None
        if backend == "cuda":
            raise BackendError("backend cuda: no CUDA device found; use --backend cpu")
        if not np.isfinite(atoms.positions).all():
            raise StructureError("position of atom 0 is not finite")
        self.n_atoms = len(atoms)
        self.symbols = atoms.get_chemical_symbols()
        self.masses = atoms.get_masses()
        self.cell, self.pbc = atoms.cell.array.copy(), atoms.pbc.copy()
        self.volume = atoms.get_volume() if atoms.pbc.all() else None
        self.step = 0
        self.decomposition = "particle" if decomposition == "auto" else decomposition
        # Sites on a grid, not at the starting positions: a restarted engine must find the same ones.
        self._sites = np.round(atoms.positions)
        self._k = forcefield.strength
        self._x, self._v = atoms.positions.copy(), np.zeros((self.n_atoms, 3))
        self._f = self._force()

    def _force(self):
        return -self._k * (self._x - self._sites)

    def positions(self):
        return self._x.copy()

    def velocities(self):
        return self._v.copy()

    def forces(self):
        return self._f.copy()

    def set_state(self, *, positions=None, velocities=None, forces=None, step=None, cell=None, bath=None):
        if positions is not None:
            self._x = np.array(positions)
            self._f = self._force()
        if velocities is not None:
            self._v = np.array(velocities)
            if self.fixed is not None:
                self._v[self.fixed] = 0.0
        if forces is not None:
            self._f = np.array(forces)
        if step is not None:
            self.step = step

    def bath_state(self):
        return {}

    def atom_states(self):
        return {}

    def atom_values(self):
        return {}

    def set_atom_states(self, states):
        assert not states

    def advance(self, n_steps, timestep):
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
        stress = np.arange(6) * 1e-3 if self.volume else None
        return FakeEvaluation(
            float(energies.sum()), energies, self._f.copy(), np.zeros((self.n_atoms, 3, 3)), stress
        )

    def warm_up(self):
        return 0.25

    def thermo(self):
        result = self.evaluate()
        kinetic = 0.5 * float((self.masses[:, None] * self._v**2).sum())
        freedom = 3 * self.n_atoms - 3 if self.fixed is None else 3 * int((~self.fixed).sum())
        temperature = 2 * kinetic / (freedom * KB)
        pressure = 0.01 if self.volume else None
        return FakeThermo(
            self.step, result.energy, kinetic, temperature, pressure, self.volume, result.stress
        )

    def statistics(self):
        lists = {"rebuilds": 0, "neighbours_mean": 3.0, "neighbours_max": 3}
        return {**lists, "cutoff_A": 3.0, "outer_skin_A": 0.5, "inner_skin_A": 0.2}


def load_forcefield(spec):
    from pathlib import Path

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
        package.__path__ = []
        monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setattr(FakeEngine, "calls", [])
    monkeypatch.setattr(FakeEngine, "after_advance", None)
    monkeypatch.setattr(FakeEngine, "step_seconds", 0.0)
    return FakeEngine
