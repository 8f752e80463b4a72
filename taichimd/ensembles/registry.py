"""What is held constant: the ensembles a user chooses from, in the user's units; a file of `thermostats` or `barostats` each.

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

With F > 0 fixed atoms degrees of freedom are 3 (N - F) in all of them: what holds these takes up momentum, and no centre of
mass rests. Every ensemble but npt-berendsen keeps account of the energy that bath and cell have received; total energy less
that is conserved but for the error of velocity Verlet.
"""

from taichimd.ensembles.barostats.base import Barostat
from taichimd.ensembles.barostats.berendsen import BerendsenNPT
from taichimd.ensembles.barostats.martyna_tobias_klein import MartynaTobiasKlein
from taichimd.ensembles.barostats.stochastic_cell_rescaling import StochasticCellRescaling
from taichimd.ensembles.thermostats.base import NVE, Ensemble, Thermostat
from taichimd.ensembles.thermostats.berendsen import Berendsen
from taichimd.ensembles.thermostats.bussi import Bussi
from taichimd.ensembles.thermostats.langevin import Langevin
from taichimd.ensembles.thermostats.nose_hoover import NoseHoover

THERMOSTATS: dict[str, type[Thermostat]] = {
    kind.name: kind for kind in (Langevin, Berendsen, Bussi, NoseHoover)
}
BAROSTATS: dict[str, type[Barostat]] = {
    kind.name: kind for kind in (BerendsenNPT, StochasticCellRescaling, MartynaTobiasKlein)
}
ENSEMBLES: dict[str, type[Ensemble]] = {NVE.name: NVE, **THERMOSTATS, **BAROSTATS}
