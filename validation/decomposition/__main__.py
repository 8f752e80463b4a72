"""Particle against tuple decomposition: the experiments of Small et al. (HPC Asia 2018), part by part.

    python -m validation.decomposition accuracy divergence speed --backend cuda --against REFERENCES
    python -m validation.decomposition bits draw

accuracy: positions and velocities after 1,000 steps, PD and TD, this backend and another (section 4.1).
divergence: 20,000 steps: does PD leave TD as fast as a trajectory leaves one that began 1e-14 angstrom away?
speed: microseconds per step against the number of atoms (figures 3 to 5).
potentials: the same for other force fields, and whether both decompositions agree.
bits: which of the results of accuracy and divergence have the same bits on two machines, from the JSON files.
draw: the figures, from the JSON files that are there.

Each part writes a JSON file that grows; tables come last. Parts named together share what they
compile, which takes most of the time on a GPU.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path

from validation import common

PARTS = {
    "accuracy": ("accuracy", "run"),
    "divergence": ("divergence", "run"),
    "speed": ("speed", "run"),
    "potentials": ("speed", "run_potentials"),
    "bits": ("bits", "run"),
    "draw": ("plot", "run"),
}
"""Module and function of each."""
ONLY_READ = {"bits", "draw"}
"""Parts that need no runtime."""


def main() -> None:
    """Parse the command line, do the parts in their order, print their tables."""
    options = parse()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    options.deadline = time.monotonic() + options.budget
    if options.compile_only:
        options.out, options.against, options.save, options.append = (
            Path(tempfile.mkdtemp()), None, None, False,
        )  # fmt: skip
        options.steps = options.settle = 2
        options.repeats = options.copies = 1
        options.seconds = 0.0
    if not ONLY_READ.issuperset(options.parts):
        from taichimd.core import runtime

        options.backend = runtime.start(options.backend)
    tables, failed = [], 0
    for part in options.parts:
        try:
            tables.append(run(part, options))
        except Exception:  # the other parts must not be lost
            failed += 1
            traceback.print_exc()
            tables.append(f"{part}: FAILED\n{traceback.format_exc().strip().splitlines()[-1]}")
    print("\n\n".join(tables))
    sys.exit(failed)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__, prog="validation.decomposition")
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--sizes", nargs="+", type=int, help="accuracy: cells in each direction")
    parser.add_argument("--speed-sizes", nargs="+", type=int, help="speed: cells in each direction")
    parser.add_argument("--cases", nargs="+", help="potentials: such as sw-si:8000")
    parser.add_argument("--steps", type=int, help="accuracy: 1,000; divergence: 20,000")
    parser.add_argument("--copies", type=int, help="divergence: runs of each decomposition")
    parser.add_argument("--save", type=Path, help="folder to keep states of accuracy and divergence in")
    parser.add_argument(
        "--against", type=Path, help="such a folder of another backend; starts from its states"
    )
    parser.add_argument("--settle", type=int, help="steps before the first timed one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="length of one timed run, about")
    parser.add_argument("--append", action="store_true", help="keep what the JSON files have of other sizes")
    parser.add_argument("--budget", type=float, default=1e9, help="start nothing after so many seconds")
    parser.add_argument("--compile-only", action="store_true", help="fill the runtime's cache on disk")
    parser.add_argument("--out", type=Path, default=common.RESULTS, help="folder")
    return parser.parse_args()


def run(part: str, options: argparse.Namespace) -> str:
    """One part; its table."""
    module, function = PARTS[part]
    found: str = getattr(import_module(f"validation.decomposition.{module}"), function)(options)
    return found


if __name__ == "__main__":
    main()
