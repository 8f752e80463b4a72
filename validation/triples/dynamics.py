"""How long would 1,000 steps of 3,375 atoms take, without a cutoff and with half a box; by which forces?

    python -m validation.triples.dynamics --backend cuda --out FILE

Lennard-Jones and Axilrod-Teller; some steps are timed. The file is written after each way. The paper
(Yaseen, Ji, Li 2015) has 11.57 hours without a cutoff and 1.91 hours with half a box, on a Tesla C2070.
"""

from time import perf_counter
from typing import Any

from taichimd import Simulation
from taichimd.core.runtime import start
from validation import common
from validation.triples.systems import argon, drop, half_box

PAPER = {"no cutoff": 11.57 * 3600, "half box": 1.91 * 3600}
"""Seconds of 1,000 steps."""


def run(side: int, forcefield: Any, steps: int, backend: str) -> dict[str, Any]:
    """Steps of a drop that begins cold."""
    simulation = Simulation(drop(side), forcefield, timestep=2.0, temperature=30.0, seed=1, backend=backend)
    before = simulation.thermo()
    # A short run has none of the steps whose kernel a long one compiles.
    simulation.engine.warm_up()
    simulation.run(3)
    took = []
    for number in (2, 2 + steps):
        simulation.thermo()
        begun = perf_counter()
        simulation.run(number)
        after = simulation.thermo()
        took.append(perf_counter() - begun)
    # Each run ends with energies and virials, which the difference leaves out.
    step = (took[1] - took[0]) / steps
    drift = after.potential + after.kinetic - before.potential - before.kinetic
    return {
        "steps": steps, "seconds": took, "seconds_per_1000_steps": 1000 * step, "drift_eV": drift,
    }  # fmt: skip


def main() -> None:
    """Measure, write, print."""
    parser = common.parser(__doc__, out="triples_dynamics")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--quick", action="store_true", help="small and short, as for a CPU")
    parser.add_argument("--ways", nargs="+", help="of them, some")
    chosen = parser.parse_args()
    backend = start(chosen.backend)
    side, steps = (7, 10) if chosen.quick else (15, chosen.steps)
    ways = {
        "no cutoff, all-triples": (None, "all-triples", steps),
        "no cutoff, matrix": (None, "matrix", steps),
        "half box": (half_box(side), "all-triples", steps),
        "half box, matrix": (half_box(side), "matrix", steps),
        "no cutoff, direct": (None, "direct", max(2, steps // 10)),
    }
    found, head = {}, common.provenance()
    for name, (cutoff, enumeration, number) in ways.items():
        if chosen.ways and name not in chosen.ways:
            continue
        try:
            found[name] = run(side, argon(cutoff, enumeration), number, backend)
        except Exception as error:  # one way that fails leaves the others
            found[name] = {"error": f"{type(error).__name__}: {error}"}
        common.write_json(
            chosen.out, head | {"atoms": side**3, "runs": found, "paper_seconds_per_1000_steps": PAPER}
        )
    print(f"{side**3} atoms")
    print(
        common.table(
            [
                [
                    name,
                    *(
                        f"{one[key]:.4g}" if key in one else one["error"]
                        for key in ("seconds_per_1000_steps", "drift_eV")
                    ),
                ]
                for name, one in found.items()
            ],
            ["forces", "s per 1,000 steps", "drift, eV"],
        )
    )


if __name__ == "__main__":
    main()
