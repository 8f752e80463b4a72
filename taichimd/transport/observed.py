"""What a run of a thermal conductivity observes besides the heat current, and what of it is kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taichimd.app.live import Observations
from taichimd.core.arrays import Array
from taichimd.observables.planning import make_plan
from taichimd.observables.spectrum import Spectrum
from taichimd.transport.layout import Layout
from taichimd.transport.settings import AXES, KappaSettings

if TYPE_CHECKING:
    from taichimd.program.system import System


def observations_of(
    engine: "System", settings: KappaSettings, layout: Layout | None, force: Sequence[float]
) -> Observations | None:
    """Observables of a run with a driving force; None if there are none.

    Raises:
        SettingsError: too few samples behind the window.
    """
    nemd = settings.method == "nemd"
    kinds = (*(("flow", "profile") if nemd else ()), *(("spectrum",) if settings.spectrum else ()))
    if not kinds:
        return None
    first = round(settings.window_fs / settings.timestep)
    of = ",".join(name for name in (layout.groups if layout else {}) if name.startswith("path")) or "all"
    plan = make_plan(
        kinds,
        first,
        settings.steps - first,
        settings.timestep,
        settings.every,
        profile=(settings.along or "x", settings.profile_bin or 5.0),
        spectrum=(settings.along or AXES[int(np.argmax(force))], of, settings.spectrum_window or 1000.0),
    )
    return Observations(engine, plan, None if layout is None else layout.groups)


def found_by(observations: Observations) -> dict[str, Array]:
    """What is kept of a run: series of baths, the profile.

    Returns:
        interval: (1,) ps between samples.
        heat_hot, heat_cold: (samples,) eV given by the baths.
        temperature_hot, temperature_cold: (samples,) K.
        place, profile, profile_error: (bins,) angstrom and K.
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
    if "spectrum" in results:
        spectra = observations.observables["spectrum"]
        assert isinstance(spectra, Spectrum)
        found["K_plus"], found["K_minus"], found["carried"] = spectra.correlations()
    return found
