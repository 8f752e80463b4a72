"""Where heat goes in and out: baths along an axis, the paths between them, their cross-section."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.seeds import derived_seed
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.groups.source import Source
from taichimd.ensembles.registry import Langevin, NoseHoover
from taichimd.system.constraints import constrained, wholly
from taichimd.system.groups import Groups
from taichimd.transport.settings import AXES, KappaSettings

FEWEST = 10
"""Atoms of a bath: fewer reflect the heat that arrives."""
_UNEQUAL = 0.05
"""Share by which the two paths of a periodic cell may differ."""
_ROUND = 6
"""Decimals of positions, so that round-off does not decide about planes on a boundary."""


@dataclass(frozen=True)
class Layout:
    """Baths of one system, and what is between them."""

    axis: int  # 0, 1 or 2
    hot: NDArray[np.int64]  # atoms of the hot bath
    cold: NDArray[np.int64]  # atoms of the cold bath
    # (begin, end) of the paths along the axis, angstrom, each from a bath to a bath
    pieces: tuple[tuple[float, float], ...]
    length: float  # of a path, angstrom, the mean of two
    area: float  # cross-section of one path, angstrom^2
    interfaces: tuple[float, ...]  # places within paths, angstrom
    periodic: bool  # whether there are two paths
    paths: tuple[NDArray[np.int64], ...]  # atoms of each path
    signs: tuple[int, ...]  # 1 where heat flows along the axis, else -1
    # of each interface, atoms before and after it along the axis
    sides: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...] = ()

    @property
    def groups(self) -> dict[str, NDArray[np.int64]]:
        """The baths, the paths and the sides of interfaces by name."""
        paths = {f"path{k + 1}": atoms for k, atoms in enumerate(self.paths)}
        sides = {
            f"{name}{k + 1}": atoms
            for k, both in enumerate(self.sides)
            for name, atoms in zip(("before", "after"), both, strict=True)
        }
        return {"hot": self.hot, "cold": self.cold, **paths, **sides}

    @property
    def spectrum_of(self) -> str:
        """Groups with a spectrum: the paths, then the heat flow through each interface."""
        flows = [f"before{k + 1}>after{k + 1}" for k in range(len(self.sides))]
        return ",".join([*(f"path{k + 1}" for k in range(len(self.paths))), *flows])

    def sign_at(self, place: float) -> int:
        """1 if heat flows along the axis at an interface, else -1."""
        number = next(k for k, (begin, end) in enumerate(self.pieces) if begin < place < end)
        return self.signs[number]

    def baths(self, settings: KappaSettings, seed: int) -> list[GroupBath]:
        """What acts on the baths of a run of this seed."""
        hot, cold = settings.bath_temperatures
        if settings.bath == "power":
            assert settings.power is not None
            return [
                GroupBath("hot", Source(settings.power), self.hot),
                GroupBath("cold", Source(-settings.power), self.cold),
            ]
        seed, time = derived_seed(seed, {"stage": "nemd"}), settings.coupling_time or 0.0
        if settings.bath == "nose-hoover":
            return [
                GroupBath("hot", NoseHoover(hot, coupling_time=time), self.hot),
                GroupBath("cold", NoseHoover(cold, coupling_time=time), self.cold),
            ]
        return [
            GroupBath("hot", Langevin(hot, coupling_time=time, seed=seed), self.hot),
            GroupBath("cold", Langevin(cold, coupling_time=time, seed=seed), self.cold),
        ]


def cells_for(atoms: Atoms, settings: KappaSettings, length: float) -> int:
    """Repetitions along the axis for two paths of about this length (angstrom) and two baths."""
    period = _extent(atoms, AXES.index(settings.along or "x"))
    return max(1, round(2.0 * (length + (settings.bath_length or 0.0)) / period))


def layout_of(atoms: Atoms, settings: KappaSettings, reach: float = np.inf) -> Layout:
    """Baths of a system, as it is run; `reach`: angstrom from an interface up to which atoms act across it.

    SettingsError: a cell whose planes are not normal to the axis, or too short, a bath of a few atoms, paths
    of two lengths, an interface in a bath.
    """
    axis = AXES.index(settings.along or "x")
    extent, periodic = _extent(atoms, axis), bool(atoms.pbc[axis])
    x = _places(atoms, axis, extent, periodic)
    free = ~wholly(constrained(atoms))
    if settings.hot is not None and settings.cold is not None:
        groups = Groups(atoms, {"hot": settings.hot, "cold": settings.cold}, ~free)
        hot, cold = (groups[name][free[groups[name]]] for name in ("hot", "cold"))
        pieces = _between(x, hot, cold, extent, periodic)
    else:
        hot, cold, pieces = _laid_out(x, free, extent, periodic, settings)
    for name, bath in (("hot", hot), ("cold", cold)):
        if len(bath) < FEWEST:
            raise SettingsError(
                f"the {name} bath has {len(bath)} atoms; expected {FEWEST} or more, because few atoms "
                "reflect the heat that arrives: take a longer bath_length or a larger cross-section "
                "(supercell)"
            )
    if np.intersect1d(hot, cold).size:
        raise SettingsError("the groups hot and cold share atoms; make them disjoint")
    lengths = [end - begin for begin, end in pieces]
    if len(lengths) == 2 and abs(lengths[0] - lengths[1]) > _UNEQUAL * sum(lengths) / 2:
        raise SettingsError(
            f"the two paths from hot to cold are {lengths[0]:.4g} and {lengths[1]:.4g} Å long, so the heat "
            "is not shared equally; choose groups half a cell apart, or a cell that is not periodic "
            "along the axis"
        )
    interfaces = tuple(settings.interface or ())
    for place in interfaces:
        if not any(begin < place < end for begin, end in pieces):
            shown = " and ".join(f"{begin:.4g} to {end:.4g}" for begin, end in pieces)
            raise SettingsError(
                f"interface = {place:g}: expected a place between the baths, {shown} Å along {AXES[axis]}"
            )
    area = _area(atoms, axis, extent, settings)
    used = free.copy()
    used[np.concatenate([hot, cold])] = False
    sides = []
    for place in interfaces:
        a, b = next(piece for piece in pieces if piece[0] < place < piece[1])
        y = np.where(x < a, x + extent, x) if periodic else x
        sides.append((
            np.flatnonzero(used & (y >= max(a, place - reach)) & (y < place)),
            np.flatnonzero(used & (y >= place) & (y < min(b, place + reach))),
        ))  # fmt: skip
    inside = [((x >= a) & (x < b)) | ((x + extent >= a) & (x + extent < b) & periodic) for a, b in pieces]
    first = 1 if x[hot].mean() < x[cold].mean() else -1
    return Layout(
        axis, hot, cold, tuple(pieces), float(np.mean(lengths)), area, interfaces, periodic,
        tuple(np.flatnonzero(one & used) for one in inside), (first, -first)[: len(pieces)],
        tuple(sides),
    )  # fmt: skip


@dataclass(frozen=True)
class Halves:
    """The two sides of an interface in equilibrium, which are all atoms."""

    first: NDArray[np.int64]  # atoms of the first side
    second: NDArray[np.int64]  # atoms of the second side
    area: float  # of all interfaces between them, angstrom^2
    planes: int  # how many interfaces

    @property
    def groups(self) -> dict[str, NDArray[np.int64]]:
        """The sides by name."""
        return {"first": self.first, "second": self.second}

    def baths(self, settings: KappaSettings, seed: int) -> list[GroupBath]:
        """Nothing acts on the atoms."""
        return []


def halves_of(atoms: Atoms, settings: KappaSettings) -> Halves:
    """The sides of the interfaces of a system.

    SettingsError: a cell whose planes are not normal to the axis; one place in a cell that is periodic along
    the axis, or two in another one; a side of a few atoms.
    """
    axis = AXES.index(settings.along or "x")
    extent, periodic = _extent(atoms, axis), bool(atoms.pbc[axis])
    x, places = _places(atoms, axis, extent, periodic), sorted(settings.interface or ())
    if len(places) != 1 + periodic:
        raise SettingsError(
            f"interface = {settings.interface}: the cell is {'' if periodic else 'not '}periodic along "
            f"{settings.along}; expected {'two places' if periodic else 'one place'}"
        )
    if periodic:
        places = sorted(place % extent for place in places)
    inside = (x >= places[0]) & (x < places[1]) if periodic else x < places[0]
    first, second = np.flatnonzero(inside), np.flatnonzero(~inside)
    if min(len(first), len(second)) < FEWEST:
        raise SettingsError(
            f"interface = {settings.interface}: the two sides have {len(first)} and {len(second)} atoms; "
            f"expected {FEWEST} or more each: choose places within the structure, in Å along {settings.along}"
        )
    return Halves(first, second, len(places) * _area(atoms, axis, extent, settings), len(places))


def _extent(atoms: Atoms, axis: int) -> float:
    """Length of the cell along the axis, angstrom, to which its other two vectors must be normal."""
    cell = atoms.cell.array
    if abs(np.linalg.det(cell)) < 1e-9:
        raise SettingsError(
            "method = nemd: needs a cell with three vectors that span a volume; give the structure one"
        )
    direction = np.linalg.inv(cell)[:, axis]
    if np.abs(np.delete(direction, axis)).max() > 1e-9 * np.abs(direction).max():
        raise SettingsError(
            f"along = {AXES[axis]}: the two other cell vectors must be normal to {AXES[axis]}; choose "
            "another axis, or build the cell so"
        )
    return float(1.0 / np.linalg.norm(direction))


def _places(atoms: Atoms, axis: int, extent: float, periodic: bool) -> Array:
    x: Array = atoms.positions[:, axis].copy()
    if periodic:
        x = np.round(x, _ROUND) % extent
    return np.where(x > extent - 10.0**-_ROUND, 0.0, x) if periodic else np.round(x, _ROUND)


def _laid_out(
    x: Array, free: NDArray[np.bool_], extent: float, periodic: bool, settings: KappaSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[float, float]]]:
    """Atoms of baths of `bath_length` at the ends, of a periodic cell at 0 and at its half, and the paths."""
    width, letter = settings.bath_length or 0.0, settings.along
    first, last = (0.0, extent) if periodic else (float(x[free].min()), float(x[free].max()))
    if periodic:
        half = 0.5 * extent
        pieces = [(width, half), (half + width, extent)]
        hot, cold = x < width, (x >= half) & (x < half + width)
    else:
        pieces = [(first + width, last - width)]
        hot, cold = x < first + width, x > last - width
    if pieces[0][1] - pieces[0][0] < width:
        parts, between = (4, "two paths") if periodic else (3, "a path")
        longer = "longer lengths" if settings.lengths else f"repeat it along {letter} (supercell)"
        raise SettingsError(
            f"the cell is {last - first:.4g} Å long along {letter}, too short for two baths of {width:g} Å "
            f"and {between} of the same length between them; expected {parts * width:.4g} Å or more: "
            f"{longer}, or a bath_length of {(last - first) / parts:.3g} Å or less"
        )
    return np.flatnonzero(hot & free), np.flatnonzero(cold & free), pieces


def _between(
    x: Array, hot: NDArray[np.int64], cold: NDArray[np.int64], extent: float, periodic: bool
) -> list[tuple[float, float]]:
    """The paths between two groups that were given."""
    if not (len(hot) and len(cold)):
        raise SettingsError("the groups hot and cold have no atoms that move; choose other groups")
    (a, b), (c, d) = ((float(x[one].min()), float(x[one].max())) for one in (hot, cold))
    if a > c:
        (a, b), (c, d) = (c, d), (a, b)
    if b >= c:
        raise SettingsError(
            f"the groups hot and cold overlap along the axis ({a:.4g} to {b:.4g} and {c:.4g} to {d:.4g} Å); "
            "choose groups one after the other that do not reach across the end of the cell"
        )
    return [(b, c), (d, a + extent)] if periodic else [(b, c)]


def _area(atoms: Atoms, axis: int, extent: float, settings: KappaSettings) -> float:
    """Cross-section, of a sheet its width times its thickness."""
    if settings.thickness is None:
        if not np.delete(atoms.pbc, axis).all():
            raise SettingsError(
                f"the cell must be periodic normal to {AXES[axis]}, or be a sheet in the plane of x and y "
                f"with its thickness (--thickness); pbc is {atoms.pbc.tolist()}"
            )
        return float(abs(np.linalg.det(atoms.cell.array)) / extent)
    across = np.linalg.norm(np.cross(atoms.cell[0], atoms.cell[1])) / extent
    return float(across * settings.thickness)


def bins_of(layout: Layout, x: Array) -> tuple[Array, Array]:
    """Places of bins, and the bin that each shows, also where a path reaches across the end of the cell."""
    extent = x[-1] + x[0]
    return np.concatenate([x, x + extent]), np.tile(np.arange(len(x)), 2)


def description(layout: Layout, settings: KappaSettings) -> dict[str, Any]:
    """For a report."""
    return {
        "along": settings.along,
        "path_A": layout.length,
        "paths": len(layout.pieces),
        "between_A": [list(piece) for piece in layout.pieces],
        "area_A2": layout.area,
        "hot_atoms": len(layout.hot),
        "cold_atoms": len(layout.cold),
    }
