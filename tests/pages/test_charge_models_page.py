"""The numbers of docs/forcefields/reaxff_charges.md are those of the measurement."""

import pytest
from pages import text_of

from validation import common

PAGE = "docs/forcefields/reaxff_charges.md"
NAMES = {"qeq": "QEq", "qeqr": "QEqR", "qtpie": "QTPIE", "acks2": "ACKS2"}


def drift(report):
    """Largest change of the total energy by model, meV: LAMMPS, and both sets of constants."""
    cases = {}
    for row in report["drift"]:
        key = NAMES[row["model"]], "yes" if row["field"] else "no"
        name = row["program"] if row["program"] == "LAMMPS" else row["constants"]
        cases.setdefault(key, {})[name] = f"{1000 * row['largest_change_eV']:.1f}"
    for key, found in cases.items():
        yield *key, found["LAMMPS"], found["lammps"], found["consistent"]


def agreement(report):
    """Largest differences from LAMMPS over all kinds of structures."""
    for model, kinds in report["agreement"].items():
        for kind, found in kinds.items():
            virial = f"{found['virial']:.0e}" if found["virial"] else ""
            yield (
                NAMES[model], kind, *(f"{found[key]:.0e}" for key in ("charges", "terms", "forces")), virial
            )  # fmt: skip


def iterations(report):
    """Of 64 molecules of water."""
    for model, found in report["iterations"].items():
        yield NAMES[model], str(found["first"]), f"{found['mean_of_steps']:.1f}"


@pytest.mark.parametrize("rows", [drift, agreement, iterations])
def test_tables(rows):
    text = text_of(PAGE)
    for row in rows(common.read_json(common.RESULTS / "reaxff_charge_models.json")):
        assert f"| {' | '.join(row)} |".replace("  |", " |") in text.replace("|  |", "| |"), row


def test_the_differences_are_small_and_consistent_energies_are_kept():
    report = common.read_json(common.RESULTS / "reaxff_charge_models.json")
    assert report["seeds"] >= 10
    assert set(report["agreement"]) == set(NAMES)
    for kinds in report["agreement"].values():
        assert set(kinds) == {"open", "slab", "periodic", "triclinic", "hot"}
        for found in kinds.values():
            assert found["charges"] < 1e-11
            assert max(found["forces"], found["terms"], found["virial"]) < 1e-9
    for row in report["drift"]:
        if row["constants"] == "consistent":
            assert row["largest_change_eV"] < 2e-3
