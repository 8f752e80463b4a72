"""The arithmetic of the validation drivers: a wrong reduction would be evidence for something false."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from taichimd.lattices import build_lattice
from taichimd.neighbours.lists import NEVER
from validation import common, cross_backend, energy_drift, gpu_suite, silica_glass
from validation.benchmarks import gpumd_figures, gpumd_plot, quadruplets, roofline
from validation.benchmarks.rebuild_cost import rebuild_cost
from validation.benchmarks.stepping import silicon_cells
from validation.benchmarks.systems import CASES


def test_differing_bits_counts_numbers_and_bits():
    a = np.array([1.0, 2.0, 0.0])
    b = np.array([np.nextafter(1.0, 2.0), 2.0, -0.0])
    assert common.differing_bits(a, a.copy()) == (0, 0)
    assert common.differing_bits(a, b) == (2, 2), "one last bit and one sign"


def test_growth_rate_ignores_the_rounding_floor_and_saturation():
    times = np.arange(1, 41) * 0.5
    distance = np.clip(1e-15 * np.exp(2.0 * times), 3e-14, 2.0)
    assert cross_backend.growth_rate(times, distance) == pytest.approx(2.0, rel=1e-6)
    assert cross_backend.growth_rate(times, np.zeros(40)) is None, "identical runs do not grow apart"


def test_runs_are_compared_with_their_own_kind():
    runs = [cross_backend.Run(r, b) for r in ("taichi", "quadrants") for b in ("cpu", "cuda")]
    labels = {(a.label, b.label) for a, b in cross_backend.pairs_of(runs)}
    assert labels == {
        ("taichi-cpu", "taichi-cuda"),
        ("taichi-cpu", "quadrants-cpu"),
        ("taichi-cpu", "quadrants-cuda"),
        ("quadrants-cpu", "quadrants-cuda"),
    }


def test_drift_finds_slope_within_its_error():
    rng = np.random.default_rng(1)
    times = np.linspace(0.0, 0.5, 2001)
    noise = 1e-6 * rng.standard_normal(times.size)
    found = energy_drift.reduce_energies(times, -3.0 + 4e-6 * times + noise)
    assert abs(found["slope_eV_per_atom_ns"] - 4e-6) < 4 * found["slope_error"]
    assert found["slope_error"] < 1e-6
    assert found["rms_eV_per_atom"] == pytest.approx(1e-6, rel=0.1)


@pytest.mark.parametrize("name", CASES)
def test_benchmark_sizes_are_cubes_of_cells(name):
    case = CASES[name]
    for n_atoms in (*case.cpu_sizes, *case.cuda_sizes):
        cells = round((n_atoms / case.atoms_per_cell) ** (1 / 3))
        assert case.atoms_per_cell * cells**3 == n_atoms
    with pytest.raises(ValueError, match=f"not {case.atoms_per_cell} times a cube"):
        case.system(7)


def test_neighbour_count_of_the_melt():
    inside = roofline.neighbours_within(CASES["lj-melt"].build(4).atoms, 2.5)
    assert inside == pytest.approx(0.8442 * 4 / 3 * np.pi * 2.5**3, rel=0.1)


def test_result_files_are_json_with_provenance(tmp_path):
    payload = {**common.provenance({"runtime": "none"}), "values": np.arange(3.0)}
    path = common.write_json(tmp_path / "new" / "result.json", payload)
    read = json.loads(path.read_text())
    assert read["values"] == [0.0, 1.0, 2.0]
    assert {"date", "command", "machine", "runtime", "versions"} <= set(read)
    assert '"values": [0.0, 1.0, 2.0]' in path.read_text(), "numbers of a list stay on one line"


@pytest.mark.parametrize("runtime", common.RUNTIMES)
def test_suite_asks_more_of_the_runtime_that_promises_more(runtime):
    parts = {part.name: part for part in gpu_suite.planned(runtime)}
    assert ("--long" in parts["cross_backend"].arguments) == (runtime == "quadrants")


@pytest.mark.parametrize("n_atoms", [*gpumd_figures.SIZES, gpumd_figures.FIGURE_4, 100_000])
def test_silicon_of_every_size_of_the_paper(n_atoms):
    assert 8 * np.prod(silicon_cells(n_atoms)) == n_atoms
    with pytest.raises(ValueError, match="8 times a cube"):
        silicon_cells(n_atoms + 8)


def test_what_is_not_there_is_not_drawn():
    case = {"potential": "tersoff", "precision": "float64", "atoms": 8000}
    results = [
        {**case, "ensemble": "nve", "atom_steps_per_s": 3e6},
        {**case, "ensemble": "npt-berendsen", "atom_steps_per_s": None},
        {**case, "ensemble": "nvt-berendsen", "atom_steps_per_s": 2e6},
    ]
    assert list(gpumd_plot.curves({"results": results})) == [
        ("tersoff", "float64", "nve"),
        ("tersoff", "float64", "nvt-berendsen"),
    ]
    ratios = [gpumd_figures.npt_over_nve(results, result) for result in results]
    assert ratios == [1.0, None, pytest.approx(1.5)]


def test_a_crystal_is_not_taken_for_a_glass():
    crystal = build_lattice("silica", 2)
    frames = crystal.positions + 1e-3 * np.random.default_rng(1).standard_normal((5, len(crystal), 3))
    found = silica_glass.compare(crystal.get_chemical_symbols(), frames, crystal.cell[:])
    rows = {row[0]: row for row in found["comparison"]}
    # Quantity, ours, error, tolerance, then twice: published, whether it agrees.
    assert rows["Si-O, A"][1] == pytest.approx(7.16 * np.sqrt(3) / 8, abs=0.01)
    assert rows["Si-O, A"][4:] == [1.62, False, 1.62, False]
    assert rows["O-Si-O, degrees"][4:] == [109.6, True, None, None]
    assert rows["Si-O-Si, degrees"][4:] == [142.0, False, 144.0, False]
    assert rows["O around Si"][1:3] == [4.0, 0.0]
    assert rows["O around Si"][6:] == [4.0, True]


class FakeEngine:
    """A clock instead of a device: a step takes 1 ms, a rebuild 4 ms; motion asks for one every 20 steps."""

    def __init__(self, clock):
        self.clock, self.n_atoms, self.builds = clock, 1000, 0
        self.device = SimpleNamespace(lists=SimpleNamespace(most_age=NEVER))

    def advance(self, n, timestep):
        builds = n // min(20, self.device.lists.most_age)
        self.clock.now += 1e-3 * (n + 4 * builds)
        self.builds += builds

    def statistics(self):
        return {"rebuilds": self.builds, "outer_skin_A": 1.0, "inner_skin_A": 0.3}


def test_cost_of_a_rebuild_is_free_of_those_that_motion_asks_for(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    monkeypatch.setattr("taichimd.runtime.ti.sync", lambda: None)
    engine = FakeEngine(clock)
    found = rebuild_cost(engine, 1.0, 10.0, 3)
    assert found["ms_per_rebuild"] == pytest.approx(4.0, rel=1e-2)
    assert found["rebuilds_forced"] == pytest.approx(4 * found["rebuilds"], rel=1e-2)
    assert found["ms_per_step"] == pytest.approx(1.0, rel=1e-2)
    assert engine.device.lists.most_age == NEVER
    assert found["loss_of_speed"] == pytest.approx(0.8 / 1.8, rel=1e-2)


def test_every_way_to_add_up_quadruplets_gives_the_same_forces():
    options = SimpleNamespace(seconds=0.0, repeats=1)
    found = quadruplets.measure(1_344, quadruplets.CASES["candidates"], options)
    assert found["tuples"] > 18 * 1_344, "some second neighbours are close enough"
    assert found["same_bits"]
    atomics = found["atomics"]
    assert atomics["float atomics"]["largest_difference_eV_per_A"] < 1e-12
    assert 0 < atomics["integer atomics"]["largest_difference_eV_per_A"] < 1e-10
    assert atomics["integer atomics"]["numbers_that_differ_between_two_runs"] == 0
