"""A step as a sequence of kernels, for sums of more groups than one kernel can take.

Each group has a kernel that cuts its near list and one that computes its forces. One more adds these up and
moves the atoms. The loops are those of the plain stepper (`step`), so the bits are the same.
"""

from taichimd.core.arguments import Kernel, KernelQueue, kernel
from taichimd.neighbours.control import Control
from taichimd.neighbours.rows import VerletRows
from taichimd.program.compiled import CompiledGroups, closing, cutting_kernels, only, step_view
from taichimd.program.steps.step import OneStep, StepFunctions
from taichimd.program.variant import Variant


def split_call(variant: Variant, program: CompiledGroups, stepping: StepFunctions) -> KernelQueue:
    """A step, and one in which a barostat acts, if it is its turn."""
    types, given, flags = variant.types, variant.of_call, program.flags
    its = tuple(group.arguments for group in variant.groups)
    numbers = range(len(variant.groups))

    def opening(closes: bool) -> Kernel:
        @kernel(types, system=closing(variant), loops=given["loops"])
        def open_call(system, loops):
            s = step_view(system, system.groups)
            if closes:
                program.close_cuts(s)
                flags.count_call(s.control)
            flags.open_call(s.control, loops.going, None, s.bath)

        return open_call

    def forces_of(k: int, at: int, one: OneStep) -> Kernel:
        system = variant.system(groups=only(k, its), cells=None)

        @kernel(types, system=system, outputs=only(k, given["outputs"]))
        def forces(system, outputs):
            s = step_view(system, program.views(system, system.atoms.n))
            one.of_group(k, at, s, outputs[k])

        return forces

    def kicks_of(at: int, one: OneStep) -> Kernel:
        system = variant.system(groups=None, verlet=VerletRows.only("shift_bits", "shifts"))

        @kernel(types, system=system, outputs=given["outputs"], dt=given["dt"])
        def kicks(system, outputs, dt):
            one.kicks(at, 0, step_view(system, (), dt), outputs)

        return kicks

    def step(at: int, one: OneStep) -> list[Kernel]:
        return [*(forces_of(k, at, one) for k in numbers), kicks_of(at, one)]

    kernels = [
        *cutting_kernels(variant.outside_steps),
        opening(True),
        *step(Control.frozen, stepping.ordinary),
    ]
    if stepping.action is not None:
        # Where kernels are queued before each step, it is one of the two.
        kernels += [*([] if variant.queued else [opening(False)]), *step(Control.frozen + 2, stepping.action)]
    return KernelQueue(given, kernels)
