"""Potentials with one deliberate mistake each: the suite must say by name what is wrong."""

import json

import numpy as np
from ase.build import bulk

from taichimd import LennardJones, PotentialResult, load_forcefield, validate

FILE = """
from taichimd import pair_potential
from taichimd.math import exp


@pair_potential(params={"depth": "eV", "alpha": "1/Å", "r0": "Å"})
def morse(r, p):
    x = exp(-p.alpha * (r - p.r0))
    return p.depth * (x * x - 2.0 * x), FACTOR * -2.0 * p.alpha * p.depth * (x * x - x)


potential = morse(depth=0.34, alpha=1.36, r0=2.87, cutoff=6.0, truncation="TRUNCATION")
"""


def written(folder, factor, truncation):
    """The potential of a file, with a factor of its derivative that should be 1."""
    file = folder / "mine.py"
    file.write_text(FILE.replace("FACTOR", str(factor)).replace("TRUNCATION", truncation), encoding="utf-8")
    return f"{file}:potential"


class Springs:
    """Springs between all atoms, written as an external potential, with a mistake."""

    name = "springs"
    has_virial = True

    def __init__(self, forget=False, one_sided=False):
        self.forget, self.one_sided = forget, one_sided

    def evaluate(self, positions, numbers, cell, pbc, *, virial):
        inverse = np.linalg.inv(cell)
        d = positions[None] - positions[:, None]
        image = np.rint(d @ inverse) @ cell
        d = d - image
        r2 = (d * d).sum(axis=2)
        k = 0.01 * np.exp(-r2 / 4.0)
        np.fill_diagonal(k, 0.0)
        energy = k.sum() / 2.0
        pull = -0.5 * k[:, :, None] * d  # dU/dr_ij of a pair
        if self.one_sided:
            pull[0] *= 2.0  # atom 0 feels twice what it does to the others
        forces = pull.sum(axis=1)
        whole = -0.5 * np.einsum("ija,ijb->ab", d, pull)
        if self.forget:
            whole[2, 2] = 0.0
        return PotentialResult(energy, forces, virial=whole if virial else None)


def small():
    """Two cells of copper, so large that springs end at half of the shorter edge."""
    return bulk("Cu", a=3.6, cubic=True).repeat((2, 2, 2))


def test_a_wrong_factor_of_the_force_fails_by_name(tmp_path):
    checks = ["forces", "virial", "third-law", "cutoff-energy", "fluctuation", "drift"]
    found = validate(
        written(tmp_path, 1.15, "truncated"), small(), quick=True, elements=["Cu"], only=checks,
    )  # fmt: skip
    assert {"forces", "virial", "fluctuation"} <= set(found.failed), str(found)
    assert found["third-law"].status == "passed"
    assert not found.ok


def test_a_jump_at_the_cutoff_fails_by_name(tmp_path, call):
    name = written(tmp_path, 1.0, "truncated")
    out = tmp_path / "out"
    code, text, _ = call(
        f"validate {name} --elements Cu --quick --only cutoff-energy,work,third-law --output {out}"
    )
    assert code == 1
    record = json.loads((out / "validation.json").read_text())
    assert record["ok"] is False
    [found] = record["certificates"]
    statuses = {one["name"]: one["status"] for one in found["outcomes"]}
    assert statuses == {"cutoff-energy": "failed", "work": "failed", "third-law": "passed"}
    assert "2 failed, 0 not run: cutoff-energy, work" in text
    smooth = LennardJones(epsilon=0.1, sigma=2.3, cutoff=6.0, truncation="force-shifted")
    assert validate(smooth, small(), quick=True, only=["cutoff-energy", "work"]).ok


EXTERNAL = ["forces", "virial", "third-law", "momentum"]


def test_springs_without_a_mistake_pass():
    found = validate(Springs(), small(), quick=True, only=EXTERNAL)
    assert found.ok, str(found)
    assert found.count("passed") == 4


def test_a_virial_that_forgets_a_term_fails_by_name():
    found = validate(Springs(forget=True), small(), quick=True, only=EXTERNAL)
    assert found.failed == ["virial"], str(found)


def test_a_force_without_reaction_fails_by_name():
    found = validate(Springs(one_sided=True), small(), quick=True, only=EXTERNAL)
    assert {"third-law", "forces", "momentum"} <= set(found.failed), str(found)


def test_what_other_code_evaluates_says_what_is_not_run():
    checks = ["cluster-forces", "cutoff-energy", "heat-current", "mixed", "lammps-energy"]
    found = validate(Springs(), small(), quick=True, only=checks)
    assert [one.status for one in found.outcomes] == ["not run"] * 5
    assert not found.ok, "nothing was checked"
    assert all(one.detail and one.value is None for one in found.outcomes)


def test_a_force_field_object_and_a_sum_are_validated():
    morse_and_more = load_forcefield("Ar.lj") + LennardJones(epsilon=0.001, sigma=3.0, cutoff=5.0,
                                                             truncation="force-shifted")  # fmt: skip
    found = validate(morse_and_more, quick=True, only=["forces", "virial", "third-law", "splits"])
    assert found.ok, str(found)
