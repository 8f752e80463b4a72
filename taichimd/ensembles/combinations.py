"""A thermostat and a motion of the cell as one ensemble: which combine, and the classes of those that do.

The class of a combination inherits both: it has the parameters of both, and each does its part of what is
asked.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from taichimd.core.errors import SettingsError
from taichimd.core.strain_rates import SHEARED, STRETCHED
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.barostats.berendsen import BerendsenCell
from taichimd.ensembles.barostats.deformation import deformed
from taichimd.ensembles.barostats.martyna_tobias_klein import InertialCell
from taichimd.ensembles.barostats.stochastic_cell_rescaling import StochasticCell
from taichimd.ensembles.thermostats.base import NVE, Ensemble, Thermostat
from taichimd.ensembles.thermostats.berendsen import Berendsen
from taichimd.ensembles.thermostats.bussi import Bussi


@dataclass(frozen=True)
class BerendsenNPT(BerendsenCell, Berendsen):
    """Weak coupling of temperature and pressure: `Berendsen` with `BerendsenCell`.

    `Thermostat` and `CellMotion` describe all arguments.

    >>> from ase.build import bulk
    >>> from taichimd import BerendsenNPT, Simulation
    >>> bath = BerendsenNPT(600.0, pressure=1.0, bulk_modulus=98.0)
    >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
    >>> round(simulation.thermo().temperature)
    600
    """

    name: ClassVar[str] = "npt-berendsen"


@dataclass(frozen=True)
class StochasticCellRescaling(StochasticCell, Bussi):
    """The isothermal-isobaric ensemble without inertia of the cell: `Bussi` with `StochasticCell`.

    `Thermostat` and `CellMotion` describe all arguments.

    >>> from ase.build import bulk
    >>> from taichimd import StochasticCellRescaling, Simulation
    >>> bath = StochasticCellRescaling(600.0, pressure=1.0, bulk_modulus=98.0)
    >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
    >>> round(simulation.thermo().temperature)
    600
    """

    name: ClassVar[str] = "npt-scr"


@dataclass(frozen=True)
class MartynaTobiasKlein(InertialCell, Bussi):
    """The isothermal-isobaric ensemble with inertia of the cell: `Bussi` with `InertialCell`.

    `Thermostat` and `CellMotion` describe all arguments.

    >>> from ase.build import bulk
    >>> from taichimd import MartynaTobiasKlein, Simulation
    >>> bath = MartynaTobiasKlein(600.0, pressure=(1.0, 1.0, 0.0), control="orthorhombic")
    >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
    >>> round(simulation.thermo().temperature)
    600
    """

    name: ClassVar[str] = "npt-mtk"


_MADE: dict[tuple[type[Ensemble], type[CellMotion]], type[CellMotion]] = {
    (Berendsen, BerendsenCell): BerendsenNPT,
    (Bussi, StochasticCell): StochasticCellRescaling,
    (Bussi, InertialCell): MartynaTobiasKlein,
}
"""Classes of combinations: at first those of their own, which have the names of the motions alone."""


def why_not_together(thermostat: type[Ensemble], motion: type[CellMotion]) -> str | None:
    """Why a thermostat (`NVE`: none) and a motion of the cell do not combine; None if they do."""
    if motion.has_noise and not thermostat.acts_on:
        return (
            f"{motion.__name__} has noise of a thermostat's temperature, and there is no thermostat; combine "
            "it with Langevin, Bussi or NoseHoover"
        )
    if motion.has_noise and not thermostat.samples:
        return (
            f"{motion.__name__} samples an ensemble, and {thermostat.__name__} does not; combine it with "
            "Langevin, Bussi or NoseHoover"
        )
    return None


def combination(thermostat: type[Ensemble], motion: type[CellMotion]) -> type[CellMotion]:
    """The class of a thermostat (`NVE`: none) and a motion of the cell, with the parameters of both."""
    why = why_not_together(thermostat, motion)
    if why:
        raise SettingsError(why)
    if (thermostat, motion) in _MADE:
        return _MADE[thermostat, motion]
    label = thermostat.name.removeprefix("nvt-")
    name = f"npt-{motion.name}-{label}" if thermostat.acts_on else f"nph-{motion.name}"
    more = {"name": name, "__module__": __name__, "__doc__": f"{thermostat.__name__} with {motion.__name__}."}
    made: type[CellMotion] = dataclass(frozen=True)(
        type(f"{motion.__name__}With{thermostat.__name__}", (motion, thermostat), more)
    )
    _MADE[thermostat, motion] = made
    return made


@dataclass(frozen=True, kw_only=True)
class Deform:
    """A deformation of the cell at given rates, for `combine`.

        >>> from taichimd import Bussi, Deform, StochasticCell, combine
        >>> pulled = combine(Bussi(300.0), Deform(x="1e9/s"))
        >>> sheared = combine(Bussi(90.0), Deform(xy="1e10/s"))  # SLLOD
        >>> free_sides = StochasticCell(control="orthorhombic", axes="yz")
        >>> combine(Bussi(300.0), free_sides, Deform(x="1e9/s")).stretch
        'x=1e9/s'

    Args:
        x, y, z: rates of the lengths, such as "1e9/s" or "0.01/ps"; numbers are in 1/s.
        yz, xz, xy: shear rates; xy is du_x/dy.
        kind: "engineering": lengths and tilts are linear in time, L = L0 (1 + e t); "true": the velocity
            gradient is constant, L = L0 exp(e t). A shear alone has the rate du_x/dy in both.
        remap: "positions": atoms follow the cell and keep their velocities, for solids; "peculiar": SLLOD,
            for fluids; None: "peculiar" with a shear, else "positions".
        period: steps between actions, if there is no barostat; a barostat has its own `period`. SLLOD acts in
            each step.

    Raises:
        SettingsError: no rate is given, or a rate cannot be read.
    """

    x: str | float | None = None
    y: str | float | None = None
    z: str | float | None = None
    yz: str | float | None = None
    xz: str | float | None = None
    xy: str | float | None = None
    kind: str = "engineering"
    remap: str | None = None
    period: int = 10

    def __post_init__(self) -> None:
        deformed(NVE)(**self.settings, period=self.period)

    def _text(self, names: tuple[str, ...]) -> str | None:
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        texts = [f"{name}={one if isinstance(one, str) else repr(float(one))}" for name, one in given.items()]
        return ",".join(texts).replace(" ", "") or None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of ensembles that deform."""
        own = {"strain_rate": self.kind, "remap": self.remap}
        return {"stretch": self._text(STRETCHED), "shear": self._text(SHEARED), **own}


def combine(
    thermostat: Thermostat | None, motion: CellMotion | Deform, deform: Deform | None = None
) -> CellMotion:
    """The ensemble of a thermostat and a motion of the cell: a barostat, a deformation, or both.

        >>> from taichimd import NoseHoover, StochasticCell, combine
        >>> motion = StochasticCell(pressure=1.0, control="triclinic")
        >>> combine(NoseHoover(300.0, coupling_time=200.0), motion).name
        'npt-scr-nose-hoover'

    Args:
        thermostat: a thermostat, such as `Langevin(300.0)`; None: no thermostat.
        motion: `BerendsenCell`, `StochasticCell`, `InertialCell` or `Deform`. The barostat has the ramp of
            the thermostat.
        deform: a deformation of axes that the barostat does not control.

    Returns:
        An ensemble with the parameters of all, for `Simulation(..., ensemble=...)`.

    Raises:
        SettingsError: the arguments do not combine, or have different ramps.
    """
    if isinstance(motion, Deform):
        if deform is not None:
            raise SettingsError("combine has two deformations; give all rates to one Deform")
        _check_kind(thermostat, Thermostat, "a thermostat such as Langevin(300.0), or None")
        kind: type[Ensemble] = NVE if thermostat is None else type(thermostat)
        own = (
            {}
            if thermostat is None
            else {one.name: getattr(thermostat, one.name) for one in fields(thermostat)}
        )
        return deformed(kind)(**own, **motion.settings, period=motion.period)
    ensemble = _combined(thermostat, motion)
    if deform is None:
        return ensemble
    if not isinstance(deform, Deform):
        raise SettingsError(f'{deform!r} cannot be combined: expected one such as Deform(x="1e9/s")')
    own = {one.name: getattr(ensemble, one.name) for one in fields(ensemble)}
    return deformed(type(ensemble))(**own, **deform.settings)


def _check_kind(one: object, kind: type[Ensemble], expected: str) -> None:
    """Raise a SettingsError if what is combined is neither None nor of a kind alone."""
    both = isinstance(one, Thermostat) and isinstance(one, CellMotion)
    if both or not (isinstance(one, kind) or (one is None and kind is Thermostat)):
        raise SettingsError(f"{one!r} cannot be combined: expected {expected}")


def _combined(thermostat: Thermostat | None, motion: CellMotion) -> CellMotion:
    """The ensemble of a thermostat and a barostat."""
    _check_kind(thermostat, Thermostat, "a thermostat such as Langevin(300.0), or None")
    _check_kind(motion, CellMotion, "a motion of the cell such as StochasticCell(pressure=1.0)")
    ramps = {one.ramp for one in (thermostat, motion) if one is not None and one.ramp is not None}
    if len(ramps) > 1:
        first, second = (None if one is None else one.ramp for one in (thermostat, motion))
        raise SettingsError(
            f"ramp = {first} of the thermostat, {second} of the cell: give both the same steps"
        )
    given: dict[str, Any] = {}
    for one in (thermostat, motion):
        if one is not None:
            given |= {field.name: getattr(one, field.name) for field in fields(one)}
    kind_of_thermostat = NVE if thermostat is None else type(thermostat)
    return combination(kind_of_thermostat, type(motion))(**(given | {"ramp": next(iter(ramps), None)}))
