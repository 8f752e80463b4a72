"""Molecular dynamics with many-body potentials, written once in Python.

Importing this package starts no Taichi; names are loaded on first use.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "TaichiMD": "taichimd.calculator",
    "Engine": "taichimd.program.engine",
    "Batch": "taichimd.program.batch",
    "BatchCalculators": "taichimd.batch_calculators",
    "evaluate_many": "taichimd.batch_calculators",
    "second_order": "taichimd.force_constants",
    "third_order": "taichimd.force_constants",
    "write_force_constants": "taichimd.force_constants",
    "Simulation": "taichimd.app.simulation",
    "Simulations": "taichimd.app.simulation",
    "Observer": "taichimd.app.observer",
    "Sampler": "taichimd.app.observer",
    "ThermoTable": "taichimd.app.outputs",
    "TrajectoryFile": "taichimd.app.outputs",
    "BondFile": "taichimd.app.bond_file",
    "ThermoPlot": "taichimd.app.thermo_plot",
    "ProgressObserver": "taichimd.app.progress",
    "relax": "taichimd.relaxation.relax",
    "ExternalPotential": "taichimd.forcefields.contract",
    "PotentialResult": "taichimd.forcefields.contract",
    "from_ase": "taichimd.forcefields.ase_calculators",
    "NVE": "taichimd.ensembles.registry",
    "Langevin": "taichimd.ensembles.registry",
    "Berendsen": "taichimd.ensembles.registry",
    "Bussi": "taichimd.ensembles.registry",
    "NoseHoover": "taichimd.ensembles.registry",
    "BerendsenNPT": "taichimd.ensembles.registry",
    "BerendsenCell": "taichimd.ensembles.registry",
    "InertialCell": "taichimd.ensembles.registry",
    "StochasticCell": "taichimd.ensembles.registry",
    "combine": "taichimd.ensembles.registry",
    "Deform": "taichimd.ensembles.registry",
    "Source": "taichimd.ensembles.groups.source",
    "Delete": "taichimd.exchange.delete",
    "Drag": "taichimd.ensembles.drives.motion",
    "Force": "taichimd.ensembles.drives.force",
    "Insert": "taichimd.exchange.insert",
    "Indenter": "taichimd.ensembles.drives.indenter",
    "Momentum": "taichimd.ensembles.drives.motion",
    "Move": "taichimd.ensembles.drives.motion",
    "Spring": "taichimd.ensembles.drives.spring",
    "Wall": "taichimd.ensembles.drives.wall",
    "Group": "taichimd.system.groups",
    "StochasticCellRescaling": "taichimd.ensembles.registry",
    "MartynaTobiasKlein": "taichimd.ensembles.registry",
    "LennardJones": "taichimd.forcefields.lennard_jones",
    "AxilrodTeller": "taichimd.forcefields.axilrod_teller",
    "triple_energy": "taichimd.program.triple_energy",
    "StillingerWeber": "taichimd.forcefields.stillinger_weber",
    "Tersoff": "taichimd.forcefields.tersoff",
    "ReaxFF": "taichimd.forcefields.reaxff.forcefield",
    "Vashishta": "taichimd.forcefields.vashishta",
    "pair_potential": "taichimd.forcefields.declare",
    "triplet_potential": "taichimd.forcefields.declare",
    "check_forcefield": "taichimd.program.check",
    "validate": "taichimd.validation.suite",
    "load_forcefield": "taichimd.forcefields.load",
    "ManyBody": "taichimd.forcefields.passes",
    "neighbour_sum": "taichimd.forcefields.passes",
    "each_atom": "taichimd.forcefields.passes",
    "pair_forces": "taichimd.forcefields.passes",
    "table": "taichimd.forcefields.tabulated",
    "buckingham": "taichimd.forcefields.pair_forms",
    "born_mayer": "taichimd.forcefields.pair_forms",
    "morse": "taichimd.forcefields.pair_forms",
    "zbl": "taichimd.forcefields.pair_forms",
    "bond_order": "taichimd.forcefields.own_bond_order",
    "EmbeddedAtom": "taichimd.forcefields.eam",
}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'taichimd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
