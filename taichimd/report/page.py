"""Self-contained HTML pages: text is escaped, pictures and scripts are inline, and no network is used."""

import re
from collections.abc import Sequence
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
STYLE = """
:root { color-scheme: light dark; --line: #c9ccd1; --soft: #f3f4f6; --good: #1a7f37; --bad: #c8402f;
  --none: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #1c2128; --good: #57ab5a;
  --bad: #f47067; --none: #9198a1; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { font-size: 1.3rem; margin-top: 2.2rem; }
h3 { font-size: 1.05rem; }
table { border-collapse: collapse; font-size: .9rem; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--soft); }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
pre, code { font: .85rem/1.45 ui-monospace, monospace; background: var(--soft); }
pre { padding: .7rem; border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
code { padding: .1rem .25rem; overflow-wrap: anywhere; }
td:first-child code, .passed, .failed, .not-run { white-space: nowrap; }
.question { min-width: 11rem; }
img { max-width: 100%; height: auto; background: #fff; }
figure { margin: 1rem 0; }
figcaption { font-size: .9rem; color: var(--none); }
.passed { color: var(--good); }
.failed { color: var(--bad); font-weight: 700; }
.not-run { color: var(--none); }
@media print { body { max-width: none; } }
"""


def document(title: str, *parts: Any, scripts: Sequence[str] = ()) -> str:
    """A whole page with JavaScript that runs at its end."""
    inline = [Html(f"<script>{_script(one)}</script>") for one in scripts]
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta name="generator" content="{GENERATOR}">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">'),
        element("title", title),
        Html(f"<style>{STYLE}</style>"),
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
