"""What a distribution holds: licence, citation, types; and that they say the same as the package."""

import ast
import re
import tarfile
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from pages import PAGES

import taichimd

ROOT = Path(__file__).parents[2]
try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_licence_is_the_one_that_is_declared():
    assert text_of("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 the taichimd developers\n")
    assert PROJECT["project"]["license"] == "MIT"
    assert PROJECT["project"]["license-files"] == ["LICENSE"]


def test_citation_file_has_the_version_and_the_fields_that_its_format_demands():
    entries = dict(re.findall(r'^([a-z-]+): "?(.+?)"?$', text_of("CITATION.cff"), flags=re.MULTILINE))
    assert {"cff-version", "message", "title"} <= set(entries)
    assert (entries["title"], entries["license"]) == ("taichimd", "MIT")
    assert entries["version"] == taichimd.__version__
    assert '\nauthors:\n  - name: "The taichimd developers"\n' in text_of("CITATION.cff")


def test_citing_page_names_every_ensemble_and_papers_that_the_sources_name():
    from taichimd.ensembles.registry import BAROSTATS, THERMOSTATS

    page = text_of("docs/citing.md")
    assert all(f"`{name}`" in page for name in (*THERMOSTATS, *BAROSTATS))
    methods = page[page.index("**The methods.**") :]
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "taichimd").rglob("*.py"))
    dois = re.findall(r"\[(10\.\S+?)\]\(https://doi\.org/(\S+?)\)", methods)
    assert len(dois) > 10
    for shown, linked in dois:
        assert shown == linked
        assert shown in sources, f"{shown} is not in the sources"


def test_mypy_checks_all_host_code():
    """Only modules with device functions are excused of the rules that these cannot keep."""
    overrides = PROJECT["tool"]["mypy"]["overrides"]
    for module in chain.from_iterable(override["module"] for override in overrides):
        source = text_of(f"{module.replace('.', '/')}.py")
        assert re.search(r"ti\.template\(\)|@ti\.func|@kernel", source), f"{module} has no device code"


def test_type_checkers_see_every_public_name():
    """They cannot follow names that are loaded on first use; the stub has each from where it comes."""
    lines = re.findall(r"^from (\S+) import (\w+) as \2$", text_of("taichimd/__init__.pyi"), re.MULTILINE)
    assert {name: module for module, name in lines} == taichimd._PUBLIC


def test_configuration_packs_them():
    targets = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["packages"] == ["taichimd"]
    assert (ROOT / "taichimd" / "py.typed").is_file()
    assert {"LICENSE", "CITATION.cff", "docs", "taichimd"} <= set(targets["sdist"]["include"])


def test_distributions_hold_them(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    monkeypatch.chdir(ROOT)
    wheel = zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))).namelist()
    assert {"taichimd/py.typed", "taichimd/__init__.pyi", "taichimd/potentials/Si.tersoff"} <= set(wheel)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as source:
        files = {name.split("/", 1)[1] for name in source.getnames()}
    assert {"LICENSE", "CITATION.cff", "taichimd/py.typed", *PAGES} <= files


def test_contributing_names_the_targets_and_markers_that_there_are():
    page, make = text_of("CONTRIBUTING.md"), text_of("Makefile")
    targets = set(re.findall(r"`make ([a-z-]+)`", page))
    assert targets == set(re.findall(r"^([a-z-]+):", make, re.MULTILINE)) - {"clean", "demo"}
    markers = [
        marker.partition(":")[0].partition("(")[0]
        for marker in PROJECT["tool"]["pytest"]["ini_options"]["markers"]
    ]
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", page))
    assert set(markers) - {"first"} <= named
    assert {"install", "lint", "types", "wheel", "docs"} <= set(re.findall(r"[a-z-]+", text_of(".ci/run")))
    for file in re.findall(r"`((?:taichimd|tests|validation|docs)/[\w./]+)`", page):
        assert "NAME" in file or (ROOT / file).exists(), file


def test_every_version_of_python_that_is_allowed_is_tested_and_has_one_quadrants():
    workflow = text_of(".github/workflows/ci.yml")
    tested = sorted(set(re.findall(r'"(3\.\d+)"', workflow)))
    assert tested == ["3.10", "3.11", "3.12", "3.13"]
    shown = [f"Programming Language :: Python :: {version}" for version in tested]
    assert [line for line in PROJECT["project"]["classifiers"] if ":: 3." in line] == shown
    assert PROJECT["project"]["requires-python"] == ">=3.10,<3.14"
    for version in tested:
        requirements = [
            Requirement(line) for line in PROJECT["project"]["optional-dependencies"]["quadrants"]
        ]
        taken = [one for one in requirements if one.marker.evaluate({"python_version": version})]
        assert len(taken) == 1
        assert taken[0].specifier.contains("1.4.0") == (version in ("3.12", "3.13"))
        assert taken[0].specifier.contains("1.3.3") == (version in ("3.10", "3.11"))


def test_no_function_has_more_than_twelve_arguments():
    """More of them belong together: in a bundle (`core.arguments`), a view, settings."""
    found = {}
    for file in (ROOT / "taichimd").rglob("*.py"):
        for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(one, (ast.FunctionDef, ast.Lambda)):
                own = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                number = len([argument for argument in own if argument.arg not in ("self", "cls")])
                found[f"{file.name}:{one.lineno}"] = number
    assert len(found) > 1000
    assert {name: number for name, number in found.items() if number > 12} == {}


def test_typing_is_that_of_the_oldest_python():
    newer = {
        "Self",
        "Never",
        "LiteralString",
        "NotRequired",
        "Required",
        "Unpack",
        "assert_never",
        "override",
    }
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "taichimd").rglob("*.py")}
    taken = [
        (file.name, one.name)
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        for one in node.names
    ]
    assert len(taken) > 300
    assert [one for one in taken if one[1] in newer] == []
