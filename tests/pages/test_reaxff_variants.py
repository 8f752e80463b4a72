"""Texts that drivers of measurements replace in ReaxFF's modules are there; the modules are still Python."""

import inspect
from importlib import import_module

import pytest

from validation.reaxff.variants import FORCES, REPLACED

pytestmark = pytest.mark.once


@pytest.mark.parametrize("term", REPLACED)
def test_replaced_texts_occur_once(term):
    assert REPLACED[term]
    for name, replacements in REPLACED[term].items():
        assert replacements
        source = inspect.getsource(import_module(FORCES + name))
        for before, after in replacements.items():
            assert source.count(before) == 1, before
            source = source.replace(before, after)
        compile(source, name, "exec")
