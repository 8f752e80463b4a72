"""Radial distributions, displacements and vibrations of a trajectory: table, picture, rows of the summary."""

from pathlib import Path

import numpy as np

from taichimd.analysis.motion import (
    density_of_states,
    diffusion_from_msd,
    unwrapped,
    velocity_autocorrelation,
    without_drift,
)
from taichimd.analysis.series import Mean, mean_of, running_integral
from taichimd.analysis.structure import RadialDistribution, coordination_number, radial_distribution
from taichimd.analyze.request import Run
from taichimd.io.analysis_files import curves, draw, write_table
from taichimd.io.frames import Frames
from taichimd.protocols import Array
from taichimd.units import CM2_PER_S, PS, THZ


def rdf(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Radial distributions: rows for the summary.

    Args:
        run: the trajectory.
        files: the CSV, and the PNG last.
        title: of the picture.
    """
    found = pair_distributions(run.frames, run.species, run.request.r_max, run.request.bins, run.blocks)
    columns: dict[str, Array] = {}
    rows = []
    for (a, b), pair in found.items():
        columns.setdefault("r_A", pair.r)
        if a <= b:
            columns |= {f"g_{a}-{b}": pair.g.value, f"error_{a}-{b}": pair.g.error}
            rows.append((f"RDF {a}-{b}", _peak(pair)))
    # Counts belong to the outer edge of a bin, g to its middle.
    columns["edge_A"] = next(iter(found.values())).edges[1:]
    columns |= {f"n_{b}_around_{a}": pair.coordination.value[1:] for (a, b), pair in found.items()}
    write_table(files[0], columns)
    pairs = {f"{a}-{b}": pair for (a, b), pair in found.items() if a <= b}
    around = {f"{b} around {a}": _band(_tail(pair.coordination)) for (a, b), pair in found.items()}
    draw(files[-1], title, [
        lambda axis: curves(axis, columns["r_A"], {k: _band(v.g) for k, v in pairs.items()}, "r (Å)", "g(r)"),
        lambda axis: curves(axis, columns["edge_A"], around, "r (Å)", "neighbours within r"),
    ])  # fmt: skip
    return rows


def pair_distributions(
    frames: Frames, species: list[str], r_max: float, bins: int, blocks: int
) -> dict[tuple[str, str], RadialDistribution]:
    """RDF of b around a for every pair (a, b) of species, errors over blocks of frames."""
    from taichimd.observe.radial import RadialHistogram
    from taichimd.runtime import start, ti

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
    number = np.bincount(kinds)
    return {
        (a, b): radial_distribution(
            np.array([s[i, j] for s in samples]), sizes, r_max, int(number[i]), int(number[j]), volume
        )
        for i, a in enumerate(species)
        for j, b in enumerate(species)
    }


def _peak(rdf: RadialDistribution) -> str:
    """Highest peak, and the neighbours up to the lowest point behind it."""
    g = rdf.g.value
    top = int(g.argmax())
    if g[top] == 0:
        return "no pair within r_max"
    behind = np.convolve(g, np.ones(3) / 3, "same")[top : int(1.7 * top) + 2]
    edge = float(rdf.edges[top + int(behind.argmin()) + 1])
    return (
        f"highest at {rdf.r[top]:.3g} Å (g = {g[top]:.3g}); "
        f"{coordination_number(rdf, edge).value:.3g} within {edge:.3g} Å"
    )


def msd(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Mean square displacement and diffusion: rows for the summary; arguments as for `rdf`."""
    assert run.interval is not None
    frames, fit = run.frames, run.request.fit
    positions = frames.positions
    if frames.wrapped:
        positions, jumps = unwrapped(positions, frames.cells, frames.pbc)
        if jumps:
            run.notes.append(
                f"{jumps:,} jumps of more than half a cell between frames were taken for wrapping"
            )
    positions = without_drift(positions, frames.masses)
    columns: dict[str, Array] = {}
    rows, lines = [], {}
    for name in run.species:
        found = diffusion_from_msd(
            positions[:, run.atoms(name)], run.interval * PS, run.window() * PS,
            None if fit is None else (fit[0] * PS, fit[1] * PS), run.blocks,
        )  # fmt: skip
        columns.setdefault("time_ps", found.time / PS)
        columns |= {f"msd_{name}_A2": found.total.value, f"error_{name}_A2": found.total.error}
        columns |= {f"msd_{name}_{axis}_A2": found.msd.value[:, k] for k, axis in enumerate("xyz")}
        lines[name] = _band(found.total)
        first, last = (t / PS for t in found.fit)
        d = Mean(found.mean.value / CM2_PER_S, found.mean.error / CM2_PER_S, found.mean.samples)
        rows.append((f"D {name}", f"{_pm(d)} cm²/s, slope from {first:.3g} to {last:.3g} ps"))
    write_table(files[0], columns)
    draw(files[-1], title, [
        lambda axis: curves(axis, columns["time_ps"], lines, "time (ps)", "mean square displacement (Å²)")
    ])  # fmt: skip
    return rows


def vacf(run: Run, files: list[Path], title: str) -> list[tuple[str, str]]:
    """Velocity autocorrelation and density of states: rows for the summary; files: two CSVs, then PNG."""
    frames = run.frames
    assert run.interval is not None
    assert frames.velocities is not None
    interval, window = run.interval, run.window()
    lags = round(window / interval)
    table: dict[str, Array] = {"time_ps": interval * np.arange(lags + 1.0)}
    spectrum: dict[str, Array] = {}
    lines, densities = {}, {}
    everything = np.ones(len(frames.symbols), bool)
    masks = {name: run.atoms(name) for name in run.species}
    for name, mask in (masks | {"all": everything} if len(masks) > 1 else masks).items():
        velocities = frames.velocities[:, mask]
        dos = density_of_states(velocities, frames.masses[mask], interval * PS, window * PS, run.blocks)
        spectrum.setdefault("frequency_THz", dos.frequency / THZ)
        density = Mean(dos.density.value * THZ, dos.density.error * THZ, dos.density.samples)
        spectrum |= {f"dos_{name}_per_THz": density.value, f"error_{name}_per_THz": density.error}
        densities[name] = density
        if name in masks:
            correlation = velocity_autocorrelation(velocities, lags, blocks=run.blocks).sum(axis=2)
            normalised = mean_of(correlation / correlation[:, :1].mean())
            table |= {f"vacf_{name}": normalised.value, f"error_{name}": normalised.error}
            lines[name] = _band(normalised)
    write_table(files[0], table)
    write_table(files[1], spectrum)
    # The picture ends where the spectrum does, not where the spacing of the frames would let it.
    whole = next(reversed(densities.values())).value
    highest = float(spectrum["frequency_THz"][np.flatnonzero(whole > 0.01 * whole.max())[-1]])
    f, bands = spectrum["frequency_THz"], {name: _band(density) for name, density in densities.items()}
    draw(files[-1], title, [
        lambda axis: curves(axis, table["time_ps"], lines, "time (ps)", "velocity autocorrelation"),
        lambda axis: curves(
            axis, f, bands, "frequency (THz)", "density of states (1/THz)", max(1.15 * highest, f[1])
        ),
    ])  # fmt: skip
    rows = []
    for name, density in densities.items():
        top, total = f[int(density.value.argmax())], running_integral(density.value, f[1])[-1]
        rows.append((f"DOS {name}", f"highest at {top:.3g} THz, integral {total:.6g}"))
    reach = f"lines {1 / window:.2g} THz wide; faster than {f[-1]:.3g} THz folds back"
    return [*rows, ("", reach)]


def _band(mean: Mean) -> tuple[Array, Array]:
    return mean.value, np.nan_to_num(mean.error)


def _tail(mean: Mean) -> Mean:
    return Mean(mean.value[1:], mean.error[1:], mean.samples)


def _pm(mean: Mean) -> str:
    return f"{mean.value:.3g}" + ("" if np.isnan(mean.error) else f" ± {mean.error:.1g}")
