"""Where the time of a step goes: every parallel loop of one benchmark system with its average time.

    python -m validation.benchmarks.kernel_times --case sw-si --atoms 64000 --decomposition particle tuple

The runtime's profiler sees kernels only outside CUDA graphs, so steps do not loop on the device here, and a
call holds one step: the loops' own times are those of a run, the total is not. Positions cannot swap between
two arrays then (`program.steps.verlet`): a last loop, "drift", is in a run part of the one before it. `us` is
the mean over the launches that had something to do (of those of lists: when the near list was cut), `us/step`
what a step pays for them. `build`: the Verlet list, all of its loops.
"""

import argparse
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from validation import common
from validation.benchmarks import loop_names
from validation.benchmarks.systems import CASES


def main() -> None:
    """Parse the command line, run, print tables; JSON if asked for."""
    parser = common.parser(__doc__)
    parser.add_argument("--case", default="sw-si", choices=CASES)
    parser.add_argument("--atoms", nargs="+", type=int, default=[64_000])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--settle", type=int, default=100, help="steps before, in which skins are learnt")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--decomposition", nargs="+", default=["auto"], choices=["particle", "tuple", "auto"])
    parser.add_argument("--out", type=Path, help="JSON")
    options = parser.parse_args()
    os.environ["TAICHIMD_PROFILE"] = "1"
    without_device_loops()
    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "results": []}
    for atoms in options.atoms:
        for decomposition in options.decomposition:
            report["results"].append(measure(options, atoms, decomposition))
            if options.out:
                common.write_json(options.out, report)
    for result in report["results"]:
        show(result)


def without_device_loops() -> None:
    """One step a call, whose loops profilers see; before any module that asks for loops on the device."""
    from taichimd.core import runtime

    runtime.DEVICE_LOOPS = False
    from taichimd.program import device

    device.steps_per_pass = lambda *_: 1


def measure(options: argparse.Namespace, atoms: int, decomposition: str) -> dict[str, Any]:
    """Steps of one system under the profiler."""
    from taichimd.core.runtime import ti
    from taichimd.program.engine import Engine

    print(f"{options.case}:{atoms} {decomposition} ...", flush=True)
    system = CASES[options.case].system(atoms)
    engine = Engine(system.atoms, system.forcefield(), decomposition=decomposition)
    engine.warm_up()
    engine.advance(options.settle, system.timestep)
    engine.synchronize()
    builds, cuts = engine.statistics()["rebuilds"], count_cuts(engine.device.lists)
    ti.profiler.clear_kernel_profiler_info()
    started = time.perf_counter()
    engine.advance(options.steps, system.timestep)
    engine.synchronize()
    elapsed = time.perf_counter() - started
    times = launches()
    lists = engine.statistics()
    result = {
        "case": options.case,
        "atoms": atoms,
        "decomposition": engine.decomposition,
        "steps": options.steps,
        "builds": lists["rebuilds"] - builds,
        "cuts": cuts(),
        "ms_per_step_in_all": 1e3 * elapsed / options.steps,
        **{key: lists[key] for key in ("outer_skin_A", "inner_skin_A")},
    }
    names = loop_names.named(times, loop_names.layout(engine))
    return {**result, **reduce_launches(times, names, options.steps, result["cuts"])}


def count_cuts(lists: Any) -> Callable[[], int]:
    """A function that tells how often the near list has been cut since; a build forgets its cuts."""
    from taichimd.neighbours.control import CUTS

    found, renew = [-int(lists.control.to_numpy()[CUTS])], lists.renew

    def counted(frame: Any) -> bool:
        if lists.due():
            found.append(int(lists.control.to_numpy()[CUTS]))
        return bool(renew(frame))

    lists.renew = counted
    return lambda: sum(found) + int(lists.control.to_numpy()[CUTS])


def launches() -> dict[str, list[float]]:
    """Times (us) of all launches since the profiler was cleared, by kernel."""
    from taichimd.core.runtime import ti

    # The public side gives means, in which launches that had nothing to do are hidden.
    program = ti.lang.impl.get_runtime().prog
    program.sync_kernel_profiler()
    program.update_kernel_profiler()
    found: dict[str, list[float]] = {}
    for record in program.get_kernel_profiler_records():
        found.setdefault(record.name, []).append(1e3 * record.kernel_time)
    return found


def reduce_launches(
    times: dict[str, list[float]], names: dict[str, str], steps: int, cuts: int
) -> dict[str, Any]:
    """Loops of a step by name, in order; all others by kernel.

    Args:
        times: us, by kernel.
        names: of the loops of a step.
        steps: done; loops of a step work so often, but for the first and the last, which other kernels do,
            and are launched more often: the host queues calls that find an outdated list.
        cuts: of the near list; loops of lists work so often.
    """
    loops = []
    for kernel in sorted(names, key=lambda kernel: loop_names.number(kernel) or 0):
        name = names[kernel]
        works = cuts if name.startswith(loop_names.LISTS) else steps - 1
        longest = sorted(times[kernel], reverse=True)[: max(works, 1)]
        us = sum(longest) / len(longest)
        loops.append({"loop": name, "us": us, "works": works, "us_per_step": us * works / (steps - 1)})
    others: dict[str, float] = {}
    for kernel, each in times.items():
        if kernel not in names:
            short = re.sub(r"_c\d+_\d+.*$", "", kernel)
            # Without names, a loop of a step is told by its number.
            if short == loop_names.KERNEL and not names and loop_names.number(kernel) is not None:
                short = f"{short} {loop_names.number(kernel)}"
            others[short] = others.get(short, 0.0) + sum(each) / (steps - 1)
    return {"loops": loops, "others_us_per_step": others}


def show(result: dict[str, Any]) -> None:
    """One line for each loop."""
    print(
        f"\n{result['case']} {result['atoms']} atoms, {result['decomposition']}, {result['steps']} steps, "
        f"{result['builds']} builds, {result['cuts']} cuts, "
        f"{result['ms_per_step_in_all']:.4g} ms/step in all, "
        f"skins {result['outer_skin_A']:.2f} and {result['inner_skin_A']:.2f} angstrom"
    )
    rows = [
        (loop["loop"], f"{loop['us']:.1f}", loop["works"], f"{loop['us_per_step']:.2f}")
        for loop in result["loops"]
    ]
    for name, us in sorted(result["others_us_per_step"].items(), key=lambda item: -item[1]):
        if us >= 0.01:
            rows.append((name, "", "", f"{us:.2f}"))
    print(common.table(rows, ("loop", "us", "works", "us/step")))


if __name__ == "__main__":
    main()
