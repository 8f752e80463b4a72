"""The state of a system after atoms came and went: arrays, groups, and what acts on groups."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.exchange.base import Change
from taichimd.system.constraints import wholly
from taichimd.system.groups import Numbers, of_runs, runs_of

LOOSE = ("wall", "indenter", "drag", "momentum")
"""Kinds of drives whose atoms may come and go: nothing that they keep belongs to an atom."""


def held_atoms(n: int, fixed: NDArray[np.bool_] | None, drives: Iterable[Mapping[str, Any]]) -> Any:
    """(n,) atoms that are not deleted: fixed ones, held ones, and those of records of drives."""
    held = np.zeros(n, bool)
    if fixed is not None:
        held |= fixed if fixed.ndim == 1 else fixed.any(axis=1)
    for one in drives:
        for key in ("atoms", "partner") if one["kind"] not in LOOSE else ():
            if key in one:
                held[of_runs(one[key])] = True
    return held


def changed(state: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """The state of a system (`app.saving.state_of`) after a change; forces and kept values are void.

    Groups keep their atoms. New atoms come behind all others. They are in no group, but a bath, wall,
    indenter or friction that acts on all free atoms also acts on them. SettingsError: a bath or drive would
    have no atom left.
    """
    kept, new, found = change.kept, change.new, dict(state)
    more = 0 if new is None else len(new)
    for key in ("positions", "velocities", "masses"):
        found[key] = state[key][kept]
    if new is not None:
        for key, values in (
            ("positions", new.positions),
            ("velocities", new.get_velocities()),
            ("masses", new.get_masses()),
        ):
            found[key] = np.concatenate([found[key], values])
    for key in ("turns", "fixed"):
        if state[key] is not None:
            zeros = np.zeros((more, *state[key].shape[1:]), state[key].dtype)
            found[key] = np.concatenate([state[key][kept], zeros])
    found["forces"], found["states"] = None, {}
    place = np.cumsum(kept) - 1
    groups = ((name, of_runs(runs)) for name, runs in state["groups"].items())
    found["groups"] = {name: runs_of(place[own[kept[own]]]) for name, own in groups if kept[own].any()}
    free = np.ones(len(kept), bool) if state["fixed"] is None else ~wholly(state["fixed"])
    for one in state["bath"].get("drives", []):
        if one["kind"] == "move":
            free[of_runs(one["atoms"])] = False
    bath = dict(state["bath"])
    for key in ("acting", "drives"):
        if key in bath:
            joins = {*LOOSE, *(one["kind"] for one in bath[key] if key == "acting")}
            bath[key] = [
                _of_record(one, kept, place, free, more * (one["kind"] in joins)) for one in bath[key]
            ]
    found["bath"] = bath
    return found


def _of_record(
    record: Mapping[str, Any],
    kept: NDArray[np.bool_],
    place: NDArray[np.int64],
    free: NDArray[np.bool_],
    more: int,
) -> dict[str, Any]:
    """The record of a bath or drive with the new numbers of its atoms."""
    found = dict(record)
    for key in ("atoms", "partner"):
        if key not in record:
            continue
        own: Numbers = of_runs(record[key])
        of_all = len(own) == free.sum()
        own = place[own[kept[own]]]
        if of_all:
            n = int(kept.sum())
            own = np.concatenate([own, np.arange(n, n + more)])
        if not len(own):
            raise SettingsError(f"{record['kind']} {record['name']}: all its atoms would be deleted")
        found[key] = runs_of(own)
    return found
