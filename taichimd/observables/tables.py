"""Results as CSV tables, PNG pictures and rows of a summary, of a trajectory or of a running simulation."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taichimd.app.protocols import Array
from taichimd.core.units import CM2_PER_S, PS, THZ
from taichimd.io.analysis_files import curves, draw, write_table
from taichimd.observables.estimators.bonds import BondStructure, highest_peak
from taichimd.observables.estimators.green_kubo import GreenKubo, growing
from taichimd.observables.estimators.motion import DensityOfStates, Diffusion
from taichimd.observables.estimators.series import Mean, mean_of, running_integral
from taichimd.observables.estimators.structure import RadialDistribution
from taichimd.observables.values import highest_shell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = list[tuple[str, str]]

_BOUND = 0.2
"""Share of diffusion in a mean square displacement, 6 D t, below which motion about fixed places makes it."""
_FOLDED = 0.1
"""States in the last tenth of the frequencies, relative to as many evenly spread: more may be folded back."""


def write_rdf(found: dict[tuple[str, str], RadialDistribution], files: list[Path], title: str) -> Rows:
    """Radial distributions of every pair (a, b) of species; files: the CSV, and the picture last."""
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

    def g(axis: "Axes") -> None:
        curves(axis, columns["r_A"], {k: _band(v.g) for k, v in pairs.items()}, "r (Å)", "g(r)")
        axis.axhline(1.0, color="#555555", linewidth=0.8, linestyle=":", zorder=0.5)

    draw(files[-1], title, [
        g,
        lambda axis: curves(axis, columns["edge_A"], around, "r (Å)", "neighbours within r"),
    ])  # fmt: skip
    return rows


def _peak(rdf: RadialDistribution) -> str:
    """Highest peak, and the neighbours up to the lowest point behind it."""
    shell = highest_shell(rdf)
    if shell is None:
        return "no pair within r_max"
    return (
        f"highest at {shell.position:.3g} Å (g = {shell.height.value:.3g}); "
        f"{shell.neighbours.value:.3g} within {shell.edge:.3g} Å"
    )


def write_bonds(found: BondStructure, files: list[Path], title: str) -> Rows:
    """Angles of every triple of species, coordination of every pair; files: two CSVs, the picture last."""
    rows: Rows = []
    columns = {"angle_deg": found.angle}
    lines = {"-".join(triple): density for triple, density in found.angles.items()}
    for name, density in lines.items():
        columns |= {f"p_{name}_per_deg": density.value, f"error_{name}": density.error}
        top = highest_peak(found.angle, density.value)
        width = "" if np.isnan(top.width) else f", {top.width:.3g}° wide at half of it"
        mean = float(density.value @ found.angle / density.value.sum())
        rows.append((f"angle {name}", f"highest at {top.position:.4g}°{width}; mean {mean:.4g}°"))
    write_table(files[0], columns)
    around = {f"{b} around {a}": numbers for (a, b), numbers in found.coordination.items()}
    count: Array = np.arange(len(next(iter(around.values())).fractions.value), dtype=np.float64)
    table = {"neighbours": count}
    for name, numbers in around.items():
        share, column = numbers.fractions, name.replace(" ", "_")
        table |= {f"fraction_{column}": share.value, f"error_{column}": share.error}
        if numbers.mean.value > 0:
            each = ", ".join(
                f"{100 * share.value[k]:.3g}% have {k}" for k in np.flatnonzero(share.value > 0.0005)
            )
            rows.append((name, f"{plus_minus(numbers.mean)} within {found.length:g} Å: {each}"))
    shares = {name: _band(numbers.fractions) for name, numbers in around.items() if numbers.mean.value > 0}
    write_table(files[1], table)
    bands = {name: _band(density) for name, density in lines.items()}
    draw(files[-1], title, [
        lambda axis: curves(axis, found.angle, bands, "bond angle (degrees)", "probability (1/degree)"),
        lambda axis: curves(axis, count, shares, f"neighbours within {found.length:g} Å", "share of atoms"),
    ])  # fmt: skip
    return rows


def write_msd(found: dict[str, Diffusion], files: list[Path], title: str) -> Rows:
    """Mean square displacement and diffusion of each species; files: the CSV, and the picture last."""
    columns: dict[str, Array] = {}
    rows, lines = [], {}
    for name, one in found.items():
        columns.setdefault("time_ps", one.time / PS)
        columns |= {f"msd_{name}_A2": one.total.value, f"error_{name}_A2": one.total.error}
        columns |= {f"msd_{name}_{axis}_A2": one.msd.value[:, k] for k, axis in enumerate("xyz")}
        first, last = (t / PS for t in one.fit)
        d = Mean(one.mean.value / CM2_PER_S, one.mean.error / CM2_PER_S, one.mean.samples)
        where = f"slope from {first:.3g} to {last:.3g} ps"
        if not one.diffusive:
            where += " (NOT DIFFUSIVE: atoms still fly freely within the window)"
        elif 6.0 * one.mean.value * one.fit[1] < _BOUND * one.total.value[round(one.fit[1] / one.time[1])]:
            where += " (NOT DIFFUSIVE: atoms stay near their places; in a solid the slope means nothing)"
        rows.append((f"D {name}", f"{plus_minus(d)} cm²/s, {where}"))
        doubt = " (not diffusive)" if "NOT DIFFUSIVE" in where else ""
        lines[f"{name}: D = {plus_minus(d)} cm²/s{doubt}"] = _band(one.total)
    write_table(files[0], columns)

    def displacements(axis: "Axes") -> None:
        curves(axis, columns["time_ps"], lines, "time (ps)", "mean square displacement (Å²)")
        for k, one in enumerate(found.values()):
            axis.plot(*_fitted(one), color="black", linewidth=0.8, label="" if k else "fit", zorder=3)
        axis.legend(frameon=False, fontsize=8)

    draw(files[-1], title, [displacements])
    return rows


def _fitted(found: Diffusion) -> tuple[Array, Array]:
    """The two ends of the line whose slope gives D: times (ps) and displacements (angstrom^2)."""
    ends: Array = np.array(found.fit)
    first, last = np.rint(ends / found.time[1]).astype(int)
    middle = found.total.value[first : last + 1].mean()
    return ends / PS, middle + 6.0 * found.mean.value * (ends - ends.mean())


def write_vacf(
    correlations: dict[str, Array],
    found: dict[str, DensityOfStates],
    interval: float,
    files: list[Path],
    title: str,
) -> Rows:
    """Velocity autocorrelation and density of states.

    Args:
        correlations: (samples, lags + 1, 3) of each species.
        found: of each species, and of "all" if there are several.
        interval: ps between the lags.
        files: two CSVs, then the picture.
        title: of the picture.
    """
    lags = next(iter(correlations.values())).shape[1] - 1
    table: dict[str, Array] = {"time_ps": interval * np.arange(lags + 1.0)}
    spectra: dict[str, Array] = {}
    lines, densities = {}, {}
    for name, dos in found.items():
        spectra.setdefault("frequency_THz", dos.frequency / THZ)
        density = Mean(dos.density.value * THZ, dos.density.error * THZ, dos.density.samples)
        spectra |= {f"dos_{name}_per_THz": density.value, f"error_{name}_per_THz": density.error}
        densities[name] = density
        if name in correlations:
            correlation = correlations[name].sum(axis=2)
            relative = mean_of(correlation / correlation[:, :1].mean())
            table |= {f"vacf_{name}": relative.value, f"error_{name}": relative.error}
            lines[name] = _band(relative)
    write_table(files[0], table)
    write_table(files[1], spectra)
    # The picture ends where the spectrum does, not where the spacing of the frames would let it.
    whole = next(reversed(densities.values())).value
    f, bands = spectra["frequency_THz"], {name: _band(density) for name, density in densities.items()}
    highest = float(f[np.flatnonzero(whole > 0.01 * whole.max())[-1]])
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
    reach = f"lines {1 / (lags * interval):.2g} THz wide; faster than {f[-1]:.3g} THz folds back"
    return [*rows, ("", reach)]


def folding_notes(found: dict[str, DensityOfStates], how: str) -> list[str]:
    """That vibrations seem to be faster than the spacing of the samples shows; empty if they are not.

    Args:
        found: as for `write_vacf`.
        how: to take samples more often.
    """
    folded = []
    for name, dos in found.items():
        density, fastest = dos.density.value, dos.frequency[-1]
        even = running_integral(density, dos.frequency[1])[-1] / fastest
        if density[dos.frequency >= 0.9 * fastest].mean() > _FOLDED * even:
            folded.append(name)
    if not folded:
        return []
    reach = f"states reach {fastest / THZ:.3g} THz, where the spacing of the samples folds faster ones back"
    return [f"DOS {', '.join(folded)}: {reach}: peaks may not be where they seem; {how}"]


def write_green_kubo(
    found: GreenKubo, names: tuple[str, ...], quantity: str, unit: str, files: list[Path], title: str
) -> Rows:
    """Autocorrelations and running integrals of a Green-Kubo coefficient.

    Args:
        found: channels and their mean.
        names: of the channels.
        quantity: a word for columns and axes, such as kappa.
        unit: of it, such as W/(m K).
        files: the CSV, and the picture last.
        title: of the picture.
    """
    time = found.time / PS
    suffix = unit.replace("(", "").replace(")", "").replace("/", "_per_").replace(" ", "")
    columns: dict[str, Array] = {"time_ps": time}
    scale = found.correlation.value[0].mean() or 1.0
    whole = found.correlation.value.mean(axis=1) / scale
    columns["correlation"] = whole
    columns |= {f"correlation_{name}": found.correlation.value[:, k] / scale for k, name in enumerate(names)}
    columns |= {f"{quantity}_{suffix}": found.running_mean.value, "error": found.running_mean.error}
    for k, name in enumerate(names):
        columns[f"{quantity}_{name}"] = found.running.value[:, k]
        columns[f"error_{name}"] = found.running.error[:, k]
    write_table(files[0], columns)
    lines = {name: (found.running.value[:, k], np.zeros_like(time)) for k, name in enumerate(names)}
    lines = {"mean": _band(found.running_mean)} | lines
    first, last = (t / PS for t in found.plateau)

    def running(axis: "Axes") -> None:
        curves(axis, time, lines, "correlation time (ps)", f"{quantity} ({unit})")
        axis.axvspan(first, last, color="#999999", alpha=0.15, linewidth=0)

    draw(files[-1], title, [
        lambda axis: curves(axis, time, {"": (whole, np.zeros_like(whole))}, "correlation time (ps)",
                            "autocorrelation / its first value"),
        running,
    ])  # fmt: skip
    where = f"read off from {first:.3g} to {last:.3g} ps"
    where += "" if found.settled else " (NOT SETTLED: no plateau in the window)"
    each = ", ".join(
        f"{name} {plus_minus(Mean(found.channels.value[k], found.channels.error[k], 0))}"
        for k, name in enumerate(names)
    )
    return [(quantity, f"{plus_minus(found.mean)} {unit}"), ("", f"{each}; {where}")]


def growth_notes(found: GreenKubo, quantity: str, option: str) -> list[str]:
    """What to do about a window that is too short for a Green-Kubo integral; empty if it is not.

    Args:
        found: the integral.
        quantity: as for `write_green_kubo`; its picture has that name.
        option: of the command line, that sets the window.
    """
    if not growing(found):
        return []
    return [
        f"{quantity}: the running integral still changes at the end of the window: take a longer {option}, "
        f"longer or more runs; see {quantity}.png"
    ]


def _band(mean: Mean) -> tuple[Array, Array]:
    return mean.value, np.nan_to_num(mean.error)


def _tail(mean: Mean) -> Mean:
    return Mean(mean.value[1:], mean.error[1:], mean.samples)


def plus_minus(mean: Mean) -> str:
    """Value and standard error, two digits of the error: 78 ± 39, (2.450 ± 0.031)e-05."""
    value, error = float(mean.value), float(mean.error)
    if not error > 0.0 or not np.isfinite([value, error]).all():
        return f"{value:.3g}" + ("" if np.isnan(error) else f" ± {error:.2g}")
    largest = math.floor(math.log10(max(abs(value), error)))
    shift = 0 if -4 < largest < 6 else largest
    places = max(0, 1 - math.floor(math.log10(error)) + shift)
    both = f"{value * 10.0**-shift:.{places}f} ± {error * 10.0**-shift:.{places}f}"
    return f"({both})e{shift:+03d}" if shift else both
