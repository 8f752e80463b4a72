"""Every test asserts something: none has no assertion, and none asserts only what a search may not find."""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SEARCHES = {"findall", "finditer", "glob", "rglob", "iterdir", "splitlines", "registered_commands"}
"""What may find nothing: a loop over it then asserts nothing."""
FILES = sorted(TESTS.rglob("test_*.py"))


@cache
def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def called(node):
    """Name of the function of a call, or ""."""
    of = getattr(node, "func", None)
    return getattr(of, "attr", None) or getattr(of, "id", "")


def asserts_itself(node):
    """Whether a node is an assertion: a statement, NumPy's or pytest's, what must neither fail nor warn."""
    if isinstance(node, ast.Call):
        checked = any(k.arg == "check" and getattr(k.value, "value", 0) is True for k in node.keywords)
        return checked or called(node).startswith(("assert_", "raises", "warns", "fail", "simplefilter"))
    return isinstance(node, ast.Assert)


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@cache
def asserting_helpers():
    """Names of functions of tests and their support that assert, themselves or by others."""
    found, calls = set(), []
    for file in TESTS.rglob("*.py"):
        for one in functions(tree_of(file)):
            nodes = list(ast.walk(one))
            if any(asserts_itself(node) for node in nodes):
                found.add(one.name)
            else:
                calls.append((one.name, {called(node) for node in nodes}))
    while more := {name for name, of in calls if not found.isdisjoint(of)} - found:
        found |= more
    return found


def asserts(node):
    return any(asserts_itself(inner) or called(inner) in asserting_helpers() for inner in ast.walk(node))


def searched(node):
    """Whether an expression searches."""
    inner = [called(one) or getattr(one, "attr", "") for one in ast.walk(node)]
    return not SEARCHES.isdisjoint(inner)


def unproven(test):
    """Lines of loops that assert, over a search that no assertion outside shows to have found something."""
    sources = {
        target.id: node.value
        for node in ast.walk(test)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    loops = [node for node in ast.walk(test) if isinstance(node, ast.For) and asserts(node)]
    inside = {id(inner) for loop in loops for inner in ast.walk(loop)}
    shown = {
        name.id
        for node in ast.walk(test)
        if isinstance(node, ast.Assert) and id(node) not in inside
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    for loop in loops:
        names = {one.id for one in ast.walk(loop.iter) if isinstance(one, ast.Name)}
        by_name = any(name in sources and searched(sources[name]) for name in names)
        if (searched(loop.iter) or by_name) and not names & shown:
            yield loop.lineno


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_every_test_asserts_something(file):
    tests = [one for one in functions(tree_of(file)) if one.name.startswith("test_")]
    assert tests
    assert [one.name for one in tests if not asserts(one)] == []
    assert [(one.name, line) for one in tests for line in unproven(one)] == []


def test_what_asserts_nothing_is_seen():
    text = """
def test_nothing(): compute()
def test_loop():
    for name in re.findall("a", text): assert name
def test_named_loop():
    found = folder.glob("*")
    for name in found: assert name
def test_fine():
    found = list(folder.glob("*"))
    assert found
    for name in found: assert name
"""
    nothing, loop, named, fine = functions(ast.parse(text))
    assert not asserts(nothing)
    assert (list(unproven(loop)), list(unproven(named)), list(unproven(fine))) == ([4], [7], [])
