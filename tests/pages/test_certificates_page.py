"""docs/howto/validate.md: the table of the shipped potentials is that of the committed certificates."""

from pages import text_of

from taichimd.forcefields.library import shipped
from validation import common
from validation.certificates import page_rows


def test_each_shipped_file_has_a_certificate_and_each_certificate_its_row():
    which = ("quick_cpu", "cpu", "h200", "reaxff_h200")
    files = [common.RESULTS / f"certificates_{one}.json" for one in which]
    reports = [common.read_json(file) for file in files if file.exists()]
    names = {name for report in reports for name in report["certificates"]}
    assert names == {file.name for file in shipped()}
    lines = text_of("docs/howto/validate.md").splitlines()
    rows = [one for one in lines if one.startswith("| `") and one.split("`")[1] in names]
    assert rows == page_rows(*reports)
