"""What skins and threads per atom cost: where the constants of `skins` and `lanes` come from.

    python -m validation.benchmarks.list_settings --case vashishta-sio2 --atoms 98304 --skins auto 3.0/0.5
    python -m validation.benchmarks.list_settings --case lj-melt --atoms 32000 --threads 1 2 4 8

Every setting starts from one state, which some steps with the first one have left; medians of timed runs. A
skin is "auto", learnt on the way, or outer/inner in angstrom, kept, or auto/inner: the outer is learnt. Bits
are the same whatever the setting.
"""

import argparse
import itertools
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.benchmarks.stepping import seconds
from validation.benchmarks.systems import CASES, HEAT, heated


def main() -> None:
    """Parse the command line, time each setting, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__)
    parser.add_argument("--case", default="lj-melt", choices=CASES)
    parser.add_argument("--atoms", nargs="+", type=int, default=[32_000])
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--skins", nargs="+", default=["auto"], metavar="auto|auto/INNER|OUTER/INNER")
    parser.add_argument(
        "--threads", nargs="+", type=int, default=[0], help="per atom; 0: the engine's choice"
    )
    parser.add_argument("--heat", nargs="+", type=float, default=[1.0], help=HEAT)
    parser.add_argument("--steps", type=int, default=500, help="of one timed run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "list_settings.json")
    options = parser.parse_args()
    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "case": options.case, "results": []}
    for atoms, heat in itertools.product(options.atoms, options.heat):
        system = heated(CASES[options.case].system(atoms), heat)
        state: dict[str, Any] = {}
        for threads, skin in itertools.product(options.threads, options.skins):
            found = measure(system, skin, threads, state, options)
            report["results"].append({"atoms": atoms, "heat": heat, **found})
            common.write_json(options.out, report)
    names = ("atoms", "heat", "skins", "threads", "us_per_step", "builds", "outer_A", "inner_A")
    rows = [[r[name] if name == "skins" else f"{r[name]:.4g}" for name in names] for r in report["results"]]
    print(common.table(rows, names))


def measure(
    system: Any, skin: str, threads: int, state: dict[str, Any], options: argparse.Namespace
) -> dict[str, Any]:
    """One setting; the first one fills the state in which all others start."""
    from taichimd.enumerate import threads_per_atom
    from taichimd.neighbours.skins import Skins
    from taichimd.program.engine import Engine

    chosen, post_init, learn = threads_per_atom.threads_for, Skins.__post_init__, Skins.learn
    try:
        if threads:
            threads_per_atom.threads_for = lambda *_: threads
        if skin != "auto":
            outer, inner = skin.split("/")

            def fix(self: Any) -> None:
                post_init(self)
                self.inner, self.inners = float(inner), np.array([float(inner)])
                if outer != "auto":
                    self.outer = float(outer)

            Skins.__post_init__ = fix
            if outer != "auto":
                Skins.learn = lambda *_: False
        engine = Engine(system.atoms, system.forcefield(), backend=options.backend)
        if not state:
            engine.advance(2 * options.steps, system.timestep)
            state.update(positions=engine.positions(), velocities=engine.velocities())
        engine.set_state(**state)
        engine.advance(options.steps, system.timestep)
        before = engine.statistics()["rebuilds"]

        def run() -> None:
            engine.advance(options.steps, system.timestep)
            engine.synchronize()

        each = [seconds(run) for _ in range(options.repeats)]
        lists = engine.statistics()
    finally:
        threads_per_atom.threads_for, Skins.__post_init__, Skins.learn = chosen, post_init, learn
    return {
        "skins": skin,
        "threads": threads,
        "us_per_step": 1e6 * statistics.median(each) / options.steps,
        "us_each": [1e6 * one / options.steps for one in each],
        "builds": lists["rebuilds"] - before,
        "steps": options.steps * options.repeats,
        "outer_A": lists["outer_skin_A"],
        "inner_A": lists["inner_skin_A"],
    }


if __name__ == "__main__":
    main()
