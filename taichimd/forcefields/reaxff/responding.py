"""A charge model of one system or several: its arrays, and how the host queues what it adds."""

from typing import Any

import numpy as np

from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.runtime import blocks_for, grid, literals, ti
from taichimd.core.units import FS
from taichimd.enumerate.reproducible_sum import ALL
from taichimd.forcefields.reaxff.charge_arrays import on_device
from taichimd.forcefields.reaxff.charges import Charges
from taichimd.forcefields.reaxff.electronegativity import Around, Kind, Response, Work, response_kernels
from taichimd.forcefields.reaxff.field_of_time import FieldOfTime
from taichimd.forcefields.reaxff.models import Model
from taichimd.forcefields.reaxff.nonbonded import Results
from taichimd.forcefields.reaxff.options import Constants
from taichimd.forcefields.reaxff.solve_tables import SOFT
from taichimd.neighbours.control import ANY_TIME, CONTROL, Control
from taichimd.system.state import State


@kernel(
    types_of(ti.f64), field=ArrayField("f64", "3", "field, V/angstrom"),
    planned=ArrayField("f64", "3 steps", "fields of the steps of a run"), control=CONTROL
)  # fmt: skip
def _take_field(field, planned, control):  # type: ignore[no-untyped-def]
    """The field of the present step."""
    for a in range(3):
        step = ti.min(control[Control.done], planned.shape[0] // 3 - 1)
        field[a] = planned[3 * step + a]


class Responding:
    """A charge model of the atoms of a state.

    Args:
        model: the model.
        state: the atoms.
        charges: of these atoms, made for the model.
        constants: of the charges' energy.
        backend: "cuda" or "cpu".

    Attributes:
        arrays: what the model reads and leaves, in spatial order.
        work: of a field that depends on time; None without one.
    """

    def __init__(
        self, model: Model, state: State, charges: Charges, constants: Constants, backend: str
    ) -> None:
        self.model, self._state, self._charges, self._constants = model, state, charges, constants
        kinds, n = len(model.radii), state.n
        self._of_time = model.field if isinstance(model.field, FieldOfTime) else None
        self._timestep = 0.0
        self._planned = on_device((0.0, 0.0, 0.0))
        kind = Kind(
            model.overlaps, model.differences, model.pulls, model.field is not None, model.consistent,
            model.form == SOFT,
        )  # fmt: skip
        self._blocks = blocks_for(8 * n)
        self._kernels = response_kernels(state.real, kinds, backend, kind, state.batch, self._blocks)
        field = (0.0, 0.0, 0.0) if model.field is None or self._of_time else model.field
        self.arrays = Response(
            charges.chi, ti.ndarray(ti.f64, n), ti.ndarray(state.real, n), on_device(field),
            on_device(_gauss(model)), model.reach**2, model.scale, model.field_ev,
        )  # fmt: skip
        self.arrays.energy.fill(0.0)
        self.work = None if self._of_time is None else _work(state)

    def begin(self, timestep: float) -> bool:
        """A run with a time step (internal) begins; whether an earlier evaluation was for another time."""
        changed = self._of_time is not None and timestep != self._timestep
        self._timestep = timestep
        return changed

    def plan(self, first: int, number: int) -> None:
        """Take the fields of the steps after `first`."""
        if self._of_time is not None:
            fields = self._of_time.at((first + 1 + np.arange(number)) * (self._timestep / FS))
            self._planned = on_device(fields)

    def set_field(self, call: Any, control: Any, when: int, step: int) -> None:
        """Queue the field of the present time.

        Args:
            call: queues a kernel.
            control: the control array of the step.
            when: `ANY_TIME`, at `step`, or in a run.
            step: number of the present step.
        """
        if self._of_time is None:
            return
        if when == ANY_TIME:
            self.arrays.field.from_numpy(self._of_time.at(step * (self._timestep / FS))[0])
        else:
            call(_take_field, self.arrays.field, self._planned, control)

    def before(self, near: Any, shifts: Any, shift_bits: int, control: Any, frozen: int) -> None:
        """Queue the electronegativities of the present positions. Arguments: as of `Charges.queue`."""
        self._around = Around(
            self._state, near, shifts, shift_bits, self._charges.elements, self._charges.charge,
            self._constants, self._charges.progress, self._charges.soft, self._charges.vectors,
            self._charges.batched,
        )  # fmt: skip
        with literals(self._state.real), grid(self._blocks):
            self._kernels.before(self._around, self.arrays, control, frozen)

    def after(self, results: Results, want: int) -> None:
        """Queue what the model adds to the results of nonbonded terms, after these; `want`: as there."""
        run = self._kernels.everything if want == ALL else self._kernels.forces
        with literals(self._state.real), grid(self._blocks):
            run(self._around, self.arrays, results)

    def book(self, status: Any, when: int) -> None:
        """Queue the account of the work of a field that depends on time, after `before`.

        Args:
            status: what the kernels of ReaxFF tell each other.
            when: `ANY_TIME`: nothing is added, the account continues from the present state.
        """
        if self.work is None:
            return
        with literals(self._state.real), grid(self._blocks):
            self._kernels.book(self._around, self.arrays, self.work, status, int(when != ANY_TIME))

    def works(self) -> list[float]:
        """Work of the field on each system so far, eV; 0 of a field that does not depend on time."""
        if self.work is None:
            return [0.0 for _ in self._state.parts]
        done, order = self.work.done.to_numpy().astype(float), self._state.sorted_of.to_numpy()
        # In the user's order: the sum has the same bits whatever the spatial sort.
        return [float(done[order[part]].sum()) for part in self._state.parts]


def _work(state: State) -> Work:
    names = ("done", "x", "y", "z")
    return Work(*(state.carry(f"field work {name}", shown=False) for name in names), ti.ndarray(ti.f64, 3))


def _gauss(model: Model) -> Any:
    a = model.exponents
    if not len(a):
        return np.zeros(2)
    total, product = a[:, None] + a[None, :], a[:, None] * a[None, :]
    return np.stack([(2.0 * np.sqrt(product) / total) ** 1.5, product / total], axis=-1)
