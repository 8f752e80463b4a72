"""Thermostats and barostats: the same bits on every backend, with lists that are cut and lists that are not?

    TAICHIMD_RUNTIME=quadrants python -m validation.bits.ensemble_bits --backend cpu --out cpu.json
    TAICHIMD_RUNTIME=quadrants python -m validation.bits.ensemble_bits --backend cuda --against cpu.json

Each ensemble drives a Lennard-Jones melt for 303 steps, with a near list and, by a skin of the user's,
without one; silica and hot silicon (Tersoff) run 203 steps in NVE and with Langevin's thermostat, silicon
with barostats, too. A sum of three potentials follows, copper of passes, which keeps a state of atoms, an
alloy of embedded atoms with tables, silicon carbide with EDIP, and files of Tersoff/mod, mod/c, ZBL, sw/mod
and potfit that the tests write. Then cells are stretched and sheared,
with flips, also beside baths of groups, and drives of several kinds act. The last runs are of the plain
stepper, whose bits are those of the fused one. Starts are the same on every machine, and SHA-256 of
positions, velocities, forces and cell says whether ends are. The last steps are done twice: the second time
by an engine that was made anew and given the state of the first. `--add` keeps other runs of the file.
"""

import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from validation import common, systems

STEPS = {
    "lj-melt": 300,
    "silica": 200,
    "silicon": 200,
    "silicon-sum": 100,
    "copper": 200,
    "alloy": 200,
    "edip": 200,
    "tersoff/mod": 200,
    "tersoff/mod/c": 200,
    "tersoff/zbl": 200,
    "sw/mod": 200,
    "potfit-pairs": 200,
    "potfit-eam": 200,
}
LAST = 3
"""Steps of a second call: what the first one has left behind is used."""
SETTINGS = {
    "temperature": 300.0, "coupling_time": 100.0, "pressure": 0.01, "pressure_coupling_time": 200.0,
    "seed": 3,
}  # fmt: skip


def main() -> None:
    """Parse the command line, run everything, compare, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--against", type=Path, help="the JSON of another backend")
    parser.add_argument("--add", action="store_true", help="keep other runs of the file")
    parser.add_argument("--runs", nargs="+", default=[""], help="only those with one of these in their names")
    options = parser.parse_args()

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    theirs = common.hashes_of(options.against)
    out = options.out or common.RESULTS / f"ensemble_bits_{backend}.json"
    report: dict[str, Any] = {**common.provenance(), "results": {}}
    if options.against:
        report["against"] = options.against.name
    if options.add and out.exists():
        old = common.read_json(out)
        report["results"] = {name: {"commit": old["commit"], **one} for name, one in old["results"].items()}
    rows = []
    for name, system, more in runs():
        if not any(part in name for part in options.runs):
            continue
        found = report["results"][name] = follow(system, STEPS[name.split()[0]], more)
        found["commit"] = report["commit"]
        if name in theirs:
            found["same_bits"] = found["sha256"].startswith(theirs[name]["sha256"])
        restart = found["restart_has_same_bits"]
        rows.append((name, found["sha256"][:16], found["rebuilds"], found.get("same_bits", "-"), restart))
        common.write_json(out, report)
    print(common.table(rows, ("run", "sha256", "rebuilds", "same bits", "restart")))


def runs() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Name, system and the engine's settings of each run."""
    import taichimd

    kinds = (
        taichimd.NVE, taichimd.Langevin, taichimd.Bussi, taichimd.Berendsen, taichimd.NoseHoover,
        taichimd.BerendsenNPT, taichimd.StochasticCellRescaling, taichimd.MartynaTobiasKlein,
    )  # fmt: skip
    melt, silica, silicon = systems.lj_melt(8), systems.silica(4), systems.silicon(5, 1800.0)
    for kind in kinds:
        ensemble = kind(**settings_of(kind))
        for skin in (0.8, None):
            yield f"lj-melt {kind.__name__}, skin {skin}", melt, {"ensemble": ensemble, "skin": skin}
    yield "silica NVE", silica, {}
    thermostat = taichimd.Langevin(temperature=600.0, coupling_time=100.0, seed=1)
    yield "silica Langevin", silica, {"ensemble": thermostat}
    for kind in (kinds[0], kinds[1], *kinds[5:]):
        yield f"silicon {kind.__name__}", silicon, {"ensemble": kind(**settings_of(kind))}
    for kind in (kinds[0], kinds[1], kinds[7]):
        more = {"ensemble": kind(**settings_of(kind))}
        yield f"silicon-sum {kind.__name__}", systems.silicon_sum(4), more
        yield f"copper {kind.__name__}", systems.copper(6), more
    for kind in (kinds[0], kinds[1], kinds[6]):
        yield f"alloy {kind.__name__}", systems.eam_alloy(5), {"ensemble": kind(**settings_of(kind))}
    for kind in (kinds[0], kinds[7]):
        yield f"edip {kind.__name__}", systems.edip(4), {"ensemble": kind(**settings_of(kind))}
    files = {
        style: systems.bond_orders(style, 3) for style in ("tersoff/mod", "tersoff/mod/c", "tersoff/zbl")
    }
    files |= {"sw/mod": systems.sw_mod(3)}
    files |= {"potfit-pairs": systems.potfit("PAIR", 4), "potfit-eam": systems.potfit("EAM", 4)}
    for name, system in files.items():
        for kind in kinds[:2]:
            yield f"{name} {kind.__name__}", system, {"ensemble": kind(**settings_of(kind))}
    sides = taichimd.StochasticCell(
        control="orthorhombic", axes="yz", pressure_coupling_time=200.0, bulk_modulus=100.0, period=5
    )
    stretched = taichimd.combine(taichimd.Bussi(300.0, seed=3), sides, taichimd.Deform(x="1e11/s"))
    yield "silicon stretched", silicon, {"ensemble": stretched}
    sheared = taichimd.combine(taichimd.Langevin(300.0, seed=3), taichimd.Deform(xy="1.9e13/s"))
    yield "lj-melt sheared, SLLOD", tilted(melt), {"ensemble": sheared}
    flow = taichimd.combine(None, taichimd.Deform(xy="1.9e13/s"))
    baths = {"ensemble": flow, "acting": rescaled(melt.atoms)}
    yield "lj-melt sheared, SLLOD, baths of groups", tilted(melt), baths
    yield "silicon drives", silicon, {"acting": drives(silicon.atoms)}
    for name, system in (("lj-melt", melt), ("silica", silica), ("silicon", silicon)):
        yield f"{name} NVE, plain stepper", system, {"plain": True}


def tilted(system: Any) -> Any:
    """The same in an oblique cell, which is flipped when its tilt has grown by 0.15 of a length."""
    atoms = system.atoms.copy()
    atoms.set_cell(atoms.cell.array @ np.array([[1, 0, 0], [0.35, 1, 0], [0, 0, 1]]), scale_atoms=True)
    return replace(system, atoms=atoms)


def rescaled(atoms: Any) -> Any:
    """Baths of four groups that rescale peculiar velocities."""
    from taichimd import Berendsen, Bussi, NoseHoover, Source
    from taichimd.ensembles.groups.given import group_baths
    from taichimd.system.groups import Groups

    acting = [
        Bussi(300.0, 100.0, on=range(600), seed=3),
        Bussi(250.0, 100.0, on=range(600, 1200), seed=4),
        NoseHoover(300.0, 100.0, on=range(1200, 1400)),
        Berendsen(200.0, 100.0, on=range(1400, 1600)),
        Source(0.05, correction=False, on=range(1600, 1800)),
    ]
    return group_baths(acting, Groups(atoms))[0]


def drives(atoms: Any) -> Any:
    """Drives of several kinds and a bath of a group, on the first 100 atoms of a periodic crystal."""
    from taichimd import Drag, Force, Indenter, Langevin, Momentum, Move, Source, Spring
    from taichimd.ensembles.groups.given import group_baths
    from taichimd.system.groups import Groups

    acting = [
        Move((0.4, 0.1, 0.0), on=range(10)),
        Force((0.0, 0.05, 0.0), period=50.0, on=range(10, 30)),
        Spring(0.5, of="centre", velocity=(0.5, 0.0, 0.0), on=range(30, 45)),
        Spring(0.3, of="centre", to=range(45, 50), length=3.0, on=range(50, 60)),
        Spring(0.2, velocity=(0.0, 0.5, 0.0), on=range(60, 70)),
        Indenter("sphere", (8.0, 8.0, 12.0), 3.0, constant=0.5, velocity=(0.3, 0.0, -1.0)),
        Drag(2000.0, on=range(70, 80)),
        Momentum(25),
        Langevin(200.0, on=range(80, 90), seed=3),
        Source(0.1, on=range(90, 100)),
    ]
    return group_baths(acting, Groups(atoms))[0]


def settings_of(kind: Any) -> dict[str, Any]:
    """Those of the settings that an ensemble knows."""
    known = inspect.signature(kind).parameters
    return {name: value for name, value in SETTINGS.items() if name in known}


def follow(system: Any, steps: int, more: dict[str, Any]) -> dict[str, Any]:
    """One run: hash of its end, potential energy (eV), builds of the list; whether a restart ends alike."""
    from taichimd.program.engine import Engine
    from taichimd.program.systems import Systems

    Systems._fused = not more.get("plain")
    more = {name: value for name, value in more.items() if name != "plain"}
    engine = Engine(system.atoms, system.forcefield(), **more)
    engine.advance(steps, system.timestep)
    again = Engine(system.atoms, system.forcefield(), **more)
    # As a checkpoint keeps it.
    again.set_state(
        positions=engine.positions(), velocities=engine.velocities(), forces=engine.forces(),
        step=engine.step, bath=json.loads(json.dumps(engine.bath_state())),
    )  # fmt: skip
    again.set_atom_states(engine.atom_states())
    found = []
    for one in (engine, again):
        one.advance(LAST, system.timestep)
        found.append(common.sha(one.positions(), one.velocities(), one.forces(), one.cell))
    return {
        "steps": steps + LAST,
        "sha256": found[0],
        "restart_has_same_bits": found[1] == found[0],
        "potential_eV": engine.thermo().potential,
        "rebuilds": engine.statistics()["rebuilds"],
    }


if __name__ == "__main__":
    main()
