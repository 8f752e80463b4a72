"""Settings of the site that `make docs` builds from these pages; docs/stage.py writes what Sphinx reads."""

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from taichimd import __version__  # noqa: E402

project = "taichimd"
author = "the taichimd developers"
copyright = "2026, the taichimd developers"
release = version = __version__

extensions = [
    "myst_nb",  # MyST, and notebooks that are executed
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # equations need no network
]
root_doc = "docs/index"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["extra"]

# Equations are fenced blocks "math", which GitHub also draws.
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 6
# Two hyphens are the start of an option, also where a sentence quotes it without code.
smartquotes = False

# Notebooks are committed without outputs and executed in each build; an error in a cell is an error.
# Most of the time of a notebook is compilation.
os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# Docstrings quote code with single backticks.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# An attribute may also be a property with a docstring of its own.
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"taichimd {release}"
html_extra_path = [str(ROOT / "build" / "site-source" / "extra")]
html_static_path = [str(ROOT / "docs" / "style")]
html_css_files = ["site.css"]
html_show_copyright = False

linkcheck_anchors = False
linkcheck_timeout = 30
linkcheck_workers = 4


def setup(app: Any) -> None:
    """Let the docstrings through a filter, after napoleon's; make the sidebar, before furo; link pictures."""
    app.connect("autodoc-process-docstring", _keep_bars, priority=900)
    app.connect("html-page-context", _sidebar_of_titles, priority=100)
    app.connect("doctree-read", _link_pictures)


def _link_pictures(app: Any, doctree: Any) -> None:
    """A picture with a width is a link to its file, so a click on a small screen shows it in full."""
    from docutils.nodes import image

    for node in doctree.findall(image):
        node.setdefault("width", "auto")


_titles: dict[str, Any] = {}
_outside: dict[Any, str] = {}
"""Sidebars of pages that are in none, such as code: nothing is marked, and links differ by depth alone."""


def _sidebar_of_titles(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx makes the sidebar from titles alone; for each page it would copy and remove all headings."""
    if "toctree" not in context:
        return
    whole, made = app.env.tocs, context["toctree"]
    if not _titles:
        _titles.update({name: _title_of(contents) for name, contents in whole.items()})

    def of_titles(**options: Any) -> str:
        place = None if page in whole else (page.count("/"), *sorted(options.items()))
        if place in _outside:
            return _outside[place]
        app.env.tocs = _titles if options.get("titles_only") else whole
        try:
            html: str = made(**options)
        finally:
            app.env.tocs = whole
        if place:
            _outside[place] = html
        return html

    context["toctree"] = of_titles


def _title_of(contents: Any) -> Any:
    """Contents of a page without its headings: the title, and the pages below."""
    from sphinx.addnodes import toctree  # tests read these settings without Sphinx

    short = contents.deepcopy()
    for item in short.children:
        if len(item) > 1:
            below = list(item.findall(toctree))
            item[1:] = [type(item[1])("", *below)] if below else []
    return short


def _keep_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of absolute values, which are no substitutions; code between backticks stays."""
    for number, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts[::2]]
        lines[number] = "`".join(parts)
