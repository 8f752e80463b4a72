"""What a run of a thermal conductivity observes besides the heat current, and what of it is kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from ase import Atoms

from taichimd.app.live import Observations
from taichimd.core.arrays import Array
from taichimd.observables.planning import Plan, check_system, make_plan
from taichimd.observables.spectrum import Spectrum
from taichimd.transport.layout import Halves, Layout
from taichimd.transport.settings import AXES, KappaSettings

if TYPE_CHECKING:
    from taichimd.program.system import System


def observations_of(
    engine: "System", settings: KappaSettings, layout: Layout | Halves | None, force: Sequence[float]
) -> Observations | None:
    """Observables of a run with a driving force; None if there are none."""
    plan = plan_of(settings, layout, force)
    return None if plan is None else Observations(engine, plan, None if layout is None else layout.groups)


def plan_of(settings: KappaSettings, layout: Layout | Halves | None, force: Sequence[float]) -> Plan | None:
    """What a run with a driving force observes; a SettingsError if that does not fit the run."""
    kinds: tuple[str, ...] = {"nemd": ("flow", "profile"), "interface": ("interface",)}.get(
        settings.method, ()
    )
    kinds = (*kinds, *(("spectrum",) if settings.spectrum else ()))
    if not kinds:
        return None
    first = 0 if settings.method == "interface" else round(settings.window_fs / settings.timestep)
    of = layout.spectrum_of if isinstance(layout, Layout) else "all"
    return make_plan(
        kinds,
        first,
        settings.steps - first,
        settings.timestep,
        settings.every,
        profile=(settings.along or "x", settings.profile_bin or 5.0),
        spectrum=(settings.along or AXES[int(np.argmax(force))], of, settings.spectrum_window or 1000.0),
        interface="first>second",
    )


def check_observed(atoms: Atoms, settings: KappaSettings, layout: Layout | Halves | None) -> None:
    """Raise a SettingsError if what runs observe does not fit the runs or the system."""
    if (plan := plan_of(settings, layout, settings.force_of(0))) is not None:
        check_system(plan, list(atoms.symbols), atoms.get_masses(), atoms.cell.array, atoms.pbc)


def found_by(observations: Observations) -> dict[str, Array]:
    """What is kept of a run: series of baths, the profile.

    Returns:
        interval: (1,) ps between samples.
        heat_hot, heat_cold: (samples,) eV given by the baths.
        temperature_hot, temperature_cold: (samples,) K.
        place, profile, profile_error: (bins,) angstrom and K.
        flow: (samples,) eV/ps from the first to the second side of an interface in equilibrium.
        K_plus, K_minus: (blocks, lags, groups, 3) eV angstrom/ps; carried: (blocks, groups), likewise.
    """
    found: dict[str, Array] = {"interval": np.array([observations.plan.interval])}
    results = observations.found()
    if "flow" in results:
        table = results["flow"].tables[0]
        for name in ("hot", "cold"):
            found[f"heat_{name}"] = table[f"heat_{name}_eV"]
            found[f"temperature_{name}"] = table[f"temperature_{name}_K"]
    if "profile" in results:
        table = results["profile"].tables[0]
        found["place"] = table[f"{observations.plan.profile_axis}_A"]
        found["profile"], found["profile_error"] = table["temperature_K"], table["error_temperature_K"]
    if "interface" in results:
        found["flow"] = results["interface"].tables[0]["heat_flow_first_to_second_eV_per_ps"]
    if "spectrum" in results:
        spectra = observations.observables["spectrum"]
        assert isinstance(spectra, Spectrum)
        found["K_plus"], found["K_minus"], found["carried"] = spectra.correlations()
    return found
