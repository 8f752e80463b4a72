"""The device functions of an ensemble, as kernels of steps call them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import Kernel
from taichimd.core.runtime import DeviceFunction


@dataclass(frozen=True)
class AtomFunctions:
    """Device functions of what acts on each atom alone.

    Attributes:
        prepare: once for a time step. refresh: the new velocity of an atom.
    """

    prepare: DeviceFunction
    refresh: DeviceFunction


@dataclass(frozen=True)
class EnsembleFunctions:
    """Device functions of a thermostat or barostat; those that an ensemble does not have are None.

    Attributes:
        add_kinetic: counts the kinetic energy of an atom. rescale: what acts on the whole system, serial.
        rescaled: the velocity of an atom after that. close_step: kernel of all this, for the last step of a
            run.
        drive: of a driving force, the force on an atom.
        prepare, refresh: of `AtomFunctions`. book: energy that a bath of an atom has received besides.
        parts: of a barostat, as all that follow: components of the kinetic and virial tensors that are
            summed.
        add_components, add_virial: count the virial of an atom, by its components or as a matrix.
        collects: components that have a thread each to collect them. systems_of: how many systems there are.
        displaced: of sources that correct positions, by how much that of an atom changes.
        rescale_system: of baths of groups, what those of one system do, and by how much the kinetic tensor
            changes.
        collect: total of a component. adjust: adds an energy to the total of a component.
        due: whether it acts at the end of a step. until_due: steps before one with sums.
    """

    add_kinetic: DeviceFunction
    rescale: DeviceFunction
    rescaled: DeviceFunction
    close_step: Kernel | None = None
    drive: DeviceFunction | None = None
    prepare: DeviceFunction | None = None
    refresh: DeviceFunction | None = None
    book: DeviceFunction | None = None
    parts: int = 0
    add_components: DeviceFunction | None = None
    add_virial: DeviceFunction | None = None
    displaced: DeviceFunction | None = None
    rescale_system: DeviceFunction | None = None
    collect: DeviceFunction | None = None
    adjust: DeviceFunction | None = None
    collects: int = 0
    systems_of: Callable[[Any], Any] | None = None
    due: DeviceFunction | None = None
    until_due: DeviceFunction | None = None
