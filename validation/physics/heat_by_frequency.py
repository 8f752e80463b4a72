"""What conductivity do silicon, graphene and silica glass have, by frequency, and what does a spectrum cost?

    python -m validation.physics.heat_by_frequency silicon --backend cuda

Cases: `silicon` (HNEMD along x, y and z, 500 K, Tersoff 1989, 8,000 atoms), `silicon-small` and
`silicon-large` (1,728 and 27,000 atoms), `silicon-300` (at 300 K), `silicon-short` (NEMD of 2 and 4 nm: the
ballistic G(w) from which mean free paths follow), `silicon-long` (NEMD of 50, 100 and 200 nm with the line
through 1/kappa against 1/L), `silicon-long-300` (100, 200 and 300 nm at 300 K), `graphene` (HNEMD, 300 K,
parts in and out of the plane), `silica` (glass of 3,000 atoms quenched from the melt, HNEMD, quantum
correction), `stillinger-weber` (silicon, HNEMD, 1,000 K, for `lattice_kappa`), `stillinger-weber-500`
(at 500 K), `speed` (HNEMD of 64,000 atoms of silicon with and without spectrum). Each case writes
`heat_CASE.json` (with _ for -) and a picture.
`silicon` uses `heat_silicon_short.json` if it is there; `silicon --paths` runs nothing, and adds free paths
and kappa(L) of the two results that are there. `silicon-long --bands` (and `silicon-long-300`) runs nothing
either, and adds kappa of bands of frequencies: of NEMD by a line through 1/kappa against 1/L, and of HNEMD.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common
from validation.physics.kappa_silicon import graphene_sheet

if TYPE_CHECKING:
    from taichimd.transport.kappa import Kappa
    from taichimd.transport.spectra import Spectral

SILICON = 5.4495
"""Lattice constant of zero pressure at 500 K, angstrom (`kappa_silicon_hnemd.json`)."""
DRIVEN: dict[str, Any] = {
    "method": "hnemd",
    "spectrum": True,
    "spectrum_window": "1ps",
    "equilibrate": "20ps",
}
BETWEEN: dict[str, Any] = {
    "method": "nemd", "spectrum": True, "spectrum_window": "1ps", "equilibrate": "20ps", "every": 20,
    "temperature": 500.0, "difference": 100.0, "coupling_time": "500fs",
}  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "silicon": {
        **DRIVEN, "temperature": 500.0, "supercell": (10, 10, 10), "driving_force": 1e-4, "direction": "xyz",
        "every": 20, "runs": 9, "at_once": 9, "time": "500ps", "window": "125ps",
    },
    "silicon-300": {
        **DRIVEN, "temperature": 300.0, "supercell": (10, 10, 10), "driving_force": 5e-5, "direction": "xyz",
        "every": 20, "runs": 9, "at_once": 9, "time": "600ps", "window": "200ps",
    },
    "silicon-short": {
        **BETWEEN, "bath_length": 20.0, "lengths": "2nm,4nm", "supercell": (1, 6, 6), "runs": 5,
        "at_once": 10, "time": "200ps", "window": "50ps", "coupling_time": "200fs",
    },
    "silicon-long": {
        **BETWEEN, "bath_length": 100.0, "lengths": "50nm,100nm,200nm", "supercell": (1, 3, 3), "runs": 2,
        "at_once": 6, "time": "350ps", "window": "100ps",
    },
    "silicon-long-300": {
        **BETWEEN, "temperature": 300.0, "difference": 60.0, "bath_length": 100.0, "supercell": (1, 3, 3),
        "lengths": "100nm,200nm,300nm", "runs": 3, "at_once": 9, "time": "400ps", "window": "130ps",
    },
    "silicon-large": {
        **DRIVEN, "temperature": 500.0, "supercell": (15, 15, 15), "driving_force": 1e-4, "direction": "xyz",
        "every": 20, "runs": 6, "at_once": 6, "time": "350ps", "window": "100ps",
    },
    "silicon-small": {
        **DRIVEN, "temperature": 500.0, "supercell": (6, 6, 6), "driving_force": 1e-4, "direction": "xyz",
        "every": 20, "runs": 27, "at_once": 27, "time": "500ps", "window": "125ps",
    },
    "graphene": {
        **DRIVEN, "temperature": 300.0, "supercell": (66, 38, 1), "driving_force": 1e-5, "thickness": 3.35,
        "every": 5, "runs": 9, "at_once": 9, "time": "500ps", "window": "150ps",
    },
    "silica": {
        **DRIVEN, "temperature": 300.0, "driving_force": 1e-3, "direction": "xyz", "every": 8, "runs": 9,
        "at_once": 9, "time": "200ps", "window": "30ps",
    },
    "stillinger-weber": {
        **DRIVEN, "temperature": 1000.0, "supercell": (10, 10, 10), "driving_force": 1e-4, "direction": "xyz",
        "every": 20, "runs": 9, "at_once": 9, "time": "300ps", "window": "60ps",
    },
    "stillinger-weber-500": {
        **DRIVEN, "temperature": 500.0, "supercell": (10, 10, 10), "driving_force": 5e-5, "direction": "xyz",
        "every": 20, "runs": 9, "at_once": 9, "time": "500ps", "window": "125ps",
    },
    "speed": {
        **DRIVEN, "temperature": 500.0, "supercell": (20, 20, 20), "driving_force": 1e-4, "every": 10,
        "runs": 1, "equilibrate": "1ps", "time": "60ps", "window": "1ps",
    },
}  # fmt: skip
POTENTIALS = {
    "stillinger-weber": "Si.sw", "stillinger-weber-500": "Si.sw", "graphene": "C_2010.tersoff",
    "silica": "SiO2_1990.vashishta",
}  # fmt: skip


def main() -> None:
    """Parse the command line, run, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--share", type=float, default=1.0, help="of the time of all runs")
    parser.add_argument("--cells", type=int, help="other repetitions across the heat flow, for a trial")
    parser.add_argument("--paths", action="store_true", help="of silicon: free paths from results, no run")
    parser.add_argument("--bands", action="store_true", help="of NEMD: kappa of bands from results, no run")
    options = parser.parse_args()
    out = options.out or common.RESULTS / f"heat_{options.case.replace('-', '_')}.json"
    common.check_commit(out)

    if options.paths:
        report = json.loads(out.read_text())
        report |= paths_of_short(report, out.with_name("heat_silicon_short.json"))
        common.write_json(out, report)
        plot(report, out.with_suffix(".png"))
        return
    if options.bands:
        driven = json.loads(out.with_name(out.name.replace("_long", "")).read_text())
        report = json.loads(out.read_text())
        report["bands"] = bands(driven, report)
        common.write_json(out, report)
        print(*report["bands"], sep="\n")
        return
    begin = time.monotonic()
    atoms = silica_glass(options) if options.case == "silica" else CELLS.get(options.case, silicon)()
    report = {
        **common.provenance(),
        "case": options.case,
        "potential": POTENTIALS.get(options.case, "Si_1989.tersoff"),
    }
    if options.case == "speed":
        report |= cost(atoms, options)
    else:
        found, settings, pace = run(atoms, options)
        report |= facts(found, settings, pace)
        if options.case == "silicon":
            report |= paths_of_short(report, out.with_name("heat_silicon_short.json"))
        plot(report, out.with_suffix(".png"))
    report["seconds"] = time.monotonic() - begin
    common.write_json(out, report)
    for key, value in report.items():
        if key in SHOWN:
            print(f"{key}: {value}")


SHOWN = (
    "kappa_W_per_mK", "integral", "quantum", "in_plane", "out_of_plane", "convective_share", "lengths",
    "notes", "infinite_length", "ms_per_step", "ratio", "seconds", "unknown_W_per_mK", "half_below_nm",
)  # fmt: skip


def silicon() -> Atoms:
    """Cubic cell of eight atoms."""
    return bulk("Si", a=SILICON, cubic=True)


CELLS: dict[str, Callable[[], Atoms]] = {
    "graphene": lambda: graphene_sheet(2.491),
    "silicon-300": lambda: bulk("Si", a=5.4425, cubic=True),
    "silicon-long-300": lambda: bulk("Si", a=5.4425, cubic=True),
    "stillinger-weber": lambda: bulk("Si", a=5.445, cubic=True),
    "stillinger-weber-500": lambda: bulk("Si", a=5.445, cubic=True),
}


def silica_glass(options: argparse.Namespace) -> Atoms:
    """A glass of silica, melted at 6,000 K and cooled to 300 K; with its velocities lost."""
    from validation.physics.silica_glass import quench

    steps = {"melt": 40_000, "cool": 150_000, "settle": 10_000, "sample": 200}
    of = argparse.Namespace(
        cells=options.cells or 5, density=2.20, hot=6000.0, temperature=300.0, timestep=1.0, every=200,
        seed=1, seconds=3600.0, backend=options.backend,
        **{f"{name}_steps": max(200, round(n * options.share)) for name, n in steps.items()},
    )  # fmt: skip
    found = quench(of)
    return Atoms(found["symbols"], found["frames"][-1], cell=found["cell"], pbc=True)


def run(atoms: Atoms, options: argparse.Namespace, **changes: Any) -> tuple["Kappa", Any, float]:
    """Run a case: what it finds, its settings, and the ms of a step of all runs of a launch in production."""
    from taichimd.settings.types import parse_time
    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    of: dict[str, Any] = {**CASES[options.case], **changes}
    for name in ("time", "window"):
        of[name] = parse_time(of[name]) * options.share
    if options.cells and "supercell" in of:
        of["supercell"] = tuple(one if one == 1 else options.cells for one in of["supercell"])
    settings = KappaSettings(**of, backend=options.backend)
    told: list[tuple[float, float]] = []

    def tell(number: int, what: str, fraction: float) -> None:
        if what == settings.method:
            told.append((time.monotonic(), fraction))

    with TemporaryDirectory() as folder:
        found = thermal_conductivity(
            atoms,
            POTENTIALS.get(options.case, "Si_1989.tersoff"),
            settings,
            folder=Path(folder),
            progress=tell,
        )
    assert found is not None
    later = [one for one in told if one[1] > 0.3] or told
    (first, a), (last, b) = later[0], later[-1]
    pace = 1e3 * (last - first) / ((b - a) * settings.steps) if b > a else float("nan")
    return found, settings, pace


def cost(atoms: Atoms, options: argparse.Namespace) -> dict[str, Any]:
    """Time of a step of HNEMD without and with spectrum (ms), in turn, twice."""
    paces: dict[str, list[float]] = {"hnemd": [], "with spectrum": []}
    n_atoms = 0
    for _ in range(2):
        for name, own in (("hnemd", {"spectrum": False, "spectrum_window": None}), ("with spectrum", {})):
            found, _settings, pace = run(atoms, options, **own)
            paces[name].append(pace)
            n_atoms = found.n_atoms
    medians = {name: float(np.median(each)) for name, each in paces.items()}
    return {
        "n_atoms": n_atoms,
        "every": CASES["speed"]["every"],
        "window": CASES["speed"]["spectrum_window"],
        "ms_per_step": medians,
        "each_ms_per_step": paces,
        "ratio": medians["with spectrum"] / medians["hnemd"],
    }


def facts(found: "Kappa", settings: Any, pace: float) -> dict[str, Any]:
    """For the report."""
    one = found.spectra[0]
    report: dict[str, Any] = {
        "method": settings.method,
        "n_atoms": found.n_atoms,
        "runs": found.runs,
        "ps_each": settings.time / 1000.0,
        "left_out_ps": settings.window_fs / 1000.0,
        "every_fs": settings.every * settings.timestep,
        "driving_force_per_A": settings.driving_force,
        "temperature_K": found.temperature.value,
        "ms_per_step": pace,
        "kappa_W_per_mK": pair(found.mean),
        "frequency_THz": (one.w / (2.0 * np.pi)).tolist(),
        "spectra": [spectrum_of(each) for each in found.spectra],
    }
    if found.conduction is None:
        report |= {
            "integral": pair(one.total), "quantum": pair(one.corrected), "in_plane": pair(one.within),
            "out_of_plane": pair(one.outside), "convective_share": pair(one.convective),
        }  # fmt: skip
        assert found.driven is not None
        report["of_runs_W_per_mK"] = np.round(found.driven.of_runs, 3).tolist()
        return report
    report["lengths"] = [
        {
            "nm": each.layout.length / 10.0, "n_atoms": each.n_atoms, "kappa_W_per_mK": pair(each.kappa),
            "G_MW_per_m2K": pair(each.conductance), "of_gradient_W_per_mK": pair(each.gradient),
            "integral_of_spectrum_MW_per_m2K": [1000.0 * value for value in pair(spectrum.total)],
            "not_steady": each.not_steady,
        }
        for each, spectrum in zip(found.conduction.lengths, found.spectra, strict=True)
    ]  # fmt: skip
    if (line := found.conduction.extrapolated) is not None:
        report["infinite_length"] = {
            "kappa_W_per_mK": pair(line.kappa),
            "free_path_nm": [value / 10.0 for value in pair(line.free_path)],
            "chi2": line.chi2, "freedom": line.freedom,
        }  # fmt: skip
    report["notes"] = list(found.conduction.notes)
    return report


def pair(mean: Any) -> list[float]:
    """Value and error."""
    return [float(mean.value), float(mean.error)]


def spectrum_of(one: "Spectral") -> dict[str, Any]:
    """Columns of a spectrum."""
    return {
        "unit": f"{one.unit}/THz", "value": one.values.value.tolist(), "error": one.values.error.tolist(),
        "out_of_plane": one.out.value.tolist(), "quantum_correction": one.correction.tolist(),
    }  # fmt: skip


def paths_of_short(found: dict[str, Any], short: Path) -> dict[str, Any]:
    """Mean free paths and kappa(L) of HNEMD with the ballistic conductance of NEMD, if there is one."""
    from taichimd.io.analysis_files import write_table
    from taichimd.transport.free_paths import COLUMN, paths_of

    if not short.is_file():
        return {}
    other = json.loads(short.read_text())
    lengths, nu = [one["nm"] * 10.0 for one in other["lengths"]], np.array(other["frequency_THz"])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spectrum.csv"
        write_table(file, {
            "length_A": np.repeat(lengths, len(nu)), "frequency_THz": np.tile(nu, len(lengths)),
            COLUMN: np.concatenate([one["value"] for one in other["spectra"]]),
            f"error_{COLUMN}": np.concatenate([one["error"] for one in other["spectra"]]),
        })  # fmt: skip
        w = 2.0 * np.pi * np.array(found["frequency_THz"])
        paths = paths_of(w, np.array(found["spectra"][0]["value"]), str(file))
    return {
        "free_path_nm": paths.paths.tolist(), "length_nm": paths.lengths.tolist(),
        "kappa_of_length": paths.kappa.tolist(), "accumulated": paths.accumulated.tolist(),
        "unknown_W_per_mK": paths.unknown, "half_below_nm": paths.half, "notes": list(paths.notes),
    }  # fmt: skip


BANDS = ((0.0, 3.0), (3.0, 5.0), (5.0, 8.0), (8.0, 11.0), (11.0, 20.0))
"""THz."""


def bands(driven: dict[str, Any], between: dict[str, Any]) -> list[dict[str, Any]]:
    """Conductivity (W/(m K)) of bands: of HNEMD, of NEMD of each length, and of NEMD at infinite length."""
    from taichimd.core.errors import AnalysisError
    from taichimd.estimators.conduction import extrapolate

    lengths, found = np.array([one["nm"] for one in between["lengths"]]), []
    for band in BANDS:
        kappa = in_band(driven, driven["spectra"][0], band)
        of_lengths = [
            # 1 GW/(m2 K) over 1 nm is 1 W/(m K).
            (nm * in_band(between, one, band)).tolist()
            for nm, one in zip(lengths, between["spectra"], strict=True)
        ]
        report = {"THz": band, "hnemd_W_per_mK": kappa.tolist(), "nemd_of_lengths_W_per_mK": of_lengths}
        try:
            line = extrapolate(10.0 * lengths, *np.array(of_lengths).T)
            report |= {
                "nemd_W_per_mK": pair(line.kappa),
                "free_path_nm": [one / 10.0 for one in pair(line.free_path)],
                "errors_apart": float((line.kappa.value - kappa[0]) / np.hypot(line.kappa.error, kappa[1])),
            }
        except AnalysisError as error:
            report["nemd_W_per_mK"] = str(error)
        found.append(report)
    return found


def in_band(report: dict[str, Any], spectrum: dict[str, Any], band: tuple[float, float]) -> np.ndarray:
    """Integral of a spectrum over a band, with its error: values within 1 THz, the resolution, have one."""
    nu = np.array(report["frequency_THz"])
    step = nu[1] - nu[0]
    value, error = (np.array(spectrum[key])[(nu >= band[0]) & (nu < band[1])] for key in ("value", "error"))
    return np.array([value.sum() * step, np.sqrt((error**2).sum() * step)])


def plot(report: dict[str, Any], path: Path) -> None:
    """Spectra, with quantum correction and parts, and kappa(L) if there is one."""
    from matplotlib.figure import Figure

    several = "length_nm" in report or "lengths" in report
    figure = Figure(figsize=(9.0 if several else 5.5, 3.4), dpi=120, layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, 1 + several))
    nu, axis = np.array(report["frequency_THz"]), axes[0]
    for k, one in enumerate(report["spectra"]):
        value, error = np.array(one["value"]), np.array(one["error"])
        label = f"{report['lengths'][k]['nm']:.0f} nm" if "lengths" in report else "all"
        axis.plot(nu, value, linewidth=1, label=label)
        axis.fill_between(nu, value - error, value + error, alpha=0.2, linewidth=0)
    one = report["spectra"][0]
    if report["case"] == "silica":
        axis.plot(
            nu, np.array(one["value"]) * one["quantum_correction"], linewidth=1, label="quantum correction"
        )
    if report["case"] == "graphene":
        axis.plot(nu, one["out_of_plane"], linewidth=1, label="out of the plane")
    highest = {"graphene": 60.0, "silica": 45.0}.get(report["case"], 20.0)
    axis.set(xlabel="frequency (THz)", ylabel=one["unit"], xlim=(0.0, highest))
    axis.legend(frameon=False, fontsize="small")
    if "length_nm" in report:
        axes[1].semilogx(report["length_nm"], report["kappa_of_length"], label="κ(L)")
        axes[1].semilogx(report["length_nm"], report["accumulated"], label="free paths up to L")
        axes[1].set(xlabel="L (nm)", ylabel="W/(m K)")
        axes[1].legend(frameon=False, fontsize="small")
    elif "lengths" in report:
        x = np.array([1.0 / each["nm"] for each in report["lengths"]])
        value, error = np.array([each["kappa_W_per_mK"] for each in report["lengths"]]).T
        axes[1].errorbar(x, 1.0 / value, error / value**2, fmt="o")
        if (line := report.get("infinite_length")) is not None:
            kappa, free = line["kappa_W_per_mK"][0], line["free_path_nm"][0]
            wide = np.array([0.0, x.max()])
            axes[1].plot(wide, (1.0 + free * wide) / kappa, linewidth=1)
        axes[1].set(xlabel="1/L (1/nm)", ylabel="1/κ (m K/W)", xlim=(0.0, None), ylim=(0.0, None))
    figure.savefig(path)


if __name__ == "__main__":
    main()
