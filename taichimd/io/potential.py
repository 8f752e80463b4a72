"""The records of two potentials, one of a file and the present one: are they the same, and what differs?"""

from collections.abc import Iterator, Mapping
from typing import Any

Record = Mapping[str, Any]
"""What `ForceField.describe(species)` returns: terms with bound parameters and code, their fingerprint."""
_SHOWN = 3
_OURS = "taichimd."


def differences(before: Record, now: Record) -> str:
    """What differs between two potentials, the first few things, on one line."""
    found = list(_differences(before, now))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more if found else "its code"


def _differences(before: Record, now: Record) -> Iterator[str]:
    old, new = _by_kind(before, now), _by_kind(now, before)
    for key in sorted(old.keys() | new.keys()):
        kind = key[0]
        if key not in new:
            yield f"its {kind} term {old[key]['name']} is not there now"
        elif key not in old:
            yield f"its {kind} term {new[key]['name']} was not there"
        else:
            yield from _of_term(old[key], new[key])


def _by_kind(record: Record, other: Record) -> dict[tuple[str, str, int], Record]:
    """Terms by kind, by their name if the other record has it too, and by number among those of both."""
    names = set(_order(other))
    found: dict[tuple[str, str, int], Record] = {}
    for term in record.get("terms", ()):
        kind, name = term["kind"], term["name"]
        key = kind, name if (kind, name) in names else ""
        number = sum(key == one[:2] for one in found)
        found[key[0], key[1], number] = term
    return found


def in_another_order(before: Record, now: Record) -> bool:
    """Whether the terms of one are those of the other, added up in another order."""
    old, new = _order(before), _order(now)
    return old != new and sorted(old) == sorted(new)


def _order(record: Record) -> list[tuple[str, str]]:
    return [(term["kind"], term["name"]) for term in record.get("terms", ())]


def _of_term(old: Record, new: Record) -> Iterator[str]:
    where = f"{old['name']} {old['kind']}"
    if old["name"] != new["name"]:
        where += f" (now {new['name']})"
    was, value = (one.get("truncation") for one in (old, new))
    if was != value:
        yield f"{where}: truncation {was} (now {value})"
    rows = new.get("parameters", {})
    for elements, row in old.get("parameters", {}).items():
        for name in dict.fromkeys([*row, *rows.get(elements, {})]):
            was, value = row.get(name), rows.get(elements, {}).get(name)
            if was != value:
                yield f"{where} {elements}: {name} {_shown(was)} (now {_shown(value)})"
    for name, was, value in _changes(old.get("options", {}), new.get("options", {})):
        yield f"{where}: {name} {_shown(was)} (now {_shown(value)})"
    for name, *_ in _changes(old.get("tables_sha256", {}), new.get("tables_sha256", {})):
        yield f"{where}: {name} parameters"
    yield from _of_code(old.get("code", {}), new.get("code", {}))


def _changes(old: Record, new: Record) -> Iterator[tuple[str, Any, Any]]:
    """Name, old and new value of what differs."""
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)


def _of_code(old: Record, new: Record) -> Iterator[str]:
    """Functions and constants; the user's come first, for ours differ only with another version."""
    for name in sorted(old.keys() | new.keys(), key=lambda name: (name.startswith(_OURS), name)):
        was, value = old.get(name), new.get(name)
        if was == value:
            continue
        is_code = any(str(part).startswith("sha256:") for part in (was, value))
        if name.startswith(_OURS):
            yield f"{name} differs, as in another version of taichimd"
        elif was is None or value is None:
            yield f"{name} is {'not used now' if value is None else 'used now'}"
        elif is_code:
            yield f"{name} has changed"
        else:
            yield f"{name} {was} (now {value})"


def _shown(value: Any) -> str:
    return "none" if value is None else repr(value)
