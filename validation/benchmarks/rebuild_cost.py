"""What does it cost to rebuild the neighbour list every 5 steps, as GPUMD's paper does for its figure 4?

    python -m validation.benchmarks.rebuild_cost --sizes 64000 256000

The engine never rebuilds without need, so it is told that its list is outdated, and then does 5 steps in one
call. The same calls without that word cost the same host work, forces for output included; the difference is
one rebuild, with the cut of the near list that follows it. It is compared with the step of one long call,
less the rebuilds that the motion of the atoms asked for there. The paper's figure is the loss of speed:
"reduces the performance by about 20%".
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from validation import common, systems
from validation.benchmarks.stepping import (
    measure_silicon,
    seconds,
    silicon_cells,
    steps_for,
    warm_engine,
)

EVERY = 5


def main() -> None:
    """Measure each size."""
    about, sizes = __doc__.splitlines()[0], (8_000, 64_000, 256_000, 1_000_000)
    measure_silicon(about, "rebuild_cost.json", crystal_cost, show, sizes=sizes, settle=500, every=EVERY)


def crystal_cost(n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """`rebuild_cost` of one crystal."""
    # Half of the kinetic energy goes to the bonds: 300 K are left.
    system = systems.silicon(silicon_cells(n_atoms), 600.0, potential=options.potential)
    engine = warm_engine(system, options.settle, precision=options.precision)
    return rebuild_cost(engine, system.timestep, options.seconds, options.repeats)


def outdate(engine: Any) -> None:
    """Make the engine rebuild its list at the next step, and learn nothing for its skins from that."""
    engine.device.lists.age = 0
    engine.device.lists.outdate()


def rebuild_cost(engine: Any, timestep: float, length: float, repeats: int) -> dict[str, Any]:
    """Milliseconds of a step and of a rebuild, and the loss of speed with a rebuild every `EVERY` steps.

    Args:
        engine: warmed up.
        timestep: internal units.
        length: seconds of one timed run, about.
        repeats: each kind of run is timed so often, in turn; medians are compared.
    """

    def blocks(n: int, forced: bool) -> float:
        def call() -> None:
            for _ in range(n):
                if forced:
                    outdate(engine)
                engine.advance(EVERY, timestep)

        return seconds(call)

    def straight(n: int) -> float:
        return seconds(lambda: engine.advance(n, timestep))

    n_steps = steps_for(length, straight)
    # The first forced build may make room or compile.
    blocks(3, True)
    n_blocks = max(10, n_steps // EVERY)
    kinds: dict[str, Callable[[], float]] = {
        "straight": lambda: straight(n_steps) / n_steps,
        "blocks": lambda: blocks(n_blocks, False) / n_blocks,
        "forced": lambda: blocks(n_blocks, True) / n_blocks,
    }
    each: dict[str, list[float]] = {kind: [] for kind in kinds}
    builds = dict.fromkeys(kinds, 0)
    for _ in range(repeats):
        for kind, run in kinds.items():
            before = engine.statistics()["rebuilds"]
            each[kind].append(run())
            builds[kind] += engine.statistics()["rebuilds"] - before
    straight_step, plain, forced = (statistics.median(found) for found in each.values())
    # Runs that force none do what the motion of the atoms asks for.
    more = (builds["forced"] - builds["blocks"]) / (n_blocks * repeats)
    rebuild = max(forced - plain, 0.0) / more
    step = straight_step - rebuild * builds["straight"] / (n_steps * repeats)
    rebuilt_step = step + rebuild / EVERY
    return {
        "ms_per_step": 1e3 * step,
        "ms_per_rebuild": 1e3 * rebuild,
        "ms_per_step_rebuilt": 1e3 * rebuilt_step,
        "atom_steps_per_s": engine.n_atoms / step,
        "atom_steps_per_s_rebuilt": engine.n_atoms / rebuilt_step,
        "added_time": rebuild / EVERY / step,
        "loss_of_speed": 1.0 - step / rebuilt_step,
        "rebuilds": builds,
        "steps": n_steps * repeats,
        "blocks": n_blocks * repeats,
        "ms_each": {kind: [1e3 * one for one in found] for kind, found in each.items()},
        "skins_A": [engine.statistics()[skin] for skin in ("outer_skin_A", "inner_skin_A")],
    }


def show(report: dict[str, Any]) -> None:
    """One line for each size."""
    rows = [
        (
            result["atoms"],
            f"{result['ms_per_step']:.4g}",
            f"{result['ms_per_rebuild']:.4g}",
            f"{result['ms_per_step_rebuilt']:.4g}",
            f"{100 * result['loss_of_speed']:.1f}%",
            f"{result['rebuilds']['straight']}/{result['steps']}",
        )
        for result in report["results"]
    ]
    header = (
        "atoms", "ms/step, never", "ms/rebuild", "ms/step, rebuilt every 5", "loss of speed", "needed/steps",
    )  # fmt: skip
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
