"""The device functions of an ensemble, as kernels of steps call them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import Kernel
from taichimd.core.runtime import DeviceFunction


@dataclass(frozen=True)
class AtomFunctions:
    """Device functions of what acts on each atom alone."""

    prepare: DeviceFunction  # once for a time step
    refresh: DeviceFunction  # the new velocity of an atom


@dataclass(frozen=True)
class EnsembleFunctions:
    """Device functions of a thermostat or barostat; those that an ensemble does not have are None."""

    add_kinetic: DeviceFunction  # counts the kinetic energy of an atom
    rescale: DeviceFunction  # what acts on the whole system, serial
    rescaled: DeviceFunction  # the velocity of an atom after that
    close_step: Kernel | None = None  # kernel of all this, for the last step of a run
    drive: DeviceFunction | None = None  # of a driving force, the force on an atom
    prepare: DeviceFunction | None = None  # of `AtomFunctions`
    refresh: DeviceFunction | None = None  # of `AtomFunctions`
    book: DeviceFunction | None = None  # energy that a bath of an atom has received besides
    # of a barostat, as all that follow: components of the kinetic and virial tensors that are summed
    parts: int = 0
    add_components: DeviceFunction | None = None  # counts the virial of an atom by its components
    add_virial: DeviceFunction | None = None  # counts the virial of an atom as a matrix
    # of sources that correct positions, by how much that of an atom changes
    displaced: DeviceFunction | None = None
    # of baths of groups, what those of one system do, and by how much the kinetic tensor changes
    rescale_system: DeviceFunction | None = None
    collect: DeviceFunction | None = None  # total of a component
    adjust: DeviceFunction | None = None  # adds an energy to the total of a component
    collects: int = 0  # components that have a thread each to collect them
    systems_of: Callable[[Any], Any] | None = None  # how many systems there are
    due: DeviceFunction | None = None  # whether it acts at the end of a step
    until_due: DeviceFunction | None = None  # steps before one with sums
