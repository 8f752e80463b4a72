"""Reaction events of bonds through time: known events, an independent count over frames, files, bad input."""

import csv
import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bond_files import SPECIES, lammps_text

from taichimd.core.errors import AnalysisError, StructureError
from taichimd.estimators.bond_history import BondHistory, BondRule
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.estimators.reaction_rates import (
    lifetimes,
    network,
    poisson_range,
    population,
    rates,
    shown_part,
)
from taichimd.estimators.reactions import find_reactions
from taichimd.io import reaction_files
from taichimd.io.lammps_bonds import BondReader, bond_file_kind, read_species

STEP = 0.01
"""ps between frames."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def reactions_of(symbols, frames, rule=None):
    """Of frames, each {(i, j): bond order}, 0.01 ps apart."""
    history = BondHistory(len(symbols), rule or BondRule())
    for k, bonds in enumerate(frames):
        i, j = np.array(list(bonds), int).reshape(-1, 2).T
        history.add(k * STEP, i, j, list(bonds.values()))
    return find_reactions(history, symbols)


def texts(found):
    return [(round(one.time / STEP), one.reaction) for one in found.events]


def of_orders(*pieces):
    """Frames of one pair: (number of frames, bond order) each."""
    return [{(0, 1): order} if order else {} for count, order in pieces for _ in range(count)]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([(20, 0.0), (20, 0.9)], [(20, "2 H -> H2")]),
        ([(20, 0.9), (20, 0.0)], [(20, "H2 -> 2 H")]),
        # Flicker shorter than the lifetime, of either kind.
        ([(20, 0.0), (4, 0.9), (20, 0.0)], []),
        ([(20, 0.9), (4, 0.0), (20, 0.9)], []),
        ([(20, 0.0), (5, 0.9), (20, 0.0)], [(20, "2 H -> H2"), (25, "H2 -> 2 H")]),
        ([(20, 0.0), *[(2, 0.9), (2, 0.0)] * 5, (20, 0.9)], [(40, "2 H -> H2")]),
        # Only one of the thresholds is crossed.
        ([(20, 0.0), (20, 0.45), (20, 0.0)], []),
        ([(20, 0.9), (20, 0.35), (20, 0.9)], []),
        ([(20, 0.0), (20, 0.45), (20, 0.9), (20, 0.45), (20, 0.0)], [(40, "2 H -> H2"), (80, "H2 -> 2 H")]),
        # Thresholds themselves: above the upper one, at or below the lower one.
        ([(20, 0.0), (20, 0.5)], []),
        ([(20, 0.9), (20, 0.3)], [(20, "H2 -> 2 H")]),
        # Undecided at the start.
        ([(20, 0.4), (20, 0.0)], []),
        ([(20, 0.4), (20, 0.9)], []),
        ([(20, 0.4), (20, 0.9), (20, 0.0)], [(40, "H2 -> 2 H")]),
        ([(20, 0.4), (20, 0.0), (20, 0.9)], [(40, "2 H -> H2")]),
        # The very end: the state of the last frames must be seen for the lifetime.
        ([(20, 0.0), (6, 0.9)], [(20, "2 H -> H2")]),
        ([(20, 0.0), (5, 0.9)], []),
        ([(20, 0.0), (1, 0.9)], []),
    ],
)
def test_one_pair(pieces, expected):
    found = reactions_of("HH", of_orders(*pieces))
    assert texts(found) == expected
    assert found.late == (pieces[-1] in [(5, 0.9), (1, 0.9)])


def test_an_exchange_is_one_event_however_long_the_bonds_overlap():
    """O-H + Cl -> O + H-Cl, with both bonds, or none, for up to four frames."""
    for both in (-4, -1, 0, 1, 4):
        frames = [{(0, 1): 0.9} if k < 20 + max(both, 0) else {} for k in range(60)]
        for k in range(20 - min(both, 0), 60):
            frames[k][2, 1] = 0.8
        found = reactions_of(["O", "H", "Cl"], frames)
        assert texts(found) == [(20 + abs(both), "Cl + HO -> HCl + O")]
        assert found.events[0].atoms_text([10, 11, 12]) == "12 + 10 11 -> 11 12 + 10"
        assert Counter(one.formula for one in found.molecules) == Counter(["HO", "Cl", "HCl", "O"])
    # An intermediate that lives for the lifetime is a molecule, and makes two events.
    frames = [{(0, 1): 0.9} if k < 25 else {} for k in range(60)]
    for k in range(20, 60):
        frames[k][2, 1] = 0.8
    assert texts(reactions_of(["O", "H", "Cl"], frames)) == [(20, "Cl + HO -> HClO"), (25, "HClO -> HCl + O")]


def test_a_reaction_of_three_molecules_and_a_molecule_that_takes_no_part():
    """2 H2 + O2 -> 2 H2O within three frames; argon sticks to it for two of them."""
    before, after = [(0, 1), (2, 3), (4, 5)], [(4, 0), (4, 1), (5, 2), (5, 3)]
    frames = [
        dict.fromkeys(before if k < 20 else after if k >= 22 else before + after, 0.9) for k in range(40)
    ]
    frames[20][4, 6] = frames[21][4, 6] = 0.9
    found = reactions_of("H H H H O O Ar".split(), frames)
    assert texts(found) == [(22, "2 H2 + O2 -> 2 H2O")]
    assert found.events[0].atoms_text(range(7)) == "0 1 + 2 3 + 4 5 -> 0 1 4 + 2 3 5"
    argon = [one for one in found.molecules if one.formula == "Ar"]
    assert [(one.born, one.died, one.ended) for one in argon] == [(0.0, 39 * STEP, False)]
    rate = rates(found)[0]
    # Two H2 in order and one O2 until frame 20, where they are consumed.
    assert (rate.molecularity, rate.count) == (3, 1)
    assert rate.exposure == pytest.approx(2 * 1 * 20 * STEP)


def test_two_reactions_at_a_time_are_two_events():
    frames = [{(0, 1): 0.9, (2, 3): 0.9} if k < 20 else {(4, 5): 1.2} for k in range(40)]
    assert texts(reactions_of("HHHHOO", frames)) == [(20, "H2 -> 2 H"), (20, "H2 -> 2 H"), (20, "2 O -> O2")]


def telegraph(n_pairs=200, n_frames=4000, seed=1):
    """Pairs that form with 2 per ps and break with 5 per ps, in Hill order H2; and frames of their bonds."""
    random = np.random.default_rng(seed)
    state = np.zeros((n_frames, n_pairs), bool)
    for k in range(1, n_frames):
        flips = random.random(n_pairs) < np.where(state[k - 1], 5.0, 2.0) * STEP
        state[k] = state[k - 1] ^ flips
    return state


def test_the_same_events_as_an_independent_count_over_frames():
    """Without thresholds between and without lifetime, an event is a difference of two frames."""
    state = telegraph(20, 500)
    symbols = ["H"] * 40
    frames = [{(2 * p, 2 * p + 1): 0.9 for p in np.flatnonzero(row)} for row in state]
    found = reactions_of(symbols, frames, BondRule(0.5, 0.5, 0.0))
    formed = sum(int((b & ~a).sum()) for a, b in pairwise(state))
    broken = sum(int((a & ~b).sum()) for a, b in pairwise(state))
    assert Counter(one.reaction for one in found.events) == {"2 H -> H2": formed, "H2 -> 2 H": broken}
    times, numbers = population(found)
    for k, bonds in enumerate(frames):
        i, j = np.array(list(bonds), np.int32).reshape(-1, 2).T
        expected = count_formulas(symbols, molecules(40, i, j))
        at = np.searchsorted(times, k * STEP + 1e-9) - 1
        assert {one: count[at] for one, count in numbers.items() if count[at]} == expected
    lived = {one.formula: one.lived for one in lifetimes(found)}
    assert lived["H2"] == pytest.approx(STEP * state[:-1].sum())


def test_rates_and_lifetimes_of_a_known_process():
    """Each pair forms with 2 per ps and breaks with 5 per ps."""
    state = telegraph()
    frames = [{(2 * p, 2 * p + 1): 0.9 for p in np.flatnonzero(row)} for row in state]
    found = reactions_of(["H"] * 400, frames, BondRule(0.5, 0.3, 0.0))
    breaking = next(one for one in rates(found) if one.reaction == "H2 -> 2 H")
    value, low, high = breaking.constants()
    assert low < value < high
    assert abs(value - 5.0) < 3 * (high - low) / 2
    assert breaking.constants(1000.0)[0] == pytest.approx(1e12 * value)
    life = next(one for one in lifetimes(found) if one.formula == "H2")
    assert abs(life.value - 0.2) < 3 * life.error
    assert life.error == pytest.approx(life.value / life.ended**0.5)
    assert life.molecules - life.ended == state[-1].sum(), "those that live at the end are censored"
    # Without the censored ones the mean would be too short if the run is.
    short = find_short(frames[:30])
    assert abs(short.value - 0.2) < 3 * short.error


def find_short(frames):
    found = reactions_of(["H"] * 400, frames, BondRule(0.5, 0.3, 0.0))
    return next(one for one in lifetimes(found) if one.formula == "H2")


def test_rate_constants_of_two_reactants_have_the_volume():
    """One of two H atoms, and an O: HO at frame 50."""
    frames = [{} if k < 50 else {(0, 2): 0.9} for k in range(100)]
    found = reactions_of("HHO", frames)
    (rate,) = rates(found)
    assert (rate.reaction, rate.unit) == ("H + O -> HO", "cm3/s")
    assert rate.exposure == pytest.approx(2 * 0.5)
    assert rate.constants()[0] == pytest.approx(1.0)
    assert rate.constants(1e6)[0] == pytest.approx(1e12 * 1e6 * 1e-24)
    h = next(one for one in lifetimes(found) if one.formula == "H")
    assert (h.molecules, h.ended, h.lived) == (2, 1, pytest.approx(0.5 + 0.99))
    oh = next(one for one in lifetimes(found) if one.formula == "HO")
    assert (oh.ended, oh.value) == (0, np.inf)
    assert oh.low == pytest.approx(0.49 / poisson_range(0)[1])


def test_ranges_of_counts():
    """Central 68.27 %: of no event up to 1.84, of one 0.17 to 3.30 (tables of particle physics)."""
    assert poisson_range(0) == (0.0, pytest.approx(1.841, abs=2e-3))
    assert poisson_range(1) == (pytest.approx(0.173, abs=2e-3), pytest.approx(3.300, abs=2e-3))
    low, high = poisson_range(10_000)
    assert (high - low) / 2 == pytest.approx(100, rel=1e-2)


EXCHANGE = [{(0, 1): 0.9} if k < 20 else {(1, 2): 0.8} for k in range(40)]
OPTIONS = "--elements O,H,Cl --timestep 0.1fs --volume 1000"


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def table(name):
    with open(name) as file:
        return list(csv.DictReader(file))


def test_a_file_of_lammps_gives_tables(call):
    write("bonds.reaxff", lammps_text(EXCHANGE, "123"))
    code, out, err = call(f"analyze bonds.reaxff {OPTIONS} --output o")
    assert (code, err) == (0, "")
    assert "1 events of 1 reactions" in out
    (event,) = table("o/reactions.csv")
    event.pop("reaction_smiles", None)
    assert event == {"time_ps": "0.2", "reaction": "Cl + HO -> HCl + O", "atoms": "3 + 1 2 -> 2 3 + 1"}
    assert Path("o/reaction_network.png").stat().st_size > 0
    (rate,) = table("o/rates.csv")
    assert (rate["count"], rate["k_unit"]) == ("1", "cm3/s")
    assert float(rate["k"]) == pytest.approx(1e12 * 1e-21 / 0.2)
    assert {row["species"]: row["censored"] for row in table("o/lifetimes.csv")} == {
        "Cl": "0", "HO": "0", "HCl": "1", "O": "1"
    }  # fmt: skip
    assert json.load(open("o/analysis.json"))["values"]["reaction_events"]["value"] == 1
    assert call(f"analyze bonds.reaxff {OPTIONS} --output o")[0] == 2
    with gzip.open("bonds.gz", "wt") as file:
        file.write(open("bonds.reaxff").read())
    assert call(f"analyze bonds.gz {OPTIONS} --output z")[0] == 0
    for name in ("reactions", "rates", "lifetimes", "species"):
        assert open(f"z/{name}.csv").read() == open(f"o/{name}.csv").read()


def test_isomers_have_different_smiles(call, monkeypatch):
    pytest.importorskip("rdkit")
    # An atom of oxygen goes into a bond of C-C-O: the two isomers of C2O2, C-C-O-O and O-C-C-O.
    chain, tail, ends = {(0, 1): 1.0, (1, 2): 1.0}, {(2, 3): 1.0}, {(0, 3): 1.0}
    event = reactions_of("CCOO", [chain] * 20 + [chain | tail] * 20).events[0]
    assert event.smiles("CCOO") == "[C][C][O].[O]>>[C][C][O][O]"
    event = reactions_of("CCOO", [chain | tail] * 20 + [chain] * 20 + [chain | ends] * 20).events[1]
    assert event.smiles("CCOO") == "[C][C][O].[O]>>[O][C][C][O]"
    write("bonds.reaxff", lammps_text(EXCHANGE, "123"))
    assert call(f"analyze bonds.reaxff {OPTIONS} --output o")[0] == 0
    assert table("o/reactions.csv")[0]["reaction_smiles"] == "[Cl].[H][O]>>[H][Cl].[O]"
    monkeypatch.setattr(reaction_files, "has_smiles", lambda: False)
    assert call(f"analyze bonds.reaxff {OPTIONS} --output p")[0] == 0
    assert list(table("p/reactions.csv")[0]) == ["time_ps", "reaction", "atoms"]


def test_the_network_has_the_ways_of_atoms():
    found = reactions_of(["O", "H", "Cl"], EXCHANGE)
    # Atoms of Cl go to HCl only; those of HO to both products.
    assert network(found) == {("Cl", "HCl"): 1, ("HO", "HCl"): 1, ("HO", "O"): 1}
    assert shown_part(network(found), 2) == {("HO", "HCl"): 1}


def test_our_own_table_gives_the_same(call):
    lines = ["step,time_ps,atom,element,neighbours,bond_orders,total_bond_order,lone_pairs,charge"]
    for k, bonds in enumerate(EXCHANGE):
        for atom, element in enumerate(["O", "H", "Cl"]):
            near = [(a + b - atom, order) for (a, b), order in bonds.items() if atom in (a, b)]
            ids, orders = " ".join(str(i) for i, _ in near), " ".join(str(o) for _, o in near)
            lines.append(f"{100 * k},{k * STEP!r},{atom},{element},{ids},{orders},1,2,0.1")
    write("bonds.csv", "\n".join(lines) + "\n")
    assert call("analyze bonds.csv --output o")[0] == 0
    assert table("o/reactions.csv")[0]["atoms"] == "2 + 0 1 -> 1 2 + 0"
    write("cut.csv", "\n".join(lines)[:-20])
    code, out, _ = call("analyze cut.csv --output c")
    assert (code, "incomplete" in out) == (0, True)


def test_a_file_that_is_cut_off_loses_its_last_frame():
    whole = lammps_text(EXCHANGE[:3], "123")
    last = whole.rindex("\n 1 1")
    for length in (last + 4, whole.rindex("\n# ") - 1, last):
        write("cut", whole[:length])
        reader = BondReader(Path("cut"), "bonds")
        assert len(list(reader.frames())) == 2
        assert reader.notes == ["the last frame of cut is incomplete and was left out"]


def test_a_repeated_step_counts_once_and_later_runs_must_follow(call):
    write("twice", lammps_text(EXCHANGE[:25], "123") + lammps_text(EXCHANGE[24:], "123", 2400))
    assert call(f"analyze twice {OPTIONS} --output o")[0] == 0
    assert len(table("o/reactions.csv")) == 1
    write("back", lammps_text(EXCHANGE, "123") + lammps_text(EXCHANGE, "123"))
    code, _, err = call(f"analyze back {OPTIONS} --output b")
    assert (code, "analyse one run at a time" in err) == (2, True)


def test_a_file_of_species(call):
    write("species.out", SPECIES)
    steps, counts = read_species(Path("species.out"))
    assert (steps, counts) == ([0, 10], [{"HO2": 2, "H2": 1}, {"HO2": 3}])
    code, out, _ = call("analyze species.out --timestep 0.5fs --output o")
    assert (code, "has no bonds" in out) == (0, True)
    assert open("o/species.csv").read() == "time_ps,HO2,H2\n0.0,2.0,1.0\n0.005,3.0,0.0\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, f"{OPTIONS} --bond-formed 0.3 --bond-broken 0.5", "exchange the two"),
        (None, "--timestep 0.1fs", "--elements H,O"),
        (None, "--elements O,H,Cl", "--timestep 0.25fs"),
        (None, "--elements O,H --timestep 1", "one for each type"),
        (None, "--elements O,H,Xx --timestep 1", "not the symbol of an element"),
        (None, f"{OPTIONS} --rdf", "RDF needs positions"),
        (None, f"{OPTIONS} --window 1ps", "--window needs positions, and bonds.reaxff has none"),
        (None, f"{OPTIONS} --skip 39", "two frames or more"),
        (lambda whole: whole[:200], OPTIONS, "ends within its first frame"),
        (lambda whole: whole.replace(" 2 2 1 1 0 0.9", " 2 2 1 1 0", 1), OPTIONS, "9 columns of an atom"),
        (lambda whole: whole.replace(" 2 2 1 1 0 0.9", " 2 2 1 7 0 0.9", 1), OPTIONS, "does not list"),
        (lambda whole: whole.replace(" 2 2 1 1 0 0.9", " 2 2 1 1 0 x", 1), OPTIONS, "cannot be read"),
        (
            lambda whole: whole.replace("particles 3", "particles 4", 1),
            OPTIONS,
            "4 atoms in the frame before",
        ),
        (lambda whole: whole.replace(" 3 3 0", " 3 1 0", 1), OPTIONS, "expected the same atoms"),
    ],
)
def test_mistakes_end_in_one_line(call, text, options, message):
    whole = lammps_text(EXCHANGE, "123")
    write("bonds.reaxff", whole if text is None else text(whole))
    code, _, err = call(f"analyze bonds.reaxff {options} --output o")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


@pytest.mark.parametrize(
    "option", ["--bond-formed 0.6", "--bond-broken 0.2", "--bond-lifetime 10fs", "--volume 100"]
)
def test_options_of_bonds_are_refused_where_there_are_no_bonds(call, option):
    write("frames.xyz", "1\n\nAr 0 0 0\n1\n\nAr 0 0 1\n")
    write("species.out", SPECIES)
    for source in ("frames.xyz", "species.out --timestep 0.5fs"):
        code, _, err = call(f"analyze {source} {option} --output o")
        assert (code, err.count("\n")) == (2, 1)
        assert f"{option.split()[0]} needs a file of bonds, and {source.split()[0]} has" in err


def test_bad_input_of_python():
    with pytest.raises(AnalysisError, match="exchange the two"):
        BondRule(0.3, 0.5)
    history = BondHistory(2, BondRule())
    history.add(0.0, [0], [1], [1.0])
    with pytest.raises(AnalysisError, match="not after"):
        history.add(0.0, [0], [1], [1.0])
    with pytest.raises(AnalysisError, match="beyond the 2 atoms"):
        history.add(1.0, [0], [2], [1.0])
    write("species.out", "# Timestep No_Moles No_Specs\n")
    with pytest.raises(StructureError, match="no complete sample"):
        read_species(Path("species.out"))
    write("other", "hello\n")
    assert bond_file_kind(Path("other")) is None
