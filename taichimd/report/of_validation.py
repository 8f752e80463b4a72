"""What a report says of a validation: the certificates in the validation.json of `taichimd validate`."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taichimd.report.citations import OF_PROGRAM
from taichimd.report.of_run import program_of
from taichimd.report.part import Part

_COLUMNS = ["check", "status", "question", "value", "limit", "note"]


def validation_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """A validation of `taichimd validate`, from its validation.json."""
    certificates = report["certificates"]
    names = ", ".join(str(one["name"]) for one in certificates)
    counts = Counter(str(check["status"]) for one in certificates for check in one["outcomes"])
    status = ", ".join(f"{count} {word}" for word, count in counts.items()) or "no check has run"
    part = Part(name, "validation", names, status)
    part.versions = dict(report.get("versions", {}))
    part.commands = [str(one) for one in report.get("commands", [])]
    part.facts = [(str(one["name"]), str(one.get("verdict", ""))) for one in certificates]
    part.notes = [f"{potential}: {why}" for potential, why in report.get("refused", {}).items()]
    machine = report.get("runtime", {})
    part.timing = [
        ("started", str(report.get("started", "-"))),
        ("wall time", f"{sum(one.get('seconds', 0.0) for one in certificates):.0f} s"),
        ("device", f"{machine.get('device', '-')} ({machine.get('backend', '-')})"),
        ("runtime", str(machine.get("runtime", "-"))),
    ]
    for one in certificates:
        rows = [
            [
                check["name"],
                check["status"],
                check.get("question", ""),
                _number(check.get("value"), check.get("unit")),
                _number(check.get("limit"), check.get("unit")),
                check.get("detail") or "",
            ]
            for check in one["outcomes"]
        ]
        part.tables.append((f"Checks of {one['name']}", list(_COLUMNS), rows))
        citation = one.get("potential", {}).get("citation")
        if citation:
            part.potentials.append((str(citation), None))
    part.keys = list(OF_PROGRAM)
    part.method = (
        f"The potentials ({names}) were validated with the checks of {program_of(part)}: {status}. The "
        "checks compare forces and virials with finite differences of the energy, test symmetries, energy "
        "drift and bitwise reproducibility, and compare with LAMMPS where it has the potential."
    )
    return part


def _number(value: Any, unit: Any) -> str:
    """A number with its unit; empty for none."""
    return f"{value:.3g} {unit or ''}".strip() if isinstance(value, int | float) else ""
