"""`taichimd check` on force fields that are right, wrong, and not there."""

import pytest

FILE = """
from taichimd import pair_potential


@pair_potential(params={"k": "eV/Å²"})
def spring(r, p):
    d = r - p.cutoff
    return 0.5 * p.k * d * d, p.k * d


@pair_potential(params={"k": "eV/Å²"})
def wrong_slope(r, p):
    d = r - p.cutoff
    return 0.5 * p.k * d * d, 1.001 * p.k * d


right = spring(k=0.3, cutoff=4.0)
wrong = wrong_slope(k=0.3, cutoff=4.0)
unfinished = spring
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


def test_shipped_file_is_checked_on_all_its_elements(call):
    code, out, _ = call("check SiC_1989.tersoff")
    assert code == 0
    assert "SiC_1989.tersoff: consistent" in out


def test_every_decomposition_is_checked(call, monkeypatch):
    from taichimd.engine import Engine

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
        ("check mine.py:nothing", "mine.py has no 'nothing'; force fields it defines: right, wrong"),
        ("check mine.py", "say which force field to take from it, as mine.py:my_potential"),
        ("check none.py:right", "none.py: no such file"),
        ("check mine.py:unfinished", "parameter 'k' is missing; it takes k, cutoff"),
        ("check mine.py:right --elements Si,Xx", "elements: 'Xx' is no chemical symbol"),
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
    assert err.startswith("error: the potential's labels Mo1")
    assert err.count("\n") == 1
