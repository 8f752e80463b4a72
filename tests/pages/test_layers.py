"""Data flow in one direction: nothing imports what consumes it, and importing the package starts nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import taichimd

pytestmark = pytest.mark.once

PACKAGE = Path(taichimd.__file__).parent
LAYERS = [
    [
        "core.printable",
        "core.errors",
        "core.saved",
        "core.seeds",
        "core.units",
        "core.tracing",
        "core.scalars",
        "core.numerals",
        "core.matrix3",
        "core.signals",
        "core.generated",
        "core.processes",
        "core.kernel_cache",
        "core.terminal",
        "core.names",
        "core.exclusive",
        "core.cuda_driver",
    ],
    ["core.runtime"],
    ["core.launches"],
    ["core.arguments", "core.memory", "core.math", "core.philox", "core.streams"],
    [
        "core.host_copies",
        "core.random",
        "core.warps",
        "forcefields.formats",
        "forcefields.library",
        "observables.estimators",
    ],
    ["system.state", "system.cell", "system.batch_cell", "system.constraints", "neighbours"],
    ["forcefields", "enumerate"],
    [
        "dynamics",
        "program.totals",
        "program.heat",
        "program.results",
        "system.checks",
        "observables.samplers",
        "program",
    ],
    ["program.device", "program.decomposition", "program.explosion"],
    ["program.accepted"],
    [
        "program.engine",
        "program.batch",
        "program.ghosts",
        "program.member",
        "program.energy_terms",
        "forcefields.check",
        "forcefields.ends",
    ],
    ["relaxation.cell", "relaxation.fire", "relaxation.kernels"],
    [
        "sampling.batch",
        "sampling.best_moves",
        "sampling.block_moves",
        "sampling.board",
        "sampling.conditions",
        "sampling.local_energy",
        "sampling.proposals",
        "sampling.rates",
        "sampling.sequence",
        "sampling.sequence_kernels",
        "sampling.singles",
        "sampling.sweep",
        "sampling.tally",
    ],
    ["app.job_file", "app.setting_types", "app.declared", "app.settings", "app.trust_option"],
    ["app.trust"],
    ["app.config", "system", "io"],
    ["observables.numbers"],
    ["app.averages"],
    ["app.notes"],
    ["app.observer", "app.loop", "app.simulation", "app.simulations", "app.saving", "app.restart"],
    [
        "app.outputs",
        "app.bond_file",
        "app.checkpoint_keeper",
        "app.console",
        "app.progress",
        "app.thermo_plot",
        "app.profile",
        "app.summary",
        "observables",
    ],
    ["observables.observing", "observables.transport"],
    ["app.job", "relaxation", "sequences"],
    ["app.supervised", "app.run"],
    ["sampling.chain", "sampling.settings"],
    ["sampling"],
    ["app.driver"],
    ["app.members", "app.batch_table"],
    ["app.together"],
    ["app.sweep"],
    ["copied_calculator", "testing", "lammps", "parallel"],
    ["math", "units", "errors"],
    ["calculator"],
    ["batch_calculators"],
    ["ase_plugin", "cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def rank(module):
    """Rank of the longest name that covers a module; None outside the layers."""
    parts = module.split(".")
    return next((RANK[".".join(parts[:k])] for k in (2, 1) if ".".join(parts[:k]) in RANK), None)


def imports(file):
    """Modules of taichimd that a file imports, anywhere in it, without the package's name."""
    tree = ast.parse(file.read_text())
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
def test_a_module_imports_only_what_is_upstream(name):
    own = rank(name)
    assert own is not None, f"{name} has no place in LAYERS: give it one"
    downstream = [m for m in imports(FILES[name]) if (rank(m) or 0) > own]
    assert not downstream, f"{name} imports {downstream}, which are downstream of it"


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
