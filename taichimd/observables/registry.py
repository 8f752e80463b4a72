"""All observables. To add one, write its class in a file of its own and name it here."""

from taichimd.observables.angles import Angles
from taichimd.observables.bonds import Bonds
from taichimd.observables.dipole import Dipole, Ir
from taichimd.observables.flow import Flow
from taichimd.observables.green_kubo import Heat, Viscosity
from taichimd.observables.interface import Interface
from taichimd.observables.msd import Msd
from taichimd.observables.observable import RunObservable, TrajectoryObservable
from taichimd.observables.profile import Profile
from taichimd.observables.rdf import Rdf
from taichimd.observables.reactions import ReactionEvents
from taichimd.observables.species import Species
from taichimd.observables.spectrum import Spectrum
from taichimd.observables.vacf import Vacf

_OF_RUNS = (
    Rdf, Msd, Vacf, Heat, Viscosity, Species, Bonds, ReactionEvents, Dipole, Ir, Flow, Profile, Spectrum,
    Interface,
)  # fmt: skip
OF_RUNS: dict[str, type[RunObservable]] = {kind.name: kind for kind in _OF_RUNS}
"""What a run can observe, by the words of `--observe`."""
OF_TRAJECTORIES: dict[str, type[TrajectoryObservable]] = {
    kind.name: kind for kind in (Rdf, Angles, Msd, Vacf)
}
"""What `taichimd analyze` can find, in the order of its results."""
