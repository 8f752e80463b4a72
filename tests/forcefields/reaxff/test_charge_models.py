"""Charge models and fields: charges, energies, forces and virial against LAMMPS, and as derivatives."""

import functools

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from peers import path_of
from reaxff_samples import water

from taichimd import Batch, Engine, ReaxFF, Simulation, load_forcefield
from taichimd.core import units
from taichimd.core.errors import MissingParameterError, ParameterFileError, SettingsError

FILE = "acks2_ff.water"
FIELD = (0.05, -0.1, 0.3)
KCAL = 23.060548
"""kcal/mol in 1 eV, as LAMMPS's units have it to 1e-7."""
DIMER = [
    (0.0241621694, 0.0165770189, 0.0064711410), (0.9287139493, 0.0153332629, -0.0205274123),
    (-0.2071846297, 0.8918684753, -0.0041286293), (2.7997792514, 0.2602606335, 0.2516591493),
    (3.8038122030, 0.2860924872, 0.2231516350), (2.5713602821, 1.1515932161, 0.2075119405),
]  # fmt: skip
LAMMPS = {
    ("qeq", FIELD): (
        [-0.6448263444, 0.3999303140, 0.3097105334, -0.6533472495, 0.3060908146, 0.2824419318],
        (-185.7481727355, 113.5095485644, 1.1332981013),
    ),
    ("qeqr", FIELD): (
        [-0.6432153859, 0.4011328487, 0.3165611178, -0.6567389673, 0.2999257720, 0.2823346146],
        (-186.3659749475, 114.0892721426, 1.1955854333),
    ),
    ("qtpie", ()): (
        [-0.5529464067, 0.3541603668, 0.2692866190, -0.5600397148, 0.2461142091, 0.2434249266],
        (-137.0144028849, 66.4672779734, 0.0),
    ),
    ("qtpie", FIELD): (
        [-0.5491639649, 0.3544259774, 0.2648371925, -0.5544928277, 0.2466469813, 0.2377466414],
        (-134.8576441280, 64.4818160329, 1.0257209801),
    ),
    ("acks2", ()): (
        [-0.6218087592, 0.3801892667, 0.3058372801, -0.6288124783, 0.2872376615, 0.2773570292],
        (-175.2748657944, 106.2389722285, 0.0),
    ),
    ("acks2", FIELD): (
        [-0.6194895890, 0.3797650079, 0.2951153861, -0.6207594301, 0.2936457110, 0.2717229141],
        (-172.3920706892, 103.4028500341, 1.0584315859),
    ),
}
"""Charges (e); Coulomb, polarisation and field energy (kcal/mol) of LAMMPS, 22 Jul 2025."""


def dimer():
    return Atoms("OH2OH2", DIMER)


def engine_of(atoms, model, field=(), constants=None, file=FILE, **more):
    options = {"charge_tolerance": 1e-13, "charges": model, "field": field, "constants": constants} | more
    return Engine(atoms, ReaxFF(path_of(file), **options), backend="cpu")


@functools.cache
def of_dimer(model, field, constants):
    engine = engine_of(dimer(), model, field, constants)
    found = engine.evaluate()
    return engine, found, engine.device.evaluators[0].terms()[0], engine.atom_values()["charges"]


@pytest.mark.parametrize("case", LAMMPS, ids=str)
def test_charges_and_energies_are_those_of_lammps(case):
    charges, energies = LAMMPS[case]
    _, _, terms, found = of_dimer(*case, "lammps")
    np.testing.assert_allclose(found, charges, rtol=0, atol=2e-10)
    ours = [terms["Coulomb"], terms["polarisation"], terms.get("field", 0.0)]
    np.testing.assert_allclose(np.array(ours) * KCAL, energies, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "case", [("qeq", FIELD), ("qtpie", FIELD), ("qeqr", FIELD), ("acks2", FIELD)], ids=str
)
def test_consistent_forces_are_the_gradient_and_the_virial_follows(case):
    """Charges solved anew at each position: the energy is stationary, so they need no derivative."""
    engine, found, _, _ = of_dimer(*case, "consistent")
    rng = np.random.default_rng(3)
    start, h = np.array(DIMER), 1e-4
    for move in (rng.standard_normal(start.shape), start @ rng.standard_normal((3, 3))):
        along = -found.forces.ravel() @ move.ravel()
        values = []
        for step in (-2, -1, 1, 2):
            engine.set_state(positions=start + step * h * move)
            values.append(engine.evaluate().energy)
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert slope == pytest.approx(along, rel=1e-6, abs=1e-8)
    engine.set_state(positions=start)
    # Of a free cluster the virial is sum of x F.
    np.testing.assert_allclose(found.virials.sum(0), start.T @ found.forces, rtol=0, atol=1e-9)


def pair_in_a_cell():
    """Two molecules in an oblique cell: overlaps and the matrix have several images of each atom."""
    return Atoms("OH2OH2", DIMER, cell=[[5.6, 0, 0], [0.7, 4.9, 0], [-0.4, 0.5, 5.2]], pbc=True)


@pytest.mark.long
@pytest.mark.parametrize(("model", "field"), [("qtpie", FIELD), ("qeqr", FIELD), ("acks2", ())], ids=str)
def test_consistent_stress_of_a_periodic_cell_is_the_derivative_to_strain(model, field):
    """Also in a field along periodic directions."""
    atoms = pair_in_a_cell()
    engine = engine_of(atoms, model, field, "consistent")
    virial = engine.evaluate().virials.sum(0)
    strain = np.random.default_rng(5).standard_normal((3, 3))
    strain, h, values = strain + strain.T, 5e-5, []
    for step in (-2, -1, 1, 2):
        moved = np.eye(3) + step * h * strain
        engine.set_state(positions=atoms.positions @ moved, cell=atoms.cell.array @ moved)
        values.append(engine.evaluate().energy)
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    assert slope == pytest.approx(-(virial * strain).sum(), rel=1e-6)


def test_lammps_forces_of_qtpie_are_no_gradient():
    """9 kcal/mol/angstrom: its energy has the bare electronegativities, its charges do not."""
    assert (
        abs(of_dimer("qtpie", (), "lammps")[1].forces - of_dimer("qtpie", (), "consistent")[1].forces).max()
        > 0.3
    )


def test_fields_act_on_charges_as_lammps_has_it():
    """The pull of a field is q E with the constant of fix efield, on top of forces at fixed charges."""
    _, found, _, charges = of_dimer("qeq", FIELD, "lammps")
    total = 23.060549 / KCAL * charges.sum() * np.array(FIELD)
    np.testing.assert_allclose(found.forces.sum(0), total, rtol=0, atol=1e-9)


def waters(n, along=4.0, bond=0.9572, angle=1.8242):
    """Molecules in a row along their axes."""
    half = np.array([0.0, bond * np.sin(angle / 2), bond * np.cos(angle / 2)])
    one = np.array([(0, 0, 0), half, half * (1, -1, 1)])
    return Atoms("OH2" * n, np.vstack([one + np.array([0, 0, along * k]) for k in range(n)]))


POLARIZABILITY = {
    "qeq": {1: 0.0444, 2: 0.407, 4: 1.459, 8: 5.34, 16: 20.2},
    "qeqr": {1: 0.0366, 2: 0.0287, 4: 0.0262, 8: 0.0249, 16: 0.0242},
    "qtpie": {1: 0.0366, 2: 0.0287, 4: 0.0262, 8: 0.0249, 16: 0.0242},
    "acks2": {1: 0.0425, 2: 0.0433, 4: 0.0439, 8: 0.0442, 16: 0.0444},
}
"""Of n molecules in a row along the field, e angstrom^2/V each: LAMMPS to n = 4, then a dense solve."""


@pytest.mark.long
@pytest.mark.parametrize("model", POLARIZABILITY)
def test_polarizability_of_rows_of_water(model):
    """With QEq it grows as n^2, with the other models it has a limit."""
    for n, expected in POLARIZABILITY[model].items():
        row, dipoles = waters(n), []
        for field in (0.05, -0.05):
            engine = engine_of(row, model, (0, 0, field))
            engine.evaluate()
            dipoles.append(engine.atom_values()["charges"] @ row.positions[:, 2])
        # The table has three digits.
        assert (dipoles[0] - dipoles[1]) / 0.1 / n == pytest.approx(expected, rel=5e-3)


def test_polarizability_of_a_water_molecule():
    one = waters(1)
    for model in ("qeq", "acks2"):
        charges = []
        for field in (0.1, 0.0):
            engine = engine_of(one, model, (0, 0, field) if field else ())
            engine.evaluate()
            charges.append(engine.atom_values()["charges"])
        found = (charges[0] - charges[1]) @ one.positions[:, 2] / 0.1
        assert found == pytest.approx(POLARIZABILITY[model][1], abs=1e-4)


def test_molecules_of_acks2_are_neutral_when_far_apart():
    far = molecule("H2O")
    other = molecule("OH")
    other.positions += (0, 0, 8.0)
    engine = engine_of(far + other, "acks2")
    engine.evaluate()
    charges = engine.atom_values()["charges"]
    assert abs(charges[:3].sum()) < 1e-12
    assert charges[0] < -0.3
    lone = engine_of(Atoms("OH", [(0, 0, 0), (0, 0, 12.0)]), "acks2")
    lone.evaluate()
    assert abs(lone.atom_values()["charges"]).max() == 0.0


def test_charges_of_acks2_converge_where_molecules_are_coupled_weakly():
    """Two molecules joined by 1e-12 e^2/eV: their charges are those of each alone."""
    pair, other = molecule("H2O"), molecule("H2O")
    # The nearest hydrogen atoms are 3.38 angstrom apart; their softness ends at 3.41.
    other.positions += (0.0, 2 * 0.763239 + 3.38, 0.0)
    engine, lone = (engine_of(atoms, "acks2", (0, 0.1, 0)) for atoms in (pair + other, pair))
    found, alone = ((one.evaluate(), one.atom_values()["charges"])[1] for one in (engine, lone))
    assert abs(found[:3].sum()) < 1e-9
    assert abs(found[:3] - alone).max() < 0.01
    assert engine.thermo().charge_iterations < 40


def test_reference_charges_say_where_a_net_charge_is():
    ion, water = molecule("OH"), molecule("H2O")
    water.positions += (0, 0, 20.0)
    engine = engine_of(ion + water, "acks2", charge=-1, reference_charges={0: -1})
    engine.evaluate()
    charges = engine.atom_values()["charges"]
    assert charges[:2].sum() == pytest.approx(-1.0, abs=1e-12)
    assert charges[2:].sum() == pytest.approx(0.0, abs=1e-12)
    shared = engine_of(ion + water, "acks2", net_charge=-1)
    shared.evaluate()
    assert shared.atom_values()["charges"][:2].sum() == pytest.approx(-0.4, abs=1e-12)
    assert any("divided equally among all atoms" in line for line in shared.forcefield.about)


@pytest.mark.parametrize("options", [{}, {"field": (0, 0, 0.2)}], ids=str)
def test_qeqr_without_a_field_is_qeq(options):
    pair = [engine_of(dimer(), model, **options) for model in ("qeq", "qeqr")]
    charges = [(engine.evaluate(), engine.atom_values()["charges"])[1] for engine in pair]
    assert np.array_equal(*charges) == (not options)


def test_pieces_of_a_run_have_its_bits_and_guesses_cost_few_iterations():
    """Guesses of the solver are states of the atoms."""
    for model in ("qtpie", "acks2"):
        whole, pieces = (engine_of(dimer(), model, charge_tolerance=1e-6) for _ in range(2))
        whole.advance(9, 0.25 * units.FS)
        for _ in range(3):
            pieces.advance(3, 0.25 * units.FS)
        assert np.array_equal(whole.positions(), pieces.positions())
        assert np.array_equal(whole.atom_values()["charges"], pieces.atom_values()["charges"])
        assert whole.thermo().charge_iterations < 4


def test_a_run_of_acks2_continues_from_its_file_bit_by_bit(tmp_path):
    """Past solutions u are in the file; preconditioner and matrices are made anew."""

    def begun():
        potential = f"{path_of(FILE)}:charges=acks2,field={','.join(map(str, FIELD))}"
        return Simulation(dimer(), potential, temperature=300.0, seed=2, backend="cpu")

    straight, cut = begun(), begun()
    straight.run(12)
    cut.run(7)
    cut.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz")
    again.run(5)
    for what in ("positions", "velocities", "forces"):
        np.testing.assert_array_equal(getattr(again, what)(), getattr(straight, what)())
    charges = [one.engine.atom_values()["charges"] for one in (again, straight)]
    np.testing.assert_array_equal(*charges)
    assert again.engine.thermo().charge_iterations == straight.engine.thermo().charge_iterations


def test_a_solve_of_acks2_takes_few_iterations():
    """The preconditioner: 20 of a first solve of a liquid, where the diagonal needs more than 100."""
    engine = engine_of(water(64, 12.42), "acks2", charge_tolerance=1e-6)
    engine.evaluate()
    assert engine.thermo().charge_iterations <= 22


@pytest.mark.parametrize("model", ["qeqr", "qtpie"])
def test_an_extended_lagrangian_follows_the_charges_of_a_model(model):
    engine = engine_of(dimer(), f"{model}+extended-lagrangian", FIELD)
    engine.advance(20, 0.25 * units.FS)
    assert engine.thermo().charge_iterations == 1
    solved = engine_of(Atoms("OH2OH2", engine.positions()), model, FIELD)
    solved.evaluate()
    left = engine.atom_values()["charges"] - solved.atom_values()["charges"]
    assert 0.0 < abs(left).max() < 2e-3


@pytest.mark.parametrize("model", ["qtpie", "acks2"])
def test_systems_of_a_batch_have_the_bits_that_each_has_alone(model):
    systems = [dimer(), molecule("H2O")]
    forcefield = ReaxFF(path_of(FILE), charges=model, field=FIELD)
    batch = Batch(systems, forcefield, backend="cpu")
    engines = [Engine(atoms, forcefield, backend="cpu") for atoms in systems]
    for one in (batch, *engines):
        one.advance(3, 0.25 * units.FS)
    for member, engine in zip(batch.members, engines, strict=True):
        ours, alone = member.evaluate(), engine.evaluate()
        for name in ("energies", "forces", "virials", "charges"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(alone, name), err_msg=name)
        np.testing.assert_array_equal(member.positions(), engine.positions())


@pytest.mark.parametrize(
    ("file", "options", "error", "message"),
    [
        (
            "CHO.ffield",
            {"charges": "acks2"},
            ParameterFileError,
            "general parameter 35 .softness of ACKS2. is",
        ),
        (
            "CHO.ffield",
            {"charges": "qtpie"},
            MissingParameterError,
            "exponent of a Gaussian for C; known are H, O",
        ),
        (
            "H2O.ffield",
            {"charges": "qeq", "field": (0, 0, 1)},
            SettingsError,
            "along the periodic cell vector c",
        ),
        (
            FILE,
            {"charges": "acks2", "field": (0, 0, 1)},
            SettingsError,
            "along the periodic cell vector c",
        ),
        ("H2O.ffield", {"field": (0, 1)}, SettingsError, "expected three finite numbers"),
        ("H2O.ffield", {"charges": "qtqie"}, SettingsError, "charges is 'qtqie', expected one of"),
        ("H2O.ffield", {"exponents": {"H": 1}}, SettingsError, "exponents are of charges=qeqr and qtpie"),
        ("H2O.ffield", {"charges": "qeqr", "exponents": {"H": 0}}, SettingsError, "exponent of H is 0"),
        (
            "H2O.ffield",
            {"reference_charges": {0: 1}},
            SettingsError,
            "reference_charges are of charges=acks2",
        ),
        ("H2O.ffield", {"charge": 1, "net_charge": 2}, SettingsError, "charge is 1 and net_charge is 2"),
        ("H2O.ffield", {"charges": "acks2+extended-lagrangian"}, SettingsError, "has no extended Lagrangian"),
        (
            "H2O.ffield",
            {"charges": "qtpie", "charge": 1, "field": (0, 0, 1)},
            SettingsError,
            "net_charge is 1 in a field",
        ),
    ],
)
def test_mistakes_end_in_one_line(file, options, error, message):
    atoms = molecule("CH3OH" if file == "CHO.ffield" else "H2O")
    atoms.cell, atoms.pbc = [12.0] * 3, True
    with pytest.raises(error, match=message) as caught:
        Engine(atoms, ReaxFF(path_of(file), **options), backend="cpu")
    assert "\n" not in str(caught.value)


def test_options_as_text():
    text = "charges=qtpie,field=0,0,0.1,exponents=C:0.2069,N:0.2214,charge=0"
    options = load_forcefield(f"CHON.ffield:{text}").terms[0].options
    assert options.model == "qtpie"
    assert options.field == (0.0, 0.0, 0.1)
    assert dict(options.exponents) == {"C": 0.2069, "N": 0.2214}
    assert options.constants == "consistent"
    assert load_forcefield("H2O.ffield:charges=qeq").terms[0].options.charges == "converged"


def test_a_field_of_time_acts_at_the_time_of_each_step(tmp_path):
    """A run in a field that is switched on ends as one whose field is taken from step to step."""
    (tmp_path / "pulse.csv").write_text("# fs, V/angstrom\n0, 0, 0, 0\n1.0, 0, 0, 0.2\n")
    step = 0.25 * units.FS

    def pulse(time):
        return 0.0, 0.0, 0.2 * min(time, 1.0)

    ends = []
    for field in (pulse, str(tmp_path / "pulse.csv")):
        engine = engine_of(dimer(), "qeq", field)
        engine.advance(6, step)
        ends.append(engine.positions())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-13)
    pieces = engine_of(dimer(), "qeq", pulse)
    for _ in range(3):
        pieces.advance(2, step)
    assert np.array_equal(pieces.positions(), ends[0])
    # Velocity Verlet by hand, with a constant field at the time of each force.
    x, v, m = np.array(DIMER), np.zeros((6, 3)), dimer().get_masses()[:, None]
    for k in range(7):
        forces = (
            Engine(
                Atoms("OH2OH2", x),
                ReaxFF(path_of(FILE), field=pulse(0.25 * k), charge_tolerance=1e-13),
                backend="cpu",
            )
            .evaluate()
            .forces
        )
        if k > 0:
            v = v + 0.5 * step * forces / m
        if k < 6:
            v = v + 0.5 * step * forces / m
            x = x + step * v
    np.testing.assert_allclose(ends[0], x, rtol=0, atol=1e-9)
