"""All that a GPU is needed for, in one command: bits first, then speed.

    TAICHIMD_RUNTIME=quadrants python -m validation.triples.gpu --folder FOLDER

Each part is a process of its own, which leaves a file in the folder and prints its table.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from validation import common

PARTS = {
    "bits": ["validation.triples.bits", "--backends", "cpu", "cuda"],
    "energies": ["validation.triples.energies", "--backend", "cuda"],
    "dynamics": ["validation.triples.dynamics", "--backend", "cuda"],
}


def main() -> None:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=common.RESULTS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=240.0, help="after which a part is stopped")
    chosen = parser.parse_args()
    for name in chosen.parts:
        module, *options = PARTS[name]
        out = chosen.folder / f"triples_{name}_cuda.json"
        begun = perf_counter()
        try:
            ended = subprocess.run(
                [sys.executable, "-m", module, *options, "--out", str(out)],
                cwd=common.ROOT, env=dict(os.environ), timeout=chosen.seconds, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            ended = -1
        print(f"== {name}: ended with {ended} after {perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
