"""validation.html: certificates as a self-contained page."""

from collections.abc import Mapping, Sequence
from typing import Any

from taichimd.core.markup import Html, code, element, facts, figure_picture, joined, paragraph, section, table
from taichimd.report.page import document
from taichimd.validation.measures import FAILED, NOT_RUN, PASSED, Outcome
from taichimd.validation.plots import drift_figure, limits_figure
from taichimd.validation.suite import Certificate

WORDS = {PASSED: "passed", FAILED: "FAILED", NOT_RUN: "not run"}
EXPLAINED = (
    "Each check compares a number with a limit that was fixed before. A check that could not be run on this "
    "machine, or that is about a property that the force field lacks, is marked not run, with the reason; "
    "it does not count as passed."
)


def certificate_page(certificates: Sequence[Certificate], record: Mapping[str, Any]) -> str:
    """The whole page, one certificate for each force field; `record`: `circumstances` and the command."""
    names = ", ".join(one.name for one in certificates)
    title = f"Validation of {names if len(certificates) <= 3 else f'{len(certificates)} potentials'}"
    parts: list[Any] = [paragraph(EXPLAINED)]
    if len(certificates) > 1:
        parts.append(_overview(certificates))
    for number, one in enumerate(certificates):
        parts.append(_of_one(one, number))
    parts += [
        section("Machine and versions", _machine(record)),
        section("Commands that repeat this validation", *_commands(record)),
    ]
    return document(title, *parts)


def _overview(certificates: Sequence[Certificate]) -> Html:
    rows = [
        (
            Html(f'<a href="#potential-{k}">{element("span", one.name)}</a>'),
            _marked(PASSED if one.ok else FAILED),
            *(one.count(status) for status in (PASSED, FAILED, NOT_RUN)),
            ", ".join(one.failed),
        )
        for k, one in enumerate(certificates)
    ]
    return table(("potential", "", "passed", "failed", "not run", "checks that failed"), rows, (2, 3, 4))


def _of_one(one: Certificate, number: int) -> Html:
    rows = [
        (
            element("code", row.name),
            _marked(row.status),
            element("div", row.question, class_="question"),
            row.number,
            row.allowed,
            row.detail,
        )
        for row in one.outcomes
    ]
    parts: list[Any] = [
        paragraph(element("b", one.verdict)),
        facts(_potential(one)),
        table(("check", "status", "question", "value", "limit", "note"), rows, (3, 4)),
    ]
    if (figure := limits_figure(one.outcomes)) is not None:
        told = "Each value over its limit; a point right of the line at 1 has failed."
        parts.append(figure_picture(figure, "values over limits", told))
    drift = next((row for row in one.outcomes if row.name == "drift"), None)
    if drift is not None and (figure := drift_figure(drift.data)) is not None:
        start = " of taichimd and LAMMPS, from the same start" if drift.data.get("lammps") else ""
        told = f"Total energy of the NVE run{start}: {drift.detail}."
        parts.append(figure_picture(figure, "total energy against time", told))
    return section(one.name, *parts, anchor=f"potential-{number}")


def _potential(one: Certificate) -> list[tuple[str, Any]]:
    known, structure = one.potential, one.structure
    files = known.get("python_files") or {known.get("source"): known.get("source_sha256")}
    rows: list[tuple[str, Any]] = [("elements", ", ".join(known.get("species", [])))]
    rows += [("citation", known["citation"])] if known.get("citation") else []
    rows += [(f"SHA-256 of {_last(path)}", element("code", sha)) for path, sha in files.items() if sha]
    rows.append(("fingerprint of what is computed", element("code", known.get("fingerprint", ""))))
    built = "built by the suite" if structure["built"] else "given"
    lengths = " × ".join(f"{length:.4f}" for length in structure["cell_A"])
    periodic = sum(structure["periodic"])
    rows.append(
        ("structure", f"{structure['formula']}, {built}; cell {lengths} Å, periodic in {periodic} directions")
    )
    rows.append(("amount", f"--{one.level}, seed {one.seed}, {one.seconds:.0f} s"))
    return rows


def _last(path: Any) -> str:
    return str(path).replace("\\", "/").rsplit("/", 1)[-1]


def _marked(status: str) -> Html:
    return element("span", WORDS[status], class_=status.replace(" ", "-"))


def _machine(record: Mapping[str, Any]) -> Html:
    runtime, host = record["runtime"], record["host"]
    rows = [
        ("begun", record["started"]),
        ("runtime", runtime["runtime"]),
        ("backend", f"{runtime['backend']}, {runtime['device']}"),
        ("threads", runtime["threads"]),
        ("system", f"{host['system']}, {host['cpu_count']} cores"),
        ("versions", ", ".join(f"{name} {version}" for name, version in record["versions"].items())),
    ]
    return facts(rows)


def _commands(record: Mapping[str, Any]) -> list[Html]:
    lines = "\n".join(record["commands"])
    return [
        joined([code(lines)]),
        paragraph("validation.json beside this page has every number, parameter and series."),
    ]


def rows_of(outcomes: Sequence[Outcome]) -> list[tuple[str, str, str, str, str]]:
    """Name, status, value, limit and note of each outcome, as text."""
    return [(one.name, WORDS[one.status], one.number, one.allowed, one.detail) for one in outcomes]
