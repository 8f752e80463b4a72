"""Files of potfit: by hand with the splines of SciPy, against LAMMPS through tables, mistakes."""

import math

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, make_supercell
from scipy.interpolate import CubicSpline

from taichimd.core.errors import ParameterFileError
from taichimd.forcefields.load import load_forcefield
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from tests.support.potfit_files import UNEVEN, functions, text_of


def splines(made, kind, elements):
    """SciPy's splines with the ends that potfit has."""
    found = []
    last = len(made) - len(elements) * (kind == "EAM")
    for k, (x, y, ends) in enumerate(made):
        begin, end = ends or (1e30, 1e30)
        end = end if k >= last else 0.0
        found.append(
            CubicSpline(x, y, bc_type=[(2, 0.0) if one >= 1e30 else (1, one) for one in (begin, end)])
        )
    return found


def written(folder, elements, kind, fmt, gradients):
    made = functions(elements, kind, fmt, gradients)
    path = folder / "x.pot"
    path.write_text(text_of(elements, kind, fmt, made))
    return str(path), splines(made, kind, elements)


def structures(elements):
    """Crystal hot, alloy triclinic, cluster, dimers inside and outside the tables, dense."""
    rng = np.random.default_rng(3)

    def mixed(atoms, by):
        atoms.symbols[:] = rng.choice(elements, len(atoms))
        atoms.symbols[:2] = (elements[0], elements[-1])
        atoms.positions += by * rng.standard_normal((len(atoms), 3))
        return atoms

    crystal = bulk("Cu", a=3.7, cubic=True).repeat(2)
    dimers = [Atoms([elements[0], elements[-1]], [(0, 0, 0), (x, 0.4, 0.3)]) for x in (2.3, 5.4)]
    return [
        mixed(crystal, 0.1),
        mixed(make_supercell(bulk("Cu", a=3.6), [[2, 1, 0], [0, 3, 1], [0, 0, 2]]), 0.08),
        mixed(Atoms("Cu5", [(0, 0, 0), (2.4, 0, 0), (0, 2.5, 0), (0, 0, 2.3), (2.0, 2.0, 2.1)]), 0.05),
        *dimers,
        mixed(bulk("Cu", a=3.3, cubic=True), 0.02),
    ]


def energy_and_forces(atoms, elements, kind, of):
    """By hand: sums over all pairs of images."""
    n, m = len(elements) * (len(elements) + 1) // 2, len(elements)
    pairs = [(a, b) for k, a in enumerate(elements) for b in elements[k:]]
    phi = {pair: of[k] for k, pair in enumerate(pairs)} | {pair[::-1]: of[k] for k, pair in enumerate(pairs)}
    f, embedding = (
        dict(zip(elements, of[n : n + m], strict=False)),
        dict(zip(elements, of[n + m :], strict=False)),
    )
    from ase.neighborlist import neighbor_list

    i, j, r, d = neighbor_list("ijdD", atoms, max(one.x[-1] for one in of[: n + m]))
    names = atoms.get_chemical_symbols()
    energy, rho, forces = 0.0, np.zeros(len(atoms)), np.zeros((len(atoms), 3))
    for a, b, x in zip(i, j, r, strict=True):
        u, g = phi[names[a], names[b]], f.get(names[b])
        energy += 0.5 * float(u(x)) if x < u.x[-1] else 0.0
        rho[a] += float(g(x)) if g is not None and x < g.x[-1] else 0.0
    slope = np.zeros(len(atoms))
    for a, name in enumerate(names if embedding else ()):
        energy += float(embedding[name](rho[a]))
        slope[a] = float(embedding[name](rho[a], 1))
    for a, b, x, vector in zip(i, j, r, d, strict=True):
        u, total = phi[names[a], names[b]], 0.0
        total += float(u(x, 1)) if x < u.x[-1] else 0.0
        for one, other in ((a, b), (b, a)):
            g = f.get(names[other])
            total += slope[one] * float(g(x, 1)) if g is not None and x < g.x[-1] else 0.0
        forces[a] += total * vector / x
    return energy, forces


CASES = [
    (("Cu",), "PAIR", 3, False),
    (("Cu", "Ni"), "PAIR", 4, True),
    (("Cu",), "EAM", 3, True),
    (("Cu", "Ni"), "EAM", 3, False),
    (("Cu", "Ni"), "EAM", 4, True),
]


@pytest.mark.parametrize(("elements", "kind", "fmt", "gradients"), CASES)
def test_energies_and_forces_are_those_of_the_splines(elements, kind, fmt, gradients, tmp_path):
    file, of = written(tmp_path, elements, kind, fmt, gradients)
    forcefield = load_forcefield(file)
    for atoms in structures(elements):
        found = Engine(atoms, forcefield)
        energy, forces = energy_and_forces(atoms, elements, kind, of)
        assert found.thermo().potential == pytest.approx(energy, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(found.forces(), forces, atol=1e-7)


@pytest.mark.lammps
def test_agreement_with_a_table_of_lammps(tmp_path):
    file, (phi,) = written(tmp_path, ("Cu",), "PAIR", 4, True)
    r = np.linspace(1.6, 5.0, 20001)
    rows = [f"{k} {x:.17g} {phi(x):.17g} {-phi(x, 1):.17g}" for k, x in enumerate(r, start=1)]
    (tmp_path / "cu.table").write_text(f"CU\nN {len(r)} R 1.6 5.0\n\n" + "\n".join(rows) + "\n")
    for atoms in structures(("Cu",)):
        theirs = lammps_evaluate(atoms, "table spline 20001", [f"* * {tmp_path}/cu.table CU 5.0"])
        found = Engine(atoms, load_forcefield(file))
        assert found.thermo().potential == pytest.approx(theirs.energy, rel=1e-10)
        np.testing.assert_allclose(found.forces(), theirs.forces, rtol=0, atol=1e-8)


@pytest.mark.lammps
def test_agreement_with_eam_of_lammps(tmp_path):
    """LAMMPS's spline goes through tens of thousands of points of ours, among them those of the file."""
    file, (phi, f, embedding) = written(tmp_path, ("Cu",), "EAM", 3, True)
    r, rho = np.arange(41601) * 1.25e-4, np.arange(24001) * 2.5e-4
    inside = [np.where(r < one.x[-1], one(np.minimum(r, one.x[-1])), 0.0) for one in (phi, f)]
    columns = (embedding(rho), inside[1], r * inside[0])
    tables = "\n".join("\n".join(f"{x:.17g}" for x in column) for column in columns)
    grid = f"{len(rho)} {rho[1]:.17g} {len(r)} {r[1]:.17g} 5.1"
    (tmp_path / "cu.eam.alloy").write_text(f"a\nb\nc\n1 Cu\n{grid}\n29 63.5 3.6 fcc\n{tables}\n")
    for atoms in structures(("Cu",)):
        theirs = lammps_evaluate(atoms, "eam/alloy", [f"* * {tmp_path}/cu.eam.alloy Cu"])
        found = Engine(atoms, load_forcefield(file))
        assert found.thermo().potential == pytest.approx(theirs.energy, rel=1e-10)
        np.testing.assert_allclose(found.forces(), theirs.forces, rtol=0, atol=1e-8)


@pytest.mark.parametrize("case", [1, 4])
def test_forces_are_derivatives(case, tmp_path):
    elements, kind, fmt, gradients = CASES[case]
    file, _ = written(tmp_path, elements, kind, fmt, gradients)
    found = check_forcefield(load_forcefield(file), elements, clusters=2)
    assert found.ok, str(found)


def test_points_on_a_grid_are_kept_and_others_are_close(tmp_path):
    """A spline of the points of a format-4 file that lie on no coarse grid is within 1e-9 eV."""
    from taichimd.forcefields.potfit import FINEST, _curve

    for shift, exact in ((0.0, True), (np.pi / 1000, False)):
        x = 1.6 + 3.4 * UNEVEN
        x[4] += shift
        spline = CubicSpline(x, np.exp(-x), bc_type=((2, 0.0), (1, 0.0)))
        curve = _curve("u", spline, x)
        at = np.random.default_rng(1).uniform(x[0], x[-1], 20000)
        assert (len(curve.values) < FINEST) == exact
        assert np.abs(curve(at)[0] - spline(at)).max() < (1e-14 if exact else 1e-9)


def smooth(r, cutoff, h):
    x4 = ((r - cutoff) / h) ** 4
    return x4 / (1.0 + x4)


FORMULAS = {
    "const": ((0.2,), lambda r: 0.2),
    "lj": ((0.1, 2.3), lambda r: 0.4 * (2.3**12 / r**12 - 2.3**6 / r**6)),
    "morse": (
        (0.3, 1.4, 2.9),
        lambda r: 0.3 * (math.exp(-2.8 * (r - 2.9)) - 2.0 * math.exp(-1.4 * (r - 2.9))),
    ),
    "buck": ((900.0, 0.4, 3e4), lambda r: 900.0 * math.exp(-r / 0.4) - 3e4 * 0.4**6 / r**6),
    "power": ((0.2, 1.7), lambda r: 0.2 * r**1.7),
    "power_decay": ((2.0, 5.5), lambda r: 2.0 / r**5.5),
    "softshell": ((1.9, 7.5), lambda r: 1.9**7.5 / r**7.5),
    "exp_decay": ((40.0, 2.0), lambda r: 40.0 * math.exp(-2.0 * r)),
    "mexp_decay": ((0.4, 2.0, 2.5), lambda r: 0.4 * math.exp(-2.0 * (r - 2.5))),
    "exp_plus": ((40.0, 2.0, -0.01), lambda r: 40.0 * math.exp(-2.0 * r) - 0.01),
    "harmonic": ((0.5, 2.6), lambda r: 0.5 * (r - 2.6) ** 2),
    "eopp": (
        (15.0, 6.2, -1.3, 3.1, 4.1, 2.2),
        lambda r: 15.0 / r**6.2 - 1.3 / r**3.1 * math.cos(4.1 * r + 2.2),
    ),
    "eopp_exp": (
        (40.0, 2.0, -1.3, 3.1, 4.1, 2.2),
        lambda r: 40.0 * math.exp(-2.0 * r) - 1.3 / r**3.1 * math.cos(4.1 * r + 2.2),
    ),
    "meopp": (
        (15.0, 6.2, -1.3, 3.1, 4.1, 2.2, 0.3),
        lambda r: 15.0 / (r - 0.3) ** 6.2 - 1.3 / r**3.1 * math.cos(4.1 * r + 2.2),
    ),
}
"""Parameters and the function, written by hand from the wiki."""


def analytic(folder, elements, parts, shared=()):
    """A file of format 0; `parts`: name of the function, cutoff, parameters."""
    text = [f"#F 0 {len(parts)}", "#T PAIR", f"#C {' '.join(elements)}", "#I" + " 0" * len(parts), "#E", ""]
    text += [f"global {len(shared)}", *shared] if shared else []
    for name, cutoff, parameters in parts:
        text += [f"type {name}", f"cutoff {cutoff}", "# rmin 2.0"]
        text += [one if isinstance(one, str) else f"p{k} {one!r} -1 99" for k, one in enumerate(parameters)]
    (folder / "x.pot").write_text("\n".join(text) + "\n")
    return str(folder / "x.pot")


@pytest.mark.parametrize("width", [None, 0.7])
def test_analytic_functions_are_those_of_the_wiki(width, tmp_path):
    """Energies of dimers, which are differentiated by hand; a width of 1 if the file has none."""
    elements = ("Cu", "Ni", "Al", "Fe", "Mg")
    names = [*FORMULAS, "lj"]
    parts = [
        (name + "_sc" * bool(width), 6.0, (*FORMULAS[name][0], *([width] * bool(width) if k < 14 else [])))
        for k, name in enumerate(names)
    ]
    forcefield = load_forcefield(analytic(tmp_path, elements, parts))
    pairs = [(a, b) for k, a in enumerate(elements) for b in elements[k:]]
    for k, (pair, name) in enumerate(zip(pairs, names, strict=True)):

        def u(r, name=name, h=width if k < 14 else 1.0):
            return FORMULAS[name][1](r) * (smooth(r, 6.0, h) if width else 1.0)

        for r in (2.2, 3.1, 5.6):
            found = Engine(Atoms(pair, [(0, 0, 0), (r, 0, 0)]), forcefield)
            assert found.thermo().potential == pytest.approx(u(r), rel=1e-10, abs=1e-13), name
            slope = (u(r - 2e-3) - 8 * u(r - 1e-3) + 8 * u(r + 1e-3) - u(r + 2e-3)) / 12e-3
            assert found.forces()[0, 0] == pytest.approx(slope, rel=1e-8, abs=1e-9), name


@pytest.mark.lammps
@pytest.mark.parametrize("name", ["lj", "morse", "buck"])
def test_analytic_functions_against_lammps(name, tmp_path):
    p = FORMULAS[name][0]
    style, numbers = f"{name} 5.0", p
    if name == "lj":
        style = "lj/cut 5.0"
    elif name == "buck":
        numbers = (p[0], p[1], p[2] * p[1] ** 6)
    shared = ("first " + repr(p[0]) + " 0 1",)
    forcefield = load_forcefield(analytic(tmp_path, ("Cu",), [(name, 5.0, ("first!", *p[1:]))], shared))
    for atoms in structures(("Cu",)):
        theirs = lammps_evaluate(atoms, style, [f"* * {' '.join(f'{x:.17g}' for x in numbers)}"])
        found = Engine(atoms, forcefield)
        assert found.thermo().potential == pytest.approx(theirs.energy, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(found.forces(), theirs.forces, rtol=0, atol=1e-8)


ANALYTIC_MISTAKES = {
    "an unknown function": ([("csw", 5.0, (1.0,))], "line 7: the function 'csw' of phi of Cu-Cu is not read"),
    "a parameter is missing": (
        [("lj", 5.0, (1.0,))],
        "line 7: lj of phi of Cu-Cu has 1 parameter, expected 2",
    ),
    "a parameter too many": ([("lj", 5.0, (1.0, 2.0, 3.0))], "line 12: 'p2' after the last parameter"),
    "no global parameter": (
        [("lj", 5.0, ("e!", 2.0))],
        "line 10: 'e!' is no global parameter, expected one of none",
    ),
    "no value": ([("lj", 5.0, ("e", 2.0))], "line 10: 'e' has no value"),
    "NaN": ([("lj", 5.0, ("e nan", 2.0))], "line 10: field 'e' is 'nan'"),
    "no cutoff": ([("lj", 0.0, (1.0, 2.0))], "the cutoff of phi of Cu-Cu is 0, expected > 0"),
    "a chemical potential": (
        [("lj\ncp_Cu 1", 5.0, (1.0, 2.0))],
        "line 8 begins with 'cp_Cu', expected `cutoff`",
    ),
}


@pytest.mark.parametrize("name", ANALYTIC_MISTAKES)
def test_mistakes_of_analytic_files_are_one_line(name, tmp_path):
    parts, expected = ANALYTIC_MISTAKES[name]
    with pytest.raises(ParameterFileError, match=expected) as caught:
        load_forcefield(analytic(tmp_path, ("Cu",), parts))
    assert "\n" not in str(caught.value)


def lines_of(fmt=3, kind="EAM", gradients=True):
    return text_of(("Cu",), kind, fmt, functions(("Cu",), kind, fmt, gradients)).split("\n")


def replaced(lines, at, text):
    return lines[:at] + ([] if text is None else [text]) + lines[at + 1 :]


WITH = lines_of()
MISTAKES = {
    "of KIM": (replaced(WITH, 0, "#F 5 3"), "format 5 of potfit is not read, expected 0 .functions., 3 or 4"),
    "analytic EAM": (replaced(WITH, 0, "#F 0 3"), "analytic EAM functions of potfit are not read"),
    "another type": (replaced(WITH, 1, "#T ADP"), "type 'ADP' are not read, expected PAIR or EAM"),
    "no elements": (replaced(WITH, 2, None), "expected a line #C with each element once"),
    "no element": (replaced(WITH, 2, "#C cu"), "line 3: .*'cu'"),
    "a wrong number of functions": (replaced(WITH, 0, "#F 3 2"), "says 2 functions, expected 3 for EAM of 1"),
    "no end of the header": (replaced(WITH, 6, None), "the header has no line #E"),
    "a line is missing": (replaced(WITH, 20, None), "has 2 words, expected 1: value of phi of Cu-Cu"),
    "a line too many": (
        [*WITH[:20], "0.1", *WITH[20:]],
        "has 1 word, expected 2: gradient, gradient of f of Cu",
    ),
    "it ends early": (WITH[:-3], "the file ends before the value of F of Cu"),
    "more at the end": ([*WITH, "0.5"], f"line {len(WITH) + 1}: '0.5' after the last value of F of Cu"),
    "gradients are missing": (replaced(WITH, 11, None), "has 1 word, expected 2: gradient, gradient of phi"),
    "gradients are not announced": (replaced(WITH, 4, "##"), "line 12 has 2 words, expected 1: value of phi"),
    "NaN": (replaced(WITH, 14, "nan"), "line 15: field 'phi of Cu-Cu' is 'nan'"),
    "one point": (replaced(WITH, 7, "1.6 5.0 1"), "phi of Cu-Cu has '1' points, expected 2 to"),
    "a broken number of points": (replaced(WITH, 7, "1.6 5.0 1.5"), "phi of Cu-Cu has '1.5' points"),
    "the range is empty": (replaced(WITH, 7, "5.0 1.6 11"), "points of phi of Cu-Cu do not increase"),
    "ends before the cutoff": (replaced(WITH, 22, "0.3"), "ends at 5 angstrom with the value 0.3, before"),
    "points do not increase": (
        replaced(lines_of(4), 14, "1.6 0.2"),
        "points of phi of Cu-Cu do not increase",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line(name, tmp_path):
    lines, expected = MISTAKES[name]
    path = tmp_path / "x.pot"
    path.write_text("\n".join(lines))
    with pytest.raises(ParameterFileError, match=expected) as caught:
        load_forcefield(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_is_known_by_its_first_line(tmp_path):
    text = "\n".join(lines_of(kind="PAIR"))
    (tmp_path / "copper_end").write_text("## DATE: 2026-11-28 CITATION: nobody\n" + text)
    found = load_forcefield(str(tmp_path / "copper_end"))
    assert found.cutoff == 5.0
    assert found.terms[0].citation == "nobody"
    assert any("Cu-Cu begins at 1.6 angstrom" in line for line in found.about)
