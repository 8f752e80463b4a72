"""Preconditioners of ACKS2: iterations with dense matrices in NumPy, and steps of ACKS2 beside steps of QEq.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.acks2_preconditioners

The matrix is L + L H L (module `softness`). Each preconditioner z = P G^T G P r has the
approximate inverse G^T G of H (`precondition`) and one P for the inverse of L: the Chebyshev polynomial of
`soft_precondition`, such a polynomial around a factorised approximate inverse of L, or the exact
pseudo-inverse. For comparison: the diagonal of L + L H L. A solve begins with u = 0 and ends as in taichimd,
at sqrt(sum of r^2/diagonal)/|chi| of the tolerance.

Steps are those of water at 300 K with a time step of 0.25 fs and charges to 1e-6, both models in turn.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from validation import common

Array = NDArray[np.float64]
Apply = Callable[[Array], Array]
FILE = "acks2_ff.water"
TOLERANCES = (1e-6, 1e-10)
EDGE = 12.42
"""Of a cube of 64 water molecules, 1 g/cm3, angstrom."""
DEGREES = (2, 4, 6, 8, 10)
AROUND = ((1, 0.3), (2, 0.2), (3, 0.1))
"""Degree and smallest eigenvalue of polynomials around a factorised inverse of L."""
ADDED, SIZE = 0.02, 12
"""Of the factorised inverse of L: the fraction of the diagonal that is added, and the largest matrix."""


def main() -> None:
    """Parse the command line, solve, run, write JSON, print tables."""
    parser = common.parser(__doc__, "backend", out="reaxff_acks2_preconditioners")
    parser.add_argument("--molecules", type=int, nargs="*", default=[64, 512], help="of timed runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of a round")
    options = parser.parse_args()
    common.use_tests_folder()
    from reaxff_samples import hot, water

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    structures = {
        "64 H2O, 1 g/cm3": water(64, EDGE), "16 H2O, 0.5 g/cm3": water(16, 10.0),
        "atoms at random": hot("H24O12", 10.0, 2),
    }  # fmt: skip
    report: dict[str, Any] = {
        **common.provenance(), "file": FILE, "tolerances": TOLERANCES, "iterations": {}, "spectrum": {}
    }  # fmt: skip
    rows = []
    for name, atoms in structures.items():
        system = System(atoms)
        report["spectrum"][name] = system.smallest()
        found = {
            label: [system.solve(apply, tolerance) for tolerance in TOLERANCES]
            for label, apply in preconditioners(system)
        }
        report["iterations"][name] = found
        rows += [(name, label, *numbers) for label, numbers in found.items()]
    print(common.table(rows, ("structure", "preconditioner", *(f"{one:g}" for one in TOLERANCES))))
    report["steps"] = {
        str(3 * n): steps(n, backend, options.rounds, options.steps) for n in options.molecules
    }
    common.write_json(options.out, report)
    of_steps = [
        (n, model, one["ms_per_step"], one["mean_iterations"])
        for n, both in report["steps"].items()
        for model, one in both.items()
    ]
    print(common.table(of_steps, ("atoms", "model", "ms a step", "iterations")))


def steps(molecules: int, backend: str, rounds: int, number: int) -> dict[str, Any]:
    """Milliseconds a step and iterations of QEq and ACKS2, in turn."""
    from peers import path_of
    from reaxff_samples import water

    from taichimd import testing
    from taichimd.core import units
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.program.engine import Engine

    atoms = testing.with_velocities(water(molecules, EDGE * (molecules / 64) ** (1 / 3)), 300.0, 1)
    engines = {
        model: Engine(atoms, ReaxFF(path_of(FILE), charges=model, constants="consistent"), backend=backend)
        for model in ("qeq", "acks2")
    }
    each: dict[str, list[float]] = {model: [] for model in engines}
    for engine in engines.values():
        engine.warm_up()
        engine.advance(number, 0.25 * units.FS)
    for _ in range(rounds):
        for model, engine in engines.items():
            engine.synchronize()
            began = time.perf_counter()
            engine.advance(number, 0.25 * units.FS)
            engine.synchronize()
            each[model].append(1000 * (time.perf_counter() - began) / number)
    return {
        model: {
            "ms_per_step": statistics.median(each[model]),
            "each_ms": each[model],
            "mean_iterations": engine.device.evaluators[0].statistics()["charges"]["mean_iterations"],
            "last_iterations": engine.thermo().charge_iterations,
        }
        for model, engine in engines.items()
    }


class System:
    """Matrices of some atoms, which all have kinds of the file.

    Attributes:
        matrix: (n, n) L + L H L, e^2/eV. hardness: (n, n) H, eV. laplacian: (n, n) L, e^2/eV.
        distances: (n, n) to the nearest image, angstrom.
    """

    def __init__(self, atoms: Atoms) -> None:
        from peers import path_of
        from reaxff_dense import Dense

        from taichimd.forcefields.reaxff.columns import SOFTNESS, SOFTNESS_RADIUS
        from taichimd.forcefields.reaxff.ffield import read_ffield
        from taichimd.forcefields.reaxff.options import COUPLING
        from taichimd.forcefields.reaxff.rules import types_of

        path = path_of(FILE)
        dense, ffield = Dense(path, atoms), read_ffield(path)
        self.chi = dense.chi
        self.hardness = COUPLING * dense.screening(atoms.positions, atoms.cell.array) + np.diag(dense.eta)
        types = types_of(ffield, list(atoms.symbols))
        b = np.array([ffield.atoms[kind - 1][SOFTNESS_RADIUS] for kind in types])
        self.distances = atoms.get_all_distances(mic=bool(atoms.pbc.any()))
        d = self.distances / (0.5 * (b[:, None] + b[None, :])).clip(1e-9)
        x = np.where(
            (d < 1.0) & ~np.eye(len(b), dtype=bool), ffield.general[SOFTNESS] * d**3 * (1 - d) ** 6, 0.0
        )
        self.laplacian = np.diag(x.sum(1)) - x
        self.matrix = self.laplacian + self.laplacian @ self.hardness @ self.laplacian
        self.diagonal = np.diag(self.matrix).copy()
        self.diagonal[self.diagonal <= 0.0] = 1.0

    @property
    def scale(self) -> Array:
        """(n) D of `soft_precondition`."""
        degree = np.diag(self.laplacian)
        found = np.sqrt(degree * (degree + 1.0 / np.diag(self.hardness)))
        return np.where(found > 0.0, found, 1.0)

    def smallest(self) -> float:
        """Smallest eigenvalue of D^-1 L that is not of a fragment: above 1e-6."""
        root = 1.0 / np.sqrt(self.scale)
        values = np.linalg.eigvalsh(root[:, None] * self.laplacian * root[None, :])
        return float(values[values > 1e-6].min())

    def solve(self, apply: Apply, tolerance: float, most: int = 1000) -> int:
        """Iterations of a solve."""
        r = -self.laplacian @ self.chi
        p, old, limit = np.zeros_like(r), 0.0, tolerance * float(np.linalg.norm(self.chi))
        for iteration in range(most):
            if np.sqrt((r * r / self.diagonal).sum()) <= limit:
                return iteration
            z = apply(r)
            gamma = float(r @ z)
            p = z + (gamma / old if old else 0.0) * p
            h = self.matrix @ p
            r = r - gamma / float(p @ h) * h
            old = gamma
        return most


def preconditioners(system: System) -> Iterator[tuple[str, Apply]]:
    """Name and function of each."""
    from taichimd.forcefields.reaxff.soft_precondition import LEAST, MOST

    near = system.distances < 3.0
    g = factorised(system.hardness, near)
    middle = g.T @ g
    root = 1.0 / np.sqrt(system.scale)
    scaled = root[:, None] * system.laplacian * root[None, :]
    yield "diagonal", lambda r: r / system.diagonal
    for degree in DEGREES:
        p = root[:, None] * polynomial(scaled, degree, LEAST, MOST) * root[None, :]
        yield f"polynomial, {degree}", sandwich(p, middle)
    degrees = np.diag(system.laplacian)
    f = factorised(system.laplacian + np.diag(ADDED * degrees + (degrees == 0.0)), system.laplacian != 0.0)
    inner = f @ system.laplacian @ f.T
    for degree, least in AROUND:
        p = f.T @ polynomial(inner, degree, least, MOST) @ f
        yield f"polynomial around factors, {degree}", sandwich(p, middle)
    yield "exact inverse of L", sandwich(np.linalg.pinv(system.laplacian, rcond=1e-10), middle)


def sandwich(p: Array, middle: Array) -> Apply:
    """P middle P."""
    whole = p @ middle @ p
    return lambda r: np.asarray(whole @ r)


def polynomial(matrix: Array, degree: int, least: float, most: float) -> Array:
    """The Chebyshev iteration for the inverse, as a matrix."""
    from taichimd.forcefields.reaxff.soft_precondition import chebyshev

    factor, steps = chebyshev(least, most, degree)
    one = np.eye(len(matrix))
    before, last = np.zeros_like(one), factor * one
    for change, residual in steps:
        before, last = last, last + change * (last - before) + residual * (one - matrix @ last)
    return last


def factorised(matrix: Array, near: NDArray[np.bool_]) -> Array:
    """G of the factorised approximate inverse G^T G (`precondition`), rows of at most `SIZE` atoms."""
    g = np.zeros_like(matrix)
    for i in range(len(matrix)):
        row = [*[j for j in range(i) if near[i, j]][: SIZE - 1], i]
        last = np.linalg.solve(matrix[np.ix_(row, row)], np.eye(len(row))[-1])
        g[i, row] = last / np.sqrt(last[-1])
    return g


if __name__ == "__main__":
    main()
