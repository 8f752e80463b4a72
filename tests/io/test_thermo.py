"""Rows of thermo.csv are read as they were written, whole ones quickly and others as before."""

from io import BytesIO

import numpy as np
import pytest

from taichimd.core.errors import OutputError
from taichimd.io import thermo
from taichimd.io.thermo import COLUMNS, read_thermo

HEADER = ",".join(COLUMNS) + "\n"


def table(tmp_path, text):
    path = tmp_path / "thermo.csv"
    path.write_text(HEADER + text)
    return path


def test_numbers_are_those_that_were_written(tmp_path, monkeypatch):
    random = np.random.default_rng(5)
    written = random.normal(size=(40, len(COLUMNS))) * 10.0 ** random.integers(-300, 300, (40, 1))
    rows = [[repr(float(value)) for value in row] for row in written]
    for row, gap in zip(rows, random.integers(1, len(COLUMNS), 40), strict=True):
        row[gap] = ""
    text = "".join(",".join(row) + "\n" for row in rows)
    slow = np.genfromtxt(BytesIO(text.encode()), delimiter=",")
    monkeypatch.setattr(thermo.np, "genfromtxt", None)
    found = read_thermo(table(tmp_path, text + "1,2"))
    assert np.isnan(slow).sum() == 40
    np.testing.assert_array_equal(np.column_stack([found[name] for name in COLUMNS]), slow)


@pytest.mark.parametrize("text", ["", "\n", "1,2"])
def test_a_table_without_whole_rows_is_empty(tmp_path, text):
    assert all(len(column) == 0 for column in read_thermo(table(tmp_path, text)).values())


def test_a_row_with_fewer_fields_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="is damaged"):
        read_thermo(table(tmp_path, "1,2,3,4,5,6,7,8,9\n1,2\n"))
