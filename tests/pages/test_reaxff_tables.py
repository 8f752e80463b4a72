"""The arithmetic of ReaxFF's measurements, and the page that is made of their files."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from pages import ROOT

from taichimd.forcefields.reaxff.arrays import TERMS
from validation.reaxff import kernels, scaling, tables, trajectories

pytestmark = pytest.mark.once


def run_of(backend, shift=0.0, sha="a"):
    """A report of one run, whose torsion energy is 0, 2, 0, 2 ... eV."""
    energies = {term: [0.0] * 20 for term in TERMS} | {"torsion": [0.0, 2.0] * 10}
    terms = dict.fromkeys(TERMS, 1.0)
    samples = {
        "step": [1000 * k for k in range(20)],
        "temperature_K": [300.0] * 20,
        "conserved_eV": [0.002 * k for k in range(20)],
        "terms_eV": energies,
    }
    later = {"terms_eV": terms | {"torsion": 1.0 + shift}, "sha256": sha, "positions_A": [[shift]]}
    case = {
        "system": "water 300", "atoms": 10, "constants": "lammps", "timestep_fs": 0.5,
        "charge_tolerance": 1e-6, "steps": 19_000, "samples": samples,
        "snapshots": {"0": {"terms_eV": terms, "sha256": "0"}, "10000": later},
    }  # fmt: skip
    about = {"backend": backend, "runtime": "quadrants 1", "device": backend}
    return {"runtime": about, "cases": {"water": case}}


def test_differences_are_over_the_deviation_of_the_term():
    found = trajectories.compare(run_of("cpu"), run_of("cuda", 0.25, "b"))["water"]
    assert found["deviations_eV"]["torsion and conjugation"] == 1.0
    assert found["at"]["0"]["same_state"]
    later = found["at"]["10000"]
    assert not later["same_state"]
    assert later["over_deviation"] == {"torsion and conjugation": 0.25}
    assert later["max_dx_A"] == 0.25


def test_drift_is_the_slope_of_the_conserved_quantity():
    slope, left = tables.line_through(run_of("cpu")["cases"]["water"])
    assert slope == pytest.approx(0.4)  # 2 meV for 10 atoms in half a picosecond
    assert left == pytest.approx(0.0, abs=1e-9)


def test_loops_of_kernels_have_names():
    launches = {f"bonded_c1_0_kernel_{k}_range_for": [float(k)] * kernels.STEPS for k in range(1, 16)}
    launches |= {
        "bonded_c1_0_kernel_0_serial": [9.0],
        "search_c2_0_kernel_0_range_for": [60.0] * kernels.STEPS,
    }
    launches["forces_c3_0_kernel_1_range_for"] = [2.0] * kernels.STEPS + [0.1] * kernels.STEPS
    loops = kernels.named(launches, {})
    assert loops["torsions"]["us"] == 8.0
    assert loops["van der Waals and Coulomb"] == {"us": 2.0, "works": kernels.STEPS, "us_per_step": 2.1}
    parts = kernels.components(loops)
    assert parts["four-body"] == 8.0 + 11.0
    assert parts["neighbour lists"] == 60.0
    assert sum(parts.values()) == pytest.approx(sum(range(1, 16)) + 62.1)
    more = kernels.named(launches, {"bonded": (8, "one more")})
    assert more["bonded 8"]["us"] == 8.0, "another number of loops than expected: by their numbers"


def test_every_array_counts_once():
    array = SimpleNamespace(element_shape=(), dtype=None)
    owner = trajectories.argparse.Namespace()  # of another package: not looked into
    owner.hidden = SimpleNamespace(element_shape=(), dtype=None)
    assert scaling.arrays_of({"a": [array, (array,)], "b": owner}) == [array]


def test_the_page_is_made_of_its_files(tmp_path):
    parts = {"cpu a": run_of("cpu"), "gpu a": run_of("cuda", 0.5, "b")}
    (tmp_path / "reaxff_paper_cuda.json").write_text(json.dumps({"parts": parts}))
    page = tables.page(tables.Found(tmp_path), tmp_path)
    assert "| water | 10 | 0 | yes | 0 |  |" in page
    assert "| water | 10 | 10,000 | no | 5e-01 | 2e-05 |" in page
    assert "| water | `lammps` | 0.5 | 1e-06 | 9.5 | 300 | +400.0 | 0.0000 |" in page
    assert page.count("\n## ") == 2, "what there is no file of is left out"


def test_the_page_of_the_documentation_is_that_of_the_results():
    """If not: python -m validation.reaxff.tables --page docs/measurements/reaxff.md --draw."""
    results = ROOT / "validation" / "results"
    page = (ROOT / "docs" / "measurements" / "reaxff.md").read_text(encoding="utf-8")
    assert page == tables.page(tables.Found(results), results)


def test_numbers_of_the_paper():
    total = np.array([tables.PAPER["memory_MB"][key] for key in ("total",)])
    assert (total[0] / (6.540, 6.000)).round(1).tolist() == [43.6, 32.2]
