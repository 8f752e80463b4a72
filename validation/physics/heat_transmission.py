"""Does the spectrum of the heat that flows through a cold crystal have the transmission of lattice dynamics?

    python -m validation.physics.heat_transmission

A ring of argon at 1 K is nearly harmonic, and between two Langevin baths it is solved exactly: with the force
constants Phi of `second_order`, masses m and frictions gamma of the baths

    T(w) = Tr[G Gamma_hot G^+ Gamma_cold],  G = (Phi - w^2 m - i w m gamma)^-1,  Gamma = 2 w m gamma

and the heat from bath to bath is the integral of T(w) k_B (T_hot - T_cold) over dw/2pi (A. Dhar, Adv. Phys.
57, 457 (2008)). T(w) is smoothed by the resolution of the spectrum. Compared with it: heat of the baths, and
spectra of the paths and of the heat flow through planes (`--spectrum --interface`).
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase.build import bulk
from numpy.typing import NDArray

from validation import common

A = 5.25
TEMPERATURE, DIFFERENCE = 1.0, 0.8
COUPLING_PS = 1.0
TO_SECONDS = 0.010180505710774743
"""ps of one angstrom sqrt(amu/eV)."""
KB = 8.617333262e-5


def main() -> None:
    """Parse the command line, run, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="heat_transmission")
    parser.add_argument("--cells", type=int, nargs=3, default=[20, 2, 2])
    parser.add_argument("--bath-cells", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--time", type=float, default=400.0, help="ps of each run")
    parser.add_argument("--warm", type=float, default=100.0, help="ps of each run that are left out")
    parser.add_argument("--window", type=float, default=6.0, help="ps")
    options = parser.parse_args()

    from taichimd import second_order
    from taichimd.estimators.spectra import integral, spectrum
    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    atoms = bulk("Ar", a=A, cubic=True).repeat(options.cells)
    # Planes of atoms lie a/2 apart; a place between two planes, in the middle of each path.
    extent = atoms.cell.lengths()[0]
    first = (round((0.25 * extent + 0.5 * options.bath_cells * A) / A) + 0.25) * A
    settings = KappaSettings(
        temperature=TEMPERATURE, method="nemd", difference=DIFFERENCE, bath_length=options.bath_cells * A,
        coupling_time=1000.0 * COUPLING_PS, runs=options.runs, equilibrate="20ps", time=1000.0 * options.time,
        window=1000.0 * options.warm, timestep=8.0, every=8, spectrum=True,
        spectrum_window=1000.0 * options.window, interface=(first, first + 0.5 * extent),
        backend=options.backend,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        found = thermal_conductivity(atoms, "Ar.lj", settings, folder=Path(folder))
        kept = [np.load(file) for file in sorted(Path(folder).glob("run-??.npz"))]
        runs = [(one["found.K_plus"], one["found.K_minus"], float(one["found.interval"][0])) for one in kept]
    assert found is not None
    assert found.conduction is not None
    one, of_paths = found.conduction.lengths[0], found.spectra[0]
    per = one.layout.area * len(one.layout.pieces)  # one path of two
    constants = second_order(atoms, "Ar.lj", backend=options.backend)
    fine = np.linspace(0.0, 2.5, 151)[1:]
    exact = transmission(constants, atoms.get_masses(), one.layout.hot, one.layout.cold, fine)
    nu = of_paths.w / (2.0 * np.pi)
    smooth = smoothed(fine, exact, nu, options.window)
    # GW/(m^2 K)/THz of one path to channels: per K and THz a channel carries k_B.
    scale = per / (16021.766 * KB)
    # Groups are the two paths and the two planes; heat through a plane, eV/ps/THz.
    signs = [one.layout.sign_at(place) for place in one.layout.interfaces]
    flow = np.mean(
        [
            sum(
                sign * spectrum(p.mean(axis=0), m.mean(axis=0), dt)[:, 2 + k].sum(axis=-1)
                for k, sign in enumerate(signs)
            )
            for p, m, dt in runs
        ],
        axis=0,
    )
    total = KB * DIFFERENCE * float(exact.sum() * (fine[1] - fine[0]))
    inside = nu < fine[-1]
    spectra = {"paths": of_paths.values.value * scale, "planes": flow / (KB * DIFFERENCE)}
    deviations = {
        name: float(np.sqrt(np.mean((each - smooth)[inside] ** 2) / np.mean(smooth[inside] ** 2)))
        for name, each in spectra.items()
    }
    report: dict[str, Any] = {
        **common.provenance(),
        "n_atoms": len(atoms),
        "runs": options.runs,
        "ps_each": options.time,
        "heat_exact_eV_per_ps": total,
        "heat_of_baths_eV_per_ps": [2.0 * one.heat.value, 2.0 * one.heat.error],
        "heat_of_paths_eV_per_ps": (np.array([of_paths.total.value, of_paths.total.error]) * DIFFERENCE
                                    * per / 16021.766).tolist(),
        "heat_of_planes_eV_per_ps": float(integral(flow, len(flow) // 2, runs[0][2])),
        "rms_deviation_of_the_spectrum": deviations,
        "convective_share": [of_paths.convective.value, of_paths.convective.error],
        "frequency_THz": nu[inside].tolist(),
        "exact": smooth[inside].tolist(),
        "channels": {name: each[inside].tolist() for name, each in spectra.items()},
        "channels_error": (of_paths.values.error * scale)[inside].tolist(),
        "notes": list(found.conduction.notes),
    }  # fmt: skip
    common.write_json(options.out, report)
    plot(report, options.out.with_suffix(".png"))
    for key, value in report.items():
        if "heat" in key or "share" in key or "rms" in key or key == "notes":
            print(key, value)


def transmission(
    constants: NDArray[np.float64], masses: NDArray[np.float64], hot: NDArray[np.int64],
    cold: NDArray[np.int64], frequencies: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Transmission between two baths, of force constants (n, n, 3, 3), eV/angstrom^2, at frequencies, THz."""
    n = len(masses)
    phi = constants.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    phi = 0.5 * (phi + phi.T)
    m, unit = np.repeat(masses, 3), TO_SECONDS
    friction = np.zeros((2, n))
    friction[0, hot] = friction[1, cold] = unit / COUPLING_PS
    gamma = np.repeat(friction, 3, axis=1) * m
    found = []
    for nu in frequencies:
        w = 2.0 * np.pi * nu * unit
        g = np.linalg.inv(phi - np.diag(w * w * m) - 1j * w * np.diag(gamma.sum(axis=0)))
        found.append(4.0 * w * w * float(gamma[0] @ (np.abs(g) ** 2) @ gamma[1]))
    return np.array(found)


def smoothed(
    fine: NDArray[np.float64], exact: NDArray[np.float64], nu: NDArray[np.float64], window: float
) -> NDArray[np.float64]:
    """An even function of the frequency as an estimator with a Hann window (ps) sees it."""
    step, lags = fine[1] - fine[0], 400
    t = window * np.arange(-lags + 1, lags) / lags
    h = 0.5 * (1.0 + np.cos(np.pi * t / window))

    def kernel(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((h * np.cos(2.0 * np.pi * x[:, None] * t)).sum(axis=1) * (t[1] - t[0]))

    return np.array([float(exact @ (kernel(x - fine) + kernel(x + fine))) * step for x in nu])


def plot(report: dict[str, Any], path: Path) -> None:
    """Transmission by lattice dynamics and by both spectra."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.4), dpi=120, layout="constrained")
    axis, nu = figure.subplots(), np.array(report["frequency_THz"])
    axis.plot(nu, report["exact"], "k", linewidth=1, label="lattice dynamics")
    for name, values in report["channels"].items():
        axis.plot(nu, values, linewidth=1, label=f"spectrum of {name}")
    axis.set(xlabel="frequency (THz)", ylabel="transmission (channels)")
    axis.legend(frameon=False, fontsize="small")
    figure.savefig(path)


if __name__ == "__main__":
    main()
