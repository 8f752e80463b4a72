"""Everything public has an example in its docstring, and the examples run."""

import doctest

import pytest

import taichimd

NAMES = [name for name in taichimd.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    text = getattr(taichimd, name).__doc__
    found = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert found.examples, f"the docstring of taichimd.{name} has no example"
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(found, out=told.append).failed == 0, "".join(told)
