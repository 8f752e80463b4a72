"""Self-contained HTML pages: text is escaped, pictures and scripts are inline, and no network is used."""

import html
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taichimd.core.printable import printable
from taichimd.io.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
pre { padding: .7rem; overflow-x: auto; border-radius: 4px; }
code { padding: .1rem .25rem; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; background: #fff; }
figure { margin: 1rem 0; }
figcaption { font-size: .9rem; color: var(--none); }
.passed { color: var(--good); }
.failed { color: var(--bad); font-weight: 700; }
.not-run { color: var(--none); }
@media print { body { max-width: none; } pre { white-space: pre-wrap; } }
"""


class Html(str):
    """Text that is HTML already; every other text is escaped where it is put into a page."""

    __slots__ = ()


def escaped(value: Any) -> Html:
    """HTML of a value: what is `Html` stays, text is escaped, its control characters are written out."""
    return value if isinstance(value, Html) else Html(html.escape(printable(str(value)), quote=True))


def joined(parts: Iterable[Any]) -> Html:
    """HTML of several values, one after the other."""
    return Html("\n".join(escaped(part) for part in parts))


def element(name: str, *parts: Any, **attributes: str) -> Html:
    """An element with its content; `class_` is written as class, `data_x` as data-x."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    given = "".join(f' {key}="{escaped(value)}"' for key, value in named.items())
    return Html(f"<{name}{given}>{joined(parts)}</{name}>")


def section(heading: str, *parts: Any, level: int = 2, anchor: str | None = None) -> Html:
    """A heading and what belongs to it."""
    named = {"id": anchor} if anchor else {}
    return joined([element(f"h{level}", heading, **named), *parts])


def paragraph(*parts: Any) -> Html:
    """A paragraph."""
    return Html(f"<p>{' '.join(escaped(part) for part in parts)}</p>")


def code(text: str) -> Html:
    """Lines that are typed or copied, such as commands."""
    return element("pre", "\n") if not text else Html(f"<pre>{_lines(text)}</pre>")


def _lines(text: str) -> str:
    return "\n".join(escaped(line) for line in text.splitlines())


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> Html:
    """A table.

    Args:
        header: names of the columns.
        rows: their cells.
        numbers: columns that are set as numbers, to the right.
    """
    head = joined(element("th", cell) for cell in header)
    kinds = [{"class_": "number"} if k in numbers else {} for k in range(len(header))]
    body = [
        element("tr", *(element("td", cell, **kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return element("table", element("thead", element("tr", head)), element("tbody", *body))


def facts(rows: Iterable[tuple[str, Any]]) -> Html:
    """A table of two columns: what, and its value."""
    return element(
        "table", *(element("tr", element("th", name), element("td", value)) for name, value in rows)
    )


def picture(data: bytes, kind: str, alt: str, caption: str = "") -> Html:
    """A picture that is part of the page.

    Args:
        data: bytes of the file.
        kind: png or svg.
        alt: what it shows, for readers who do not see it.
        caption: the sentence below it.
    """
    media = {"png": "image/png", "svg": "image/svg+xml"}[kind]
    image = Html(f'<img alt="{escaped(alt)}" src="data:{media};base64,{b64encode(data).decode()}">')
    return element("figure", image, *([element("figcaption", caption)] if caption else []))


def figure_picture(figure: "Figure", alt: str, caption: str = "") -> Html:
    """A figure of matplotlib as an SVG picture; the same figure gives the same bytes."""
    import matplotlib

    stream = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "taichimd"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return picture(stream.getvalue(), "svg", alt, caption)


def document(title: str, *parts: Any, scripts: Sequence[str] = ()) -> str:
    """A whole page.

    Args:
        title: of the page and its first heading.
        parts: its content.
        scripts: JavaScript that runs at the end of the page.
    """
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
    """Write a page, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(path, lambda file: file.write(page.encode()))


def is_page(path: Path) -> bool:
    """Whether a file is a page of this program, which a newer one may replace."""
    with open(path, "rb") as file:
        return f'name="generator" content="{GENERATOR}"'.encode() in file.read(1024)
