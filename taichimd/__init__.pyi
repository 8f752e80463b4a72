"""What type checkers see of the public names, which `__init__.py` loads on first use."""

from taichimd.app.bond_file import BondFile as BondFile
from taichimd.app.observer import Observer as Observer
from taichimd.app.observer import Sampler as Sampler
from taichimd.app.outputs import ThermoTable as ThermoTable
from taichimd.app.outputs import TrajectoryFile as TrajectoryFile
from taichimd.app.progress import ProgressObserver as ProgressObserver
from taichimd.app.simulation import Simulation as Simulation
from taichimd.app.simulation import Simulations as Simulations
from taichimd.app.thermo_plot import ThermoPlot as ThermoPlot
from taichimd.batch_calculators import BatchCalculators as BatchCalculators
from taichimd.batch_calculators import evaluate_many as evaluate_many
from taichimd.calculator import TaichiMD as TaichiMD
from taichimd.ensembles.registry import NVE as NVE
from taichimd.ensembles.registry import Berendsen as Berendsen
from taichimd.ensembles.registry import BerendsenNPT as BerendsenNPT
from taichimd.ensembles.registry import Bussi as Bussi
from taichimd.ensembles.registry import Langevin as Langevin
from taichimd.ensembles.registry import MartynaTobiasKlein as MartynaTobiasKlein
from taichimd.ensembles.registry import NoseHoover as NoseHoover
from taichimd.ensembles.registry import StochasticCellRescaling as StochasticCellRescaling
from taichimd.forcefields.ase_calculators import from_ase as from_ase
from taichimd.forcefields.axilrod_teller import AxilrodTeller as AxilrodTeller
from taichimd.forcefields.contract import ExternalPotential as ExternalPotential
from taichimd.forcefields.contract import PotentialResult as PotentialResult
from taichimd.forcefields.declare import pair_potential as pair_potential
from taichimd.forcefields.declare import triplet_potential as triplet_potential
from taichimd.forcefields.lennard_jones import LennardJones as LennardJones
from taichimd.forcefields.load import load_forcefield as load_forcefield
from taichimd.forcefields.passes import ManyBody as ManyBody
from taichimd.forcefields.passes import each_atom as each_atom
from taichimd.forcefields.passes import neighbour_sum as neighbour_sum
from taichimd.forcefields.passes import pair_forces as pair_forces
from taichimd.forcefields.reaxff.forcefield import ReaxFF as ReaxFF
from taichimd.forcefields.stillinger_weber import StillingerWeber as StillingerWeber
from taichimd.forcefields.tersoff import Tersoff as Tersoff
from taichimd.forcefields.vashishta import Vashishta as Vashishta
from taichimd.program.batch import Batch as Batch
from taichimd.program.check import check_forcefield as check_forcefield
from taichimd.program.engine import Engine as Engine
from taichimd.program.triple_energy import triple_energy as triple_energy
from taichimd.relaxation.relax import relax as relax
from taichimd.validation.suite import validate as validate

__version__: str
