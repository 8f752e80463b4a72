"""The list of `validation.mutations`: each text is in its file once, each test is there."""

from collections import Counter

import pytest
from pages import ROOT

from validation.mutations import LIST, applied, mutations

ALL = mutations()


def test_there_are_many_and_each_has_its_name():
    assert len(ALL) >= 50
    assert [name for name, count in Counter(one.name for one in ALL).items() if count > 1] == []
    assert len(ALL) == LIST.read_text(encoding="utf-8").count("[[mutation]]")


@pytest.mark.parametrize("mutation", ALL, ids=lambda one: one.name)
def test_a_mutation_can_be_applied_and_its_tests_are_there(mutation):
    text = (ROOT / mutation.file).read_text(encoding="utf-8")
    assert applied(mutation, text) != text
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test


def test_a_text_that_is_not_there_once_is_refused():
    one = ALL[0]
    for text in ("", 2 * one.old):
        with pytest.raises(ValueError, match="times the text of the mutation"):
            applied(one, text)
