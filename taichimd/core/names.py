"""Names that a user got wrong: the nearest of those that there are."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant; None if none is alike."""
    found = get_close_matches(name.replace("-", "_").lower(), known := list(known), n=1)
    found = found or get_close_matches(name.lower(), known, n=1)
    return found[0] if found else None


def hint(name: str, known: Iterable[str], kind: str = "names", otherwise: str | None = None) -> str:
    """A hint after an unknown name: the nearest name, or `otherwise`, or all known `kind`."""
    known = list(known)
    near = nearest(name, known)
    if near:
        return f"did you mean {near!r}?"
    return f"known {kind}: {', '.join(known)}" if otherwise is None else otherwise
