"""All of ReaxFF for one system or several: what the host queues to evaluate it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.errors import TaichimdError
from taichimd.core.runtime import DEVICE_LOOPS, ti
from taichimd.enumerate.evaluator import Evaluator
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.forcefields.reaxff.arrays import GO, HELD, MAX_BONDS, STATUS, STATUS_SIZE, TERMS, Bonds
from taichimd.forcefields.reaxff.batched import FLAGS
from taichimd.forcefields.reaxff.bond_table import BondReader
from taichimd.forcefields.reaxff.bonded import Bonded
from taichimd.forcefields.reaxff.charge_arrays import ChargeParameters
from taichimd.forcefields.reaxff.charges import Charges
from taichimd.forcefields.reaxff.electronegativity import Response
from taichimd.forcefields.reaxff.history import BESIDE, JUMP, STEP
from taichimd.forcefields.reaxff.models import Model
from taichimd.forcefields.reaxff.moves import Moves
from taichimd.forcefields.reaxff.nonbonded import Nonbonded, Results
from taichimd.forcefields.reaxff.options import CONSTANTS, INTERVALS, NORM, Options
from taichimd.forcefields.reaxff.pairs import Form, pair_table
from taichimd.forcefields.reaxff.parameters import ATOM, PAIR, Parameters
from taichimd.forcefields.reaxff.responding import Responding
from taichimd.forcefields.reaxff.solve_tables import SOLVED, Progress
from taichimd.forcefields.reaxff.solve_tables import STATUS as OF_SOLVE
from taichimd.forcefields.reaxff.tables import device_tables
from taichimd.neighbours.control import ANY_TIME, CONTROL, Control
from taichimd.neighbours.near_list import NearList
from taichimd.neighbours.rows import row_layout
from taichimd.system.state import State

FIRST_NONBONDED = TERMS.index("van der Waals")


@kernel(
    types_of(ti.f64), bonds=Bonds.only("terms"), results=Results.only("van_der_waals", "coulomb",
    "polarisation"), bonded=ArrayField("real", "n", "energy of bonded terms, eV"),
    nonbonded=ArrayField("real", "n", "energy of the others, eV"), status=STATUS
)  # fmt: skip
def _sum_terms(bonds, results, bonded, nonbonded, status):  # type: ignore[no-untyped-def]
    n = bonded.shape[0]
    for i in range(n):
        if status[GO] == 1:
            total = bonds.terms[i]
            for k in ti.static(range(1, FIRST_NONBONDED)):
                total += bonds.terms[k * n + i]
            bonded[i] = total
            bonds.terms[FIRST_NONBONDED * n + i] = results.van_der_waals[i]
            bonds.terms[(FIRST_NONBONDED + 1) * n + i] = results.coulomb[i]
            bonds.terms[(FIRST_NONBONDED + 2) * n + i] = results.polarisation[i]
            nonbonded[i] = results.van_der_waals[i] + results.coulomb[i] + results.polarisation[i]


@kernel(types_of(ti.f64), progress=Progress.only("flags"), control=CONTROL, status=STATUS)
def _hold(progress, control, status):  # type: ignore[no-untyped-def]
    """No step without charges: the host will look, and refuse them."""
    for _ in range(1):
        if status[GO] == 1 and progress.flags[OF_SOLVE] != SOLVED:
            control[Control.rebuild] = 1


@kernel(
    types_of(ti.f64), progress=Progress.only("flags"), moves=Moves.only("again"), control=CONTROL,
    status=STATUS
)  # fmt: skip
def _hold_all(progress, moves, control, status):  # type: ignore[no-untyped-def]
    """No step without the charges of all systems; the others then repeat what they have begun."""
    for _ in range(1):
        if status[GO] == 1:
            moves.again[0] = 0
    for k in range(progress.flags.shape[0] // FLAGS):
        if status[GO] == 1 and progress.flags[FLAGS * k + OF_SOLVE] != SOLVED:
            control[Control.rebuild] = 1
            moves.again[0] = 1


@kernel(
    types_of(ti.f64), response=Response.only("energy"),
    nonbonded=ArrayField("real", "n", "energy of nonbonded terms, eV"), status=STATUS
)  # fmt: skip
def _add_field(response, nonbonded, status):  # type: ignore[no-untyped-def]
    for i in range(nonbonded.shape[0]):
        if status[GO] == 1:
            nonbonded[i] += response.energy[i]


class BondRoom:
    """Room for rows of bonds, which a near list asks to grow."""

    def __init__(self) -> None:
        self.bonded: Bonded | None = None
        self.status: Any = None

    def grow(self) -> None:
        """Make room for the longest row of the last evaluation.

        Raises:
            CapacityError: it does not fit the memory.
        """
        if self.bonded is not None:
            self.bonded.grow(int(self.status.to_numpy()[MAX_BONDS]))

    def statistics(self) -> dict[str, Any]:
        """Memory, for reports."""
        return {}


class ReaxEvaluator(Evaluator):
    """Evaluates ReaxFF for one system, or for each of a batch.

    Args:
        parameters: for the species of the state, in its order.
        options: see there.
        state: the atoms.
        near: near lists of bonds and hydrogen bonds, and of all pairs.
        outputs: what both of these groups leave: this class takes the arrays of the second for its own.
        backend: "cuda" or "cpu".
        model: charge model and field; None for plain QEq.
    """

    def __init__(
        self,
        parameters: Parameters,
        options: Options,
        state: State,
        near: tuple[NearList, NearList],
        outputs: tuple[Outputs, Outputs],
        backend: str,
        model: Model | None = None,
    ) -> None:
        n_kinds = len(parameters.species)
        self._state, self._near, self._outputs = state, near, outputs
        self._tolerance = options.charge_tolerance
        self._tables = device_tables(parameters, state.real)
        self._status = ti.ndarray(ti.i32, STATUS_SIZE)
        self._status.fill(0)
        self._bonded = Bonded(state.n, n_kinds, backend, options.lammps_forces)
        room: Any = near[0].tuples
        room.bonded, room.status = self._bonded, self._status
        general, pair = parameters.general, {name: parameters.pair[..., k] for k, name in enumerate(PAIR)}
        of_kinds = {name: parameters.atom[:, k] for k, name in enumerate(ATOM)}
        self._reader = BondReader(backend, 0.5 * (of_kinds["Val_e"] - of_kinds["Val"]))
        kinds = state.kind.to_numpy()
        self.charges = Charges(
            state,
            ChargeParameters(
                of_kinds["chi"], of_kinds["eta"], pair["gamma3"], general["swa"], general["swb"]
            ),
            kinds,
            backend,
            row_layout(backend),
            tolerance=options.charge_tolerance,
            net_charge=options.net_charge,
            most_iterations=options.max_iterations,
            stored=ti.f32 if options.matrix_precision == "float32" else ti.f64,
            extended=options.extended,
            model=model,
        )
        constants = CONSTANTS[options.constants]
        self._model = None if model is None else Responding(model, state, self.charges, constants, backend)
        form = Form(parameters.shielded, parameters.wall, parameters.lg)
        exponent = general["p_vdW1"]
        self._nonbonded = Nonbonded(
            state, self.charges, pair_table(pair, form, exponent), form, exponent, backend,
            constants, intervals=INTERVALS if options.tables else None,
        )  # fmt: skip
        results = self._nonbonded.results
        outputs[1].force, outputs[1].virial = results.force, results.virial

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`.

        Raises:
            CapacityError: lists that do not fit the memory.
        """
        all_of_it, state, bonded = want != FORCE, self._state, self._bonded
        near, first = self._near[0], self._outputs[0]
        bonded.queue(
            all_of_it, state.real, state, verlet, near.near, bonded.bonds, self._tables, control,
            self._status, first, when, near.number,
        )  # fmt: skip
        kind = STEP if when != ANY_TIME else JUMP if self.jumped else BESIDE
        if self._model:
            self._model.set_field(call, control, when, self.step)
            self._model.before(self._near[1].near, verlet.shifts, verlet.shift_bits, self._status, HELD)
        self.charges.queue(
            self._near[1].near, verlet.shifts, verlet.shift_bits, self._status, HELD, kind,
            self.cells.arrays.vectors,
        )  # fmt: skip
        if not DEVICE_LOOPS:
            self.charges.wait()
        if state.batch:
            call(_hold_all, self.charges.progress, self.charges.moves, control, self._status)
        else:
            call(_hold, self.charges.progress, control, self._status)
        self._nonbonded.queue(verlet.shifts, ALL if all_of_it else FORCE)
        if self._model:
            self._model.after(self._nonbonded.results, ALL if all_of_it else FORCE)
            self._model.book(self._status, when)
        if all_of_it:
            second = self._outputs[1]
            call(_sum_terms, bonded.bonds, self._nonbonded.results, first.energy, second.energy, self._status)
            if self._model and self._model.model.pulls:
                call(_add_field, self._model.arrays, second.energy, self._status)

    def begin(self, timestep: float) -> bool:
        """See `Evaluator`: a field may depend on time."""
        return self._model is not None and self._model.begin(timestep)

    def plan(self, first: int, number: int) -> None:
        """See `Evaluator`."""
        if self._model is not None:
            self._model.plan(first, number)

    def works(self) -> list[float] | None:
        """See `Evaluator`: of a field that depends on time."""
        return self._model.works() if self._model is not None and self._model.work is not None else None

    def failures(self) -> dict[int, TaichimdError]:
        """Wait for the device: a ChargeError of each system whose charges did not converge."""
        return dict(self.charges.failures())

    def forget(self, number: int) -> None:
        """See `Evaluator`."""
        self.charges.forget(number)

    def terms(self) -> list[dict[str, float]]:
        """For each system the energy of each term (eV) of the last evaluation that wanted energies."""
        values = self._bonded.bonds.terms.to_numpy().reshape(len(TERMS), self._state.n)
        # In the user's order: the sum has the same bits whatever the spatial sort.
        orders = [self._state.sorted_of.to_numpy()[part] for part in self._state.parts]
        found = [
            {name: float(row[order].sum()) for name, row in zip(TERMS, values, strict=True)}
            for order in orders
        ]
        if self._model and self._model.model.pulls:
            energies = self._model.arrays.energy.to_numpy()
            for of_system, order in zip(found, orders, strict=True):
                of_system["field"] = float(energies[order].sum())
        return found

    def statistics(self) -> dict[str, Any]:
        """How the charge equilibration went, for reports; of several systems the worst residuals."""
        each = [self.charges.statistics(number) for number in range(len(self._state.sizes))]
        found = max(each, key=lambda one: max(one.residuals))
        return {
            "charges": {
                "last_iterations": max(one.iterations for one in each),
                "mean_iterations": sum(one.mean_iterations for one in each) / len(each),
                "last_residuals": list(found.residuals),
                "tolerance": self._tolerance,
                "norm": NORM,
            },
            "charges_memory_bytes": self.charges.memory(),
            "bonds_memory_bytes": self._bonded.memory(),
        }

    def charge_iterations(self) -> list[int]:
        """Return the iterations of the last solve of each system."""
        return self.charges.iterations()

    def atom_values(self) -> dict[str, NDArray[np.float64]]:
        """(n,) charges (e), in the user's order."""
        return {"charges": self.charges.charges()}

    def bonds(self, call: Any, verlet: Any, look: Any = None) -> Any:
        """All bonds of the last evaluation, of all systems, and what they make of atoms, in the user's order.

        Args:
            call: queues a kernel for this system.
            verlet: the Verlet list.
            look: called with `call`, the atoms, `shift_bits` and `Bonds` (`BondWatch.look`); None: a
                `BondTable` is read.

        Returns:
            The table, or what `look` returns.

        Raises:
            CapacityError: the table does not fit the memory.
        """
        return (look or self._reader.read)(call, self._state, verlet.shift_bits, self._bonded.bonds)
