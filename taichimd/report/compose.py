"""The page of a report: one folder in full, or several side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taichimd import __version__
from taichimd.core.errors import CheckpointError, StructureError
from taichimd.core.markup import Html, code, element, facts, paragraph, picture, section, table
from taichimd.report import view
from taichimd.report.chart import charts, side_by_side
from taichimd.report.citations import bibtex
from taichimd.report.frames import Shown, shown_frames
from taichimd.report.page import content_of, document
from taichimd.report.part import Part
from taichimd.settings.run import SETTINGS

MAX_VIEWS = 6
"""3D views of a page: a browser has few WebGL contexts, and each view adds its positions to the page."""
_MAX_LINES = 8
_DRAWN = {".png": "png", ".svg": "svg"}


def report_page(parts: Sequence[Part]) -> str:
    """The page of the parts of one folder, or of several: HTML that needs no other file and no network."""
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} calculations side by side"
    if parts[0].kind == "sweep":
        title = f"Sweep of {parts[0].title}"
    views = _Views()
    body: list[Any] = [element("style", Html(content_of("view.css") + content_of("chart.css")))]
    body.append(
        paragraph(f"Report of taichimd {__version__}. The page is self-contained and needs no network.")
    )
    if len(parts) > 1:
        body.append(_comparison(parts))
    for number, one in enumerate(parts):
        body.append(_of_part(one, number, len(parts) > 1, views))
    body.append(_citations(parts))
    if views.drawn:
        body.append(view.library())
    scripts = [content_of("chart.js"), *([content_of("view.js")] if views.drawn else [])]
    return document(title, *body, scripts=scripts)


def view_page(name: str, shown: Shown) -> str:
    """The page of a trajectory or structure alone: HTML that needs no other file and no network."""
    what = f"{name}: {len(shown.symbols):,} atoms, {len(shown.labels):,} frames"
    body = [element("style", Html(content_of("view.css"))), view.view(shown), view.library()]
    return document(what, *body, scripts=[content_of("view.js")])


class _Views:
    """The 3D views of a page, which are not more than a browser can show."""

    def __init__(self) -> None:
        self.drawn = 0

    def of(self, part: Part) -> Html:
        if part.trajectory is None:
            return Html("")
        if self.drawn >= MAX_VIEWS:
            return paragraph(
                f"A page has {MAX_VIEWS} 3D views at most; taichimd view {part.trajectory} shows this one."
            )
        try:
            shown = shown_frames(part.trajectory)
        except (StructureError, CheckpointError) as error:
            return paragraph(f"No 3D view: {error}.")
        self.drawn += 1
        hint = "Drag turns the atoms, the wheel zooms, Play shows the frames. Atoms are inside the cell."
        hints = [paragraph(hint)] * view.has_library()
        return section("Atoms", view.view(shown, self.drawn), *hints, level=3)


def _comparison(parts: Sequence[Part]) -> Html:
    """A table of all parts beside each other, and their curves in the same charts."""
    own = [one for one in parts if one.kind != "sweep"]
    names = list(dict.fromkeys(name for one in own for name, _ in [*one.facts, *one.results] if name))
    rows = []
    for name in names:
        values = [dict([*one.facts, *one.results]).get(name, "-") for one in own]
        shown = [element("strong", value) if len(set(map(str, values))) > 1 else value for value in values]
        rows.append([name, *shown])
    rows.insert(0, ["end", *(one.status for one in own)])
    found: list[Any] = []
    if len(own) <= _MAX_LINES:
        found += [table(["", *(one.name for one in own)], rows), paragraph("Values that differ are bold.")]
    together = side_by_side({one.name: one.charts for one in own[:_MAX_LINES] if one.charts})
    together = [one for one in together if len(one.series) > 1]
    if together:
        found += [charts(together, "together"), _hint()]
        if len(own) > _MAX_LINES:
            found.append(paragraph(f"The charts have the first {_MAX_LINES} of {len(own)} calculations."))
    return section("Side by side", *found) if found else Html("")


def _hint() -> Html:
    return paragraph(
        "Drag across a chart to zoom, double-click to see all. A click on a name hides its line."
    )


def _of_part(part: Part, number: int, several: bool, views: _Views) -> Html:
    """Everything about one folder."""
    status = element("strong", part.status)
    body: list[Any] = [
        facts([("folder", part.name), ("calculation", part.kind), ("end", status), *part.facts])
    ]
    if part.results:
        body.append(section("Results", facts(part.results), level=3))
    for heading, columns, rows in part.tables:
        body.append(section(heading, table(columns, rows), level=3))
    if part.observed:
        body.append(
            section(
                "Observed",
                table(["quantity", "value ± standard error", "status", "note"], part.observed),
                level=3,
            )
        )
    body += [_picture(file) for file in part.pictures]
    if part.charts:
        body.append(section("Charts", charts(part.charts, f"part-{number}"), _hint(), level=3))
    body.append(views.of(part))
    if part.notes:
        notes = element("ul", *(element("li", note) for note in dict.fromkeys(part.notes)))
        body.append(section("Notes", notes, level=3))
    if part.timing:
        body.append(section("Timing", facts(part.timing), level=3))
    if part.commands:
        hint = "Paths are as they were given when the calculation was started."
        body.append(
            section(
                "Commands that repeat this calculation",
                code("\n".join(part.commands)),
                paragraph(hint),
                level=3,
            )
        )
    if part.method:
        body.append(section("For a methods section", element("blockquote", part.method), level=3))
    body.append(_settings(part))
    heading = f"{part.name}: {part.title}" if several else "Calculation"
    return section(heading, *body)


def _picture(file: Path) -> Html:
    """A picture of the folder; what no browser shows is named."""
    kind = _DRAWN.get(file.suffix)
    if kind is None:
        return paragraph(f"{file.name} is a picture that this page cannot contain.")
    try:
        return picture(file.read_bytes(), kind, file.stem, file.name)
    except OSError as error:
        return paragraph(f"{file.name} cannot be read: {error.strerror}.")


def _settings(part: Part) -> Html:
    """All settings with their meaning, and versions; a click opens them."""
    rows = [
        (name, "-" if value is None else _shown(value), SETTINGS[name].meaning if name in SETTINGS else "")
        for name, value in part.settings.items()
    ]
    body = [table(["setting", "value", "meaning"], rows)] if rows else []
    if part.versions:
        body.append(facts([(name, str(value)) for name, value in part.versions.items()]))
    return element("details", element("summary", "All settings and versions"), *body) if body else Html("")


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _citations(parts: Sequence[Part]) -> Html:
    """BibTeX of all that was used."""
    keys = [key for one in parts for key in one.keys]
    potentials = [paper for one in parts for paper in one.potentials]
    if not keys and not potentials:
        return Html("")
    return section("BibTeX", code(bibtex(keys, potentials)))
