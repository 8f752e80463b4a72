"""Radial distribution functions and numbers of neighbours."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.saved import blocks_of
from taichimd.estimators.blocks import pieces_of
from taichimd.estimators.series import Mean
from taichimd.estimators.structure import (
    RadialDistribution,
    check_reach,
    coordination_number,
    radial_distribution,
)
from taichimd.io.analysis_files import curves
from taichimd.io.frames import Frames
from taichimd.observables.numbers import band, finding
from taichimd.observables.observable import Result, RunObservable, TrajectoryObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Distributions = dict[tuple[str, str], RadialDistribution]
"""RDF of b around a for every pair (a, b) of species."""


class Rdf(RunObservable, TrajectoryObservable):
    """Radial distribution functions of every pair of species."""

    name, tables, picture = "rdf", ("rdf",), "rdf"
    needs_volume = True

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        from taichimd.observables.samplers.radial import RadialHistogram

        plan = run.plan
        self._histogram = RadialHistogram(
            len(run.kinds), len(run.species), plan.r_max, plan.bins, run.engine.precision
        )
        self._sizes = _sizes(plan.samples, pieces_of(plan.samples))
        # Up to the end of each block.
        self._counts: list[NDArray[np.int64]] = []
        run.samplers["radial"] = self

    @classmethod
    def check_system(
        cls, plan: Plan, symbols: list[str], masses: NDArray[np.float64], cell: NDArray[np.float64]
    ) -> None:
        """Raise an AnalysisError if r_max holds too many distances."""
        check_reach(len(symbols), float(np.linalg.det(cell)), plan.r_max)

    def sample(self, state: Any, energies: Any, virials: Any, centre: Any) -> None:
        """Add the distances of one sample."""
        self._histogram.sample(state, self.run.engine.cell)
        if self._histogram.frames == sum(self._sizes[: len(self._counts) + 1]):
            self._counts.append(self._histogram.counts())

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return {**self._histogram.save(), "blocks": np.array(self._counts)}

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        self._histogram.load(saved)
        self._counts = blocks_of(saved, "blocks", "i", self._histogram.counts().shape)
        # Earlier versions counted in the blocks of the plan.
        earlier = _sizes(self.run.plan.samples, self.run.plan.blocks)
        ends = np.cumsum(self._sizes)
        if len(self._counts) != np.searchsorted(ends, self._histogram.frames, side="right"):
            self._sizes = earlier

    def result(self) -> Result:
        """Result of the run, with the density at the mean volume."""
        run, counts = self.run, np.diff(self._counts, axis=0, prepend=0 * np.array(self._counts[:1]))
        return _result(
            _normalised(counts, self._sizes, run.species, run.numbers, run.plan.r_max, np.array(run.volumes))
        )

    @classmethod
    def missing(cls, trajectory: Trajectory) -> str:
        """A cell that is periodic in three directions."""
        frames = trajectory.frames
        whole = frames.pbc.all() and np.abs(np.linalg.det(frames.cells)).min() > 1e-6
        return "" if whole else "needs a cell that is periodic in three directions"

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory) -> Result:
        """Result of all frames."""
        request, species = trajectory.request, trajectory.species
        return _result(
            pair_distributions(trajectory.frames, species, request.r_max, request.bins, trajectory.pieces)
        )


def pair_distributions(
    frames: Frames, species: list[str], r_max: float, bins: int, blocks: int
) -> Distributions:
    """RDF of b around a for every pair (a, b) of species, errors from the blocks' autocorrelation."""
    from taichimd.core.runtime import start, ti
    from taichimd.observables.samplers.radial import RadialHistogram
    from taichimd.system.state import Atoms

    start()
    n = len(frames.symbols)
    kinds = np.array([species.index(symbol) for symbol in frames.symbols], np.int32)
    histogram = RadialHistogram(n, len(species), r_max, bins)
    vec = ti.types.vector(3, ti.f64)
    atoms = Atoms(n=n, pos=ti.ndarray(vec, n), kind=ti.ndarray(ti.i32, n), ident=ti.ndarray(ti.i32, n))
    atoms.kind.from_numpy(kinds)
    atoms.ident.from_numpy(np.arange(n, dtype=np.int32))
    parts, counts = np.array_split(np.arange(len(frames.positions)), blocks), [histogram.counts()]
    for part in parts:
        for k in part:
            atoms.pos.from_numpy(np.ascontiguousarray(frames.positions[k]))
            histogram.sample(atoms, frames.cells[k])
        counts.append(histogram.counts())
    volumes = np.abs(np.linalg.det(frames.cells))
    return _normalised(
        np.diff(counts, axis=0), list(map(len, parts)), species, np.bincount(kinds), r_max, volumes
    )


def _sizes(samples: int, pieces: int) -> list[int]:
    """Samples of each of so many consecutive pieces."""
    return [len(part) for part in np.array_split(np.arange(samples), pieces)]


def _normalised(
    counts: NDArray[np.int64],
    sizes: list[int],
    species: list[str],
    numbers: NDArray[np.int_],
    r_max: float,
    volumes: Array,
) -> Distributions:
    """RDFs from counts of `RadialHistogram`, block after block, and the volume of each sample."""
    volume = 1.0 / float(np.mean(1.0 / volumes))
    return {
        (a, b): radial_distribution(
            counts[:, i, j], sizes, r_max, int(numbers[i]), int(numbers[j]), volume, consecutive=True
        )
        for i, a in enumerate(species)
        for j, b in enumerate(species)
    }


def _highest_shell(rdf: RadialDistribution) -> tuple[int, float, Mean] | None:
    """Distance of the highest peak, of the next minimum (angstrom), and the neighbours up to there."""
    g = rdf.g.value
    top = int(g.argmax())
    if g[top] == 0:
        return None
    behind = np.convolve(g, np.ones(3) / 3, "same")[top : int(1.7 * top) + 2]
    edge = float(rdf.edges[top + int(behind.argmin()) + 1])
    return top, edge, coordination_number(rdf, edge)


def _result(found: Distributions) -> Result:
    first = next(iter(found.values()))
    columns: dict[str, Array] = {"r_A": first.r}
    result = Result([columns], [], [])
    pairs, around = {}, {}
    of_bin = f"no error: the place of an extremum, of bins {first.edges[1]:.2g} Å wide"
    for (a, b), rdf in found.items():
        told = "no pair within r_max"
        if shell := _highest_shell(rdf):
            top, edge, near = shell
            told = f"highest at {rdf.r[top]:.3g} Å (g = {rdf.g.value[top]:.3g}); "
            told += f"{near.value:.3g} within {edge:.3g} Å"
            if a <= b:
                result.values |= {
                    f"rdf_{a}-{b}_position": finding(rdf.r[top], None, "Å", note=of_bin),
                    f"rdf_{a}-{b}_height": finding(rdf.g.value[top], rdf.g.error[top], "1", note=rdf.g.note),
                    f"rdf_{a}-{b}_edge": finding(edge, None, "Å", note=of_bin),
                }
            result.values[f"n_{b}_around_{a}"] = finding(near.value, near.error, "1", note=near.note)
        if a <= b:
            pairs[f"{a}-{b}"] = band(rdf.g)
            columns |= {f"g_{a}-{b}": rdf.g.value, f"error_{a}-{b}": rdf.g.error}
            result.rows.append((f"RDF {a}-{b}", told))
        line, width = band(rdf.coordination)
        around[f"{b} around {a}"] = line[1:], width[1:]
    # Counts belong to the outer edge of a bin, g to its middle.
    columns["edge_A"] = first.edges[1:]
    columns |= {f"n_{name.replace(' ', '_')}": line for name, (line, _) in around.items()}

    def g(axis: "Axes") -> None:
        curves(axis, columns["r_A"], pairs, "r (Å)", "g(r)")
        axis.axhline(1.0, color="#555555", linewidth=0.8, linestyle=":", zorder=0.5)

    if note := next(iter(found.values())).g.note:
        result.notes.append(f"RDF: {note}")
    result.panels += [g, lambda axis: curves(axis, columns["edge_A"], around, "r (Å)", "neighbours within r")]
    return result
