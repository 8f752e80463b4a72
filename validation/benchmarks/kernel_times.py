"""Where the time of a step goes: every parallel loop of one benchmark system with its average time.

    python -m validation.benchmarks.kernel_times --case sw-si --atoms 512000 --steps 300

The runtime's profiler sees kernels only outside CUDA graphs, so steps do not loop on the device here, and a
call holds one step: the loops' own times are those of a run, the total is not. Loops are numbered in the
order of the source. `unrolled_steps`: the cut of the near list (one loop or, with partial forces, two, and a
serial part; next to nothing unless the list is stale), serial flags, first pass, gather and kick, with
`moments` the drift. `build`: clear, bin, scan, order, sort, fill.
"""

import argparse
import os
import time

from validation.benchmarks.systems import CASES


def main() -> None:
    """Parse the command line, run, print the runtime's own table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="sw-si", choices=CASES)
    parser.add_argument("--atoms", type=int, default=64_000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--settle", type=int, default=100, help="steps before, in which skins are learnt")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--decomposition", default="auto", choices=["particle", "tuple", "auto"])
    parser.add_argument("--threads-per-atom", type=int, default=1, help="of pair terms, on CUDA")
    options = parser.parse_args()
    os.environ["TAICHIMD_PROFILE"] = "1"
    from taichimd import runtime

    # Before the modules that take it from there.
    runtime.DEVICE_LOOPS = False
    from taichimd import device, engine
    from taichimd.enumerate import lanes

    device.steps_per_pass = lambda *_: 1
    lanes.threads_for = lambda *_: options.threads_per_atom
    system = CASES[options.case].system(options.atoms)
    run = engine.Engine(
        system.atoms, system.forcefield(), backend=options.backend, decomposition=options.decomposition
    )
    run.warm_up()
    run.advance(options.settle, system.timestep)
    run.synchronize()
    runtime.ti.profiler.clear_kernel_profiler_info()
    builds, started = run.statistics()["rebuilds"], time.perf_counter()
    run.advance(options.steps, system.timestep)
    run.synchronize()
    elapsed = time.perf_counter() - started
    runtime.ti.profiler.print_kernel_profiler_info()
    lists = run.statistics()
    print(
        f"{options.case} {options.atoms} atoms, {options.steps} steps, {lists['rebuilds'] - builds} builds, "
        f"{1e3 * elapsed / options.steps:.4g} ms/step in all, "
        f"skins {lists['outer_skin_A']:.2f} and {lists['inner_skin_A']:.2f} angstrom"
    )


if __name__ == "__main__":
    main()
