"""Make docs/howto/report.png: a photograph of a report in headless Chromium.

    (the commands of docs/howto/report.md)
    python docs/report_picture.py silicon/report.html

It needs playwright and Chromium, as the tests of reports do.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browsers import opened, view_of  # noqa: E402

WIDTH, HEIGHT = 1100, 1190
"""Pixels of the picture: from the charts to the 3D view."""


def photograph(page: Path, target: Path) -> None:
    """Save the part of a report that shows its charts and its atoms.

    Args:
        page: HTML of `taichimd report`.
        target: a PNG file.
    """
    with opened(page) as (tab, problems):
        tab.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        view_of(tab).locator(".size").fill("1.6")
        tab.evaluate("document.querySelector('.charts').previousElementSibling.scrollIntoView()")
        tab.wait_for_timeout(1000)
        tab.screenshot(path=target)
    if problems:
        raise RuntimeError("; ".join(problems))


if __name__ == "__main__":
    photograph(Path(sys.argv[1]), ROOT / "docs" / "howto" / "report.png")
