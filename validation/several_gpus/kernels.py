"""How long do the kernels of a step of several processes take, of one process, by Nsight Compute?

Run `ncu --clock-control none --csv --metrics gpu__time_duration.sum -s 700 -c 1500 python -m
validation.several_gpus.kernels --run`, keep what it prints in a file, then `python -m
validation.several_gpus.kernels --read FILE`.
"""

import csv
import re
import statistics
from pathlib import Path

from validation import common
from validation.benchmarks.profile_kernels import launches_of


def main() -> None:
    """Run the steps that are profiled, or read what was found."""
    parser = common.parser(__doc__)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--read", type=Path)
    parser.add_argument("--case", default="lj-melt")
    parser.add_argument("--atoms", type=int, default=4_000_000)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "parallel_kernels.json")
    options = parser.parse_args()
    if options.run:
        run(options.case, options.atoms)
    if options.read:
        found = kernels(options.read)
        about = {"case": options.case, "atoms": options.atoms, "processes": 1}
        common.write_json(options.out, {**common.provenance(), **about, "kernels": found})
        rows = [(one["kernel"], one["launches"], f"{one['median_us']:.1f}") for one in found]
        print(common.table(rows, ("kernel", "launches", "median, us")))


def run(case: str, atoms: int) -> None:
    """A hundred steps."""
    from taichimd.core.runtime import ti
    from taichimd.parallel import ParallelEngine, join
    from validation.benchmarks.systems import CASES

    its = CASES[case]
    system = its.build(round((atoms / its.atoms_per_cell) ** (1.0 / 3.0)))
    engine = ParallelEngine(system.atoms, system.forcefield(), join(), backend="cuda")
    for _ in range(2):
        engine.advance(50, system.timestep)
    ti.sync()


def kernels(path: Path) -> list[dict[str, float | str]]:
    """The parallel loops, longest sums first."""
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.startswith('"')]
    times: dict[str, list[float]] = {}
    for name, launches in launches_of(list(csv.reader(lines))).items():
        loop = re.sub(r"_c\d+_\d+_kernel_(\d+)_\w+", r", loop \1", name)
        times.setdefault(loop, []).extend(launch["us"] for launch in launches)
    by_sum = sorted(times.items(), key=lambda item: -sum(item[1]))
    return [
        {"kernel": name, "launches": len(each), "median_us": statistics.median(each), "sum_us": sum(each)}
        for name, each in by_sum
    ]


if __name__ == "__main__":
    main()
