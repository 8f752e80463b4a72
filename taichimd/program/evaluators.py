"""All evaluators of a device: what its queued groups of terms do and know together."""

from collections.abc import Sequence
from typing import Any

from taichimd.core.errors import ChargeError, TaichimdError
from taichimd.enumerate.evaluator import Evaluator
from taichimd.enumerate.outputs import Outputs
from taichimd.program.groups import Choice
from taichimd.system.cell import Cells
from taichimd.system.state import State


class Evaluators(list[Evaluator]):
    """The evaluators of the groups that have kernels of their own; empty without such groups."""

    @classmethod
    def of(
        cls, choice: Choice, state: State, cells: Cells, near: Sequence[Any], left: Sequence[Outputs]
    ) -> "Evaluators":
        """One evaluator for each run of groups that it evaluates together.

        `left`: where a group leaves results.
        """
        self = cls(
            bound.evaluator(state, near[k : k + bound.span], left[k : k + bound.span], choice.backend)
            for k, bound in enumerate(choice.bounds)
            if bound.evaluator
        )
        for one in self:
            one.cells = cells
        return self

    @property
    def degree(self) -> int:
        """See `Evaluator`; 0 if no energy is homogeneous."""
        return next((one.degree for one in self if one.degree), 0)

    def queue(self, call: Any, verlet: Any, control: Any, step: int, when: int, want: int) -> None:
        """Queue all evaluations of a step, as `Evaluator.queue`."""
        for one in self:
            one.step = step
            one.queue(call, verlet, control, when, want)

    def jumped(self, jumped: bool) -> None:
        """Whether the next evaluation beside a run is of other positions than the last one."""
        for one in self:
            one.jumped = jumped

    def begin(self, timestep: float) -> bool:
        """A run with this time step begins; whether known forces are not those of its start."""
        return any([one.begin(timestep) for one in self])

    def plan(self, first: int, number: int) -> None:
        """So many steps follow the step `first`."""
        for one in self:
            one.plan(first, number)

    def failures(self) -> dict[int, TaichimdError]:
        """Wait for the device: what evaluations have not found, an error for each such system."""
        return {number: error for one in self for number, error in one.failures().items()}

    def check(self) -> None:
        """Wait for the device, and raise what an evaluation has not found, as a ChargeError of a system."""
        for number, error in self.failures().items():
            if isinstance(error, ChargeError):
                error.system = number
            raise error

    def forget(self, number: int) -> None:
        """Forget what is known of a system that is put elsewhere."""
        for one in self:
            one.forget(number)

    def terms(self, n_systems: int) -> list[dict[str, float]]:
        """For each system the energies (eV) of all terms."""
        found: list[dict[str, float]] = [{} for _ in range(n_systems)]
        for one in self:
            for own, terms in zip(found, one.terms() or found, strict=True):
                own |= terms
        return found

    def atom_values(self) -> dict[str, Any]:
        """Values of atoms of all systems, (n,) in the user's order, by name."""
        return {name: value for one in self for name, value in one.atom_values().items()}

    def charge_iterations(self) -> list[int] | None:
        """Iterations of the last charge equilibration of each system; None without charges."""
        found = (one.charge_iterations() for one in self)
        return next((numbers for numbers in found if numbers is not None), None)

    def statistics(self) -> dict[str, Any]:
        """Figures for reports."""
        return {name: value for one in self for name, value in one.statistics().items()}

    def bonds(self, call: Any, verlet: Any, look: Any = None) -> Any:
        """A `BondTable` of all systems, or what `look` makes of them; None without bonds."""
        found = (one.bonds(call, verlet, look) for one in self)
        return next((table for table in found if table is not None), None)
