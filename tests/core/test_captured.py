"""The digest of a kernel's function changes with everything that its code depends on."""

import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from taichimd.core import captured
from taichimd.core.captured import UnsureError, digest_of
from taichimd.core.generated import imported
from taichimd.core.runtime import computed_in, ti

pytestmark = pytest.mark.runtime("quadrants")

TEXT = """
import math
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import SimpleNamespace
import numpy as np
from taichimd.core.runtime import computed_in, ti

NUMBER = {number}
ARRAY = np.array([1.0, {number}])
TABLE = {{"a": ({number}, 2)}}
THERE = SimpleNamespace(deep=SimpleNamespace(number={number}))


class Kind(Enum):
    ONE = {number}


@dataclass(frozen=True)
class Functions:
    first: object


def helper(x):
    return x * {number}


@ti.func
def device_helper(x):
    return x + {number}


def factory(value):
    @ti.func
    def made(x):
        return x * value

    return made


class Own:
    scale = {number}

    def times(self, x):
        return x * {number}


def reads_a_literal(x):
    return x * {number}


def reads_a_global(x):
    return x * NUMBER


def reads_an_array(x):
    return x * ARRAY[1]


def reads_a_table(x):
    return x * TABLE["a"][0]


def reads_attributes(x):
    return x * THERE.deep.number


def reads_an_enum(x):
    return x * Kind.ONE.value


def calls_a_helper(x):
    return helper(x)


def calls_a_device_function(x):
    return device_helper(x)


def calls_a_method(x):
    return Own().times(x)


def has_a_default(x, y={number}):
    return x * y


def calls_in_a_comprehension(x):
    return sum(helper(k) for k in range(3))


closes_over_a_number = factory({number})
closes_over_a_function = factory(factory({number}))
closes_over_a_class = factory(Own)
closes_over_a_dataclass = factory(Functions(factory({number})))
closes_over_a_vector = factory(ti.Vector([1.0, {number}]))
has_an_argument = partial(helper, {number})
"""
NAMES = re.findall(r"^def ((?:reads|calls|has)_\w+)|^((?:closes|has)_\w+) =", TEXT, re.MULTILINE)
NAMES = [one or other for one, other in NAMES]


def _module(number):
    return imported(TEXT.format(number=number), "captured_values")


@pytest.mark.parametrize("name", NAMES)
def test_a_number_anywhere_below_a_function_counts(name):
    one, other = _module(1.5), _module(1.5000000000000002)
    assert digest_of(getattr(one, name)) == digest_of(getattr(one, name))
    assert digest_of(getattr(one, name)) != digest_of(getattr(other, name))


def test_values_that_change_while_the_process_runs_count(monkeypatch):
    module = _module(2.5)
    before = digest_of(module.reads_a_global), digest_of(module.reads_a_literal)
    monkeypatch.setattr(module, "NUMBER", 2.75)
    after = digest_of(module.reads_a_global), digest_of(module.reads_a_literal)
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_module_of_helpers_counts_by_what_is_read_of_it():
    reader = imported(
        "import taichimd.core.units as units\n\n\ndef f(x):\n    return x * units.KNOWN\n", "reader"
    )
    helpers = imported("KNOWN = 1\nUNREAD = 1\n", "helpers")
    vars(reader)["units"] = helpers
    first = digest_of(reader.f)
    helpers.UNREAD = 2
    assert digest_of(reader.f) == first
    helpers.KNOWN = 2
    assert digest_of(reader.f) != first


def test_literals_of_another_type_are_another_function():
    helper = _module(1).helper
    assert digest_of(computed_in(ti.f64)(helper)) != digest_of(computed_in(ti.f32)(helper))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0), (True, 1), (0.0, -0.0), ("1", 1), ((1, 2), [1, 2]), ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        (ti.f32, ti.f64), (ti.types.vector(3, ti.f64), ti.types.vector(3, ti.f32)),
        (ti.types.ndarray(ti.f64, 1), ti.types.ndarray(ti.f64, 2)),
        (np.float32(1.0), np.float64(1.0)), (np.zeros((2, 3)), np.zeros((3, 2))),
        (frozenset("ab"), frozenset("ac")), (range(3), range(4)), (partial(int, 1), partial(int, 2)),
    ],
)  # fmt: skip
def test_values_that_are_easily_confused_differ(one, other):
    assert digest_of(one) != digest_of(other)


def test_the_same_object_twice_is_not_two_objects():
    one, other = [1], [1]
    assert digest_of(one, one) != digest_of(one, other)
    assert digest_of(one, other) == digest_of(other, one)
    loop: list = []
    loop.append(loop)
    assert digest_of(loop) == digest_of(loop)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        (one for one in ()),
        np.array([None]),
        {object()},
        memoryview(b""),
        imported("X = 1\n", "a_user"),
    ],
)
def test_what_has_no_sure_text_is_no_guess(value):
    with pytest.raises(UnsureError):
        digest_of(value)


def test_arrays_on_the_device_are_no_guess():
    from taichimd.core.runtime import start

    start("cpu")
    with pytest.raises(UnsureError, match="Ndarray"):
        digest_of(ti.ndarray(ti.f64, 3))


def test_versions_and_the_package_count(monkeypatch):
    before = digest_of(1)
    monkeypatch.setenv("TAICHIMD_ANYTHING", "1")
    assert digest_of(1) != before
    monkeypatch.delenv("TAICHIMD_ANYTHING")
    monkeypatch.setattr(captured, "version", lambda name: "0.0.1")
    assert digest_of(1) != before
    monkeypatch.undo()
    monkeypatch.setattr(captured, "_code_of_package", lambda: "of another version")
    assert digest_of(1) != before


def test_a_package_that_changes_while_it_runs_is_no_guess(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_text("X = 1\n")
    monkeypatch.setattr(captured, "_PACKAGE", tmp_path)
    monkeypatch.setattr(captured, "_BEGUN", 0.0)
    captured._code_of_package.cache_clear()
    try:
        with pytest.raises(UnsureError, match="has changed"):
            digest_of(1)
    finally:
        monkeypatch.undo()
        captured._code_of_package.cache_clear()


def test_two_processes_have_the_same_digest():
    script = (
        "from taichimd.core.captured import digest_of\n"
        "from taichimd.core.generated import imported\n"
        f"module = imported({TEXT.format(number=3)!r}, 'captured_values')\n"
        f"print(digest_of(*[getattr(module, name) for name in {NAMES!r}], frozenset('abcdef')))\n"
    )
    found = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1] != ""
