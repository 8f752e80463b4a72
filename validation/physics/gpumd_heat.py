"""Do converted files of GPUMD say of graphene what GPUMD says?

    git clone https://github.com/brucefan1983/GPUMD && git -C GPUMD checkout 06c8bfa2
    python -m validation.physics.gpumd_heat GPUMD/examples/04_Carbon_thermal_transport_nemd_and_hnemd

The tutorial has HNEMD (diffusive) and NEMD of a short sheet (ballistic). The integral of kappa(w) from
shc.out must be the mean of kappa.out, the integral of G(w) the heat of the baths in compute.out, and J(w) of
shc.out the spectrum that taichimd's estimator makes of K(t) of the same file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.spectra import PER_CONDUCTANCE, hann
from taichimd.io.gpumd import GpumdRun, Tables, read_gpumd
from validation import common

AREA = 1.42 * np.sqrt(3.0) * 100 * 3.35
"""angstrom^2 across the heat flow, of `plot_spectral.m`."""
VOLUME = AREA * 3 * 1.42 * 10
"""angstrom^3 of the group of shc.out."""
TEMPERATURE, FORCE, DIFFERENCE, LAGS = 300.0, 1e-5, 20.0, 250
"""K, 1/angstrom, K, and Nc of `run.in`."""


def main() -> None:
    """Parse the command line, read the files, write JSON."""
    parser = common.parser(__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "gpumd_heat.json")
    options = parser.parse_args()
    common.check_commit(options.out)
    driven = read_gpumd(
        options.examples / "diffusive/shc.out", GpumdRun(VOLUME, TEMPERATURE, driving_force=FORCE)
    )
    short = read_gpumd(options.examples / "ballistic/shc.out", GpumdRun(VOLUME, difference=DIFFERENCE))
    kappa = read_gpumd(options.examples / "diffusive/kappa.out", GpumdRun())["kappa"]
    baths = read_gpumd(
        options.examples / "ballistic/compute.out", GpumdRun(quantities=("temperature",), interval=1000.0)
    )["flow"]
    late = slice(len(baths["time_ps"]) // 2, None)
    heat = [
        abs(float(np.polyfit(baths["time_ps"][late], baths[f"heat_{one}_eV"][late], 1)[0]))
        for one in ("source", "sink")
    ]
    report: dict[str, Any] = {
        **common.provenance(),
        "kappa_of_kappa_out": float(np.mean(kappa["kappa_y_in_W_per_mK"] + kappa["kappa_y_out_W_per_mK"])),
        "kappa_out_of_plane": float(np.mean(kappa["kappa_y_out_W_per_mK"])),
        "integral_of_kappa": whole(driven, "kappa_W_per_mK_per_THz"),
        "integral_of_kappa_out_of_plane": whole(driven, "kappa_out_W_per_mK_per_THz"),
        "G_of_baths": float(np.mean(heat)) * PER_CONDUCTANCE / (AREA * DIFFERENCE),
        "integral_of_G": whole(short, "conductance_GW_per_m2K_per_THz"),
        "deviation_of_spectra": [deviation(one) for one in (driven, short)],
    }
    common.write_json(options.out, report)
    print(common.table([(key, str(report[key])) for key in list(report)[-7:]], ("quantity", "value")))


def whole(tables: Tables, column: str) -> float:
    """Integral over the frequency. Rows begin at w_max/num, so half a cell at 0 is added."""
    table: Array = tables["spectrum"][column]
    width = float(tables["spectrum"]["frequency_THz"][0])
    return float(table.sum() + 0.5 * table[0]) * width


def deviation(tables: Tables) -> float:
    """Largest deviation of J from the spectrum of K, over the largest J."""
    k, j = tables["spectrum_correlation"], tables["spectrum"]
    cosines = np.cos(np.outer(j["w_rad_per_ps"], k["time_ps"]))
    window = np.concatenate([hann(LAGS)[:0:-1], hann(LAGS)])
    mine = 2.0 * (k["time_ps"][1] - k["time_ps"][0]) * cosines @ (k["K_all"] * window)
    return float(np.abs(mine - j["J_all"]).max() / np.abs(j["J_all"]).max())


if __name__ == "__main__":
    main()
