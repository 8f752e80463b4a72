"""Do lattice dynamics and molecular dynamics find one conductivity of silicon?

    pip install phono3py
    python -m validation.physics.lattice_kappa

Force constants of second and third order of Stillinger-Weber silicon by `second_order` and `third_order`; the
conductivity at 500 and 1,000 K by phono3py from the relaxation times of three-phonon scattering, in all and
by frequency. The results of `heat_by_frequency stillinger-weber` and `stillinger-weber-500`, HNEMD of the
same crystal, stand beside it if they are there. Lattice dynamics has three-phonon scattering alone, and
quantum occupation.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common

BIN = 0.5
"""THz, of the conductivity by frequency."""


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, out="lattice_kappa")
    parser.add_argument("--mesh", type=int, default=19, help="of wave vectors along each reciprocal vector")
    parser.add_argument("--a", type=float, default=5.445, help="lattice constant, angstrom")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[500.0, 1000.0], help="K")
    parser.add_argument("--beside", action="store_true", help="only put HNEMD beside the result")
    options = parser.parse_args()
    if options.beside:
        complete(common.read_json(options.out), options.out)
        return

    from phono3py import Phono3py
    from phonopy.structure.atoms import PhonopyAtoms

    from taichimd import second_order, third_order

    cubic = bulk("Si", a=options.a, cubic=True)
    cell = PhonopyAtoms(symbols=cubic.get_chemical_symbols(), cell=cubic.cell[:], positions=cubic.positions)
    phonons = Phono3py(cell, supercell_matrix=np.diag([2, 2, 2]), primitive_matrix="F")
    s = phonons.supercell
    atoms = Atoms(s.symbols, s.positions, cell=s.cell, pbc=True)
    first = phonons.primitive.p2s_map.tolist()
    begin = time.monotonic()
    phonons.fc2 = second_order(atoms, "Si.sw", of=first)
    # Atoms with a common neighbour are at most two bonds apart, 0.71 of the lattice constant.
    phonons.fc3 = third_order(atoms, "Si.sw", of=first, cutoff=0.75 * options.a)
    report: dict[str, Any] = {
        **common.provenance(),
        "phono3py": _version(),
        "potential": "Si.sw",
        "a_A": options.a,
        "temperatures_K": options.temperatures,
        "supercell_atoms": len(atoms),
        "seconds_of_force_constants": time.monotonic() - begin,
        "kappa_W_per_mK": {},
        "seconds": {},
    }
    for mesh in (options.mesh - 8, options.mesh - 4, options.mesh):
        begin = time.monotonic()
        phonons.mesh_numbers = [mesh] * 3
        phonons.init_phph_interaction()
        phonons.run_thermal_conductivity(temperatures=options.temperatures)
        found = phonons.thermal_conductivity
        means = np.reshape(found.kappa, (len(options.temperatures), 6))[:, :3].mean(axis=1)
        report["kappa_W_per_mK"][mesh] = means.tolist()
        report["seconds"][mesh] = time.monotonic() - begin
        report |= by_frequency(found, means)
        common.write_json(options.out, report)
    complete(report, options.out)


def complete(report: dict[str, Any], out: Path) -> None:
    """Put HNEMD beside, write JSON and the picture."""
    driven = map(driven_at, report["temperatures_K"])
    report["hnemd_W_per_mK"] = [one["kappa_W_per_mK"] if one else None for one in driven]
    common.write_json(out, report)
    plot(report, out.with_suffix(".png"))
    print(report["kappa_W_per_mK"], report["hnemd_W_per_mK"])


def driven_at(temperature: float) -> dict[str, Any] | None:
    """The result of HNEMD at a temperature, if it is there."""
    name = "heat_stillinger_weber" + ("" if temperature == 1000.0 else f"_{temperature:g}")
    file = common.RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.is_file() else None


def _version() -> str:
    from importlib.metadata import version

    return version("phono3py")


def by_frequency(found: Any, means: np.ndarray) -> dict[str, Any]:
    """Middles of bins (THz) and, for each temperature, the conductivity of modes in them, W/(m K)/THz."""
    modes = np.reshape(found.mode_kappa, (len(means), *found.frequencies.shape, 6))[..., :3].mean(axis=-1)
    edges = np.arange(0.0, found.frequencies.max() + BIN, BIN)
    by_bin = []
    for mean, of_modes in zip(means, modes, strict=True):
        summed, _ = np.histogram(found.frequencies, edges, weights=of_modes * mean / of_modes.sum())
        by_bin.append((summed / BIN).tolist())
    return {"frequency_THz": (0.5 * (edges[1:] + edges[:-1])).tolist(), "kappa_W_per_mK_per_THz": by_bin}


def plot(report: dict[str, Any], path: Path) -> None:
    """Conductivity by frequency of both at each temperature."""
    from matplotlib.figure import Figure

    temperatures = report["temperatures_K"]
    figure = Figure(figsize=(4.5 * len(temperatures), 3.4), dpi=120, layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(temperatures)))
    totals = list(report["kappa_W_per_mK"].values())[-1]
    for at, (axis, temperature) in enumerate(zip(axes, temperatures, strict=True)):
        axis.step(
            report["frequency_THz"], report["kappa_W_per_mK_per_THz"][at], where="mid", linewidth=1,
            label=f"lattice dynamics, {totals[at]:.0f} W/(m K)",
        )  # fmt: skip
        if (driven := driven_at(temperature)) is not None:
            value, error = driven["kappa_W_per_mK"]
            axis.plot(
                driven["frequency_THz"], driven["spectra"][0]["value"], linewidth=1,
                label=f"HNEMD, {value:.0f} ± {error:.0f} W/(m K)",
            )  # fmt: skip
        axis.set(xlabel="frequency (THz)", ylabel="W/(m K)/THz", xlim=(0.0, 20.0), title=f"{temperature:g} K")
        axis.legend(frameon=False, fontsize="small")
    figure.savefig(path)


if __name__ == "__main__":
    main()
