"""Do charge models and fields of ReaxFF agree with LAMMPS, and which forces keep the energy?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.charge_models

Largest differences from LAMMPS in QEq, QEqR, QTPIE and ACKS2 (acks2_ff.water), ten structures each of open,
slab, periodic, triclinic and hot, charges to 1e-13; with a field where the model takes one. Then NVE of two
water molecules from rest with both sets of constants, and with LAMMPS itself: the largest change of the total
energy, and a plot.
"""

from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units

from validation import common

FILE = "acks2_ff.water"
EXPONENTS = {"H": 0.5434, "O": 0.2240}
MODELS = ("qeq", "qeqr", "qtpie", "acks2")
FIELD = (0.05, -0.1, 0.3)
"""V/angstrom; of slabs its z component alone, with QEq and ACKS2."""
SEEDS = range(10)
TIMESTEP, EVERY = 0.2, 5
"""fs; steps between two energies."""


def main() -> None:
    """Parse the command line, compare and run, write JSON and the plot."""
    parser = common.parser(__doc__, out="reaxff_charge_models")
    parser.add_argument("--picoseconds", type=float, default=0.3)
    options = parser.parse_args()
    common.use_tests_folder()

    from taichimd.core import runtime

    runtime.start("cpu")
    report: dict[str, Any] = {
        **common.provenance(), "file": FILE, "exponents_per_bohr2": EXPONENTS, "field_V_per_A": FIELD,
        "seeds": len(SEEDS), "agreement": {}, "timestep_fs": TIMESTEP, "picoseconds": options.picoseconds,
    }  # fmt: skip
    for model in MODELS:
        for kind, make in STRUCTURES.items():
            rows = [compare(make(seed), model) for seed in SEEDS]
            found = {key: max(row[key] for row in rows) for key in rows[0]}
            report["agreement"].setdefault(model, {})[kind] = found
            print(
                f"{model:6} {kind:10} " + " ".join(f"{key} {value:.0e}" for key, value in found.items()),
                flush=True,
            )
    report["iterations"] = {model: iterations(model) for model in MODELS}
    report["drift"] = [
        drift(model, constants, field, options.picoseconds)
        for model, field in (("qeq", ()), ("acks2", ()), ("qeqr", FIELD), ("qtpie", ()), ("qtpie", FIELD))
        for constants in ("lammps", "consistent", "LAMMPS")
    ]
    common.write_json(options.out, report)
    plot(report, options.out.with_suffix(".png"))


def open_water(seed: int) -> Atoms:
    """Six molecules, free."""
    from reaxff_samples import water

    found = water(6, 8.0, seed + 1)
    found.pbc, found.cell = False, np.zeros((3, 3))
    return found


def periodic(seed: int) -> Atoms:
    """Sixteen molecules in a cube, inside the cell."""
    from reaxff_samples import water

    found = water(16, 10.0, seed + 1)
    found.wrap()
    return found


def slab(seed: int) -> Atoms:
    """Sixteen molecules, periodic along x and y."""
    from reaxff_samples import water

    found = water(16, 10.0, seed + 1)
    found.pbc = (True, True, False)
    found.wrap()
    return found


def triclinic(seed: int) -> Atoms:
    """Sixteen molecules in a sheared cell."""
    found = periodic(seed)
    found.set_cell([[10.0, 0.0, 0.0], [1.7, 9.9, 0.0], [-1.1, 2.1, 10.1]], scale_atoms=True)
    found.wrap()
    return found


def hot(seed: int) -> Atoms:
    """Atoms at random."""
    from reaxff_samples import hot as at_random

    return at_random("H24O12", 10.0, seed + 1)


STRUCTURES = {
    "open": open_water, "slab": slab, "periodic": periodic, "triclinic": triclinic, "hot": hot
}  # fmt: skip


def field_of(atoms: Atoms, model: str) -> tuple[float, ...]:
    """The field that a model takes in a structure."""
    if model in ("qeqr", "qtpie") or not atoms.pbc.any():
        return FIELD
    return () if atoms.pbc.all() else (0.0, 0.0, FIELD[2])


def compare(atoms: Atoms, model: str) -> dict[str, float]:
    """Largest differences from LAMMPS: charges (e), terms, force and virial (eV, eV/angstrom)."""
    from peers import path_of

    from taichimd.lammps.reaxff import ChargeFix, lammps_reaxff
    from taichimd.program.engine import Engine

    field = field_of(atoms, model)
    fix = ChargeFix(model, field, EXPONENTS if model in ("qeqr", "qtpie") else {})
    # Tolerances of ACKS2 do not mean the same as those of the other models, in either program.
    lammps, own = (1e-20, 1e-14) if model == "acks2" else (1e-14, 1e-13)
    theirs = lammps_reaxff(atoms, path_of(FILE), tolerance=lammps, charges=fix)
    engine = Engine(atoms, forcefield(model, "lammps", field, own), backend="cpu")
    found = engine.evaluate()
    evaluator: Any = engine.device.evaluators[0]
    terms, virial = evaluator.terms()[0], found.virials.sum(0)
    at = ([0, 1, 2, 1, 2, 2], [0, 1, 2, 0, 0, 1])
    return {
        "charges": _most(evaluator.charges.charges() - theirs.charges),
        "terms": max(abs(terms[name] - value) for name, value in theirs.terms.items()),
        "forces": _most(found.forces - theirs.forces),
        "virial": _most(virial[at] - theirs.virial[at]) if atoms.pbc.all() else 0.0,
    }


def forcefield(model: str, constants: str, field: tuple[float, ...], tolerance: float) -> Any:
    """ReaxFF with one of the models."""
    from peers import path_of

    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    return ReaxFF(
        path_of(FILE), charges=model, constants=constants, field=field, charge_tolerance=tolerance,
        lammps_forces=constants == "lammps",
    )  # fmt: skip


def iterations(model: str) -> dict[str, float]:
    """Iterations of a solve of 64 molecules to 1e-6: the first one, and the mean over 40 steps at 300 K."""
    from reaxff_samples import water

    from taichimd import testing
    from taichimd.program.engine import Engine

    atoms = testing.with_velocities(water(64, 12.42), 300.0, 1)
    engine = Engine(atoms, forcefield(model, "consistent", (), 1e-6), backend="cpu")
    engine.evaluate()
    first, each = engine.thermo().charge_iterations, []
    for _ in range(40):
        engine.advance(1, 0.25 * units.fs)
        each.append(engine.thermo().charge_iterations)
    print(f"{model:6} iterations: first {first}, mean of steps {np.mean(each[8:]):.1f}", flush=True)
    return {"atoms": len(atoms), "first": int(first or 0), "mean_of_steps": float(np.mean(each[8:]))}


def drift(model: str, constants: str, field: tuple[float, ...], picoseconds: float) -> dict[str, Any]:
    """Total energy (eV) in NVE of two molecules from rest; constants "LAMMPS": by that program."""
    from peers import path_of
    from reaxff_samples import water_dimer

    from taichimd.lammps.reaxff import ChargeFix, lammps_reaxff_nve
    from taichimd.program.engine import Engine

    atoms, steps = water_dimer(), round(1000 * picoseconds / TIMESTEP)
    if constants == "LAMMPS":
        fix = ChargeFix(model, field, EXPONENTS if model in ("qeqr", "qtpie") else {})
        energies = lammps_reaxff_nve(
            atoms, path_of(FILE), tolerance=1e-10, timestep=TIMESTEP, n_steps=steps, every=EVERY, charges=fix
        )
    else:
        engine = Engine(atoms, forcefield(model, constants, field, 1e-10), backend="cpu")
        found = [_total(engine)]
        for _ in range(steps // EVERY):
            engine.advance(EVERY, TIMESTEP * units.fs)
            found.append(_total(engine))
        energies = np.array(found)
    change = energies - energies[0]
    print(f"{model:6} {constants:11} field {bool(field)}: {_most(change):.2e} eV", flush=True)
    return {
        "program": "LAMMPS" if constants == "LAMMPS" else "taichimd",
        "model": model,
        "constants": constants.lower(),
        "field": bool(field),
        "largest_change_eV": _most(change),
        "time_fs": (TIMESTEP * EVERY * np.arange(len(change))).tolist(),
        "change_eV": change.tolist(),
    }


def _total(engine: Any) -> float:
    thermo = engine.thermo()
    return float(thermo.potential + thermo.kinetic)


def plot(report: dict[str, Any], file: Path) -> None:
    """Change of the total energy of QTPIE and QEqR."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, (model, field) in zip(axes, (("qtpie", False), ("qeqr", True)), strict=True):
        for row in report["drift"]:
            if row["model"] == model and row["field"] == field:
                name = "LAMMPS" if row["program"] == "LAMMPS" else f"taichimd, {row['constants']}"
                style = "--" if name == "LAMMPS" else "-"
                axis.plot(row["time_fs"], 1000 * np.array(row["change_eV"]), style, label=name)
        axis.set_title(f"{'QTPIE' if model == 'qtpie' else 'QEqR'}{', in a field' if field else ''}")
        axis.set_xlabel("time (fs)")
    axes[0].set_ylabel("change of the total energy (meV)")
    axes[0].legend()
    figure.savefig(file, dpi=150)
    print(file)


def _most(values: Any) -> float:
    return float(np.abs(values).max())


if __name__ == "__main__":
    main()
