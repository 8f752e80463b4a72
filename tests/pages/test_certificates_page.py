"""docs/howto/validate.md: the table of the shipped potentials is that of the committed certificates."""

import json
import re
from collections import Counter

import pytest
from pages import ROOT, text_of

from taichimd.forcefields.library import shipped

pytestmark = pytest.mark.once
FILE = ROOT / "validation" / "results" / "certificates_quick_cpu.json"


def test_each_shipped_potential_has_its_row():
    certificates = json.loads(FILE.read_text(encoding="utf-8"))["certificates"]
    assert set(certificates) == {file.name for file in shipped()}
    rows = {}
    for name, *cells in re.findall(
        r"^\| `([\w.-]+)` \| (\d+) \| (\d+) \| (\d+) \|", text_of("docs/howto/validate.md"), re.MULTILINE
    ):
        rows[name] = tuple(map(int, cells))
    found = {}
    for name, one in certificates.items():
        count = Counter(outcome["status"] for outcome in one["outcomes"].values())
        found[name] = count["passed"], count["failed"], count["not run"]
    assert rows == found
