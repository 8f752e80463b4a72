"""docs/measurements/memory.md: the table of bytes for each atom is that of the committed result."""

import pytest
from pages import text_of

from validation import common
from validation.benchmarks.memory import KINDS

CASES = {
    "Lennard-Jones argon": "lj, argon 8.5 Å",
    "Tersoff Si": "tersoff, silicon",
    "Stillinger-Weber Si": "sw, silicon",
    "Vashishta SiO2": "vashishta, silica 10 Å",
    "ReaxFF SiO2": "reaxff, silica",
}
"""Row of the page, and case of the driver."""
REPORT = common.read_json(common.RESULTS / "memory.json")
PAGE = text_of("docs/measurements/memory.md")


def test_the_page_has_a_row_for_each_case():
    assert list(REPORT["cases"]) == list(CASES.values())


@pytest.mark.parametrize("row", CASES)
def test_a_row_of_the_table_has_the_bytes_of_the_result(row):
    found = REPORT["cases"][CASES[row]]
    kinds = [*(kind for kind, _ in KINDS), "other"]
    table = PAGE.split("\n\n| | million")[0].splitlines()
    (line,) = (line for line in table if line.startswith(f"| {row} |"))
    assert [cell.strip() for cell in line.split("|")[2:-1]] == [
        f"{found['cutoff_A']:.3g}",
        f"{found['outer_skin_A']:.2f}",
        *(f"{found['by_kind'].get(kind, 0.0):.0f}" for kind in kinds),
        f"{found['on_a_gpu']:.0f}",
        f"{100 * found['filled']:.0f} %",
        f"{found['atoms_in_80_GB'] / 1e6:.0f}",
    ]


def test_the_conclusion_follows_from_the_table():
    tersoff, silica, reaxff = (
        REPORT["cases"][CASES[row]]["on_a_gpu"] for row in ("Tersoff Si", "Vashishta SiO2", "ReaxFF SiO2")
    )
    assert "five times as much, ReaxFF twenty-three times" in PAGE
    assert [round(one / tersoff) for one in (silica, reaxff)] == [5, 23]
