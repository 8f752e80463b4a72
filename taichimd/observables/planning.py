"""Plans of runs: made from what a user asks, read from checkpoints, checked against a system."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.names import hint
from taichimd.core.printable import any_of
from taichimd.observables.observable import RunObservable
from taichimd.observables.plan import BOND_ORDER, Plan, between_origins, damaged
from taichimd.observables.registry import OF_RUNS
from taichimd.observables.trajectory import BLOCKS, FEWEST, TWO_ORIGINS


def observables_of(plan: Plan) -> list[type[RunObservable]]:
    """Classes of the kinds of a plan."""
    return [OF_RUNS[kind] for kind in plan.kinds]


def saved_plan(observed: dict[str, Any]) -> Plan | None:
    """The plan of what a checkpoint keeps (`Checkpoint.observed`); None if it keeps nothing."""
    if not observed:
        return None
    try:
        saved = json.loads(str(observed["plan"]))
    except (KeyError, ValueError, RecursionError):
        raise damaged("no plan that can be read") from None
    plan = Plan.from_json(saved if isinstance(saved, dict) else {})
    if not set(plan.kinds) <= OF_RUNS.keys():
        raise damaged(f"plan: kinds = {plan.kinds!r}")
    return plan


def parse_kinds(text: str) -> tuple[str, ...]:
    """Observables of a text such as "rdf,msd", in the order of the registry."""
    words, some = [word.strip() for word in text.split(",") if word.strip()], ", ".join(OF_RUNS)
    for word in words:
        if word not in OF_RUNS:
            more = hint(word, OF_RUNS, otherwise=f"expected some of {some}")
            raise SettingsError(f"observe = {text!r}: unknown {word!r}; {more}")
    if not words:
        raise SettingsError(f"observe = {text!r}: expected some of {some}, with commas between")
    return tuple(kind for kind in OF_RUNS if kind in words)


def make_plan(
    kinds: tuple[str, ...],
    first_step: int,
    steps: int,
    timestep: float,
    every: int,
    window: float | None = None,
    r_max: float = 8.0,
    bins: int = 200,
    bond_order: float = BOND_ORDER,
    profile: tuple[Any, float] = ("x", 5.0),
    spectrum: tuple[Any, str, float] = ("x", "all", 1000.0),
    interface: str = "",
) -> Plan:
    """Plan the samples of a run.

    The run is cut into five blocks; fewer, if the window would not fit into one. Time step and window are in
    fs; a window of None is half of a block. `profile`: its axis, and width of its bins, angstrom; `spectrum`:
    its axis, names of its groups, and its window, fs; `interface`: names of groups, such as "left>right".
    SettingsError: a window that does not leave two time origins, or is shorter than a sample; too few
    samples.
    """
    samples = (first_step + steps) // every - -(-first_step // every) + 1
    length = f"the run of {steps} steps ({steps * timestep / 1000.0:g} ps)"
    interval = every * timestep
    observables = [OF_RUNS[kind] for kind in kinds]
    correlated = any(kind.correlated for kind in observables)
    fewest = FEWEST if correlated else 1
    if samples < fewest:
        raise SettingsError(
            f"observe_every = {every}: {length} would take {max(samples, 0)} samples; expected {fewest} "
            "or more: take them more often, or a longer run"
        )
    lags = 0 if window is None else round(window / interval)
    if correlated and window is not None:
        if lags < 1:
            raise SettingsError(
                f"observe_window = {window:g} fs is shorter than the {interval:g} fs between samples "
                f"(observe_every = {every}): expected one sample or more"
            )
        if lags > (longest := _most_lags(samples)):
            raise SettingsError(
                f"observe_window = {window / 1000.0:g} ps is too long for {length}, which takes {samples} "
                f"samples; expected at most {longest * interval / 1000.0:g} ps, which leaves {TWO_ORIGINS}: "
                "shorten the window or lengthen the run"
            )
        for kind in observables:
            kind.check_window(lags, window, interval)
    blocks = max(1, min(BLOCKS, samples // 4))
    while correlated and lags > _most_lags(samples // blocks):
        blocks -= 1
    if window is None:
        lags = max(1, samples // blocks // 2)
    if "interface" in kinds and not interface:
        raise SettingsError(
            "observe = interface: also give two groups between which heat flows, such as "
            '--interface-of "left>right"'
        )
    axis, of, longest_time = spectrum
    spectral = _spectrum_lags(longest_time, interval, samples) if "spectrum" in kinds else 1
    return Plan(
        kinds, every, first_step, samples, interval / 1000.0, blocks, lags, r_max, bins, bond_order, *profile,
        axis, of, spectral, interface,
    )  # fmt: skip


def _spectrum_lags(window: float, interval: float, samples: int) -> int:
    """Samples of the window of a spectrum (fs), with at least five windows in a run."""
    lags = round(window / interval)
    if lags < 2:
        raise SettingsError(
            f"spectrum_window = {window:g} fs: expected two samples of {interval:g} fs or more; take samples "
            "more often, or a longer window"
        )
    if 5 * lags > samples:
        raise SettingsError(
            f"spectrum_window = {window / 1000:g} ps is longer than a fifth of the run, which takes "
            f"{samples} samples "
            f"{interval:g} fs apart; expected {samples // 5 * interval / 1000:g} ps or less, or a longer run"
        )
    return lags


def _most_lags(samples: int) -> int:
    """The longest window of a block whose samples leave two time origins, of msd and vacf, too."""
    return next((lags for lags in range(samples - 2, 0, -1) if lags + between_origins(lags) < samples), 0)


def check_forcefield(plan: Plan, forcefield: Any) -> None:
    """Raise a PropertyError if a force field does not have what a plan asks."""
    for kind in observables_of(plan):
        kind.check_forcefield(forcefield)


def check_system(
    plan: Plan,
    symbols: list[str],
    masses: NDArray[np.float64],
    cell: NDArray[np.float64],
    pbc: NDArray[np.bool_],
    fixed: NDArray[np.bool_] | None = None,
) -> None:
    """Raise if a system does not allow what a plan asks; before there is an engine that compiles.

    SettingsError: a volume is needed where there is none, one mass where a species has several, or all atoms
    moving where some are fixed. AnalysisError: more distances within r_max than anybody can count.
    """
    spoilt = [kind.name for kind in observables_of(plan) if kind.green_kubo]
    if spoilt and fixed is not None and fixed.any():
        others = any_of(name for name, kind in OF_RUNS.items() if not kind.green_kubo)
        raise SettingsError(
            f"observe = {', '.join(spoilt)}: {fixed.sum():,} atoms are fixed and take up momentum, so the "
            f"Green-Kubo integral is not a property of the material; let all move, or observe {others}"
        )
    for kind in observables_of(plan):
        if kind.needs_volume and not np.all(pbc):
            raise SettingsError(
                f"observe = {kind.name}: needs a cell that is periodic in three directions, pbc is "
                f"{np.asarray(pbc).tolist()}"
            )
    for kind in observables_of(plan):
        kind.check_system(plan, symbols, masses, cell)
