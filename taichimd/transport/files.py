"""Files of a thermal conductivity: kappa.json, kappa.csv, and a picture such as kappa.png."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.core.errors import OutputError
from taichimd.core.units import PS
from taichimd.estimators.green_kubo import growing
from taichimd.io.analysis_files import PICTURES, curves
from taichimd.io.files import writing
from taichimd.io.report import circumstances, write_report
from taichimd.observables.green_kubo import green_kubo_result
from taichimd.observables.numbers import band, finding, never_negative, plus_minus
from taichimd.observables.observable import Result
from taichimd.transport.boundary import Boundary
from taichimd.transport.kappa import Kappa
from taichimd.transport.nemd_files import details_of, nemd_result
from taichimd.transport.settings import KappaSettings
from taichimd.transport.spectra_files import add_free_paths, add_interfaces, add_spectra
from taichimd.transport.tasks import HALF_FORCE

if TYPE_CHECKING:
    from taichimd.estimators.transport import Driven


def paths(folder: Path, plot_format: str, settings: KappaSettings) -> list[Path]:
    """Report, tables and picture."""
    nemd = settings.method == "nemd"
    tables = ["kappa.csv", *(["temperature.csv"] if nemd else [])]
    tables += ["spectrum.csv"] if settings.spectrum else []
    tables += ["spectrum_interfaces.csv"] if settings.spectrum and nemd and settings.interface else []
    tables += ["free_paths.csv"] if settings.ballistic is not None else []
    return [folder / name for name in ("kappa.json", *tables, f"kappa.{plot_format}")]


_TABLES = (
    "kappa.json", "kappa.csv", "temperature.csv", "spectrum.csv", "spectrum_interfaces.csv", "free_paths.csv",
)  # fmt: skip


def prepare(folder: Path, overwrite: bool) -> None:
    """Check the folder; with `overwrite`, remove earlier runs and results."""
    if overwrite:
        with writing(folder):
            for file in [
                *folder.glob("run-[0-9][0-9]*.npz"),
                *folder.glob("length-*A/run-[0-9][0-9]*.npz"),
                *folder.glob(f"{HALF_FORCE}/run-[0-9][0-9]*.npz"),
                *(folder / name for name in (*_TABLES, *(f"kappa.{fmt}" for fmt in PICTURES))),
            ]:
                file.unlink(missing_ok=True)
    strange = [name for name in ("trajectory.extxyz", "checkpoint.npz") if (folder / name).exists()]
    if strange:
        raise OutputError(f"{folder} holds a run of taichimd run ({strange[0]}); choose another --output")


def write(
    files: list[Path],
    found: Kappa,
    settings: KappaSettings,
    potential: dict[str, Any],
    title: str,
    notes: Sequence[str],
    given: Mapping[str, Any],
    started: float,
) -> Result:
    """Write the results; returns what the terminal shows. `given`: structure and potential of the command."""
    result, details = _of_method(found, settings)
    if found.stacie is not None:
        one, unit = found.stacie, "W/(m K)"
        of_stacie = finding(one.mean.value, one.mean.error, unit)
        result.values["kappa_stacie"] = of_stacie
        result.rows.append(("kappa by STACIE", f"{of_stacie.number}, no window"))
        details["stacie"] = {**of_stacie.entry(), "cutoff_THz": one.cutoff * PS, "frequencies": one.points}
    if found.linear is not None:
        details["linear_response"] = found.linear.entry()
        result.rows.append(("linear response", found.linear.verdict))
    if found.spectra:
        add_spectra(result, details, found, settings.thickness is not None)
    if found.across:
        add_interfaces(result, details, found)
    if found.paths is not None:
        add_free_paths(result, details, found.paths)
    result.write(files[1:], title)
    quantity, name = ("kappa", "kappa_W_per_mK")
    if found.boundary is not None:
        quantity, name = ("conductance", "conductance_MW_per_m2K")
    kappa = result.values[quantity].entry()
    write_report(files[0], {
        name: {key: kappa[key] for key in ("value", "error", "status", "note")},
        **(
            {}
            if found.conduction is not None or found.boundary is not None
            else {"directions": {"value": found.channels.value, "error": found.channels.error}}
        ),
        "error_is": error_is(found),
        "runs": found.runs,
        "seeds": found.seeds,
        "temperature_K": {
            "value": found.temperature.value,
            "error": found.temperature.error,
            "note": found.temperature.note,
        },
        "volume_A3": found.volume,
        "n_atoms": found.n_atoms,
        "decompositions": found.decompositions,
        **details,
        "notes": list(notes),
        "settings": settings.__dict__,
        **given,
        "potential": potential,
        "wall_seconds": time.time() - started,
        **circumstances(started),
    })  # fmt: skip
    return result


def _of_method(found: Kappa, settings: KappaSettings) -> tuple[Result, dict[str, Any]]:
    """What a method has found, and its entries of the record."""
    if found.boundary is not None:
        return boundary_result(found.boundary), details_of_boundary(found.boundary) | _of_integral(
            found, settings
        )
    if found.green_kubo is not None:
        result = green_kubo_result(found.green_kubo, settings.axes, "kappa", "W/(m K)")
        return result, _of_integral(found, settings)
    if found.conduction is not None:
        return nemd_result(found.conduction, settings), details_of(found.conduction, settings)
    assert found.driven is not None
    return _driven_result(found.driven, settings), {
        "driving_force_per_A": settings.driving_force,
        "direction": settings.direction,
        "of_runs_W_per_mK": found.driven.of_runs,
        "production_from_ps": production_from(found.driven),
    }


def _of_integral(found: Kappa, settings: KappaSettings) -> dict[str, Any]:
    """Entries of a Green-Kubo integral."""
    assert found.green_kubo is not None
    return {
        "plateau_ps": [t / PS for t in found.green_kubo.plateau],
        "still_growing": growing(found.green_kubo),
        "window_ps": settings.window_fs / 1000.0,
    }


def error_is(found: Kappa) -> str:
    """What the error of a conductivity comes from."""
    if found.conduction is not None and found.runs == 1:
        return "standard error, over blocks of one run"
    if found.runs > 1:
        return "standard error, over independent runs"
    if np.isnan(found.mean.error):
        return "unknown: one run, too short for an error"
    return "standard error, from the autocorrelation of one run"


def temperature_of(found: Kappa) -> str:
    """Mean temperature with its error, or with the reason why there is none."""
    mean = found.temperature
    number = f"{mean.value:.1f}" if np.isnan(mean.error) else plus_minus(mean)
    of = f"mean of {found.runs} runs" if found.runs > 1 else "one run"
    return f"{number} K, {of}{f' ({mean.note})' if mean.note else ''}"


def production_from(driven: "Driven") -> float:
    """Time after the equilibration at which the average of driven runs begins, ps."""
    return float((driven.time[0] - (driven.time[1] - driven.time[0])) / PS)


def _driven_result(found: "Driven", settings: KappaSettings) -> Result:
    time, running = found.time / PS, found.running
    along = f"along {settings.direction}, driving force {settings.driving_force:g} 1/Å"
    kappa = never_negative(finding(found.kappa.value, found.kappa.error, "W/(m K)", note=found.kappa.note))
    return Result(
        [{"time_ps": time, "kappa_W_per_mK": running.value, "error_W_per_mK": running.error}],
        [
            lambda axis: curves(
                axis, time, {"": band(running)}, "time (ps)", "running mean of kappa (W/(m K))"
            )
        ],
        [("kappa", f"{kappa.number}, {along}{kappa.doubt}")],
        {"kappa": kappa},
    )


UNIT = "MW/(m² K)"


def boundary_result(found: Boundary) -> Result:
    """Table of the running integral, picture and rows."""
    result = green_kubo_result(found.conductance, ("interface",), "conductance", UNIT)
    result.tables = [
        {name.replace("²", "2"): values for name, values in table.items()} for table in result.tables
    ]
    places = "one interface" if found.halves.planes == 1 else "mean of two interfaces"
    result.rows += [
        ("without exchange", f"{plus_minus(found.corrected)} {UNIT}, without the decay of the integral"),
        ("Kapitza resistance", f"{plus_minus(found.resistance)} m² K/GW, {places}"),
        ("exchange time", f"{found.exchange:.3g} ps, of the two sides"),
    ]
    return result


def details_of_boundary(found: Boundary) -> dict[str, Any]:
    """Entries of the record."""
    one, other = found.resistance, found.corrected
    return {
        "conductance_without_exchange_MW_per_m2K": finding(other.value, other.error, UNIT).entry(),
        "kapitza_resistance_m2K_per_GW": finding(one.value, one.error, "m² K/GW").entry(),
        "exchange_time_ps": found.exchange,
        "area_A2": found.halves.area,
        "interfaces": found.halves.planes,
        "atoms_of_sides": [len(found.halves.first), len(found.halves.second)],
    }
