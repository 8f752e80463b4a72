"""What does a call of `Engine.advance` cost besides its steps, and what a sample of the heat current?

    python -m validation.benchmarks.call_cost --sizes 1000 8000 64000

A call waits for the device once, and leaves energies and virials. Conductivities by Green-Kubo take a sample
every 10 steps: there calls, not steps, can decide on the speed. By how much are steps of an engine that is
sampled in between slower than those of one that never was? By nothing, if what is off costs nothing. What
does a call cost where each kernel's arguments are looked at anew (`core.launches`)?
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from validation import common, systems
from validation.benchmarks.stepping import in_turn, measure_silicon, seconds, silicon_cells, warm_engine

STEPS = 1, 10, 100, 1000
"""Of a call."""
EVERY = 10
"""Steps between samples."""


def main() -> None:
    """Time calls of all lengths for each size."""
    about = __doc__.splitlines()[0]
    measure_silicon(about, "call_cost.json", measure, show, sizes=(1_000, 8_000, 64_000), settle=5_000)


def measure(n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a call of so many steps, and of `EVERY` steps and a sample; one crystal, in turn."""
    from taichimd.observables.samplers.sum_series import SumSeries

    system = systems.silicon(silicon_cells(n_atoms), 600.0, potential=options.potential)
    engine = warm_engine(system, options.settle, precision=options.precision)
    unobserved = warm_engine(system, options.settle, precision=options.precision)
    heat = SumSeries("heat", n_atoms)

    def sampled() -> None:
        engine.advance(EVERY, system.timestep)
        engine.observe(heat.sample)

    calls: dict[str, Callable[[], None]] = {
        str(steps): lambda steps=steps: engine.advance(steps, system.timestep) for steps in STEPS
    }
    calls[f"{EVERY} and a sample"] = sampled
    calls["1, arguments looked at"] = lambda: looked_at(lambda: engine.advance(1, system.timestep))
    calls[f"{STEPS[-1]}, never sampled"] = lambda: unobserved.advance(STEPS[-1], system.timestep)
    loops = {
        name: lambda n, call=call: seconds(lambda: [call() for _ in range(n)]) for name, call in calls.items()
    }
    each, _ = in_turn(loops, options.seconds, options.repeats)
    return {"ms": {name: statistics.median(found) for name, found in each.items()}, "ms_each": each}


def looked_at(call: Callable[[], None]) -> None:
    """A call without what is known of earlier launches."""
    from taichimd.core.launches import Launches

    again = Launches.again
    Launches.again = lambda self, flat: False  # type: ignore[method-assign]
    try:
        call()
    finally:
        Launches.again = again  # type: ignore[method-assign]


def show(report: dict[str, Any]) -> None:
    """One line for each size."""
    columns = list(report["results"][0]["ms"])
    rows = [
        (result["atoms"], *(f"{result['ms'][name]:.4g}" for name in columns)) for result in report["results"]
    ]
    print(common.table(rows, ("atoms", *(f"{name}, ms" for name in columns))))


if __name__ == "__main__":
    main()
