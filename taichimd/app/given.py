"""What a user of Python gives of each system: one value for all systems, or a list."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from ase import Atoms

from taichimd.app.exchanging import split_acting
from taichimd.core.one_of_each import is_list, one_of_each
from taichimd.core.seeds import derived_seed
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.groups.given import GroupBath, group_baths
from taichimd.ensembles.registry import NVE, Ensemble, Thermostat
from taichimd.exchange.base import Exchange
from taichimd.program.batchable import called, errors_name
from taichimd.settings.run import SETTINGS
from taichimd.system.constraints import wholly
from taichimd.system.groups import Groups, Numbers


class Given(NamedTuple):
    """What one system is given: temperature (K) and seed of its drawn velocities, and its ensemble."""

    temperature: float
    seed: int
    ensemble: Ensemble


def baths_of_each(
    systems: Sequence[Atoms], acting: Any, groups: Any, fixed: Sequence[Any]
) -> tuple[list[list[GroupBath | GroupDrive]], list[dict[str, Numbers]], list[str]]:
    """The baths of groups and drives of each system, its groups, and remarks; arguments as of `Simulations`.

    A list of lists has those of each system. With one for all, seeds are derived with the system's number.
    """
    own = _own(acting)
    each = one_of_each("acting", acting, len(systems)) if own else [acting] * len(systems)
    found, named_of_each, told = [], list[dict[str, Numbers]](), list[str]()
    for k, (atoms, of_one, named) in enumerate(
        zip(systems, each, one_of_each("groups", groups, len(systems)), strict=True)
    ):
        with errors_name(called(k)):
            of_atoms = Groups(atoms, named, wholly(fixed[k]))
            baths, remarks = group_baths(of_one, of_atoms, wholly(fixed[k]))
        named_of_each.append(all_groups(of_atoms, baths))
        found.append(baths if own else [_with_own_seed(bath, k) for bath in baths])
        told += [f"{called(k)}: {remark}" for remark in remarks]
    return found, named_of_each, told


def exchanges_of_each(n: int, acting: Any) -> tuple[Any, list[list[Exchange]]]:
    """What acts on n systems without insertions and deletions, and these of each."""
    if _own(acting):
        split = [split_acting(one) for one in one_of_each("acting", acting, n)]
        return [others for others, _ in split], [items for _, items in split]
    others, items = split_acting(acting)
    seeds = [[derived_seed(getattr(item, "seed", 0), {"system": k}) for item in items] for k in range(n)]
    return others, [
        [
            replace(item, seed=seed) if hasattr(item, "seed") else item
            for item, seed in zip(items, of_one, strict=True)
        ]
        for of_one in seeds
    ]


def _own(acting: Any) -> bool:
    """Whether there is a list for each system."""
    lists = isinstance(acting, list | tuple) and len(acting) > 0
    return lists and all(isinstance(one, list | tuple) for one in acting)


def all_groups(groups: Groups, baths: Sequence[GroupBath | GroupDrive]) -> dict[str, Numbers]:
    """Groups by name, with those of baths that were given without one."""
    return {
        **groups,
        **{one.name: one.atoms for one in baths if one.name not in groups and isinstance(one, GroupBath)},
    }


def _with_own_seed(bath: GroupBath | GroupDrive, number: int) -> GroupBath | GroupDrive:
    """A bath with the seed of a system of this number."""
    if not isinstance(bath, GroupBath) or not isinstance(bath.what, Thermostat):
        return bath
    return replace(bath, what=replace(bath.what, seed=derived_seed(bath.what.seed, {"system": number})))


def drawn_at(temperature: float | None, ensemble: Ensemble | None) -> float:
    """Temperature of velocities that are drawn, K, or a SettingsError."""
    if temperature is None:
        temperature = ensemble.temperature if isinstance(ensemble, Thermostat) else 300.0
    return float(SETTINGS["temperature"].read(temperature))


def given_of_each(n: int, temperature: Any, seed: Any, ensemble: Any, common_noise: bool) -> list[Given]:
    """What each of n systems has; arguments as of `Simulations`."""
    if not (common_noise or is_list(seed)):
        first = int(SETTINGS["seed"].read(seed))
        seed = [derived_seed(first, {"system": k}) for k in range(n)]
    seeds = one_of_each("seed", seed, n)
    temperatures = one_of_each("temperature", temperature, n)
    ensembles = one_of_each("ensemble", ensemble or NVE(), n)
    if not is_list(ensemble):
        own = temperatures if is_list(temperature) else [None] * n
        ensembles = [_with_own(*each) for each in zip(ensembles, own, seeds, strict=True)]
    elif not common_noise:
        ensembles = _with_seeds(ensembles)
    drawn = [drawn_at(*each) for each in zip(temperatures, ensembles, strict=True)]
    return [Given(*each) for each in zip(drawn, seeds, ensembles, strict=True)]


def _with_own(ensemble: Ensemble, temperature: float | None, seed: int) -> Ensemble:
    """The ensemble of one system: with its temperature (K), if it has one, and with its seed."""
    given = {"temperature": temperature, "seed": seed}
    names = {one.name for one in fields(ensemble)}
    return replace(ensemble, **{k: v for k, v in given.items() if k in names and v is not None})


def _with_seeds(ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Ensembles whose seeds differ: as they are, or with seeds derived from theirs and their numbers."""
    seeds = [getattr(one, "seed", None) for one in ensembles]
    if None in seeds or len(set(seeds)) == len(seeds):
        return list(ensembles)
    return [
        _with_own(one, None, derived_seed(getattr(one, "seed", 0), {"system": k}))
        for k, one in enumerate(ensembles)
    ]
