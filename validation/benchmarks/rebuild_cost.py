"""What does it cost to rebuild the neighbour list every 5 steps, as GPUMD's paper does for its figure 4?

    python -m validation.benchmarks.rebuild_cost --sizes 64000 256000

The engine never rebuilds without need, so loops on the device, which the runtime quadrants has, are told to.
Runs with and without that word are timed in turn; what they differ by, over the builds by which they differ,
is one rebuild with the cut of the near list that follows it. Each has the inner skin that suits it: the one
that the engine learnt, and one that lasts from build to build. The paper's figure is the loss of speed:
"reduces the performance by about 20%". Without rebuilds a step takes as long with either outer skin.
"""

import argparse
import statistics
from typing import Any

from taichimd.core.runtime import DEVICE_LOOPS
from validation import common, systems
from validation.benchmarks.stepping import (
    measure_silicon,
    seconds,
    silicon_cells,
    steps_for,
    warm_engine,
)

EVERY = 5
SKIN, WIDER = 0.5, 1.0
"""Angstrom. Five steps at 300 K need a tenth of the first, which leaves the second shell of silicon's
neighbours out; the second is nearer to what pays where lists last long."""


def main() -> None:
    """Measure each size."""
    about, sizes = __doc__.splitlines()[0], (8_000, 64_000, 256_000, 1_000_000)
    measure_silicon(about, "rebuild_cost.json", crystal_cost, show, sizes=sizes, settle=500, every=EVERY)


def crystal_cost(n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """`rebuild_cost` of one crystal with both skins."""
    if not DEVICE_LOOPS:
        raise SystemExit("rebuild_cost needs loops on the device: set TAICHIMD_RUNTIME=quadrants")
    # Half of the kinetic energy goes to the bonds: 300 K are left.
    system = systems.silicon(silicon_cells(n_atoms), 600.0, potential=options.potential)

    def cost(skin: float) -> dict[str, Any]:
        engine = warm_engine(system, options.settle, precision=options.precision, skin=skin)
        return rebuild_cost(engine, system.timestep, options.seconds, options.repeats)

    return {**cost(SKIN), "wider": cost(WIDER)}


def rebuild_cost(engine: Any, timestep: float, length: float, repeats: int) -> dict[str, Any]:
    """Milliseconds of a step and of a rebuild, and the loss of speed with a rebuild every `EVERY` steps.

    Args:
        engine: warmed up.
        timestep: internal units.
        length: seconds of one timed run, about.
        repeats: each kind of run is timed so often, in turn; medians are compared.
    """
    lists = engine.device.lists
    names = "outer_skin_A", "inner_skin_A"

    def timed(n: int, forced: bool) -> tuple[float, int, list[float]]:
        """Seconds a step, builds and skins."""
        lists.force_builds(EVERY if forced else None)
        engine.advance(3 * EVERY, timestep)  # the host builds the first list
        before = engine.statistics()["rebuilds"]
        found = seconds(lambda: engine.advance(n, timestep)) / n
        after = engine.statistics()
        return found, after["rebuilds"] - before, [after[name] for name in names]

    n_steps = steps_for(length, lambda n: n * timed(n, False)[0])
    each: dict[bool, list[float]] = {False: [], True: []}
    builds, skins = {False: 0, True: 0}, {}
    for _ in range(repeats):
        for forced in each:
            per_step, found, skins[forced] = timed(n_steps, forced)
            each[forced].append(per_step)
            builds[forced] += found
    lists.force_builds(None)
    plain, often = (statistics.median(found) for found in each.values())
    total = n_steps * repeats
    # Runs that force none do what the motion of the atoms asks for.
    rebuild = max(often - plain, 0.0) * total / (builds[True] - builds[False])
    step = plain - rebuild * builds[False] / total
    rebuilt_step = step + rebuild / EVERY
    return {
        "ms_per_step": 1e3 * step,
        "ms_per_rebuild": 1e3 * rebuild,
        "ms_per_step_rebuilt": 1e3 * rebuilt_step,
        "atom_steps_per_s": engine.n_atoms / step,
        "atom_steps_per_s_rebuilt": engine.n_atoms / rebuilt_step,
        "added_time": rebuild / EVERY / step,
        "loss_of_speed": 1.0 - step / rebuilt_step,
        "rebuilds": builds[False],
        "rebuilds_forced": builds[True],
        "steps": total,
        "ms_each": {"plain": [1e3 * x for x in each[False]], "forced": [1e3 * x for x in each[True]]},
        "skins_A": skins[False],
        "skins_forced_A": skins[True],
    }


def show(report: dict[str, Any]) -> None:
    """One line for each size."""
    rows = [
        (
            f"{atoms}, skin {result['skins_A'][0]:.2g}",
            f"{result['ms_per_step']:.4g}",
            f"{result['ms_per_rebuild']:.4g}",
            f"{result['ms_per_step_rebuilt']:.4g}",
            f"{100 * result['loss_of_speed']:.1f}%",
            f"{result['rebuilds']}/{result['steps']}",
        )
        for atoms, result in ((of["atoms"], one) for of in report["results"] for one in (of, of["wider"]))
    ]
    header = (
        "atoms", "ms/step, never", "ms/rebuild", "ms/step, rebuilt every 5", "loss of speed", "needed/steps",
    )  # fmt: skip
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
