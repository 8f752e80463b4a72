"""Warps of 32 threads on a CPU: device functions as plain Python, a Python thread for each thread of a warp.

`emulated` imports modules of the package again, with a runtime in which `ti.func` returns the function
itself: quadrants with its 64-bit exchanges, or Taichi, whose exchanges keep the low 32 bits of what they get.
What threads of a warp tell each other goes through `_exchange`, where all 32 wait for each other. If they do
not all come, or not for the same reason, it fails: on a GPU that would be undefined. Warps run one after the
other. Three things that Python does otherwise are rewritten in the source: `for thread in range(...)` gives
each thread its share, `ti.atomic_add` takes array and place, and an assigned name is copied.
"""

import ast
import contextlib
import copy
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import struct
import sys
import threading
import types
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np

WARP = 32
_lane = threading.local()
_lock = threading.Lock()


class _Warp:
    """32 threads that exchange values."""

    def __init__(self):
        self.barrier = threading.Barrier(WARP)
        self.values = [None] * WARP
        self.errors = []

    def exchange(self, what, value):
        self.values[_lane.number] = (what, value)
        self.barrier.wait(60)
        seen = list(self.values)
        self.barrier.wait(60)
        different = {name for name, _ in seen}
        assert len(different) == 1, f"threads of a warp wait for different things: {sorted(different)}"
        return [value for _, value in seen]


def run(function, *arguments):
    """Call a device function with 32 threads; what each returns.

    Raises:
        AssertionError: what a thread has raised, or threads that wait for each other in vain.
    """
    warp, found = _Warp(), [None] * WARP

    def thread(number):
        _lane.number, _lane.warp = number, warp
        try:
            found[number] = function(*arguments)
            warp.exchange("end", None)
        except threading.BrokenBarrierError:
            pass
        except Exception as error:
            warp.errors.append(error)
            warp.barrier.abort()

    threads = [threading.Thread(target=thread, args=(k,)) for k in range(WARP)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if warp.errors:
        raise warp.errors[0]
    return found


def lane():
    """Number of the running thread in its warp."""
    return _lane.number


def _exchange(what, value):
    return _lane.warp.exchange(what, value)


def _ballot(condition):
    return sum(1 << k for k, holds in enumerate(_exchange("ballot", condition)) if holds)


def _shuffle(value, source):
    values = _exchange("shuffle", value)
    assert 0 <= source < WARP
    return values[source]


def _reduce_add_tiled(value, log2):
    """The sum of 2^log2 threads, in the first of them; others get what is of no use, as on a GPU."""
    values = _exchange("reduce", value)
    for step in range(log2):
        offset = 1 << (log2 - 1 - step)
        values = [one + values[k + offset if k + offset < WARP else k] for k, one in enumerate(values)]
    return values[lane()]


def _low_half(value):
    """The low 32 bits of a whole number, with their sign."""
    return (int(value) + 2**31) % 2**32 - 2**31


def _shuffle_half(mask, value, source):
    assert mask == 2**WARP - 1
    return _shuffle(_low_half(value), source)


def _half_from_above(mask, value, distance):
    assert mask == 2**WARP - 1
    values = _exchange("shuffle down", _low_half(value))
    return values[lane() + distance if lane() + distance < WARP else lane()]


def _sync(mask=2**WARP - 1):
    assert mask == 2**WARP - 1
    _exchange("sync", None)


_EXCHANGES = {
    "quadrants": {
        "warp": types.SimpleNamespace(ballot=_ballot),
        "subgroup": types.SimpleNamespace(shuffle=_shuffle, reduce_add_tiled=_reduce_add_tiled, sync=_sync),
    },
    "taichi": {
        "warp": types.SimpleNamespace(
            ballot=_ballot, shfl_sync_i32=_shuffle_half, shfl_down_i32=_half_from_above, sync=_sync
        ),
    },
}


def _shared_array(shape, dtype):
    return _exchange("shared", np.zeros(shape, np.float64 if dtype is float else np.int64))[0]


def _threads(number):
    """Those numbers of a loop that the running thread has in each warp; all wait at the end of the loop."""
    assert number % WARP == 0, "not whole warps"
    yield from range(lane(), number, WARP)
    _exchange("end of a loop", None)


def _atomic_add(array, place, value):
    with _lock:
        before = array[place]
        array[place] = before + value
    return before


def _bit_cast(value, dtype):
    given, wanted = ("d", "q") if dtype is int else ("q", "d")
    return struct.unpack(wanted, struct.pack(given, value))[0]


def _of_each(scalars, vectors):
    return lambda a, b: vectors(a, b) if np.ndim(a) or np.ndim(b) else scalars(a, b)


class _Vector:
    def __new__(cls, values, dtype=None):
        return np.array(values)

    @staticmethod
    def zero(dtype, *shape):
        return np.zeros(shape, int if dtype is int else float)


class _Matrix(_Vector):
    pass


def _runtime(name):
    """A module in the place of `taichimd.core.runtime`."""
    ti = types.SimpleNamespace(
        func=lambda function: function,
        data_oriented=lambda cls: cls,
        template=lambda: None,
        static=lambda *values: values if len(values) > 1 else values[0],
        loop_config=lambda **options: None,
        cast=lambda value, dtype: np.asarray(value, dtype) if np.ndim(value) else dtype(value),
        bit_cast=_bit_cast,
        bit_shr=lambda value, places: (int(value) & 0xFFFFFFFF) >> int(places),
        select=lambda condition, yes, no: yes if condition else no,
        min=_of_each(min, np.minimum), max=_of_each(max, np.maximum), sqrt=np.sqrt, floor=np.floor, abs=abs,
        i32=int, i64=int, f64=float, f32=np.float32, u32=lambda value: int(value) & 0xFFFFFFFF,
        Vector=_Vector, Matrix=_Matrix,
        atomic_add=_atomic_add, threads=_threads, copied=copy.copy,
        math=types.SimpleNamespace(popcnt=lambda mask: bin(int(mask) & 0xFFFFFFFF).count("1")),
        simt=types.SimpleNamespace(
            **_EXCHANGES[name],
            block=types.SimpleNamespace(
                SharedArray=_shared_array, sync=lambda: _exchange("sync of the block", None)
            ),
        ),
    )  # fmt: skip
    module = types.ModuleType("taichimd.core.runtime")
    module.ti, module.NAME, module.WARPS = ti, name, True
    module.backend = lambda: "cuda"
    module.type_of = lambda value: float if isinstance(value, float) else int
    module.computed_in = lambda real: lambda function: function
    module.in_double = lambda function: function
    # Imported by modules on the way, and not used here.
    module.__getattr__ = lambda name: MagicMock()
    return module


class _Rewritten(ast.NodeTransformer):
    def visit_For(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id == "thread":
            node.iter.func = ast.parse("ti.threads", mode="eval").body
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if ast.unparse(node.func) == "ti.atomic_add":
            target, value = node.args
            node.args = [target.value, target.slice, value]
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        if self.inside and isinstance(node.value, ast.Name):
            node.value = ast.Call(ast.parse("ti.copied", mode="eval").body, [node.value], [])
        return node

    inside = 0

    def visit_FunctionDef(self, node):
        self.inside += any(ast.unparse(d) == "ti.func" for d in node.decorator_list)
        self.generic_visit(node)
        self.inside -= any(ast.unparse(d) == "ti.func" for d in node.decorator_list)
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        """Of the rewritten source, and never from a file of compiled code."""
        return _compiled(self.get_filename(fullname))


@functools.cache
def _compiled(path):
    tree = ast.fix_missing_locations(_Rewritten().visit(ast.parse(Path(path).read_bytes())))
    return compile(tree, path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if not fullname.startswith("taichimd."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


@contextlib.contextmanager
def _in_place_of_the_package(name):
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "taichimd"}
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    sys.modules["taichimd.core.runtime"] = _runtime(name)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.split(".")[0] == "taichimd"]:
            del sys.modules[name]
        sys.modules.update(saved)


def emulated(*names, runtime="quadrants"):
    """Modules of the package whose device functions are plain Python, for `run`."""
    with _in_place_of_the_package(runtime):
        return [importlib.import_module(f"taichimd.{name}") for name in names]
