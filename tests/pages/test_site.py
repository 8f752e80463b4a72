"""The site of `make docs`: every public name and example has a place there. Sphinx itself builds it in CI."""

import importlib
import json
import re
import sys
from collections import Counter

import pytest
from pages import PAGES, ROOT

import taichimd


@pytest.fixture
def docs(monkeypatch):
    """Import a module of docs/, which needs Sphinx; leaves neither modules nor paths behind."""
    pytest.importorskip("sphinx", reason="sphinx is not installed (make docs installs it)")
    pytest.importorskip("myst_parser", reason="myst-parser is not installed (make docs installs it)")
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    before = set(sys.modules)
    yield importlib.import_module
    for name in ("conf", "stage", "api_pages", "command_pages", "gallery_page"):
        if name not in before:
            sys.modules.pop(name, None)


def test_every_public_name_is_in_one_group(docs):
    api = docs("api_pages")
    names = [name for group in api.GROUPS.values() for name in group.names]
    assert Counter(names) == Counter(set(taichimd.__all__) - {"__version__"})
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    public = re.search(r"^Public are the names.*?the commands", contributing, re.MULTILINE | re.DOTALL)[0]
    modules = [module for group in api.GROUPS.values() for module in group.modules]
    assert Counter(modules) == Counter(set(re.findall(r"`(taichimd\.\w+)`", public)) - {"taichimd.__all__"})
    paths = [path for group in api.GROUPS.values() for path in api.paths_of(group)]
    assert len(paths) == len(set(paths)) > 90
    for path in paths:
        module, _, name = path.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        assert isinstance(value, float) or value.__doc__, f"{path} has no docstring"
    assert {"taichimd.units.GPA", "taichimd.testing.assert_conforms", "taichimd.math.exp"} <= set(paths)


def test_every_observable_is_in_the_group_of_observables(docs):
    from taichimd.observables.registry import OF_RUNS, OF_TRAJECTORIES

    shown = {path.rpartition(".")[2] for path in docs("api_pages").GROUPS["observables"].others}
    assert {kind.__name__ for kind in (*OF_RUNS.values(), *OF_TRAJECTORIES.values())} <= shown


def test_settings_name_the_package_and_warnings_are_errors(docs):
    conf = docs("conf")
    assert (conf.project, conf.release, conf.html_theme) == ("taichimd", taichimd.__version__, "furo")
    lines = ["of \\|a| and |b|, `|c|`"]
    conf._keep_bars(None, "function", "f", None, None, lines)
    assert lines == ["of \\|a\\| and \\|b\\|, `|c|`"]
    rule = re.search(r"^docs:.*?\n\n", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M | re.S)[0]
    assert " -W " in rule
    assert re.search(r"^make .*\bdocs$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)


def test_pages_and_files_that_they_link_to_are_copied(docs, tmp_path, monkeypatch):
    stage = docs("stage")
    monkeypatch.setattr(stage, "STAGED", tmp_path)
    assert set(stage.copied_pages()) >= set(PAGES)
    assert (tmp_path / "potentials" / "Si.tersoff").is_file()
    text, files = stage.with_links_to_files("docs/x.md", "[a](../validation/results/) [b](units.md#time)\n")
    assert text == "[a](../validation/README.md) [b](units.md#time)\n"
    assert files == ["validation/README.md", "docs/units.md"]
    assert stage.with_links_to_files("docs/x.md", "```text\n[a](none.md)\n```\n")[1] == []
    with pytest.raises(FileNotFoundError, match=r"docs/x\.md links to none\.md, which is not there"):
        stage.with_links_to_files("docs/x.md", "[a](none.md)")


def test_contents_have_the_headings_and_pages_of_the_index(docs):
    text = docs("stage").contents("## Learn\n\n[a](a.md) [b](../B.md#c) [a](a.md) [c](c.py)\n", ("made",))
    assert ":caption: Learn\n\na\n../B\n```" in text


def test_notebooks_are_pages_without_outputs(docs):
    text = docs("stage").contents("## Learn\n\n[a](notebooks/a.ipynb)\n", ())
    assert "\n\nnotebooks/a\n```" in text
    notebooks = sorted((ROOT / "docs").rglob("*.ipynb"))
    assert len(notebooks) == 2
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for file in notebooks:
        assert f"({file.relative_to(ROOT / 'docs')})" in index
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        assert len(cells) > 5
        code = [one for one in cells if one["cell_type"] == "code"]
        assert all(one["outputs"] == [] and one["execution_count"] is None for one in code), file.name
    conf = docs("conf")
    assert (conf.nb_execution_mode, conf.nb_execution_raise_on_error) == ("force", True)


def test_every_example_and_command_has_its_place(docs):
    shown = {file for file, *_ in docs("gallery_page").examples()}
    assert shown == {
        file.name
        for file in (ROOT / "examples").iterdir()
        if file.suffix in (".py", ".toml") and file.with_suffix(".png").exists()
    }
    pages = dict(docs("command_pages").pages())
    assert {"docs/commands/index.md", "docs/commands/run.md", "docs/commands/validate.md"} <= set(pages)
    assert pages["docs/commands/run.md"].startswith("# `taichimd run`\n")
    assert "* `--potential <file>`: Parameter file" in pages["docs/commands/run.md"]
