"""The benchmarks' systems, figures and reductions: a wrong one would be evidence for something false."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from validation import common
from validation.benchmarks import gpumd_figures, gpumd_plot, roofline
from validation.benchmarks.gpumd_figures import rebuild_cost
from validation.benchmarks.stepping import silicon_cells
from validation.benchmarks.systems import CASES
from validation.decomposition import plot, states


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


@pytest.mark.parametrize("n_atoms", [*gpumd_figures.SIZES, gpumd_figures.FIGURE_4])
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


def test_of_one_point_the_first_measurement_is_drawn():
    point = {"potential": "tersoff", "precision": "float64", "ensemble": "nve", "atoms": 8000}
    first, second = {**point, "atom_steps_per_s": 3e6}, {**point, "atom_steps_per_s": 2e6}
    other = {**point, "atoms": 64_000, "atom_steps_per_s": 1e6}
    reports = [
        {"results": [first], "runtime": {"device": "NVIDIA H100 80GB HBM3, 580.159.04"}},
        {"results": [second, other], "runtime": {"device": "NVIDIA H200, 580.159.04\nNVIDIA H200, 580"}},
    ]
    assert gpumd_figures.together(reports) == [{**first, "gpu": "H100"}, {**other, "gpu": "H200"}]


class FakeEngine:
    """A clock instead of a device: a step takes 1 ms, a rebuild 4 ms; motion asks for one every 20 steps."""

    def __init__(self, clock):
        self.clock, self.n_atoms, self.builds = clock, 1000, 0
        self.device, self.every = SimpleNamespace(lists=self), None

    def force_builds(self, every):
        self.every = every

    def advance(self, n, timestep):
        builds = n // (self.every or 20)
        self.clock.now += 1e-3 * (n + 4 * builds)
        self.builds += builds

    def statistics(self):
        return {"rebuilds": self.builds, "outer_skin_A": 1.0, "inner_skin_A": 0.4 if self.every else 0.3}


def test_cost_of_a_rebuild_is_free_of_those_that_motion_asks_for(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    monkeypatch.setattr("taichimd.core.runtime.ti.sync", lambda: None)
    engine = FakeEngine(clock)
    found = rebuild_cost(engine, 1.0, 10.0, 3)
    assert found["ms_per_rebuild"] == pytest.approx(4.0, rel=1e-2)
    assert found["rebuilds_forced"] == pytest.approx(4 * found["rebuilds"], rel=1e-2)
    assert found["ms_per_step"] == pytest.approx(1.0, rel=1e-2)
    assert engine.every is None
    assert (found["skins_A"], found["skins_forced_A"]) == ([1.0, 0.3], [1.0, 0.4])
    assert found["loss_of_speed"] == pytest.approx(0.8 / 1.8, rel=1e-2)


def test_results_of_a_size_are_replaced_and_others_kept(tmp_path):
    options = SimpleNamespace(out=tmp_path, backend="cpu", append=True)
    for cells, value in ((8, 1), (4, 2), (8, 3)):
        path, report = states.open_report("made_up", options)
        states.add_result(path, report, {"cells": cells, "value": value}, "cells")
    found = json.loads(path.read_text())["results"]
    assert [(one["cells"], one["value"]) for one in found] == [(4, 2), (8, 3)]
    options.append = False
    assert states.open_report("made_up", options)[1]["results"] == []


def test_figures_are_drawn_from_what_there_is(tmp_path):
    timed = {"us_per_step": 50.0}
    runtime = {"device": "made up", "threads": 2}
    speed = {
        "runtime": runtime,
        "results": [{"atoms": 1536, "particle": timed, "tuple": timed, "speedup_of_tuple": 1.0}],
    }
    fit = {"rate_per_ps": 2.0, "error": 0.1}
    parted = {
        "runtime": runtime,
        "cells": 4,
        "runs": {"PD 0": {"steps_seen": [100, 200]}},
        "rates": {"rounding": fit, "nudge": None},
        "pairs": {
            "a": {"kind": "rounding", "max_dx_A": [1e-12, 1e-9]},
            "b": {"kind": "nudge", "max_dx_A": [0.0, 1e-9]},
        },
    }
    assert plot.run(SimpleNamespace(out=tmp_path)).endswith("no results there")
    for name, what in {
        "speed_cpu": speed,
        "speed_cuda": speed,
        "divergence_cpu": parted,
    }.items():
        common.write_json(tmp_path / f"tuple_decomposition_{name}.json", what)
    plot.run(SimpleNamespace(out=tmp_path))
    drawn = {path.name: path.stat().st_size for path in tmp_path.glob("*.png")}
    assert set(drawn) == {"tuple_decomposition_figures.png", "tuple_decomposition_divergence_cpu.png"}
