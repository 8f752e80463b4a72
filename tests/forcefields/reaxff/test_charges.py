"""Charge equilibration against a dense solve; order of memory, skins, history, solves that fail."""

import numpy as np
import pytest
from reaxff_systems import CHI, CUTOFF, ETA, GAMMA, LOWER, Bench, Box, box, dense_charges, matrix

from taichimd.core.errors import ChargeError, SettingsError
from taichimd.forcefields.reaxff.charge_arrays import ChargeParameters
from taichimd.forcefields.reaxff.extended import ALPHA, DISSIPATION, KAPPA, LENGTH
from taichimd.forcefields.reaxff.history import JUMP, ORDER_S, ORDER_T

TIGHT = 1e-13


@pytest.mark.parametrize("net", [0.0, 1.5, -2.0])
@pytest.mark.parametrize(("n", "edge"), [(14, 5.5), (2, 3.1), (60, 9.0)])
def test_charges_are_those_of_a_dense_solve(n, edge, net):
    """Cells below the cutoff: several images of a neighbour, and images of an atom itself."""
    system = box(n, edge)
    bench = Bench(system, tolerance=TIGHT, net_charge=net)
    q = bench.charges_of()
    assert abs(q - dense_charges(system, net)).max() < 1e-12
    assert q.sum() == pytest.approx(net, abs=1e-14 * n)
    assert abs(q).max() > 0.05


def test_one_atom_has_the_net_charge():
    """Its row has images of itself alone."""
    system = Box(np.zeros(1, np.int32), np.zeros((1, 3)), 4.0 * np.eye(3))
    assert Bench(system, net_charge=-1.0, tolerance=TIGHT).charges_of()[0] == pytest.approx(-1.0, abs=1e-15)


def test_the_matrix_is_symmetric_and_lacks_what_is_beyond_the_cutoff():
    """Entries are cut from a list that reaches farther, and keep their order."""
    bench = Bench(box(), skin=1.5)
    bench.charges_of()
    made, near = bench.charges.matrix, bench.near
    n, bits = bench.state.n, bench.bits
    kept, offered = made.count.to_numpy(), near.count.to_numpy()
    assert (kept < offered).all()
    rows = made.entries.to_numpy().reshape(n, -1), made.values.to_numpy().reshape(n, -1)
    h = np.zeros((n, n))
    for i in range(n):
        entries, values = rows[0][i, : kept[i]], rows[1][i, : kept[i]]
        np.add.at(h[i], entries >> bits, values)
        listed = near.entries.to_numpy().reshape(n, -1)[i, : offered[i]]
        assert entries.tolist() == [e for e in listed if e in set(entries)]
    np.testing.assert_allclose(h, h.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(h + np.diag(ETA[bench.system.kinds]), matrix(bench.system), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
def test_the_residual_that_is_said_is_within_the_tolerance_and_the_last_iteration_halves_it(tolerance):
    """Norm: sqrt(r M^-1 r)/|b|, M = eta."""
    system = box(60, 9.0)
    bench = Bench(system, tolerance=tolerance)
    bench.charges_of()
    found = bench.charges.statistics()
    h, kinds = matrix(system), system.kinds
    rhs = -np.stack([CHI[kinds], np.ones(60)], axis=1)
    x = bench.solutions()
    r = rhs - h @ x
    norms = np.sqrt((r * r / ETA[kinds][:, None]).sum(0)) / np.linalg.norm(rhs, axis=0)
    assert found.solved
    assert max(found.residuals) <= tolerance
    assert (norms < 0.5 * np.array(found.residuals)).all()
    assert max(norms) > 1e-3 * tolerance, "more was done than asked for"
    assert 3 <= found.iterations <= 40


CHOICES = pytest.mark.parametrize(
    "choice", [{}, {"extended": True}, {"stored": "f32"}, {"extended": True, "stored": "f32"}]
)


@CHOICES
def test_order_in_memory_and_skin_change_no_bit(choice):
    """Cold, then steps with the history of the first ones."""

    def run(**options):
        bench = Bench(box(40, 8.0), tolerance=1e-6, **choice, **options)
        found = [bench.charges_of()]
        for _ in range(5 + 5 * ("extended" in choice)):
            bench.move(0.01)
            found.append(bench.charges_of(stepping=True))
        return np.array(found), bench.charges.statistics().iterations

    plain, iterations = run()
    rng = np.random.default_rng(2)
    for options in (
        {"skin": 1.1},
        {"memory": rng.permutation(40)},
        {"skin": 0.4, "memory": rng.permutation(40)},
    ):
        other, others = run(**options)
        assert (other == plain).all()
        assert others == iterations


@CHOICES
def test_an_evaluation_beside_steps_has_the_bits_of_the_step(choice):
    """However often it is repeated; and the next step does not know of it."""

    def run(repeats):
        bench = Bench(box(40, 8.0), tolerance=1e-4, **choice)
        found = []
        for _ in range(6 + 5 * ("extended" in choice)):
            q = bench.charges_of(stepping=True)
            for _ in range(repeats):
                assert (bench.charges_of(stepping=False) == q).all()
            found.append(q)
            bench.move(0.01)
        return np.array(found)

    assert (run(0) == run(2)).all()


def test_a_matrix_in_float32_rounds_the_correction_alone():
    """Charges from a cold guess have its digits; from a near one those of float64."""
    system = box(60, 9.0)
    bench = Bench(system, tolerance=TIGHT, stored="f32")
    errors = []
    for _ in range(2):
        errors.append(abs(bench.charges_of(stepping=True) - dense_charges(system)).max())
    assert 1e-9 < errors[0] < 1e-6
    assert errors[1] < 1e-12


def test_after_a_jump_the_guess_is_the_last_solution():
    """Steps have left a trend, which a jump forgets; a repeated evaluation has the same bits."""
    bench = Bench(box(60, 9.0), tolerance=1e-6)
    for _ in range(5):
        bench.move(0.01)
        bench.charges_of(stepping=True)
    fresh = Bench(bench.system, tolerance=1e-6)
    fresh.charges_of()
    cold = fresh.charges.statistics().iterations
    q = bench.charges_of(stepping=JUMP)
    found = bench.charges.statistics().iterations
    assert found <= cold - 4
    assert (bench.charges_of(stepping=False) == q).all()
    assert bench.charges.statistics().iterations == found
    assert abs(bench.charges_of(stepping=JUMP) - q).max() < 1e-6


def test_an_extended_lagrangian_follows_the_solution_with_one_iteration():
    """After five solves to the tolerance; a jump begins again. Atoms swing."""
    bench = Bench(box(60, 9.0), tolerance=1e-9, extended=True)
    iterations, errors, place = [], [], 0.1 * np.sin(0.2 * np.arange(61))
    for k in range(60):
        q = bench.charges_of(stepping=True)
        errors.append(abs(q - dense_charges(bench.system)).max())
        iterations.append(bench.charges.statistics().iterations)
        bench.move(place[k + 1] - place[k])
    assert min(iterations[:5]) > 3
    assert iterations[5:] == [1] * 55
    assert 1e-8 < max(errors[6:]) < 2e-3
    assert max(errors[30:]) <= 1.5 * max(errors[7:30])
    bench.charges_of(stepping=JUMP)
    assert bench.charges.statistics().iterations > 3


def test_coefficients_of_the_extended_lagrangian():
    """A straight line in time stays one; noise dies out, whatever part of the way a solve goes."""
    c, k = np.array(DISSIPATION), np.arange(LENGTH)
    assert c.sum() == (k * c).sum() == 0.0
    for part in (0.1, 0.5, 1.0, 1.5, 1.95):
        polynomial = np.append(1.0, -ALPHA * c)
        polynomial[1:3] += np.array([-2.0 + KAPPA * part, 1.0])
        assert abs(np.roots(polynomial)).max() < 1.0


def test_an_extended_lagrangian_that_has_lost_the_solution_is_an_error():
    bench = Bench(box(60, 9.0), extended=True)
    for _ in range(8):
        bench.charges_of(stepping=True)
    bench.charges.past.x0.fill(3.0)
    bench.charges.past.x1.fill(-3.0)
    with pytest.raises(ChargeError, match=r"Lagrangian diverge: residual .*smaller time step"):
        bench.charges_of(stepping=True)


@pytest.mark.parametrize(("name", "order"), [("s", ORDER_S), ("t", ORDER_T)])
def test_the_guess_is_exact_for_a_polynomial_of_the_stated_order(name, order):
    """Past solutions that make it the solution itself: nothing is left to do; not so for one order more."""

    def iterations(degree):
        bench = Bench(box(), tolerance=1e-9)
        bench.charges.progress.limit_s /= 4.0
        bench.charges.progress.limit_t /= 4.0
        bench.charges_of()
        past = bench.charges.past
        for each, places in (("s", 5), ("t", 4)):
            values = getattr(past, f"{each}0").to_numpy()
            for k in range(1, places):
                change = float(k) ** degree if each == name else 0.0
                getattr(past, f"{each}{k}").from_numpy(values * (1.0 + 0.1 * change))
        past.solved.fill(5.0)
        bench.charges.progress.limit_s *= 4.0
        bench.charges.progress.limit_t *= 4.0
        bench.charges_of(stepping=False)
        return bench.charges.statistics().iterations

    assert [iterations(degree) for degree in range(1, order)] == [0] * (order - 1)
    assert iterations(order) > 3


def test_history_saves_iterations():
    """Small moves in one direction."""
    bench = Bench(box(60, 9.0), tolerance=1e-6)
    bench.charges_of(stepping=True)
    cold = bench.charges.statistics().iterations
    for _ in range(6):
        bench.move(1e-3)
        bench.charges_of(stepping=True)
    found = bench.charges.statistics()
    assert found.iterations <= cold - 5
    assert found.iterations < found.mean_iterations < cold


def test_a_frozen_step_leaves_everything_as_it_is():
    bench = Bench(box())
    q = bench.charges_of(stepping=True)
    state = {name: array.to_numpy() for name, array in vars(bench.charges.past).items()}
    bench.control.fill(1)
    bench.move(0.1)
    assert (bench.charges_of(stepping=True) == q).all()
    now = {name: array.to_numpy() for name, array in vars(bench.charges.past).items()}
    assert all((now[name] == values).all() for name, values in state.items())
    bench.control.fill(0)
    assert (bench.charges_of(stepping=True) != q).any()


def test_more_iterations_are_queued_where_needed():
    """Without loops on the device the host says whether what was queued behind is to be queued again."""
    bench = Bench(box(60, 9.0), tolerance=1e-12)
    bench.charges._calls = 1
    bench.charges.queue(bench.near, bench.shifts, bench.bits, bench.control, 0, False)
    again = bench.charges.settle()
    assert again != hasattr(bench.charges._kernels, "solve")
    assert abs(bench.charges.charges() - dense_charges(bench.system)).max() < 1e-10


def test_too_many_iterations_are_an_error():
    bench = Bench(box(60, 9.0), tolerance=1e-12, most_iterations=4)
    with pytest.raises(
        ChargeError, match=r"residual \d.*e-0\d after 4 iterations.*1.0e-12; raise charge_tolerance"
    ):
        bench.charges_of()
    assert not bench.charges.statistics().solved


def test_a_matrix_that_is_not_positive_is_an_error():
    """Two atoms at 0.1 angstrom whose interaction is stronger than their hardness."""
    soft = ChargeParameters(CHI, ETA / 4, GAMMA**-3.0, LOWER, CUTOFF)
    system = Box(np.array([0, 1], np.int32), np.array([[0, 0, 0], [0.1, 0, 0]]), 20.0 * np.eye(3))
    assert np.linalg.eigvalsh(matrix(system, soft)).min() < 0
    with pytest.raises(ChargeError, match=r"not positive definite.*too close"):
        Bench(system, parameters=soft).charges_of()


def test_overlapping_atoms_have_charges():
    positions = np.array([[0, 0, 0], [0, 0, 0], [1.0, 0, 0]])
    system = Box(np.array([0, 1, 1], np.int32), positions, 20.0 * np.eye(3))
    q = Bench(system, tolerance=TIGHT).charges_of()
    np.testing.assert_allclose(q, dense_charges(system), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": 0.0}, "charge_tolerance is 0.0, expected 1e-14 to 1"),
        ({"tolerance": 2.0}, "charge_tolerance is 2.0"),
        ({"most_iterations": 0}, "0 iterations for charges, expected 1 or more"),
        ({"parameters": ChargeParameters(CHI, ETA - 18, GAMMA, 0.0, 6.0)}, "hardness eta of kind 0 is -0.1"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(SettingsError, match=words):
        Bench(box(), **options)
