"""`taichimd check` on force fields that are right, wrong, and not there."""

from itertools import product

import numpy as np
import pytest
from ase import Atoms

from taichimd import TaichiMD, check_forcefield, load_forcefield, pair_potential, triplet_potential
from taichimd.core.errors import EvaluationError
from taichimd.math import exp, log
from taichimd.testing import assert_consistent

FILE = """
from taichimd import pair_potential, triplet_potential
from taichimd.math import exp, sqrt


@pair_potential(params={"k": "eV/Å²"})
def spring(r, p):
    d = r - p.cutoff
    return 0.5 * p.k * d * d, p.k * d


@pair_potential(params={"k": "eV/Å²"})
def wrong_slope(r, p):
    d = r - p.cutoff
    return 0.5 * p.k * d * d, 1.001 * p.k * d


@pair_potential(params={"a": "eV Å²"})
def inverse_square(r, p):
    return p.a / (r * r), -2.0 * p.a / (r * r * r)


@triplet_potential(params={"k": "eV"}, derive=True)
def never_fades(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2


@triplet_potential(params={"k": "eV"}, derive=True)
def fades_on_one_side(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2 * exp(0.5 / (r_ij - p.cutoff))


@triplet_potential(params={"k": "eV"}, derive=True)
def fades(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2 * exp(0.5 / (r_ij - p.cutoff) + 0.5 / (r_ik - p.cutoff))


@triplet_potential(params={"k": "eV"}, derive=True)
def sine(r_ij, r_ik, cos_jik, p):
    fade = exp(0.5 / (r_ij - p.cutoff) + 0.5 / (r_ik - p.cutoff))
    return p.k * fade * sqrt(1.0 - cos_jik * cos_jik)


@triplet_potential(params={"k": "eV"}, derive=True)
def finite_sine(r_ij, r_ik, cos_jik, p):
    fade = exp(0.5 / (r_ij - p.cutoff) + 0.5 / (r_ik - p.cutoff))
    return p.k * fade * sqrt(1.0 + 1e-14 - cos_jik * cos_jik)


@triplet_potential(params={"k": "eV"}, derive=True)
def linear_end(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2 * (r_ij - p.cutoff) * (r_ik - p.cutoff)


cut = inverse_square(a=4.8, cutoff=4.0)
shifted = inverse_square(a=4.8, cutoff=4.0, truncation="energy-shifted")
never, one_side, smooth = (f(k=1.0, cutoff=3.0) for f in (never_fades, fades_on_one_side, fades))
straight, guarded, linear = (f(k=1.0, cutoff=3.0) for f in (sine, finite_sine, linear_end))
both = cut + smooth
right = spring(k=0.3, cutoff=4.0)
wrong = wrong_slope(k=0.3, cutoff=4.0)
unfinished = spring
number = 3


def plain(r):
    return r
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")


def test_consistent_force_field_ends_with_0(call):
    code, out, err = call("check mine.py:right")
    assert (code, err) == (0, "")
    assert out.startswith("spring: consistent")
    assert "forces against finite differences" in out


def test_wrong_slope_ends_with_1_and_says_which_error(call):
    code, out, err = call("check mine.py:wrong --elements Ar,Kr --seed 3")
    assert (code, err) == (1, "")
    assert out.startswith("wrong_slope: NOT CONSISTENT")
    line = next(line for line in out.splitlines() if "finite differences" in line)
    assert float(line.split()[-1]) == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("right", "pair Si-Si at its cutoff of 4 Å: energy and force end at zero"),
        ("cut", "Å: 0.3 eV, slope -0.15 eV/Å: the energy jumps by 0.3 eV: energies will drift"),
        ("shifted", "slope -0.15 eV/Å: the force jumps by 0.15 eV/Å, the energy ends at zero"),
        ("both", "Å: 0.3 eV, slope -0.15 eV/Å: the energy jumps by 0.3 eV: energies will drift"),
    ],
)
def test_pair_has_a_verdict_at_its_cutoff(call, name, line):
    """What is left of 4.8/r^2 at 4 angstrom, and its slope; for information."""
    code, out, _ = call(f"check mine.py:{name} --elements Si")
    assert code == 0
    assert line in out
    assert ("three-body" in out) == (name == "both")


@pytest.mark.parametrize(
    ("name", "code", "at_cutoffs", "straight"),
    [
        ("smooth", 0, "energy and forces end at zero", "forces are smooth"),
        ("linear", 0, "forces jump by", "forces are smooth"),
        ("never", 1, "the energy jumps by", "forces are smooth"),
        ("one_side", 1, "the energy jumps by", "forces are smooth"),
        ("straight", 1, "energy and forces end at zero", "energy or forces are not finite"),
        ("guarded", 1, "energy and forces end at zero", "the force jumps by"),
    ],
)
def test_three_body_term_is_looked_at_where_it_can_jump(call, name, code, at_cutoffs, straight):
    found, out, _ = call(f"check mine.py:{name} --elements Si")
    assert found == code
    assert ("NOT CONSISTENT" in out) == bool(code)
    assert f"three-body term at its cutoffs: {at_cutoffs}" in out
    assert f"three-body term at angles of 0 and 180 degrees: {straight}" in out


def test_each_side_of_a_trimer_has_its_own_elements_and_cutoff():
    """Only where C leaves Si-Si-C, at 2.5 Å, something is left: the other side is at 0.55 of that."""

    @triplet_potential(params={"k": "eV", "end_j": "Å", "end_k": "Å"}, derive=True)
    def fading(r_ij, r_ik, cos_jik, p):
        return p.k * exp(0.5 / (r_ij - p.end_j) + 0.5 / (r_ik - p.end_k))

    cutoffs = {"Si": 3.0, "C": 2.5}
    rows = {
        (i, j, k): {"k": 0.7, "cutoff": cutoffs[j], "end_j": cutoffs[j], "end_k": cutoffs[k]}
        for i, j, k in product(cutoffs, repeat=3)
    }
    assert check_forcefield(fading(table=rows), clusters=2).ok
    rows["Si", "Si", "C"]["end_k"] = rows["Si", "C", "Si"]["end_j"] = 3.5
    found = check_forcefield(fading(table=rows), clusters=2)
    left = 0.7 * np.exp(0.5 / (2.5 - 3.5) + 0.5 / (0.55 * 2.5 - 3.0))
    assert found.triplet_jump[0] == pytest.approx(left, rel=1e-6)
    assert found.kink == 0.0
    assert not found.ok


def test_shipped_file_is_checked_on_all_its_elements(call):
    code, out, _ = call("check SiC_1989.tersoff")
    assert code == 0
    assert "SiC_1989.tersoff: consistent" in out


def test_every_decomposition_is_checked(call, monkeypatch):
    from taichimd.program.engine import Engine

    used, start = [], Engine.__init__

    def noted(self, *args, **options):
        start(self, *args, **options)
        used.append(self.decomposition)

    monkeypatch.setattr(Engine, "__init__", noted)
    code, out, _ = call("check SiC_1989.tersoff --decomposition tuple")
    assert code == 0
    assert "SiC_1989.tersoff: consistent" in out
    assert set(used) == {"tuple"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check mine.py:nothing", "mine.py has no 'nothing'; force fields it defines: cut, shifted, never"),
        (
            "check mine.py:plain",
            "mine.py: plain needs arguments; expected a force field, or a function without",
        ),
        ("check mine.py:number", "mine.py:number is of type int, expected a force field"),
        ("check mine.py", "say which force field to take from it, as mine.py:my_potential"),
        ("check none.py:right", "none.py: no such file"),
        ("check mine.py:unfinished", "a declared potential without values; it takes k (eV/Å²), cutoff"),
        ("check mine.py:right --elements Si,Xx", "elements: 'Xx' is not a chemical symbol"),
        ("check mine.py:right --seed -1", "seed = -1: expected a whole number, 0 or above"),
        ("check mine.py:right --backend tpu", "backend = 'tpu': expected auto, cuda or cpu"),
        ("check mine.py:right --decomposition atom", "decomposition = 'atom': expected particle, tuple or"),
        ("check Si.tersoff --elements Ge", "Si.tersoff has no parameters for Ge; it defines: Si"),
    ],
)
def test_mistakes_end_in_one_line_and_code_2(call, line, message):
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("kind", ["sw", "tersoff", "vashishta"])
def test_labels_of_atom_types_are_no_species(call, tmp_path, kind):
    numbers = " 1" * {"sw": 11, "tersoff": 14, "vashishta": 14}[kind]
    (tmp_path / f"MoS2.{kind}").write_text(f"# h-MoS2\nMo1 S1 S1{numbers}\nMo1 S1 S2{numbers}\n")
    code, out, err = call(f"check MoS2.{kind}")
    assert (code, out) == (2, "")
    assert err.startswith("error: the labels Mo1")
    assert err.count("\n") == 1


EMBEDDED = """
from taichimd import ManyBody, each_atom, neighbour_sum, pair_forces
from taichimd.math import exp, log


@neighbour_sum("density")
def density(r, p, mine, theirs):
    d = r - p.cutoff
    return d * d * exp(-r)


@each_atom("slope")
def embedding(mine):
    return log(mine.density), 1.0 / mine.density


@pair_forces
def bonds(r, p, mine, theirs):
    d = r - p.cutoff
    slope = (2.0 * d - d * d) * exp(-r)
    return 0.0, mine.slope * slope, theirs.slope * slope


glue = ManyBody("glue", [density, embedding, bonds], arrays=("density", "slope"), params={})(cutoff=4.0)
"""


def test_what_is_not_finite_is_not_consistent(tmp_path, monkeypatch, call):
    """The logarithm of no density: random clusters are fine, a lone atom is not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(EMBEDDED)
    code, out, err = call("check own.py:glue --elements Cu")
    assert code == 1, out
    assert err == ""
    assert out.startswith("glue: NOT CONSISTENT")
    assert "forces against finite differences   nan" not in out
    assert "pair Cu-Cu at its cutoff of 4 Å: energy or force is not finite just below or just above it" in out
    assert (
        "energy or forces are not finite of: a lone Cu atom, a pair Cu-Cu at its cutoff; look for a log"
        in out
    )
    with pytest.raises(AssertionError, match="not finite of: a lone Cu atom"):
        assert_consistent(load_forcefield("own.py:glue"), ["Cu"], clusters=2)

    Atoms("Cu2", [[0, 0, 0], [20.0, 0, 0]]).write("far.xyz")
    code, _, err = call("energy far.xyz --potential own.py:glue")
    assert code == 2
    assert "no two atoms are closer than 0.7 angstrom, atom 0 has no neighbour within its cutoff: " in err
    assert "look at the potential glue, as with taichimd check" in err
    assert "overlapping" not in err


@pair_potential(params={"a": "eV"})
def nowhere(r, p):
    return p.a * log(r - 10.0), p.a / (r - 10.0)


def test_clusters_without_an_energy_are_not_consistent():
    found = check_forcefield(nowhere(a=1.0, cutoff=4.0), ["Cu"], clusters=1)
    assert not found.ok
    assert found.not_finite == ["a random cluster", "a pair Cu-Cu at its cutoff"]
    assert "NOT CONSISTENT" in str(found)


@pytest.mark.parametrize(
    ("distance", "words"),
    [(0.3, "atoms 0 and 1 are 0.3 angstrom apart: look for overlapping"), (3.0, "the potential nowhere, as")],
)
def test_the_hint_names_what_is_to_blame(distance, words):
    atoms = Atoms("Ar2", [[0, 0, 0], [0, 0, distance]])
    atoms.calc = TaichiMD(nowhere(a=1.0, cutoff=8.0))
    with pytest.raises(EvaluationError, match=words):
        atoms.get_potential_energy()
