"""What queues the kernels of groups that have their own (`queued`)."""

from typing import Any

from taichimd.core.errors import TaichimdError
from taichimd.enumerate.reproducible_sum import ALL

ENERGY = ALL + 1
"""What is wanted: the energy alone, of evaluators with `energy_costs_less`; of others all that there is."""
REST = ENERGY + 1
"""The same without energies that are homogeneous in the positions."""


class Evaluator:
    """Evaluates some groups of terms. A subclass has `queue`, and what it knows of the rest.

    Attributes:
        jumped: whether somebody else than a step has moved the atoms since the last evaluation.
        energy_costs_less: whether an evaluation with `ENERGY` costs less, leaves 0 with the atoms and
            energies to `energies`.
        degree: d where positions s r have s^d times the energy of positions r; else 0.
        cells: of all systems (`Cells`); given by the device.
        step: number of the present step, for an evaluation at any time; given by the device.
    """

    jumped = energy_costs_less = False
    degree = step = 0
    cells: Any = None

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """Queue an evaluation with lists that are fit, or one that does nothing, by `call`.

        `when`: `STEP`, `END` or `ANY_TIME`; `want`: `FORCE`, `ENERGY` or `REST`; else energies and virials,
        too.
        """
        raise NotImplementedError

    def begin(self, timestep: float) -> bool:
        """A run with a time step (internal) begins; whether forces of before are not those of its start."""
        return False

    def plan(self, first: int, number: int) -> None:
        """So many steps follow the step `first`, with the time step of `begin`."""

    def energies(self) -> list[float | None]:
        """Energy of each system after an evaluation with `ENERGY`, eV; None if atoms are too close."""
        return []

    def works(self) -> list[float] | None:
        """Work on each system by something that depends on time, eV; None if nothing does."""
        return None

    def failures(self) -> dict[int, TaichimdError]:
        """Wait for the device, and say what an evaluation has not found: an error for each such system."""
        return {}

    def forget(self, number: int) -> None:
        """Forget what is known of a system that is put elsewhere."""

    def terms(self) -> list[dict[str, float]]:
        """For each system the energy of each term, eV; nothing of a group that is one term."""
        return []

    def atom_values(self) -> dict[str, Any]:
        """Values of atoms of all systems, (n,) in the user's order, by name."""
        return {}

    def statistics(self) -> dict[str, Any]:
        """Figures for reports."""
        return {}

    def charge_iterations(self) -> list[int] | None:
        """Iterations of the last charge equilibration of each system; None without charges."""
        return None

    def bonds(self, call: Any, verlet: Any, look: Any = None) -> Any:
        """A `reaxff.bond_table.BondTable` of all systems, or what `look` makes of it; None: no bonds."""
        return None
