"""docs/howto/validate.md: the table of the shipped potentials is that of the committed certificates."""

from pages import text_of

from taichimd.forcefields.library import shipped
from validation import common
from validation.certificates import page_rows

REPORTS = [
    common.read_json(common.RESULTS / f"certificates_{one}.json")
    for one in ("cpu", "h200", "reaxff_h200", "sio_cpu")
]


def test_each_shipped_file_has_a_certificate_and_each_certificate_its_row():
    names = {name for report in REPORTS for name in report["certificates"]}
    assert names == {file.name for file in shipped()}
    lines = text_of("docs/howto/validate.md").splitlines()
    rows = [one for one in lines if one.startswith("| `") and one.split("`")[1] in names]
    assert [one for one in rows if one.count("|") == 7] == page_rows(*REPORTS)


def test_each_certificate_is_a_full_one():
    levels = {one["level"] for report in REPORTS for one in report["certificates"].values()}
    assert levels == {"full"}
