"""README and docs/: blocks run in turn, links lead somewhere, tables agree with program and results."""

import json
import re
import shutil
from pathlib import Path

import pytest
from ase import Atoms
from bond_files import SPECIES, lammps_text
from fake_engine import fake  # noqa: F401  (a fixture)
from pages import NO_CODE, PAGES, ROOT, blocks, run_blocks, text_of
from peers import require_lammps

from taichimd.settings.run import SETTINGS

TESTED_APART = ("docs/python.md", "docs/trajectories.md", "docs/record.md")
WITHOUT_ENGINE = [
    f"docs/ensembles/{name}.md"
    for name in ("nve", "langevin", "berendsen", "bussi", "nose_hoover", "npt_berendsen")
]
"""Pages whose commands show options: the stand-in of the engine takes them without compiling."""
LEAVES = {
    "README.md": ("taichimd-run/thermo.png", "copper/thermo.png"),
    "docs/tutorial.md": ("warm/thermo.png", "sampled/rdf.csv", "seeds/batch.csv", "structure/angles.csv"),
    "docs/howto/error_bars.md": ("seeds/batch.png",),
    "docs/options.md": ("my-run/thermo.png", "second/thermo.png"),
    "docs/transport.md": ("taichimd-kappa/kappa.png",),
    "docs/ensembles/nve.md": ("flat/thermo.png",),
    "docs/ensembles/npt_scr.md": ("squeezed/thermo.png", "sampled/thermo.png"),
    "docs/howto/glass.md": ("glass-structure/angles.png",),
    "docs/howto/reactive.md": ("flame/species.png",),
    "docs/howto/relax.md": ("pressed/relaxed.extxyz",),
    "docs/howto/observe.md": ("observed/msd.png",),
    "docs/fixed-atoms.md": ("slab/thermo.png",),
}
ONE_PROGRAM = ("docs/howto/error_bars.md", "docs/howto/phonons.md")
"""Pages whose blocks of Python continue with the names of the blocks before."""
SHORT = ("README.md",)
"""Pages whose blocks `make test` runs, too."""
MAX_LINES = {
    "README.md": 120,
    "docs/options.md": 215,
    "docs/python.md": 210,
    "docs/record.md": 210,
    "docs/tutorial.md": 220,
}
OF_OTHERS = {
    "docs/howto/reactive.md": {
        "bonds.reaxff": lammps_text([{(0, 1): 0.9}] * 20 + [{(1, 2): 0.8}] * 20, "121"),
        "species.out": SPECIES,
    }
}
"""Files of other programs that a page reads: name and text."""
OTHER_PAGES = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"{folder}/README.md" for folder in ("taichimd", "examples", "potentials", "validation")),
]
RESULTS = ROOT / "validation" / "results"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page in SHORT else pytest.mark.long)
        for page in PAGES
        if page not in TESTED_APART and any(kind not in NO_CODE for kind, _, _ in blocks(page))
    ],
)
def test_every_block_runs_in_turn(page, folder, capsys, request):
    if page == "docs/howto/lammps.md":
        require_lammps()
    if page in ("docs/howto/lammps.md", "docs/howto/several_gpus.md"):
        pytest.importorskip("mpi4py")
    if page in WITHOUT_ENGINE:
        request.getfixturevalue("fake")
    for name, text in OF_OTHERS.get(page, {}).items():
        Path(name).write_text(text, encoding="utf-8")
    assert run_blocks(page, capsys, names={} if page in ONE_PROGRAM else None)
    for result in LEAVES.get(page, ()):
        assert Path(result).stat().st_size > 0


def test_own_force_field_in_python(folder):
    from taichimd import TaichiMD, load_forcefield

    text = next(text for _, name, text in blocks("README.md") if name == "my_file.py")
    Path("my_file.py").write_text(text, encoding="utf-8")
    assert 15 <= len(text.splitlines()) <= 25
    dimer = Atoms("Cu2", positions=[[0, 0, 0], [2.866, 0, 0]])
    dimer.calc = TaichiMD(load_forcefield("my_file.py:my_potential"))
    assert dimer.get_potential_energy() == pytest.approx(-0.3429, abs=1e-3)


def test_relaxed_silicon_has_the_energy_that_the_comment_says(capsys):
    text = next(
        text for kind, _, text in blocks("README.md") if kind == "python" and "FrechetCellFilter" in text
    )
    exec(compile(text, "README.md", "exec"), {})
    last = capsys.readouterr().out.splitlines()[-1]
    said = re.search(r"# (-[\d.]+)", text).group(1)
    assert float(last.split()[0]) == pytest.approx(float(said), abs=5e-5)


def options_of(page, section):
    """Options of the tables of a section, with the defaults that are shown."""
    part = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return dict(re.findall(r"^\| `--([a-z-]+)[^|]*\| *([^|]*?) *\|", part.group(1), flags=re.MULTILINE))


def test_tables_of_the_ensembles_have_the_same_defaults():
    table = options_of("docs/ensembles/index.md", "What all have in common")
    assert len(table) > 10
    for name, shown in table.items():
        assert shown == SETTINGS[name.replace("-", "_")].shown_default


def test_ensembles_have_a_page_each_with_their_paper():
    from taichimd.ensembles.registry import ENSEMBLES

    index = text_of("docs/ensembles/index.md")
    assert len(ENSEMBLES) >= 8
    for name in ENSEMBLES:
        page = re.search(rf"\[`{name}`\]\((\w+\.md)\)", index).group(1)
        text = text_of(f"docs/ensembles/{page}")
        assert name.replace("nph", "npt").startswith(re.match(r"# (\S+): ", text).group(1))
        assert "https://doi.org/" in text
        assert "```math" in text


def test_thermo_columns_are_those_of_the_table():
    from taichimd.io.thermo import CELL_COLUMNS, COLUMNS

    text = text_of("docs/howto/output.md")
    section = text[text.index("## Columns of `thermo.csv`") : text.index("## Frames")]
    described = re.findall(
        r"`(\w+)`", "\n".join(line.split("|")[1] for line in section.splitlines() if "|" in line)
    )
    columns = COLUMNS + CELL_COLUMNS
    assert tuple(name for name in described if name in columns) == columns


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    kept = "".join(c for c in heading.strip().lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def links_of(page):
    """Target and anchor of each link outside of blocks."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text)
    assert len(found) == text.count("]("), f"{page} has a link that is not understood"
    return found


def test_pages_are_found_and_have_links():
    assert len(PAGES) > 60
    assert sum(len(links_of(page)) for page in PAGES) > 300


@pytest.mark.parametrize("page", PAGES + OTHER_PAGES)
def test_links_lead_somewhere(page):
    for target, anchor in links_of(page):
        if target.startswith("http"):
            continue
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), f"{page} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{page} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short_and_name_results_that_exist(page):
    assert 3 < len(text_of(page).splitlines()) <= MAX_LINES.get(page, 199)
    for name in results_of(page):
        assert any(RESULTS.glob(name)), f"{page} names {name}"


def results_of(page):
    """Files of validation/results that a page names."""
    text, written = (
        text_of(page),
        {"run.json", "relax.json", "kappa.json", "batch.json", "analysis.json", "validation.json"},
    )
    return set(re.findall(r"(?:`|results/)([\w*]+\.json)[`)]", text)) - written


def test_pages_of_measurements_name_their_results():
    measured = [page for page in PAGES if page.startswith("docs/measurements/") and "index" not in page]
    assert len(measured) > 5
    assert [page for page in measured if not results_of(page)] == []


def test_index_lists_every_page():
    index = text_of("docs/index.md")
    linked = {(ROOT / "docs" / name).resolve() for name in re.findall(r"\]\(([^)#]+\.md)\)", index)}
    for page in PAGES:
        if page not in ("README.md", "docs/index.md"):
            assert (ROOT / page).resolve() in linked, f"docs/index.md does not list {page}"


def test_pages_name_every_command():
    from taichimd.cli.commands import COMMANDS, program

    text = "".join(text_of(page) for page in PAGES)
    commands = program(COMMANDS).registered_commands
    assert len(commands) > 8
    for command in commands:
        assert f"$ taichimd {command.callback.__name__}" in text


CASES = {
    "Tersoff Si": "tersoff-si",
    "Stillinger-Weber Si": "sw-si",
    "Vashishta SiO2": "vashishta-sio2",
    "Lennard-Jones melt": "lj-melt",
    "Lennard-Jones argon": "lj-argon",
    "Tersoff Si, 300 K": "tersoff-si",
    "Stillinger-Weber Si, 300 K": "sw-si",
}


def measured(name):
    """Time of a step (ms) by case, atoms and program."""
    rows = json.loads((RESULTS / f"{name}.json").read_text())["results"]
    return {(row["case"], row["atoms"]): row["ms_per_step"] for row in rows}


def rows_of(page, heading):
    """Cells of the table below a heading; an empty first cell is the one above."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text_of(page), flags=re.MULTILINE | re.DOTALL)
    system = ""
    for line in section.group(1).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 2 and (cells[0] in CASES or (not cells[0] and system)):
            system = cells[0] or system
            yield CASES[system], int(cells[1].replace(",", "")), cells[2:]


def test_speeds_of_the_h100_are_those_of_the_results():
    ours = measured("benchmarks_h100")
    anchors = json.loads((ROOT / "validation/benchmarks/anchors.json").read_text())
    beside = json.loads((RESULTS / "gpumd_beside.json").read_text())["results"]
    by_gpumd = {(row["case"], row["atoms"]): row["gpumd_us"] / 1e3 for row in beside}
    rows = list(rows_of("docs/measurements/speed.md", "On an H100"))
    assert len(rows) == 20
    for case, atoms, cells in rows:
        lammps = anchors["ms_per_step"][case].get(str(atoms))
        gpumd = by_gpumd.get((case, atoms))
        shown = [cells[0], cells[2], cells[3]]
        mine = ours[case, atoms]["taichimd"]
        for text, value in zip(shown, (mine, lammps, gpumd), strict=True):
            if text:
                assert float(text) == pytest.approx(value * 1e3, abs=0.5001), (case, atoms)
        if cells[4]:
            best = min(value for value in (lammps, gpumd) if value)
            assert float(cells[4]) == pytest.approx(best / mine, abs=0.006), (case, atoms)
            assert float(cells[1]) == float(f"{atoms / mine * 1e3:.3g}")


def test_the_chart_of_the_readme_has_all_rows_and_its_sentences_their_range():
    from validation.benchmarks.speed_chart import cpu_rows, gpu_rows

    *alone, inside = gpu_rows()
    factors = [row.factor for row in alone]
    assert len(factors) > 20
    said = re.search(r"taichimd is ([\d.]+) to ([\d.]+) times as fast", text_of("README.md"))
    assert [float(number) for number in said.groups()] == [
        pytest.approx(f(factors), abs=0.05) for f in (min, max)
    ]
    assert inside.system == "Tersoff Si inside LAMMPS"
    assert inside.factor < 0.1
    assert all(row.factor > 1.0 for row in cpu_rows())


def test_speeds_of_two_cores_are_those_of_the_results():
    ours = measured("cpu_ratios")
    rows = list(rows_of("docs/measurements/speed.md", "On two CPU cores"))
    assert len(rows) == 8
    for case, atoms, (taichimd, lammps, ratio) in rows:
        found = ours[case, atoms]
        assert float(taichimd) == pytest.approx(found["taichimd"], rel=5e-3)
        assert float(lammps) == pytest.approx(found["lammps -sf omp"], rel=5e-3)
        assert float(ratio) == pytest.approx(found["lammps -sf omp"] / found["taichimd"], abs=0.006)
