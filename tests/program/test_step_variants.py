"""The table of the ways to do a step: what shipped potentials get, on which backend, in which ensemble."""

from dataclasses import replace
from itertools import product

import pytest

from taichimd.core.runtime import WARPS
from taichimd.ensembles.coupling import Coupling, coupling_of
from taichimd.ensembles.registry import ENSEMBLES
from taichimd.forcefields.library import shipped
from taichimd.forcefields.load import load_forcefield
from taichimd.program.decomposition import AUTO, by_tuple, choose
from taichimd.program.groups import Choice
from taichimd.program.steps import variants
from taichimd.program.steps.variants import VARIANTS, step_variant
from taichimd.program.unroll import steps_per_call
from taichimd.program.variant import Variant

FILES = {file.path.name: file for file in shipped()}
OF_BAROSTATS = {"pressure": 0.0, "pressure_coupling_time": 2000.0, "bulk_modulus": 100.0}


def coupling(ensemble):
    kind = ENSEMBLES[ensemble]
    of_thermostats = {"temperature": 300.0, "coupling_time": 100.0} if kind.acts_on else {}
    return coupling_of(kind(**of_thermostats, **(OF_BAROSTATS if kind.moves_cell else {})), None)


def variant_of(file, backend, of_ensemble, atoms=1000):
    """What kernels are compiled for, without compiling any."""
    forcefield = load_forcefield(file)
    bounds = forcefield.bind(forcefield.elements)
    chosen = choose(AUTO, [bound.terms for bound in bounds], False, backend)
    tuples = tuple(by_tuple(chosen, bound.terms) for bound in bounds)
    groups = Choice(bounds, tuples, backend, False, None).groups(atoms)
    unroll = steps_per_call(backend, atoms, groups, of_ensemble)
    return Variant(groups, None, None, backend, unroll=unroll, coupling=of_ensemble)


def ways(variant):
    """The way of most steps and, where a barostat acts in a step apart, that of this step."""
    of = variant.coupling
    found = [step_variant(variant, True, of.acts_every_step)]
    return found + [step_variant(variant, True, True)] * of.acts_every_period


@pytest.mark.parametrize(
    ("file", "backend", "ensemble", "expected"),
    [
        ("Ar.lj", "cpu", "nve", ["PAIRS"]),
        ("Ar.lj", "cuda", "nve", ["PAIR_KICKS_SWAP"]),
        ("Ar.lj", "cuda", "nvt-langevin", ["PAIR_KICKS"]),
        ("Ar.lj", "cuda", "nvt-bussi", ["PAIRS_ACTION"]),
        ("Ar.lj", "cpu", "npt-scr", ["PAIRS", "PAIRS_ACTION"]),
        ("Si.tersoff", "cpu", "nve", ["BODIES"]),
        ("Si.tersoff", "cuda", "nvt-langevin", ["BODIES"]),
        ("Si.tersoff", "cuda", "npt-mtk", ["BODIES_ACTION"]),
        ("Si.sw", "cpu", "nve", ["BODIES_DRIFT"]),
        ("Si.sw", "cuda", "nve", ["MOMENTS_SWAP"]),
        ("Si.sw", "cuda", "nvt-langevin", ["BODIES_SWAP"]),
        ("SiO2_1990.vashishta", "cpu", "npt-berendsen", ["BODIES_DRIFT", "BODIES_ACTION"]),
        ("H2O.ffield", "cuda", "nve", ["PLAIN"]),
        ("H2O.ffield", "cpu", "npt-scr", ["PLAIN", "PLAIN_ACTION"]),
    ],
)
def test_the_way_of_a_potential(file, backend, ensemble, expected):
    if backend == "cuda" and not WARPS and expected[0].startswith(("PAIR", "MOMENTS")):
        pytest.skip("this runtime has one thread for an atom of a pair term")
    found = ways(variant_of(file, backend, coupling(ensemble)))
    assert found == [getattr(variants, name) for name in expected]


@pytest.mark.skipif(not WARPS, reason="this runtime has one thread for an atom")
@pytest.mark.parametrize(("atoms", "expected"), [(8_000, "MOMENTS_SWAP"), (64_000, "BODIES_SWAP")])
def test_threads_share_atoms_of_small_systems(atoms, expected):
    variant = variant_of("Si.sw", "cuda", coupling("nve"), atoms)
    assert ways(variant) == [getattr(variants, expected)]


def test_all_shipped_potentials_have_a_way_and_every_way_is_reached():
    found = set()
    for file, backend, ensemble in product(FILES, ("cpu", "cuda"), ENSEMBLES):
        ours = ways(variant_of(file, backend, coupling(ensemble)))
        assert set(ours) <= set(VARIANTS)
        found |= set(ours)
    assert found == set(VARIANTS)


def test_a_driving_force_needs_the_virial_of_pairs_in_every_step():
    variant = variant_of("Ar.lj", "cuda", Coupling(driven=True))
    assert step_variant(variant, True, False) is variants.PAIRS
    assert step_variant(replace(variant, coupling=Coupling()), True, False) is not variants.PAIRS


def test_who_asks_for_the_plain_step_gets_it():
    variant = variant_of("Si.tersoff", "cpu", coupling("nve"))
    assert step_variant(variant, False, False) is variants.PLAIN
    assert step_variant(variant, False, True) is variants.PLAIN_ACTION


def test_rows_of_the_table_differ_and_are_consistent():
    assert len(set(VARIANTS)) == len(VARIANTS)
    for one in VARIANTS:
        assert one.moves_in_own_loop + one.moves_to_spare + one.acts <= 1
        assert one.fused or not (one.moves_in_own_loop or one.moves_to_spare or one.kicks_in_pair_loop)
        assert ("action" in one.loops) == one.acts
        assert one.loops.endswith("drift")
