"""The arithmetic of ReaxFF's measurements, and their numbers in docs/measurements/reaxff.md and speed.md."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from pages import ROOT, text_of

from taichimd.forcefields.reaxff.arrays import TERMS
from validation import common
from validation.reaxff import speed, trajectories

PAGE = "docs/measurements/reaxff.md"
PAPER = json.loads((ROOT / "validation" / "reaxff" / "paper.json").read_text(encoding="utf-8"))


def of(name):
    return common.read_json(common.RESULTS / f"reaxff_{name}.json")


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
    slope, left = trajectories.line_through(run_of("cpu")["cases"]["water"])
    assert slope == pytest.approx(0.4)  # 2 meV for 10 atoms in half a picosecond
    assert left == pytest.approx(0.0, abs=1e-9)


def test_every_array_counts_once():
    array = SimpleNamespace(element_shape=(), dtype=None)
    owner = SimpleNamespace(hidden=SimpleNamespace(element_shape=(), dtype=None))  # of another package
    assert speed.arrays_of({"a": [array, (array,)], "b": owner}) == [array]


def same_energies():
    """Bits, and the largest difference over the standard deviation."""
    columns = PAPER["energies_over_deviation"]
    for name, case in sorted(trajectories.compare(of("trajectories_cpu"), of("trajectories_cuda")).items()):
        for step, at in case["at"].items():
            most = max(at["over_deviation"].values(), default=0.0)
            head = f"{case['system'].split()[0]} "
            theirs = [
                max(values[k] for key, values in columns.items() if key != "columns" and values[k])
                for k, column in enumerate(columns["columns"])
                if column.startswith(head) and column.endswith(f"after {int(step):,}")
            ]
            yield (
                name, f"{case['atoms']:,}", f"{int(step):,}", "yes" if at["same_state"] else "no",
                f"{most:.0e}" if most else "0", f"{theirs[0]:.0e}" if theirs else "",
            )  # fmt: skip


def conserved():
    """Drift of the conserved quantity, by a straight line."""
    runs = trajectories.longest(of("trajectories_cpu"), of("trajectories_cuda"))
    for name, case in sorted(runs.items()):
        slope, left = trajectories.line_through(case)
        length = case["samples"]["step"][-1] * case["timestep_fs"] / 1000
        yield (
            name, f"`{case['constants']}`", str(case["timestep_fs"]), f"{case['charge_tolerance']:.0e}",
            f"{length:g}", f"{np.mean(case['samples']['temperature_K']):.0f}",
            f"{1000 * slope:+.1f}", f"{left:.4f}",
        )  # fmt: skip


def sizes():
    """Milliseconds, and how many times faster than one and eight cores."""
    results = {name: of(f"sizes_{name}")["results"] for name in ("h100", "one_core", "eight_cores")}

    def ms(name, case):
        return results[name].get(case, {}).get("ms_per_step")

    for system in dict.fromkeys(name.rpartition(", ")[0] for name in results["h100"]):
        cases = [f"{system}, {pairs}" for pairs in ("tables", "direct")]
        ratios = [
            f"{ms(name, case) / ms('h100', case):.0f}" if ms(name, case) else ""
            for name in ("one_core", "eight_cores")
            for case in cases
        ]
        number = int(system.split()[1].replace(",", ""))
        closest = min(
            (name for name in PAPER["speedup_over_cpu"] if name.split()[0] == system.split()[0]),
            key=lambda name: abs(int(name.split()[1].replace(",", "")) / number - 1),
        )
        theirs = ", ".join(map(str, PAPER["speedup_over_cpu"][closest]))
        yield system, *(f"{ms('h100', case):.2f}" for case in cases), *ratios, theirs


def memory():
    """Megabytes of structures, and kilobytes an atom."""
    beside = {
        "Verlet list": "neighbour list", "near lists of bonds and of pairs": "hydrogen bond list",
        "charge matrix": "charge matrix", "bonds": "bond list", "ends of torsions": "three-body list",
        "all arrays": "total",
    }  # fmt: skip
    results = of("sizes_h100")["results"]
    rows = [results[f"{s}, tables"] for s in ("water 6,540", "silica 6,000", "water 52,320", "silica 48,000")]
    paper = PAPER["memory_MB"]
    for name in rows[0]["memory_bytes"]:
        theirs = paper.get(beside.get(name, ""), ["", ""])
        yield name, *(f"{row['memory_bytes'][name] / 1e6:.1f}" for row in rows), *map(str, theirs)
    each = [f"{row['memory_bytes']['all arrays'] / row['atoms'] / 1e3:.1f}" for row in rows]
    yield (
        "kB per atom",
        *each,
        *(f"{mb * 1e3 / n:.1f}" for mb, n in zip(paper["total"], (6540, 6000), strict=True)),
    )


def rows_below(page, heading):
    """Cells of the rows of the first table below a heading."""
    section = text_of(page).split(f"## {heading}")[1]
    lines = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines if "---" not in line][1:]


@pytest.mark.parametrize(
    ("heading", "found"),
    [
        ("Same energies", same_energies),
        ("Runs at 300 K", conserved),
        ("Time of a step", sizes),
        ("Memory", memory),
    ],
)
def test_tables_of_the_page_are_those_of_the_results(heading, found):
    assert rows_below(PAGE, heading) == list(found())


def test_speeds_are_those_of_the_result():
    results = of("speed_h100")["results"]
    rows = rows_below("docs/measurements/speed.md", "ReaxFF on an H100")
    assert len(rows) > 10
    ways = {"converged": "", "extended Lagrangian": ", extended", "converged, matrix in float32": ", float32"}
    settings = {("1e-6", "0.25"): "", ("1e-10", "0.1"): ", paper"}
    for system, atoms, *cells in rows:
        if (found := settings.get(tuple(cells[:2]))) is not None:
            assert cells[2] == f"{results[f'{system} {atoms}{found}']['ms_per_step']:.2f}"
        elif cells[0] in ways:
            ms = results[f"{system} {atoms}{ways[cells[0]]}"]["ms_per_step"]
            assert float(cells[1]) == pytest.approx(ms, rel=5e-3)
