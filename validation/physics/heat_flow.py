"""Does as much heat flow as the baths give, by the current of the atoms between them, and by its spectrum?

    python -m validation.physics.heat_flow

A bar of argon between two Langevin baths (`taichimd kappa --method nemd --spectrum`). In a steady state the
heat of the source, the heat of the sink, and the heat current of the atoms of a path over its length are
equal. The current has a potential part, which is the integral of the spectrum, and a convective part.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase.build import bulk

from validation import common


def main() -> None:
    """Parse the command line, run, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="heat_flow")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--time", default="120ps", help="of each run")
    parser.add_argument("--cells", type=int, nargs=3, default=[16, 3, 3])
    options = parser.parse_args()

    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    settings = KappaSettings(
        temperature=30.0, method="nemd", difference=20.0, bath_length=13.25, coupling_time="1ps",
        supercell=tuple(options.cells), runs=options.runs, time=options.time, equilibrate="20ps",
        timestep=4.0, every=5,
        spectrum=True, spectrum_window="4ps", backend=options.backend,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        found = thermal_conductivity(bulk("Ar", a=5.3, cubic=True), "Ar.lj", settings, folder=Path(folder))
    assert found is not None
    assert found.conduction is not None
    one, by_frequency = found.conduction.lengths[0], found.spectra[0]
    share = by_frequency.convective.value
    potential = 1000.0 * by_frequency.total.value
    report: dict[str, Any] = {
        **common.provenance(),
        "n_atoms": found.n_atoms,
        "path_A": one.layout.length,
        "runs": found.runs,
        "source_eV_per_ps": [one.given.value, one.given.error],
        "sink_eV_per_ps": [one.taken.value, one.taken.error],
        "conductance_of_baths_MW_per_m2K": [one.conductance.value, one.conductance.error],
        "conductance_of_spectrum_MW_per_m2K": [potential, 1000.0 * by_frequency.total.error],
        "convective_share": [share, by_frequency.convective.error],
        "conductance_of_current_MW_per_m2K": potential / (1.0 - share),
        "kappa_W_per_mK": [one.kappa.value, one.kappa.error],
        "kappa_of_gradient_W_per_mK": [one.gradient.value, one.gradient.error],
        "not_steady": one.not_steady,
        "frequency_THz": (by_frequency.w / (2 * np.pi)).tolist(),
        "G_GW_per_m2K_per_THz": by_frequency.values.value.tolist(),
        "error_G": by_frequency.values.error.tolist(),
    }
    common.write_json(options.out, report)
    rows = [(name, *np.atleast_1d(report[name])) for name in report if "per" in name and "THz" not in name]
    for row in rows:
        print(*row)
    print("convective share", report["convective_share"], one.not_steady)


if __name__ == "__main__":
    main()
