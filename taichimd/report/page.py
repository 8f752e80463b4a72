"""Self-contained HTML pages: text is escaped, pictures and scripts are inline, and no network is used."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from taichimd.core.markup import Html, element, escaped, joined
from taichimd.io.files import write_atomically

POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:"
)
"""Content-Security-Policy of a page: a browser refuses every request to another place."""
GENERATOR = "taichimd"
"""What a page says that it was made by."""


def content_of(name: str) -> str:
    """The text of a file of this package, such as view.js."""
    return files("taichimd.report").joinpath(name).read_text(encoding="utf-8")


def document(title: str, *parts: Any, scripts: Sequence[str] = ()) -> str:
    """A whole page with JavaScript that runs at its end."""
    inline = [Html(f"<script>{_script(one)}</script>") for one in scripts]
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta name="generator" content="{GENERATOR}">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">'),
        element("title", title),
        Html(f"<style>{content_of('page.css')}</style>"),
    ]
    body = [element("h1", title), *parts, *inline]
    page = joined([element("head", *head), element("body", *body)])
    return f'<!doctype html>\n<html lang="en">\n{page}\n</html>\n'


def _script(text: str) -> str:
    """A script without "</script" and "<!--", which would end it or change how it is read, in strings too."""
    return re.sub("<(?=/script|!--|script)", r"\\x3c", text, flags=re.IGNORECASE)


def write_page(path: Path, page: str) -> None:
    """Write a page, whole or not at all."""
    write_atomically(path, lambda file: file.write(page.encode()))


def is_page(path: Path) -> bool:
    """Whether a file is a page of this program, which a newer one may replace."""
    with open(path, "rb") as file:
        return f'name="generator" content="{GENERATOR}"'.encode() in file.read(1024)
