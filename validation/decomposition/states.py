"""Where trajectories start and where their ends are kept: states with the same bits on every machine."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from validation import common
from validation.systems import System, silica

DECOMPOSITIONS = ("particle", "tuple")
SHORT = {"particle": "PD", "tuple": "TD"}
Arrays = dict[str, NDArray[np.float64]]


def reference_file(folder: Path, cells: int) -> Path:
    """Where the states of a crystal are kept."""
    return folder / f"silica_{cells}.npz"


def initial(cells: int, against: Path | None) -> tuple[System, Arrays]:
    """The crystal, and its first positions and velocities; those of a reference if there is one.

    The logarithms behind drawn velocities may differ in the last bit between machines.
    """
    system = silica(cells)
    if against is None or not reference_file(against, cells).exists():
        if against is not None:
            print(f"no reference of {cells}^3 cells")
        return system, {"x0": system.atoms.positions.copy(), "v0": system.atoms.get_velocities()}
    return system, dict(np.load(reference_file(against, cells)))


def make_engine(system: System, start: Arrays, decomposition: str) -> Any:
    """An engine in exactly that state (not with momenta divided by masses again)."""
    from taichimd.program.engine import Engine

    atoms: Atoms = system.atoms.copy()
    atoms.positions = start["x0"]
    engine = Engine(atoms, system.forcefield(), decomposition=decomposition)
    engine.set_state(velocities=start["v0"])
    return engine


def late(options: argparse.Namespace) -> bool:
    """Whether the budget is spent."""
    return bool(time.monotonic() > options.deadline)


def open_report(part: str, options: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """The file of a part, and its report: the head, and with `--append` the results of earlier calls."""
    from taichimd.core import runtime

    name = f"tuple_decomposition_{part}_{options.backend}" + "_taichi" * (runtime.NAME == "taichi")
    path = options.out / f"{name}.json"
    report: dict[str, Any] = {**common.provenance(), "results": []}
    if options.append and path.exists():
        earlier = json.loads(path.read_text())
        same = [earlier["runtime"][key] == report["runtime"][key] for key in ("runtime", "device")]
        if all(same) and earlier["machine"] == report["machine"]:
            report["results"] = earlier["results"]
    return path, report


def add_result(path: Path, report: dict[str, Any], result: dict[str, Any], *keys: str) -> None:
    """Put a result into the place of one with the same keys, or among the others, and write the file."""

    def place(one: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(one[key] for key in keys)

    others = [one for one in report["results"] if place(one) != place(result)]
    marks = {key: report[key] for key in ("date", "commit")} | {"threads": report["runtime"]["threads"]}
    report["results"] = sorted([*others, {**result, **marks}], key=place)
    common.write_json(path, report)
