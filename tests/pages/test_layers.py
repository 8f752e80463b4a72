"""Data flow in one direction: nothing imports what consumes it, and importing the package starts nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import taichimd

PACKAGE = Path(taichimd.__file__).parent
LAYERS = [
    "core",
    "estimators",
    "system",
    "exchange",
    "neighbours",
    "enumerate",
    "forcefields",
    "ensembles",
    "program",
    "settings",
    "io",
    "observables",
    "app",
    "relaxation",
    "transport",
    "sampling",
    "sequences",
    "parallel",
    "lammps",
    "report",
    "validation",
    "cli",
]
"""Packages, one to a row: a module imports from its own and from those above it."""
DOORS = [
    "__version__",
    "math",
    "units",
    "errors",
    "copied_calculator",
    "testing",
    "calculator",
    "batch_calculators",
    "force_constants",
    "ase_plugin",
    "__main__",
]
"""Modules of the package itself, which a user imports: each from packages and from modules above it."""
RANK = {name: rank for rank, name in enumerate([*LAYERS, *DOORS])}


def package(module):
    """The package of a module, or the module itself if it stands in none."""
    return module.split(".")[0]


def imports(file, typing=False):
    """Modules of taichimd that a file imports, anywhere in it, without the package's name.

    Args:
        file: of the package.
        typing: whether imports under TYPE_CHECKING count.
    """
    tree = ast.parse(file.read_text())
    if not typing:
        # What only a type checker sees binds nothing.
        tree.body = [
            n for n in tree.body if not (isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
        ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                a.name.removeprefix("taichimd.") for a in node.names if a.name.startswith("taichimd.")
            )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "taichimd":
            base = node.module.removeprefix("taichimd").lstrip(".")
            for alias in node.names:
                one = f"{base}.{alias.name}".lstrip(".")
                yield one if one in FILES else base or alias.name


FILES = {".".join(f.relative_to(PACKAGE).with_suffix("").parts): f for f in sorted(PACKAGE.rglob("*.py"))}
FILES = {
    name: file
    for name, file in FILES.items()
    if not name.endswith("__init__") and not name.startswith("potentials")
}


@pytest.mark.parametrize("name", FILES)
def test_a_module_imports_only_from_packages_upstream(name):
    own = package(name)
    assert own in RANK, f"{own} has no place in LAYERS: give it one"
    others = {m for m in imports(FILES[name]) if package(m) not in (own, "__version__")}
    downstream = sorted(m for m in others if RANK[package(m)] > RANK[own])
    assert not downstream, f"{name} imports {downstream}, which are downstream of it"


def circles(uses):
    """Sets of files each of which uses the others, through any number of files between.

    Args:
        uses: of each file the files that it imports.
    """
    reach = {name: set() for name in uses}
    for name, seen in reach.items():
        left = [name]
        while left:
            left += [one for one in uses[left.pop()] if one not in seen and not seen.add(one)]
    return {frozenset(o for o in reach[name] if name in reach[o]) for name in uses if name in reach[name]}


@pytest.mark.parametrize("own", LAYERS)
def test_no_circle_of_files_within_a_package(own):
    mine = {name: file for name, file in FILES.items() if package(name) == own}
    found = circles({name: set(imports(file, typing=True)) & mine.keys() for name, file in mine.items()})
    assert not found, f"files that import each other: {[sorted(one) for one in found]}"


def test_circles_are_found():
    uses = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"e"}}
    assert circles(uses) == {frozenset("abc"), frozenset("e")}


def test_modules_and_their_imports_are_found():
    assert len(FILES) > 250
    assert sum(len(set(imports(file))) for file in FILES.values()) > 1000


def test_only_runtime_starts_the_runtime():
    starters = [name for name, file in FILES.items() if "ti.init(" in file.read_text()]
    assert starters == ["core.runtime"]
    direct = [
        n
        for n, f in FILES.items()
        if "import taichi\n" in f.read_text() or "import quadrants" in f.read_text()
    ]
    assert not direct, f"{direct} must say `from taichimd.core.runtime import ti`"


@pytest.mark.parametrize(
    "module", ["taichimd", "taichimd.ase_plugin", "taichimd.core.errors", "taichimd.forcefields.library"]
)
def test_importing_starts_no_runtime(module):
    heavy = ("taichi", "quadrants", "sympy", "matplotlib")
    code = f"import sys, {module}; print(*[m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [], "imported too early"


def test_public_names_are_there():
    for name in taichimd.__all__:
        assert getattr(taichimd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = taichimd.nonsense
