"""As many atoms as fit a GPU: memory, start and time of a step, beside a small system of the same energy.

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.large --cases argon:100 tersoff:100

A case is a force field and a number of atoms in million. The large system consists of copies of a small one
side by side, with the same displacements and velocities, so that both have the same energy per atom, the
same greatest force, and no momentum. Atoms at a boundary between copies, pages of lists
(`taichimd/neighbours/pages.py`) or blocks of a GPU would show in these. Each case has a process of its own,
which gives the memory back.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from validation import common, systems

COPIED = 10
"""Cubic cells of the small system along each axis."""
TOLERANCE = 1e-9
"""Of energies per atom, relative: coordinates of the large system have fewer digits behind the point."""


def main() -> None:
    """Parse the command line, run each case in a child, write JSON as it grows, print a table last."""
    options = parse()
    if options.child:
        Path(options.child).write_text(json.dumps(run(*options.cases[0].split(":"), options)))
        return
    report: dict[str, Any] = {"results": []}
    rows = []
    for case in options.cases:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            arguments = ["--cases", case, "--child", str(file), "--steps", str(options.steps)]
            try:
                arguments += ["--backend", options.backend, "--precision", options.precision]
                common.run_child("validation.benchmarks.large", arguments)
                found = common.read_json(file)
            except RuntimeError as error:
                found = {"case": case, "error": str(error)}
        found["seconds_in_all"] = time.perf_counter() - begin
        report = {**found.pop("provenance", {}), **report}
        report["results"].append(found)
        common.write_json(options.out, report)
        print(json.dumps(found), flush=True)
        if "error" in found:
            rows.append((case, found["error"][-120:], *[""] * 7))
            continue
        rows.append(
            (case, found["atoms"], f"{found['memory_bytes'] / 1e9:.1f}", f"{found['bytes_per_atom']:.0f}",
             found["pages"], f"{found['ms_per_step']:.1f}", f"{found['atom_steps_per_second']:.2e}",
             f"{found['seconds_to_the_first_forces']:.0f}", "yes" if found["agrees"] else "NO")
        )  # fmt: skip
    header = ("case", "atoms", "GB", "bytes/atom", "pages", "ms/step", "atom-step/s", "start, s", "agrees")
    print(common.table(rows, header))
    if any("error" in found or not found["agrees"] for found in report["results"]):
        sys.exit(1)


def run(name: str, million: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one case, "argon" or "tersoff", of so many million atoms: times (s, ms), memory (bytes), sizes."""
    from taichimd.core import memory, runtime
    from taichimd.program.engine import Engine

    small, forcefield, timestep = small_system(name)
    copies = repeats(round(float(million) * 1e6 / len(small)))
    clock = Clock()
    runtime.start(options.backend)
    of_small = summary(Engine(small, forcefield, precision=options.precision), options.steps, timestep, clock)
    free = memory.free_memory() or 0
    clock.begin("copies")
    atoms = repeated(small, copies)
    clock.begin("engine")
    engine = Engine(atoms, forcefield, precision=options.precision)
    found = summary(engine, options.steps, timestep, clock)
    engine.systems.synchronize()
    used = free - (memory.free_memory() or 0)
    clock.begin("steps")
    engine.advance(options.steps, timestep)
    engine.systems.synchronize()
    seconds = clock.end("steps")
    n, lists = len(atoms), engine.device.lists
    off = {key: abs(found[key] - of_small[key]) / max(abs(of_small[key]), 1e-30) for key in COMPARED}
    return {
        "case": f"{name}:{million}",
        "provenance": common.provenance(runtime.info()),
        "atoms": n,
        "small": of_small,
        "large": found,
        "relative_differences": off,
        "agrees": max(off.values()) < TOLERANCE and found["momentum"] < 1e-9,
        "memory_bytes": used,
        "bytes_per_atom": used / n,
        "pages": lists.verlet.pages,
        "slots": lists.verlet.width,
        "outer_skin_A": lists.skins.outer,
        "steps": options.steps,
        "ms_per_step": 1e3 * seconds / options.steps,
        "atom_steps_per_second": n * options.steps / seconds,
        "seconds_to_the_first_forces": clock.seconds["copies"] + clock.seconds["engine"],
        "seconds": clock.seconds,
    }


COMPARED = ("potential", "kinetic", "potential_after", "kinetic_after")


class Clock:
    """Seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last: tuple[str, float] | None = None

    def begin(self, name: str) -> None:
        """Another part begins; the one before ends."""
        if self._last is not None:
            self.end(self._last[0])
        self._last = name, time.perf_counter()

    def end(self, name: str) -> float:
        """The part ends; how long it took."""
        assert self._last is not None
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - self._last[1]
        self._last = None
        return self.seconds[name]


def summary(engine: Any, steps: int, timestep: float, clock: Clock) -> dict[str, float]:
    """Energies per atom (eV) before and after some steps, and the length of the mean velocity."""
    n = engine.n_atoms
    first = engine.thermo()
    if clock._last is not None:
        clock.end(clock._last[0])
    engine.advance(steps, timestep)
    last = engine.thermo()
    mean = engine.velocities().mean(axis=0)
    return {
        "potential": first.potential / n,
        "kinetic": first.kinetic / n,
        "potential_after": last.potential / n,
        "kinetic_after": last.kinetic / n,
        "momentum": float(np.linalg.norm(mean)),
    }


def small_system(name: str) -> tuple[Atoms, Any, float]:
    """Atoms that copies are made of, the force field, and the time step (internal units)."""
    if name == "argon":
        one = systems.argon(COPIED, 40.0, cutoff=8.5, timestep_fs=4.0)
    elif name == "tersoff":
        one = systems.silicon((COPIED,) * 3, potential="Si.tersoff")
    else:
        raise ValueError(f"{name}: expected argon or tersoff")
    one.atoms.wrap()
    one.atoms.positions += np.random.default_rng(5).uniform(-0.05, 0.05, (len(one.atoms), 3))
    return one.atoms, one.forcefield(), one.timestep


def repeats(times: int) -> tuple[int, int, int]:
    """Three numbers near each other whose product is the number of copies, or as near as a cube comes."""
    side = round(times ** (1 / 3))
    for a in range(side, max(side // 2, 1) - 1, -1):
        for b in range(side, 2 * side + 1):
            if times % (a * b) == 0 and times // (a * b) <= 3 * side:
                return a, b, times // (a * b)
    return side, side, side


def repeated(atoms: Atoms, copies: tuple[int, int, int]) -> Atoms:
    """Copies side by side, with the same displacements and velocities; without a loop over copies."""
    shifts = np.stack(np.meshgrid(*(np.arange(k) for k in copies), indexing="ij"), -1).reshape(-1, 3)
    vectors = atoms.cell.array
    many, n = len(shifts), len(atoms)
    positions = np.empty((many, n, 3))
    np.add((shifts @ vectors)[:, None, :], atoms.positions, out=positions)
    cell = vectors * np.array(copies)[:, None]
    made = Atoms(numbers=np.tile(atoms.numbers, many), cell=cell, pbc=True)
    made.arrays["positions"] = positions.reshape(-1, 3)
    made.arrays["momenta"] = np.tile(atoms.get_momenta(), (many, 1))
    return made


def parse() -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__, out="large")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--precision", default="float64")
    parser.add_argument(
        "--cases",
        nargs="+",
        default=["argon:32", "argon:100", "tersoff:32", "tersoff:100"],
        metavar="NAME:MILLION",
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
