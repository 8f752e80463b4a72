"""docs/howto/validate.md: the table of the shipped potentials is that of the committed certificates."""

import pytest
from pages import ROOT, text_of

from taichimd.forcefields.library import shipped
from validation import common
from validation.certificates import page_rows

pytestmark = pytest.mark.once


def test_each_certificate_has_its_row():
    report = common.read_json(ROOT / "validation" / "results" / "certificates_quick_cpu.json")
    names = report["certificates"]
    assert set(names) <= {file.name for file in shipped()}
    lines = text_of("docs/howto/validate.md").splitlines()
    assert [one for one in lines if one.startswith("| `") and one.split("`")[1] in names] == page_rows(report)
