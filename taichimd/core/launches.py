"""Launches of a kernel of quadrants with arrays that it was launched with before.

Quadrants looks at each argument of each call, which takes longer than many kernels do. Where the arrays are
those of an earlier call, only numbers and vectors can differ: then the arguments of that call are copied, and
numbers and other vectors are set. This uses names of quadrants that are not public; where they are missing,
its own way is taken.
"""

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import NAME, ti

MAX_REMEMBERED = 64
"""Sets of arrays that a kernel remembers; more are forgotten together."""


@dataclass(frozen=True)
class _Call:
    """What an earlier call was."""

    kernel: Any  # as the runtime wraps it
    code: Any  # as compiled
    arguments: Any  # with its arrays and vectors
    # nested loops of a graph: the argument that a loop depends on, and the loop around it
    levels: tuple[tuple[int, int], ...]
    vectors: tuple[Any, ...]  # in `arguments`; another one is set
    held: tuple[Any, ...]  # weak references to the arrays


class Launches:
    """What is known of the launches of one kernel, which returns nothing; types: None for arrays."""

    def __init__(self, compiled: Any, types: Sequence[Any]) -> None:
        self._primal, self._types = compiled._primal, types
        places = range(len(types))
        self._arrays = tuple(k for k in places if types[k] is None)
        self._vectors = tuple(k for k in places if hasattr(types[k], "n"))
        self._ints = tuple(k for k in places if types[k] in (ti.i32, ti.i64))
        self._floats = tuple(k for k in places if types[k] in (ti.f32, ti.f64))
        self._calls: dict[tuple[int, ...], _Call] = {}

    def again(self, flat: Sequence[Any]) -> bool:
        """Launch, if there was a call with these arrays; whether it was done."""
        call = self._calls.get(tuple([id(flat[k]) for k in self._arrays]))
        if call is None:
            return False
        arguments = call.kernel.make_launch_context()
        arguments.copy(call.arguments)
        for k, before in zip(self._vectors, call.vectors, strict=True):
            if flat[k] is not before:
                self._types[k].set_kernel_struct_args(flat[k], arguments, (k,))
        if self._ints:
            arguments.set_args_int(self._ints, tuple([int(flat[k]) for k in self._ints]))
        if self._floats:
            arguments.set_args_float(self._floats, tuple([float(flat[k]) for k in self._floats]))
        if self._primal.use_graph:
            arguments.use_graph = True
            for argument, around in call.levels:
                arguments.add_graph_do_while_level(argument, around)
        ti.lang.impl.get_runtime().prog.launch_kernel(call.code, arguments)
        return True

    def remember(self, flat: Sequence[Any]) -> None:
        """Note the last call, which had these arguments; not if they are copied, as arrays of NumPy are."""
        if not all(isinstance(flat[k], ti.Ndarray) for k in self._arrays):
            return
        primal = self._primal
        kernel = primal.materialized_kernels[primal._last_launch_key]
        arguments = kernel.make_launch_context()
        if self._arrays:
            arguments.set_args_ndarray(self._arrays, tuple(flat[k].arr for k in self._arrays))
        for k in self._vectors:
            self._types[k].set_kernel_struct_args(flat[k], arguments, (k,))
        key = tuple(id(flat[k]) for k in self._arrays)
        if len(self._calls) >= MAX_REMEMBERED:
            self._calls.clear()
        calls = self._calls

        def forget(_: Any) -> None:
            calls.pop(key, None)

        held = tuple(weakref.ref(flat[k], forget) for k in self._arrays)
        code = primal.compiled_kernel_data_by_key[primal._last_launch_key]
        levels = tuple((one.cond_cpp_arg_id, one.parent_id) for one in primal.graph_do_while_levels)
        calls[key] = _Call(kernel, code, arguments, levels, tuple(flat[k] for k in self._vectors), held)


def launches_of(compiled: Any, types: Sequence[Any]) -> Launches | None:
    """The same; None where the runtime is another one, or does not have what this needs."""
    if NAME != "quadrants":
        return None
    primal: Any = getattr(compiled, "_primal", None)
    needed = (
        "materialized_kernels", "compiled_kernel_data_by_key", "_last_launch_key", "use_graph",
        "graph_do_while_levels",
    )  # fmt: skip
    # Quadrants launches no graphs if it is told so.
    known = all(hasattr(primal, name) for name in needed) and os.environ.get("QD_GRAPH", "1") == "1"
    return Launches(compiled, types) if known else None
