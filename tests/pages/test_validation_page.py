"""validation/README.md: each question has a driver that exists, and each result a question."""

import re
from fnmatch import fnmatch
from importlib.util import find_spec

from pages import ROOT, text_of

ROWS = [
    line.strip("| ").split(" | ")
    for line in text_of("validation/README.md").split("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| ---") and "question |" not in line
]
RESULTS = {path.stem for path in (ROOT / "validation" / "results").glob("*.json")}


def test_every_driver_of_the_table_exists():
    assert len(ROWS) > 30
    for _, driver, *_ in ROWS:
        name = re.match(r"`([\w.]+)", driver).group(1)
        assert find_spec(f"validation.{name}"), f"validation/README.md names the driver {name}"


def test_every_result_has_a_question_and_every_pattern_a_result():
    patterns = [name for row in ROWS for name in re.findall(r"`([\w*]+)`", row[2])]
    assert [p for p in patterns if not any(fnmatch(name, p) for name in RESULTS)] == []
    assert {name for name in RESULTS if not any(fnmatch(name, p) for p in patterns)} == set()
