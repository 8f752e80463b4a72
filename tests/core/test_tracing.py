"""Kernels are traced and shared as the runtimes would have it, only sooner."""

import ast
import importlib.util
import inspect
import linecache
import textwrap
import traceback
from importlib import import_module
from types import SimpleNamespace

import pytest

from taichimd.core import runtime
from taichimd.core.arguments import device_helper
from taichimd.core.runtime import ti
from taichimd.core.tracing import _keep, _keep_wrapped, _kept_positions, uses_no_structs
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.registry import (
    Bussi,
    Langevin,
    MartynaTobiasKlein,
    NoseHoover,
    StochasticCellRescaling,
)
from taichimd.enumerate.group import TermGroup
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.neighbours.sorted_atoms import Search
from taichimd.program.steps.verlet import step_kernels
from taichimd.program.variant import Variant

pytestmark = pytest.mark.both

SOURCE = """
from taichimd.core.runtime import ti

def made(by):
    @ti.func
    def value(x):
        return {formula} * by
    return value
"""


def loaded(path, formula):
    path.write_text(SOURCE.format(formula=formula))
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location("own_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result(function, x):
    numbers = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def one(out: numbers):
        for i in out:
            out[i] = function(out[i])

    out = ti.ndarray(ti.f64, 1)
    out.fill(x)
    one(out)
    return out.to_numpy()[0]


def test_closures_and_changed_files_are_told_apart(tmp_path):
    runtime.start()
    path = tmp_path / "own_functions.py"
    module = loaded(path, "x * x")
    assert [result(module.made(by), 3.0) for by in (1.0, 2.0)] == [9.0, 18.0]
    assert result(loaded(path, "x + x").made(1.0), 3.0) == 6.0


def test_lookups_are_kept_for_each_function(monkeypatch):
    asked = []

    class Module:
        @staticmethod
        def look_up(function):
            asked.append(function)
            return inspect.getsourcelines(function)

    _keep(Module, "look_up")
    first, second = (loop(by) for by in (1, 2))
    for function in (first, second, result):
        assert Module.look_up(function) == inspect.getsourcelines(function)
    assert asked == [first, result], "closures of one factory have one source"


def test_wrapped_lines_are_those_of_textwrap():
    module = SimpleNamespace()
    _keep_wrapped(module)
    for line in ("    return x", "\tif x:", "", "y = 1" * 40):
        for _ in range(2):
            assert module.textwrap.fill(line, tabsize=4, width=9999) == textwrap.fill(
                line, tabsize=4, width=9999
            )
            assert module.textwrap.dedent(line) == textwrap.dedent(line)


def test_an_assignment_copies_its_value_once(monkeypatch):
    numbers, copied = ti.types.ndarray(dtype=ti.f64, ndim=1), []
    impl = import_module(f"{runtime.NAME}.lang.impl")
    copy = impl.expr_init

    @ti.kernel
    def twice_and_one(out: numbers):
        for i in out:
            x = 2.0 * out[i]
            x = x + 1.0
            out[i] = x

    runtime.start()
    out = ti.ndarray(ti.f64, 1)
    out.fill(3.0)
    monkeypatch.setattr(impl, "expr_init", lambda value: copied.append(value) or copy(value))
    twice_and_one(out)
    assert out.to_numpy().tolist() == [7.0]
    assert len(copied) == 1


def test_an_assigned_vector_of_python_is_a_variable():
    runtime.start()
    numbers = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @device_helper
    def zeros():
        return ti.Vector([0.0, 0.0], ti.f64)

    @ti.kernel
    def second(out: numbers):
        for i in range(1):
            kept = zeros()
            kept[i + 1] = out[0]
            for k in ti.static(range(2)):
                out[k] = kept[k]

    out = ti.ndarray(ti.f64, 2)
    out.fill(5.0)
    second(out)
    assert out.to_numpy().tolist() == [0.0, 5.0]


def test_assignments_that_read_what_they_change():
    numbers, whole = ti.types.ndarray(dtype=ti.f64, ndim=1), ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.func
    def double_and_next(x):
        return 2.0 * x, x + 1.0

    @ti.kernel
    def assign(out: numbers, count: whole):
        for _ in range(1):
            v = ti.Vector([1.0, 2.0, 3.0])
            v = ti.Vector([v[1], v[2], v[0]])
            v[0] = v[0] + v[1]
            m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            m = m.transpose() @ m
            a, b = double_and_next(v[2])
            a, b = b, a
            c = d = a
            c += 1.0
            count[ti.atomic_add(count[0], 1) + 1] = count[0]
            for k, one in ti.static(enumerate((v[0], v[1], v[2], m[0, 0], m[0, 1], m[1, 1], a, b, c, d))):
                out[k] = one

    runtime.start()
    out, count = ti.ndarray(ti.f64, 10), ti.ndarray(ti.i32, 2)
    assign(out, count)
    assert out.to_numpy().tolist() == [5.0, 3.0, 1.0, 10.0, 14.0, 20.0, 2.0, 2.0, 3.0, 2.0]
    assert count.to_numpy().tolist() == [1, 0]


@pytest.mark.runtime("quadrants")
def test_kernels_are_traced_once():
    traced = []
    numbers, pair = ti.types.ndarray(dtype=ti.f64, ndim=1), ti.types.vector(2, ti.f64)

    @ti.kernel
    def scale(out: numbers, by: pair, n: ti.i32):
        ti.static(traced.append("scale"))
        for i in range(n):
            out[i] = by[0] * out[i] + by[1]

    runtime.start()
    out = ti.ndarray(ti.f64, 3)
    out.fill(5.0)
    scale(out, pair(2.0, 1.0), 2)
    assert out.to_numpy().tolist() == [11.0, 11.0, 5.0]
    assert traced == ["scale"]


@pytest.mark.runtime("quadrants")
def test_kernels_of_structs_are_traced_as_the_runtime_does():
    @ti.kernel
    def taking(by: ti.template()) -> ti.f64:
        return by

    assert uses_no_structs(taking._primal, "key") is None


def loop(by):
    def inner(x):
        return x * by

    return inner


def test_places_of_errors_are_kept_for_each_node():
    class Context:
        class func:  # noqa: N801
            func = staticmethod(loop)

    asked = []
    kept = _kept_positions(lambda _, node: asked.append(node) or ast.dump(node))
    nodes = [node for node in ast.walk(ast.parse(inspect.getsource(loop))) if hasattr(node, "lineno")]
    for _ in range(2):
        assert [kept(Context, node) for node in nodes] == [ast.dump(node) for node in nodes]
    assert asked == nodes


COUPLINGS = [
    Coupling(),
    Coupling(Langevin),
    Coupling(Bussi),
    Coupling(Bussi, driven=True),
    Coupling(NoseHoover, driven=True),
    Coupling(StochasticCellRescaling, "triclinic", "xyz", 5),
    Coupling(MartynaTobiasKlein, "isotropic", "xyz"),
]


def test_ensembles_share_the_kernels_that_do_not_know_them():
    runtime.start()
    terms = LennardJones(epsilon=0.01, sigma=3.4, cutoff=6.0).bind(["Ar"])[0].terms
    made = [
        step_kernels(
            Variant((TermGroup(terms),), ti.f64, ti.f64, "cpu", coupling=each), Search(ti.f64), True, 0
        )
        for each in COUPLINGS
    ]
    groups = [0, 0, 0, 1, 1, 2, 2]
    for kind in ("evaluate", "last_kick", "moved"):
        for one, group in zip(made, groups, strict=True):
            for other, its in zip(made, groups, strict=True):
                assert (getattr(one, kind) is getattr(other, kind)) == (group == its)
    assert len({id(one.steps) for one in made}) == len(made)


def test_arrays_are_made_without_a_look_at_the_stack(monkeypatch):
    runtime.start("cpu")

    def look(*of):
        raise AssertionError("the stack is put into words")

    monkeypatch.setattr(traceback, "extract_stack", look)
    for kind in (ti.f64, ti.types.vector(3, ti.f64), ti.types.matrix(3, 3, ti.f64)):
        assert len(ti.ndarray(kind, 2).to_numpy()) == 2
