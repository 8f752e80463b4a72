"""Distances, bonds, displacements and vibrations of a trajectory, and the rows of their summary."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taichimd.app.protocols import Array
from taichimd.core.units import PS
from taichimd.io.frames import Frames
from taichimd.observables.estimators.bonds import bond_structure
from taichimd.observables.estimators.motion import (
    density_of_states,
    diffusion_from_msd,
    unwrapped,
    velocity_autocorrelation,
    without_drift,
)
from taichimd.observables.estimators.structure import RadialDistribution, radial_distribution
from taichimd.observables.request import Run
from taichimd.observables.tables import folding_notes, write_bonds, write_msd, write_rdf, write_vacf


def rdf(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Radial distributions: rows for the summary.

    Args:
        run: the trajectory.
        files: the CSV, and the picture last.
        title: of the picture.
    """
    found = pair_distributions(run.frames, run.species, run.request.r_max, run.request.bins, run.blocks)
    return write_rdf(found, files, title)


def pair_distributions(
    frames: Frames, species: list[str], r_max: float, bins: int, blocks: int
) -> dict[tuple[str, str], RadialDistribution]:
    """RDF of b around a for every pair (a, b) of species, errors over blocks of frames."""
    from taichimd.core.runtime import start, ti
    from taichimd.observables.samplers.radial import RadialHistogram

    start()
    n = len(frames.symbols)
    kinds = np.array([species.index(symbol) for symbol in frames.symbols], np.int32)
    histogram = RadialHistogram(n, len(species), r_max, bins)
    kind, ident = ti.ndarray(ti.i32, n), ti.ndarray(ti.i32, n)
    pos = ti.ndarray(ti.types.vector(3, ti.f64), n)
    kind.from_numpy(kinds)
    ident.from_numpy(np.arange(n, dtype=np.int32))
    samples, sizes, before = [], [], histogram.counts()
    for part in np.array_split(np.arange(len(frames.positions)), blocks):
        for k in part:
            pos.from_numpy(np.ascontiguousarray(frames.positions[k]))
            histogram.sample(pos, kind, ident, frames.cells[k])
        counts = histogram.counts()
        samples.append(counts - before)
        sizes.append(len(part))
        before = counts
    volume = 1.0 / float(np.mean(1.0 / np.abs(np.linalg.det(frames.cells))))
    return normalised(np.array(samples), sizes, species, np.bincount(kinds), r_max, volume)


def normalised(
    counts: Array,
    sizes: list[int],
    species: list[str],
    numbers: NDArray[np.int_],
    r_max: float,
    volume: float,
) -> dict[tuple[str, str], RadialDistribution]:
    """RDF of b around a for every pair (a, b) of species.

    Args:
        counts: (blocks, species, species, bins) of `RadialHistogram`.
        sizes: frames of each block.
        species: symbols.
        numbers: atoms of each.
        r_max: angstrom.
        volume: angstrom^3.
    """
    return {
        (a, b): radial_distribution(counts[:, i, j], sizes, r_max, int(numbers[i]), int(numbers[j]), volume)
        for i, a in enumerate(species)
        for j, b in enumerate(species)
    }


def angles(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Bond angles and coordination numbers: rows for the summary; files: two CSVs, then the picture."""
    frames, length = run.frames, run.request.bond_length
    assert length is not None
    found = bond_structure(
        frames.symbols.tolist(), frames.positions, frames.cells, frames.pbc, length, blocks=run.blocks
    )
    return write_bonds(found, files, title)


def msd(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Mean square displacement and diffusion: rows for the summary; arguments as for `rdf`."""
    assert run.interval is not None
    frames, fit = run.frames, run.fit()
    positions = frames.positions
    if frames.wrapped:
        positions, jumps = unwrapped(positions, frames.cells, frames.pbc)
        if jumps:
            run.notes.append(
                f"{jumps:,} jumps of more than half a cell between frames were taken for wrapping"
            )
        farthest = np.abs(np.diff(frames.positions, axis=0)).max(initial=0.0)
        if not frames.pbc.any() and farthest > 0.5 * np.ptp(frames.positions[0], axis=0).max() > 0.0:
            run.notes.append(
                "the file has no cell, and atoms jump by more than half of the system between frames: if "
                "they were folded into a cell, displacements are wrong; write the cell to the file"
            )
    positions = _relative(run, positions)
    found = {
        name: diffusion_from_msd(
            positions[:, run.atoms(name)], run.interval * PS, run.window() * PS,
            None if fit is None else (fit[0] * PS, fit[1] * PS), run.blocks,
        )
        for name in run.that_move
    }  # fmt: skip
    return write_msd(found, files, title)


def vacf(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Velocity autocorrelation and density of states: rows; files: two CSVs, then the picture."""
    frames = run.frames
    assert run.interval is not None
    assert frames.velocities is not None
    interval, window = run.interval, run.window()
    lags = round(window / interval)
    everything = ~frames.fixed
    velocities = _relative(run, frames.velocities)
    masks = {name: run.atoms(name) for name in run.that_move}
    correlations = {
        name: velocity_autocorrelation(velocities[:, mask], lags, blocks=run.blocks)
        for name, mask in masks.items()
    }
    densities = {
        name: density_of_states(
            velocities[:, mask], frames.masses[mask], interval * PS, window * PS, run.blocks
        )
        for name, mask in (masks | {"all": everything} if len(masks) > 1 else masks).items()
    }
    run.notes += folding_notes(densities, "write frames more often")
    return write_vacf(correlations, densities, interval, files, title)


def _relative(run: Run, values: Array) -> Array:
    """Positions or velocities relative to the centre of mass, or, with fixed atoms, to the laboratory.

    A single atom is its centre of mass, relative to which it would rest.
    """
    frames = run.frames
    if frames.fixed.any():
        note = (
            f"MSD and VACF are those of the atoms that move, without {frames.fixed.sum():,} fixed ones, "
            "relative to the laboratory"
        )
        if note not in run.notes:
            run.notes.append(note)
        return values
    return without_drift(values, frames.masses) if len(frames.symbols) > 1 else values
