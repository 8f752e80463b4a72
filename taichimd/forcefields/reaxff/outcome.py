"""How a solve of the charges ended, and what is said of one that failed."""

from dataclasses import dataclass

from taichimd.forcefields.reaxff.solve_tables import ASTRAY, INDEFINITE, MAX_ASTRAY


@dataclass(frozen=True)
class Solve:
    """How the last solve of a system went."""

    iterations: int  # of conjugate gradients, for both solutions together
    mean_iterations: float  # of all solves so far
    # sqrt(sum of r^2/eta)/|b| of s and of t, before the last iteration improved them
    residuals: tuple[float, float]
    solved: bool  # whether both are within the tolerance

    def message(self, status: int, tolerance: float) -> str:
        """Why a solve that ended with this status (`solve_tables`) has no charges.

        Args:
            status: of the solve.
            tolerance: of the charges.
        """
        worst = max(self.residuals)
        if status == ASTRAY:
            return (
                f"the charges of the extended Lagrangian diverge: residual {worst:.1e}, expected less than "
                f'{MAX_ASTRAY}; use a smaller time step or charges="converged"'
            )
        if status == INDEFINITE:
            return (
                f"the charge matrix is not positive definite (iteration {self.iterations}, residual "
                f"{worst:.1e}, charge_tolerance {tolerance:.1e}): atoms are too close to each other; "
                "look for overlapping atoms or use a smaller time step"
            )
        return (
            f"charges did not converge: residual {worst:.1e} after {self.iterations} iterations, "
            f"charge_tolerance is {tolerance:.1e}; raise charge_tolerance or max_iterations, or look "
            "for atoms that are too close to each other"
        )
