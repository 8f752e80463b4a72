"""`--observe reactions`: the events of a run are those of its bonds, also after a restart; mistakes."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from gases import mixed_gas
from interrupted import interrupted

from taichimd.core.errors import CheckpointError
from taichimd.estimators.bond_history import BondHistory, BondRule
from taichimd.estimators.reactions import find_reactions
from taichimd.observables.plan import Plan
from taichimd.observables.planning import make_plan

RUN = "run gas.extxyz --potential CHO.ffield --timestep 0.2 --backend cpu --temperature 3000 --seed 3 "
RULE = "--bond-formed 0.95 --bond-broken 0.9 --bond-lifetime 1fs "
"""Bonds of hydrogen vibrate through these thresholds, so there are events after a few steps."""


def gas():
    """Three molecules of hydrogen and one of oxygen."""
    return mixed_gas("H2", "O2", "H2", "H2")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def same(run, analysis):
    """Two tables with equal texts and, but for rounding, equal numbers; the first."""
    rows, others = (list(csv.reader(open(name))) for name in (run, analysis))
    assert (len(rows), rows[0]) == (len(others), others[0])
    for row, other in zip(rows, others, strict=True):
        for one, two in zip(row, other, strict=True):
            try:
                assert float(one) == pytest.approx(float(two), rel=1e-9, abs=1e-12)
            except ValueError:
                assert one == two
    return rows


@pytest.mark.long
def test_a_run_has_the_reactions_of_its_bonds_and_so_has_a_restart(call, monkeypatch):
    gas().write("gas.extxyz")
    observe = f"--steps 80 --every 40 --observe species,bonds,reactions --observe-every 2 {RULE}"
    code, out, err = call(RUN + observe + "--output whole")
    assert (code, err) == (0, "")
    assert "reaction " in out
    assert call(f"analyze whole/bonds.csv {RULE} --volume 729 --output analysis")[0] == 0
    names = ("reactions", "rates", "lifetimes")
    rows = [same(f"whole/{name}.csv", f"analysis/{name}.csv") for name in names]
    assert len(rows[0]) > 1, "there are events"
    same("whole/reaction_species.csv", "analysis/species.csv")
    assert Path("whole/reaction_species.png").stat().st_size > 0
    assert Path("whole/reaction_network.png").stat().st_size > 0
    with interrupted(monkeypatch, 46):
        assert call(RUN + observe + "--output cut")[0] == 130
    assert not os.path.exists("cut/reactions.csv")
    assert call("run --restart cut/checkpoint.npz")[0] == 0
    for name in (*names, "reaction_species"):
        assert open(f"cut/{name}.csv").read() == open(f"whole/{name}.csv").read()


def test_a_history_that_was_saved_continues_as_if_it_had_not_been():
    orders = np.random.default_rng(2).random((40, 5))  # of bonds 0-1, 1-2, 2-3, 3-4, 0-4
    i, j, rule = [0, 1, 2, 3, 4], [1, 2, 3, 4, 0], BondRule(0.6, 0.3, 0.02)
    whole = BondHistory(5, rule)
    for k in range(40):
        whole.add(0.01 * k, i, j, orders[k])
    expected = find_reactions(whole, "HHOOC")
    assert len(expected.events) > 3
    for cut in (0, 1, 2, 17, 39):
        first, second = BondHistory(5, rule), BondHistory(5, rule)
        for k in range(cut):
            first.add(0.01 * k, i, j, orders[k])
        second.load(first.save())
        for k in range(cut, 40):
            second.add(0.01 * k, i, j, orders[k])
        assert find_reactions(second, "HHOOC") == expected
    saved = whole.save()
    for name, value, message in [
        ("times", saved["times"][::-1], "do not increase"),
        ("frames", saved["frames"] + 40, "not in the order of 40 frames"),
        ("keys", saved["keys"] + 25, "beyond the 5 atoms"),
        ("bonded", np.array([-1]), "beyond the 5 atoms"),
        ("first", np.array([0.5]), "expected any whole numbers"),
    ]:
        with pytest.raises(CheckpointError, match=message):
            BondHistory(5, rule).load({**saved, name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--observe reactions --bond-formed 0.3 --bond-broken 0.5", "exchange the two"),
        ("--observe reactions --bond-lifetime 0fs", "bond_lifetime = '0fs': expected a length of time"),
        ("--observe reactions --observe-every 50", "observe = reactions: the run would take 1 sample"),
        ("--bond-formed 0.6", "nothing is observed; also give observe"),
    ],
)
def test_mistakes_end_in_one_line(call, options, message):
    gas().write("gas.extxyz")
    code, _, err = call(RUN + f"--steps 40 --output o {options}")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not os.path.exists("o")


def test_a_potential_without_bonds_has_no_reactions(call):
    Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]]).write("dimer.extxyz")
    code, _, err = call("run dimer.extxyz --potential Ar.lj --steps 40 --output o --observe reactions")
    assert (code, err.count("\n")) == (2, 1)
    assert "Ar.lj has no table of bonds" in err


def test_plans_keep_the_rule_of_bonds():
    plan = make_plan(("reactions",), 0, 100, 1.0, 10).with_rule(BondRule(0.6, 0.2, 0.01))
    assert Plan.from_json(plan.to_json()) == plan
    saved = plan.to_json()
    for name in ("bond_formed", "bond_broken", "bond_lifetime"):
        del saved[name]
    assert Plan.from_json(saved).bond_rule == BondRule()
    with pytest.raises(CheckpointError, match="bond_formed"):
        Plan.from_json({**plan.to_json(), "bond_formed": 0.1})


def test_settings_of_reactions_need_reactions(call):
    gas().write("gas.extxyz")
    for option, value in (("--bond-formed", "0.6"), ("--bond-broken", "0.2"), ("--bond-lifetime", "80fs")):
        code, _, err = call(f"{RUN} --steps 4 --observe species {option} {value}")
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert "it is a setting of reactions, and observe = species" in err
