"""Pair forms and their ends: against LAMMPS, by hand, and mistakes in `.pair` files and tables."""

from functools import partial

import numpy as np
import pytest
from ase import Atoms
from ase.build import make_supercell

from taichimd import buckingham, morse, table, zbl
from taichimd.core.errors import MissingParameterError, ParameterFileError, SettingsError
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.pair_forms import tabulated
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine

BKS = {"Si O": "18003.7572 0.20520 133.5381", "O O": "1388.7730 0.36232 175.0", "Si Si": "900.0 0.3 0.0"}
BORN = {"Si O": "2.0 0.3 1.7 20.0 30.0", "O O": "1.0 0.32 2.0 30.0 40.0", "Si Si": "3.0 0.3 1.5 10.0 5.0"}
MORSE = {"Si O": "0.9 1.4 1.7", "O O": "0.1 1.2 2.6", "Si Si": "0.3 1.3 2.3"}
NONE = {"Si O": "", "O O": "", "Si Si": ""}
OF_LAMMPS = {"zbl": {"O O": "8 8", "Si O": "8 14", "Si Si": "14 14"}}
"""Coefficients that LAMMPS writes otherwise."""
LAMMPS = {
    "buckingham truncated": (BKS, "5.0", "buck 5.0", ()),
    "buckingham energy-shifted": (BKS, "5.0", "buck 5.0", ("shift yes",)),
    "buckingham tapered": (BKS, "5.0 3.0", "buck/mdf 3.0 5.0", ()),
    "born truncated": (BORN, "5.0", "born 5.0", ()),
    "morse force-shifted": (MORSE, "5.0", "morse/smooth/linear 5.0", ()),
    "zbl switched": (NONE, "4.0 2.5", "zbl 2.5 4.0", ()),
}
"""Rows of a `.pair` file, cutoff and inner distance, LAMMPS's style, pair_modify."""


def structures():
    """Crystal hot and triclinic, dense liquid, cluster, dimers inside and outside the cutoff."""
    rng = np.random.default_rng(2)

    def displaced(atoms, by=0.2):
        atoms.positions += by * rng.standard_normal((len(atoms), 3))
        return atoms

    lattice = Atoms("SiO2", [(0, 0, 0), (1.9, 0, 0), (3.8, 0, 0)], cell=[5.7, 1.9, 1.9], pbc=True)
    cluster = lattice.repeat((1, 2, 2))
    cluster.pbc = False
    return {
        "crystal": displaced(lattice.repeat((1, 3, 3))),
        "triclinic": displaced(make_supercell(lattice, [[1, 1, 0], [0, 3, 1], [0, 0, 3]])),
        "dense": displaced(
            Atoms("SiO2" * 4, 1.5 * np.array(list(np.ndindex(2, 2, 3))), cell=[3, 3, 4.5], pbc=1), 0.1
        ),
        "cluster": displaced(cluster),
        "dimer inside": Atoms("SiO", [(0, 0, 0), (1.6, 0.4, 0.3)]),
        "dimer outside": Atoms("SiO", [(0, 0, 0), (4.9, 1.0, 0.9)]),
    }


def written(folder, text, name="x.pair"):
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.long
@pytest.mark.lammps
@pytest.mark.parametrize("name", LAMMPS)
def test_forms_and_ends_agree_with_lammps(name, tmp_path):
    form, end = name.split()
    rows, ends, style, modify = LAMMPS[name]
    lines = "".join(f"{pair} {numbers} {ends}\n" for pair, numbers in rows.items())
    forcefield = load_forcefield(written(tmp_path, f"form {form}\ntruncation {end}\n{lines}"))
    types = {"O O": "1 1", "Si O": "1 2", "Si Si": "2 2"}
    coefficients = [f"{types[pair]} {numbers}" for pair, numbers in OF_LAMMPS.get(form, rows).items()]
    for what, atoms in structures().items():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, style, coefficients, pair_modify=modify)
        largest = max(1.0, np.abs(theirs.forces).max())
        assert (ours.energy != 0.0) == (what != "dimer outside")
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10, abs=1e-13), what
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-10 * largest, err_msg=what)


@pytest.mark.long
@pytest.mark.parametrize("end", ["tapered", "switched"])
def test_new_ends_are_smooth(end):
    forcefield = morse(D0=0.9, alpha=1.4, r0=1.7, cutoff=4.0, inner=3.0, truncation=end)
    found = check_forcefield(forcefield, ["Si"], clusters=2)
    assert found.ok, str(found)
    assert all(max(abs(one.energy), abs(one.slope)) < 1e-9 for one in found.ends)


def test_other_pairs_do_not_interact_where_a_term_says_so(tmp_path):
    atoms = Atoms("SiOH", [(0, 0, 0), (1.7, 0, 0), (1.7, 1.5, 0)])
    alone = Atoms("SiO", atoms.positions[:2])
    own = morse(D0=0.9, alpha=1.4, r0=1.7, cutoff=4.0, on="Si-O")
    file = load_forcefield(
        written(tmp_path, "form morse\ntruncation truncated\nothers none\nO Si 0.9 1.4 1.7 4.0\n")
    )
    wanted = Engine(alone, own, backend="cpu").evaluate().energy
    assert wanted == pytest.approx(-0.9)
    for forcefield in (own, file):
        found = Engine(atoms, forcefield, backend="cpu").evaluate()
        assert found.energy == pytest.approx(wanted, rel=1e-14)
        np.testing.assert_array_equal(found.forces[2], 0.0)


def test_a_pair_without_a_row_is_refused(tmp_path):
    file = written(tmp_path, "form morse\ntruncation truncated\nO Si 0.9 1.4 1.7 4.0\n")
    with pytest.raises(MissingParameterError, match=r"has no pair \(O, O\)"):
        load_forcefield(file).bind(["O", "Si"])


def lammps_table(spacing="R"):
    r = np.linspace(1.0, 5.0, 400) if spacing == "R" else np.sqrt(np.linspace(1.0, 25.0, 400))
    u, f = np.exp(-r), np.exp(-r)
    rows = enumerate(zip(r, u, f, strict=True), start=1)
    body = "\n".join(f"{k} {a:.15g} {b:.15g} {c:.15g}" for k, (a, b, c) in rows)
    return f"# a table\n\nSI_O\nN 400 {spacing} 1.0 5.0\n\n{body}\n"


@pytest.mark.parametrize("spacing", ["R", "RSQ"])
def test_tables_of_lammps_are_curves(spacing, tmp_path):
    (tmp_path / "t.table").write_text(lammps_table(spacing))
    file = written(tmp_path, "form table\ntruncation truncated\nSi O t.table SI_O 5.0\n")
    (term,) = load_forcefield(file).terms
    curve = term.table.rows["O", "Si"]["u"]
    x = np.linspace(1.1, 4.9, 57)
    value, slope = curve(x)
    np.testing.assert_allclose(value, np.exp(-x), atol=2e-8)
    np.testing.assert_allclose(slope, -np.exp(-x), atol=2e-6)


@pytest.mark.long
@pytest.mark.lammps
@pytest.mark.parametrize("spacing", ["R", "RSQ"])
@pytest.mark.parametrize(("n", "largest"), [(400, 3e-6), (4000, 1e-8)])
def test_a_table_has_the_energies_and_forces_of_lammps(spacing, n, largest, tmp_path):
    """Interpolations differ: forces of 4,000 points are within 1e-8 eV/angstrom, and of 400 within 3e-6."""
    r = np.linspace(0.8, 5.0, n) if spacing == "R" else np.sqrt(np.linspace(0.64, 25.0, n))
    bond, well = 2.0 * np.exp(-1.6 * (r - 1.6)), 0.4 * np.exp(-((r - 2.6) ** 2))
    columns = zip(r, bond - well, 1.6 * bond - 2.0 * (r - 2.6) * well, strict=True)
    rows = "\n".join(f"{k} {a:.17g} {b:.17g} {c:.17g}" for k, (a, b, c) in enumerate(columns, start=1))
    (tmp_path / "t.table").write_text(f"SI_O\nN {n} {spacing} 0.8 5.0\n\n{rows}\n")
    pairs = "".join(f"{pair} t.table SI_O 5.0\n" for pair in BKS)
    forcefield = load_forcefield(written(tmp_path, f"form table\ntruncation truncated\n{pairs}"))
    for name, atoms in structures().items():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, "table spline 20000", (f"* * {tmp_path}/t.table SI_O 5.0",))
        assert (ours.energy != 0.0) == (name != "dimer outside")
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10), name
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=largest, err_msg=name)


TRUNCATED = "\ntruncation truncated\n"
TAPERED = "\ntruncation tapered\n"
MISTAKES = {
    "no form": (f"{TRUNCATED}Si O 1 1 1 5\n", "line 3: a row before the line form; expected first: form"),
    "unknown form": ("form buck\n", "line 1: field 'form' is 'buck', expected buckingham"),
    "misspelt line": ("fom morse\n", "line 1: 'fom' is unknown.*form"),
    "too few numbers": (f"form morse{TRUNCATED}Si O 1 1 5\n", "line 3: 5 words, expected 6 for morse"),
    "no inner": (f"form morse{TAPERED}Si O 1 1 1 5\n", "expected 7 for morse, tapered: .* inner"),
    "inner beyond": (f"form morse{TAPERED}Si O 1 1 1 5 6\n", "line 3: the end begins at 6 angstrom"),
    "a negative length": (f"form morse{TRUNCATED}Si O 1 -1 1 5\n", "line 3: alpha is -1"),
    "twice": (f"form zbl{TRUNCATED}Si O 5\nO Si 5\n", "line 4: second row for O-Si, the first is on line 3"),
    "no row": (f"form zbl{TRUNCATED}", "has no row"),
    "lower case": (f"form zbl{TRUNCATED}si O 5\n", "line 3: .*'si'.*such as Si"),
    "no table": (f"form table{TRUNCATED}Si O no.table A 5\n", "no.table: no such file"),
    "no section": (f"form table{TRUNCATED}Si O t.table A 5\n", "t.table has no section 'A'.*SI_O"),
    "a short table": (f"form table{TRUNCATED}Si O s.table A 5\n", "line 2: 'N 2', expected N"),
    "NaN": (f"form table{TRUNCATED}Si O n.table A 5\n", "n.table line 4: field 'energy' is 'nan'"),
    "more lines than N": (f"form table{TRUNCATED}Si O m.table A 5\n", "line 9: a line after the 5 .*line 2"),
    "other ends": (
        f"form table{TRUNCATED}Si O m.table B 5\n",
        "line 12: 'N 5 R 1.0 6.0', but distances go from 1 to 5 angstrom",
    ),
    "ends before": (f"form table{TRUNCATED}Si O t.table SI_O 7\n", "ends at 5 angstrom .*cutoff of 7"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line(name, tmp_path):
    text, expected = MISTAKES[name]
    (tmp_path / "t.table").write_text(lammps_table())
    (tmp_path / "s.table").write_text("A\nN 2\n\n1 1.0 1.0 1.0\n2 2.0 0.0 1.0\n")
    (tmp_path / "n.table").write_text("A\nN 5\n\n" + "".join(f"{k} {k}.0 nan 1.0\n" for k in range(1, 6)))
    rows = [f"{k} {k}.0 0.0 1.0\n" for k in range(1, 7)]
    more = ["A\nN 5 R 1.0 5.0\n\n", *rows, "\nB\nN 5 R 1.0 6.0\n\n", *rows[:5]]
    (tmp_path / "m.table").write_text("".join(more))
    with pytest.raises((ParameterFileError, SettingsError), match=expected) as caught:
        load_forcefield(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_buckingham_that_falls_without_end_is_told(tmp_path):
    file = written(tmp_path, "form buckingham\ntruncation truncated\nSi O 18003.7572 0.205205 133.5381 5.0\n")
    assert any("O-Si goes to minus infinity below 1.1" in line for line in load_forcefield(file).about)


OF = partial(buckingham, A=1, rho=1, C=1, cutoff=5)
MORSE_ROW = {"D0": 1, "alpha": 1, "r0": 1}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: OF(truncation="tapered"), "inner is None, expected a distance"),
        (lambda: OF(inner=3), "inner = 3 is for truncation tapered"),
        (lambda: OF(on="SiO"), "on = 'SiO', expected two chemical symbols"),
        (lambda: OF(on=3), "on = 3, expected two chemical symbols"),
        (lambda: OF(on=[]), r"on = \[\], expected one pair or more"),
        (lambda: morse(table={"Si": MORSE_ROW}, cutoff=5, on="Si-O"), "one set of values"),
        (lambda: zbl("Si", cutoff=2, inner=3), "inner is 3"),
        (lambda: tabulated(u=table("u", np.arange(5.0), np.exp), cutoff=6.0), "table 'u' ends at 4 angstrom"),
    ],
)
def test_mistakes_in_python(make, expected):
    with pytest.raises(SettingsError, match=expected):
        make()


@pytest.mark.parametrize("name", ["copper.pair", "table"])
def test_a_file_of_potfit_is_recognised(name, tmp_path):
    text = "#F 3 1\n#T PAIR\n#C Cu\n#I 0\n#E\n\n2.0 7.0 3\n\n1e30 0.0\n0.4\n-0.1\n0.0\n"
    path = tmp_path / name
    path.write_text(text)
    if name == "table":
        path = written(tmp_path, "form table\ntruncation truncated\nCu Cu table CU 5.0\n")
    with pytest.raises(ParameterFileError, match=r"potential file of potfit; give it by itself") as caught:
        load_forcefield(str(path))
    assert "\n" not in str(caught.value)
