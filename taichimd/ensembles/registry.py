"""The ensembles that a user chooses from, in the user's units: what is held constant.

Each has a file in `thermostats` or `barostats`.

| name | thermostat | distribution | degrees of freedom |
| --- | --- | --- | --- |
| nve | none | microcanonical | 3N - 3 |
| nvt-langevin | friction and noise on every atom | canonical | 3N: the centre of mass diffuses |
| nvt-berendsen | weak coupling | none: for equilibration | 3N - 3 |
| nvt-bussi | stochastic velocity rescaling | canonical | 3N - 3 |
| nvt-nose-hoover | a chain of three | canonical where the motion is ergodic | 3N - 3 |

| name | cell | thermostat | distribution |
| --- | --- | --- | --- |
| npt-berendsen | weak coupling | Berendsen | none: for equilibration |
| npt-scr | stochastic cell rescaling | Bussi | isothermal-isobaric |
| npt-mtk | Martyna-Tobias-Klein, with friction and noise | Bussi | isothermal-isobaric |

A thermostat and a motion of the cell are two objects that combine (`combinations`): npt-CELL-THERMOSTAT is
any other pair that makes sense, nph-berendsen a cell without a thermostat.

With F > 0 fixed atoms degrees of freedom are 3 (N - F) in all of them: what holds these takes up momentum,
and no centre of mass rests. Every ensemble but those of Berendsen's cell keeps account of the energy that
bath and cell have received; total energy less that is conserved but for the error of velocity Verlet.
"""

from collections.abc import Mapping
from typing import Any

from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.barostats.berendsen import BerendsenCell
from taichimd.ensembles.barostats.deformation import deformed
from taichimd.ensembles.barostats.martyna_tobias_klein import InertialCell
from taichimd.ensembles.barostats.stochastic_cell_rescaling import StochasticCell
from taichimd.ensembles.combinations import (
    BerendsenNPT,
    Deform,
    MartynaTobiasKlein,
    StochasticCellRescaling,
    combination,
    combine,
    why_not_together,
)
from taichimd.ensembles.thermostats.base import NVE, Ensemble, Thermostat
from taichimd.ensembles.thermostats.berendsen import Berendsen
from taichimd.ensembles.thermostats.bussi import Bussi
from taichimd.ensembles.thermostats.langevin import Langevin
from taichimd.ensembles.thermostats.nose_hoover import NoseHoover

__all__ = [
    "BAROSTATS", "COMBINED", "ENSEMBLES", "MOTIONS", "NVE", "THERMOSTATS", "Berendsen", "BerendsenCell",
    "BerendsenNPT", "Bussi", "CellMotion", "Deform", "Ensemble", "InertialCell", "Langevin",
    "MartynaTobiasKlein", "NoseHoover", "StochasticCell", "StochasticCellRescaling", "Thermostat", "combine",
    "deformed", "ensemble_class",
]  # fmt: skip

THERMOSTATS: dict[str, type[Thermostat]] = {
    kind.name: kind for kind in (Langevin, Berendsen, Bussi, NoseHoover)
}
MOTIONS: dict[str, type[CellMotion]] = {
    kind.name: kind for kind in (BerendsenCell, StochasticCell, InertialCell)
}
BAROSTATS: dict[str, type[CellMotion]] = {
    kind.name: kind for kind in (BerendsenNPT, StochasticCellRescaling, MartynaTobiasKlein)
}
"""Motions of the cell with the thermostats of their papers."""
_ALL = [
    combination(thermostat, motion)
    for motion in MOTIONS.values()
    for thermostat in (*THERMOSTATS.values(), NVE)
    if why_not_together(thermostat, motion) is None
]
COMBINED: dict[str, type[CellMotion]] = {**BAROSTATS, **{kind.name: kind for kind in _ALL}}
"""All motions of the cell, each with each thermostat that it combines with."""
ENSEMBLES: dict[str, type[Ensemble]] = {NVE.name: NVE, **THERMOSTATS, **COMBINED}


def ensemble_class(settings: Mapping[str, Any]) -> type[Ensemble]:
    """The class of the ensemble of settings by the names of options (a record); NVE of an unknown name."""
    kind = ENSEMBLES.get(settings.get("ensemble", ""), NVE)
    return deformed(kind) if settings.get("stretch") or settings.get("shear") else kind
