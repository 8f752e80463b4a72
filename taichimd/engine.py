"""One system on the device: atoms, force field, lists, steps. Both doors, CLI and ASE, stand on this."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ase import Atoms

from taichimd import units
from taichimd.checks import check_all_pairs, check_atoms, check_positions, check_shape, check_turns
from taichimd.dynamics.verlet import step_kernels
from taichimd.errors import BlowUpError, SettingsError, StructureError
from taichimd.forcefields.base import ForceField
from taichimd.neighbours.box import Frame, make_frame
from taichimd.neighbours.kernels import NONE
from taichimd.neighbours.prune import BLOWN, DONE, REBUILD, REMAINING, STALE, control_size
from taichimd.neighbours.verlet_list import VerletList
from taichimd.reduce import totals
from taichimd.results import Array, Evaluation, Thermo
from taichimd.runtime import PRECISIONS, literals, start, ti
from taichimd.state import State

VOIGT = ([0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1])


class Engine:
    """Evaluates and integrates one set of atoms under one force field.

    Args:
        atoms: positions, species, masses, cell and pbc are taken; never changed. Velocities are taken, too.
        forcefield: see `taichimd.load_forcefield`.
        backend: "auto", "cuda" or "cpu".
        precision: "float64" or "float32".
        skin: outer skin of the neighbour list, angstrom; chosen from the cutoff if None. No result
            depends on it.

    Raises:
        StructureError: no atoms, positions that are not finite, coincident atoms, no volume along the
            periodic directions, masses that are not positive.
        MissingParameterError: species that the force field does not know.
        SettingsError: unknown precision, negative skin, an enumeration that does not fit the system.
        BackendError: the backend cannot be started.
    """

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField,
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise SettingsError(f"precision is '{precision}', expected one of {', '.join(PRECISIONS)}")
        if skin is not None and not (isinstance(skin, int | float) and 0.0 < skin < np.inf):
            raise SettingsError(f"skin is {skin!r} angstrom, expected a positive length")
        if not isinstance(forcefield, ForceField):
            raise SettingsError(
                f"expected a force field, got {type(forcefield).__name__}; see taichimd.load_forcefield"
            )
        check_atoms(atoms)
        self.forcefield = forcefield
        self.precision = precision
        self.n_atoms = n = len(atoms)
        self.symbols = list(atoms.symbols)
        self.masses: Array = atoms.get_masses().astype(float)
        self.cell: Array = atoms.cell.array.copy()
        self.pbc = atoms.pbc.copy()
        species = sorted(set(self.symbols))
        bound = forcefield.bind(species)
        self._frame: Frame = make_frame(self.cell, self.pbc)
        check_turns(atoms.positions, self._frame)
        self._all_pairs = forcefield.enumeration == "all-pairs"
        if self._all_pairs:
            check_all_pairs(self._frame, forcefield.cutoff, bound.terms.many_body)
        self.backend = start(backend)
        self.step = 0
        self.compile_seconds = 0.0

        self._state = state = State(
            np.array([species.index(s) for s in self.symbols], np.int32), self.masses, precision
        )
        real, dtype = state.real, state.numpy_real
        self._unroll = 10 if self.backend == "cuda" else 2
        self._run = step_kernels(bound.terms, real, self.backend, self._unroll, self._all_pairs)
        self._many_body = bound.terms.many_body
        self._reach = max(float(bound.cutoffs.max()), 1e-3)
        self._cutoffs = bound.cutoffs
        self._outer = skin if skin is not None else 0.24 * self._reach
        self._inner = 0.35 * self._outer
        self._most_step2 = (0.25 * self._reach) ** 2
        self._list = VerletList(state)
        self._tables = [_device(table, real, dtype) for table in (bound.pair_table, bound.body_table)]
        self._limits2 = ti.ndarray(real, bound.cutoffs.size)
        self._set_skins()
        self._near_count = ti.ndarray(ti.i32, n)
        self._pruned_at = ti.ndarray(state.vec, n)
        self._control = ti.ndarray(ti.i32, control_size(self._unroll))
        self._control[BLOWN] = NONE
        self._lattice = ti.ndarray(state.vec, 6)
        self._set_lattice()
        self._rows = -1
        self._reverse = self._partial = self._zeta = None
        self._outputs: Any = None
        self._forces_known = False
        self._steps_per_build = 50.0
        self._since_build = 0
        state.set("pos", atoms.positions)
        state.set("vel", atoms.get_velocities())
        self._rebuild(atoms.positions)

    # State, in the user's order and in float64.

    def positions(self) -> Array:
        """(n, 3) angstrom, never folded into the cell."""
        return self._state.get("pos")

    def velocities(self) -> Array:
        """(n, 3) angstrom per internal time unit (ASE's)."""
        return self._state.get("vel")

    def forces(self) -> Array:
        """(n, 3) eV/angstrom at the present positions."""
        self._need_forces()
        return self._state.get("force")

    @property
    def volume(self) -> float | None:
        """Volume of the cell (angstrom^3) if it is periodic in three directions, else None."""
        return abs(float(np.linalg.det(self.cell))) if self.pbc.all() else None

    def set_state(
        self,
        *,
        positions: Array | None = None,
        velocities: Array | None = None,
        forces: Array | None = None,
        step: int | None = None,
        cell: Array | None = None,
    ) -> None:
        """Set parts of the state, (n, 3) in the user's order; the list is kept as long as it holds.

        Args:
            positions: angstrom.
            velocities: angstrom per internal time unit.
            forces: eV/angstrom, of these positions (a restart); computed when needed if None.
            step: the step counter.
            cell: (3, 3) angstrom.

        Raises:
            StructureError: as for a new engine.
        """
        if cell is not None and not np.array_equal(cell, self.cell):
            frame = make_frame(np.asarray(cell, float), self.pbc)
            self.cell, self._frame = np.array(cell, float), frame
            if self._all_pairs:
                check_all_pairs(frame, self.forcefield.cutoff, self._many_body)
            self._set_lattice()
            self._forces_known = False
            # A deformed lattice moves pairs apart in a way the displacement test does not see.
            self._control[REBUILD] = 1
        if positions is not None:
            positions = np.asarray(positions, float)
            check_positions(positions, self.n_atoms)
            check_turns(positions, self._frame)
            self._state.set("pos", positions)
            self._control[BLOWN] = NONE
            self._forces_known = False
            self._call(
                self._run.moved, self.n_atoms, self._near2, self._state.pos, self._pruned_at, self._control
            )
        if velocities is not None:
            check_shape(np.asarray(velocities), self.n_atoms, "velocities")
            self._state.set("vel", np.asarray(velocities, float))
        if forces is not None:
            check_shape(np.asarray(forces), self.n_atoms, "forces")
            self._state.set("force", np.asarray(forces, float))
            self._forces_known = True
        if step is not None:
            self.step = step

    # Evaluation.

    def evaluate(self) -> Evaluation:
        """Energies, forces and virials at the present positions; the state is not disturbed."""
        energy, _, virial = self._evaluate()
        state = self._state
        order = state.sorted_of.to_numpy()
        energies, forces, virials = (array.to_numpy() for array in self._outputs)
        return Evaluation(
            energy,
            energies[order].astype(float),
            forces[order].astype(float),
            virials.reshape(-1, 3, 3)[order].astype(float),
            self._stress(virial),
        )

    def thermo(self) -> Thermo:
        """Totals at the present positions and velocities."""
        potential, kinetic, virial = self._evaluate()
        stress = self._stress(virial) if self.pbc.all() else None
        pressure = None
        if self.volume is not None:
            pressure = (2.0 * kinetic + float(np.trace(virial))) / (3.0 * self.volume)
        freedom = max(3 * self.n_atoms - 3, 3)
        temperature = 2.0 * kinetic / (freedom * units.KB)
        return Thermo(self.step, potential, kinetic, temperature, pressure, self.volume, stress)

    def _evaluate(self) -> tuple[float, float, Array]:
        n, state = self.n_atoms, self._state
        if self._outputs is None:
            self._outputs = (
                ti.ndarray(state.real, n), ti.ndarray(state.vec, n), ti.ndarray(state.real, 9 * n)
            )  # fmt: skip
        self._call_with_list(
            self._run.evaluate,
            lambda: (*self._sizes(), self._drift2, state.pos, state.kind, *self._lists(), *self._outputs),
        )
        return totals(state, self._outputs[0], self._outputs[2])

    def _stress(self, virial: Array) -> Array | None:
        """Symmetric part of -virial/volume, for any cell with a volume."""
        volume = abs(float(np.linalg.det(self.cell)))
        if volume == 0.0:
            return None
        return -0.5 * (virial + virial.T)[VOIGT] / volume

    # Time.

    def advance(self, n_steps: int, timestep: float) -> None:
        """Velocity Verlet in the NVE ensemble.

        Args:
            n_steps: how many steps.
            timestep: internal time units (see `units.FS`).

        Raises:
            BlowUpError: an atom moved by more than a quarter of the cutoff in one step, left the finite
                numbers, or landed on another one; the state is then that of the failed step.
        """
        if n_steps <= 0:
            return
        if not timestep > 0.0:
            raise SettingsError(f"timestep is {timestep}, expected a positive time")
        timestep = float(timestep)
        self._need_forces()
        state, control, run = self._state, self._control, self._run
        first = self.step
        control[REMAINING], control[DONE], control[BLOWN] = n_steps - 1, 0, NONE
        self._call(
            run.open_step, self.n_atoms, timestep, self._most_step2, self._near2, state.pos, state.vel,
            state.force, state.inverse_mass, state.ident, self._pruned_at, control,
        )  # fmt: skip
        self._forces_known = False
        done = 0
        try:
            while True:
                self.step = first + 1 + done
                self._check_blow_up()
                if done == n_steps - 1:
                    break
                for _ in range(self._batches(n_steps - 1 - done)):
                    self._step_batch(timestep)
                before, done = done, control[DONE]
                self._since_build += done - before
                # Positions that left physics would not fit a list: they are reported instead.
                if control[REBUILD] and control[BLOWN] == NONE:
                    self.step = first + 1 + done
                    self._rebuild()
            self._close(timestep)
        except StructureError as error:
            what = str(error).split(";")[0]
            raise self._blow_up(what, self._list.atom_too_close()) from error

    def _step_batch(self, timestep: float) -> None:
        state = self._state
        self._call(
            self._run.steps, *self._sizes(), timestep, self._most_step2, self._near2, self._drift2,
            state.pos, state.vel, state.force, state.inverse_mass, state.ident, state.kind,
            *self._lists(), self._control,
        )  # fmt: skip

    def _batches(self, remaining: int) -> int:
        """Kernel calls before the host asks again: few enough not to run far past the next rebuild."""
        ahead = max(0.9 * self._steps_per_build - self._since_build, self._unroll)
        return max(1, int(min(ahead, remaining, 100) / self._unroll))

    def _close(self, timestep: float) -> None:
        state = self._state
        self._call_with_list(
            self._run.close_step,
            lambda: (
                *self._sizes(), timestep, self._drift2, state.pos, state.vel, state.force,
                state.inverse_mass, state.kind, *self._lists(),
            ),
        )  # fmt: skip
        self._forces_known = True

    def _need_forces(self) -> None:
        if not self._forces_known:
            self._close(0.0)

    def _check_blow_up(self) -> None:
        atom = self._control[BLOWN]
        if atom == NONE:
            return
        self._control[REBUILD] = 1
        jump, x = self._most_step2**0.5, self.positions()[atom].round(3).tolist()
        what = (
            f"atom {atom} ({self.symbols[atom]}) moved by more than {jump:.2f} angstrom in one step, to {x}"
        )
        raise self._blow_up(what, atom)

    def _blow_up(self, what: str, atom: int) -> BlowUpError:
        cure = "use a smaller time step, or relax the structure first"
        return BlowUpError(f"the run exploded at step {self.step}: {what}; {cure}", self.step, atom)

    def warm_up(self) -> float:
        """Compile what a run needs without changing the state; returns the seconds it took."""
        begin = time.perf_counter()
        self._need_forces()
        self._control[REMAINING] = 0
        self._step_batch(1.0)
        self._evaluate()
        ti.sync()
        self.compile_seconds += time.perf_counter() - begin
        return time.perf_counter() - begin

    def synchronize(self) -> None:
        """Wait for the device."""
        ti.sync()

    def statistics(self) -> dict[str, Any]:
        """Neighbour-list figures for reports."""
        counts = (
            self._list.count.to_numpy() if not self._all_pairs else np.full(self.n_atoms, self.n_atoms - 1)
        )
        return {
            "rebuilds": self._list.builds,
            "neighbours_mean": float(counts.mean()),
            "neighbours_max": int(counts.max()),
            "cutoff_A": self._reach,
            "outer_skin_A": self._outer,
            "inner_skin_A": self._inner,
            "steps_per_call": self._unroll,
        }

    # Lists.

    def _call(self, kernel: Any, *args: Any) -> None:
        with literals(self._state.real):
            kernel(*args)

    def _sizes(self) -> tuple[int, int, int, int]:
        lists = self._list
        width = max(lists.width, 1)
        return self.n_atoms, width, lists.shift_bits, int(np.prod(2 * lists.most_image + 1)) - 1

    def _lists(self) -> tuple[Any, ...]:
        """The arguments that all force kernels share, in their order."""
        lists = self._list
        return (
            lists.count, lists.entries, self._lattice if self._all_pairs else lists.shifts, self._limits2,
            lists.built_at, self._near_count, lists.scratch, self._reverse, self._pruned_at,
            *self._tables, self._partial, self._zeta,
        )  # fmt: skip

    def _call_with_list(self, kernel: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
        """Call a kernel that does nothing with an outdated list; rebuild and repeat if it did nothing.

        The arguments are asked for anew: a rebuild exchanges arrays.
        """
        if self._control[REBUILD]:
            self._rebuild()
        self._call(kernel, *arguments(), self._control)
        if self._control[REBUILD]:
            self._rebuild()
            self._call(kernel, *arguments(), self._control)

    def _rebuild(self, positions: Array | None = None) -> None:
        state, lists = self._state, self._list
        if self._control[BLOWN] != NONE:
            # The state of a failed step: evaluated if that makes sense, else refused.
            positions = self.positions()
            check_positions(positions, self.n_atoms)
            check_turns(positions, self._frame)
        if self._all_pairs:
            self._near2 = np.inf
            lists.entries = lists.scratch = self._reverse = ti.ndarray(ti.i32, 1)
            self._partial, self._zeta = ti.ndarray(state.vec, 1), ti.ndarray(state.real, 1)
        else:
            if self._since_build:
                self._steps_per_build = 0.5 * (self._steps_per_build + self._since_build)
            lists.build(state, self._frame, self._reach + self._outer, positions)
            if self._rows != lists.width:
                self._rows = lists.width
                rows = lists.width * self.n_atoms if self._many_body else 1
                self._reverse = ti.ndarray(ti.i32, rows)
                self._partial = ti.ndarray(state.vec, rows)
                self._zeta = ti.ndarray(state.real, rows)
        self._since_build = 0
        self._control[STALE] = 1
        self._control[REBUILD] = 0

    def _set_skins(self) -> None:
        near = np.where(self._cutoffs > 0, self._cutoffs + self._inner, 0.0) ** 2
        near[self._cutoffs <= 0] = -1.0
        self._limits2.from_numpy(near.ravel().astype(self._state.numpy_real))
        self._near2 = (0.5 * self._inner) ** 2
        self._drift2 = (0.5 * (self._outer - self._inner)) ** 2

    def _set_lattice(self) -> None:
        lattice = np.vstack([self._frame.vectors, self._frame.inverse])
        lattice[:3][~self.pbc] = 0.0
        self._lattice.from_numpy(lattice.astype(self._state.numpy_real))


def _device(table: Array, real: Any, dtype: Any) -> Any:
    array = ti.ndarray(real, table.size)
    array.from_numpy(np.ascontiguousarray(table, dtype))
    return array
