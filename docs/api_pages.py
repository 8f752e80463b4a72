"""Pages of the public names, grouped by what a reader wants to do; Sphinx fills them from the docstrings."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from sphinx.pycode import ModuleAnalyzer


class Group(NamedTuple):
    """Names of one page.

    Attributes:
        title: of the page.
        intro: what the names are for, and the page that shows their use.
        names: of `taichimd`.
        modules: public modules whose names are all on the page.
        others: names with their modules, which the pages of the documentation use.
    """

    title: str
    intro: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_REGISTRY = "taichimd.observables.registry."
GROUPS = {
    "run": Group(
        "Run",
        "Simulations, what they write, and relaxation. {doc}`/docs/python` shows their use.",
        (
            "Simulation",
            "Engine",
            "Observer",
            "ThermoTable",
            "TrajectoryFile",
            "BondFile",
            "ThermoPlot",
            "ProgressObserver",
            "relax",
        ),
    ),
    "ensembles": Group(
        "Ensembles",
        "What a run holds constant. {doc}`/docs/ensembles/index` says which one to choose.",
        (
            "NVE",
            "Langevin",
            "Berendsen",
            "Bussi",
            "NoseHoover",
            "BerendsenNPT",
            "StochasticCellRescaling",
            "MartynaTobiasKlein",
            "combine",
            "BerendsenCell",
            "StochasticCell",
            "InertialCell",
            "Deform",
            "Source",
            "Force",
            "Spring",
            "Wall",
            "Indenter",
            "Move",
            "Drag",
            "Momentum",
            "Insert",
            "Delete",
            "Group",
        ),
        others=(
            "taichimd.ensembles.thermostats.base.Thermostat",
            "taichimd.ensembles.barostats.base.CellMotion",
        ),
    ),
    "calculators": Group(
        "Calculators",
        "taichimd inside ASE and LAMMPS. "
        "{doc}`/docs/howto/ase` and {doc}`/docs/howto/lammps` show their use.",
        ("TaichiMD",),
        ("taichimd.lammps",),
    ),
    "forcefields": Group(
        "Force fields",
        "The force fields that come with taichimd. {doc}`/docs/choose` says which one to choose.",
        (
            "load_forcefield",
            "LennardJones",
            "StillingerWeber",
            "Vashishta",
            "Tersoff",
            "EmbeddedAtom",
            "buckingham",
            "born_mayer",
            "morse",
            "zbl",
            "ReaxFF",
            "AxilrodTeller",
            "triple_energy",
        ),
    ),
    "own": Group(
        "Own potentials",
        "Potentials from functions or other programs. {doc}`/docs/forcefields/own` and "
        "{doc}`/docs/forcefields/external` show their use.",
        (
            "pair_potential",
            "triplet_potential",
            "ManyBody",
            "neighbour_sum",
            "each_atom",
            "pair_forces",
            "bond_order",
            "table",
            "ExternalPotential",
            "PotentialResult",
            "from_ase",
        ),
        ("taichimd.math",),
    ),
    "observables": Group(
        "Observables",
        "What is measured during a run or from a trajectory, and averages with error bars. "
        "{doc}`/docs/howto/observe`, {doc}`/docs/howto/analyze` and {doc}`/docs/howto/error_bars` "
        "show their use.",
        ("Sampler",),
        others=(
            *(
                _REGISTRY + name
                for name in (
                    "Rdf",
                    "Msd",
                    "Vacf",
                    "Heat",
                    "Viscosity",
                    "Species",
                    "Bonds",
                    "ReactionEvents",
                    "Dipole",
                    "Ir",
                    "Interface",
                    "Angles",
                    "Flow",
                    "Profile",
                    "Spectrum",
                )
            ),
            "taichimd.estimators.average.Average",
            "taichimd.estimators.average.average_of",
            "taichimd.estimators.average.inefficiency_of",
            "taichimd.estimators.bonds.bond_structure",
            "taichimd.estimators.transport.green_kubo_conductivity",
            "taichimd.estimators.transport.green_kubo_viscosity",
            "taichimd.estimators.transport.hnemd_conductivity",
        ),
    ),
    "monte_carlo": Group(
        "Monte Carlo",
        "Metropolis Monte Carlo from Python. {doc}`/docs/howto/monte_carlo` shows its use.",
        others=("taichimd.sampling.chain.MonteCarlo", "taichimd.sampling.chain.Sampled"),
    ),
    "batches": Group(
        "Batches",
        "Many systems in one launch. {doc}`/docs/howto/many` shows their use.",
        (
            "Simulations",
            "Batch",
            "BatchCalculators",
            "evaluate_many",
            "second_order",
            "third_order",
            "write_force_constants",
        ),
    ),
    "testing": Group(
        "Testing",
        "Checks of force fields, and structures for tests. {doc}`/docs/howto/validate` shows their use.",
        ("check_forcefield", "validate"),
        ("taichimd.testing",),
    ),
    "errors": Group(
        "Errors and units",
        "What taichimd raises, and factors of units. {doc}`/docs/units` lists the units of every quantity.",
        modules=("taichimd.errors", "taichimd.units"),
    ),
}
_NOT_PROMISED = (
    "The names of longer module paths, such as `taichimd.estimators.average`, may change in any release. "
    "{doc}`/CONTRIBUTING` says what is public."
)


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page, the overview first."""
    listed = "\n".join(f"{group.title} <{key}>" for key, group in GROUPS.items())
    rows = "".join(f"- {{doc}}`{key}`: {group.intro.split('. ')[0]}.\n" for key, group in GROUPS.items())
    yield (
        "docs/api/index.md",
        f"# Python interface\n\n`import taichimd` loads a name on its first use.\n\n{rows}\n"
        f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )
    for key, group in GROUPS.items():
        note = f"\n{_NOT_PROMISED}\n" if group.others else ""
        entries = "\n".join(_entry(path) for path in paths_of(group))
        yield (
            f"docs/api/{key}.md",
            f"# {group.title}\n\n{group.intro}\n{note}\n```{{eval-rst}}\n{entries}\n```\n",
        )


def paths_of(group: Group) -> list[str]:
    """Every name of a group, with the module from where a user imports it."""
    whole = [f"{name}.{member}" for name in group.modules for member in members_of(import_module(name))]
    return [*(f"taichimd.{name}" for name in group.names), *whole, *group.others]


def members_of(module: ModuleType) -> list[str]:
    """Public names of a module: its `__all__`, or else what it defines and exports (`import X as X`)."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    documented = {name for _, name in ModuleAnalyzer.for_module(module.__name__).find_attr_docs()}
    source = inspect.getsource(module)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (
            name in documented
            or f"import {name} as {name}" in source
            or getattr(value, "__module__", "") == module.__name__
        )
    ]


def _entry(path: str) -> str:
    """What Sphinx is to write about a name."""
    module, _, name = path.rpartition(".")
    value = getattr(import_module(module), name)
    if isinstance(value, type) and issubclass(value, BaseException):
        return f".. autoexception:: {path}\n   :show-inheritance:\n"
    if isinstance(value, type):
        outside = [one.__name__ for one in value.__mro__ if not one.__module__.startswith("taichimd")]
        inherited = f"   :inherited-members: {', '.join(outside)}\n"
        return f".. autoclass:: {path}\n   :members:\n{inherited}   :show-inheritance:\n"
    if callable(value):
        return f".. autofunction:: {path}\n"
    return f".. py:data:: {path}\n   :value: {value!r}\n\n   {_docs_of(module, name)}\n"


def _docs_of(module: str, name: str) -> str:
    """The docstring below a constant, in its module or in the one of the core that it comes from."""
    for source in (module, module.replace("taichimd.", "taichimd.core.", 1)):
        try:
            docs = ModuleAnalyzer.for_module(source).find_attr_docs()
        except Exception:
            continue
        if ("", name) in docs:
            return " ".join(docs["", name]).strip()
    return ""
