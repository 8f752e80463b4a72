"""Text as HTML: values are escaped, pictures are part of the text, so nothing is asked of the network."""

import html
from base64 import b64encode
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from taichimd.core.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEFT = "text-align: left"
"""Style of cells, for pages that have no style of their own, such as notebooks."""


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
    """A table; `numbers`: columns that are set as numbers, to the right."""
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
        "table",
        *(
            element("tr", element("th", name, style=_LEFT), element("td", value, style=_LEFT))
            for name, value in rows
        ),
    )


def picture(data: bytes, kind: str, alt: str, caption: str = "") -> Html:
    """A picture (png or svg) that is part of the page; `alt` says what it shows to who does not see it."""
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
