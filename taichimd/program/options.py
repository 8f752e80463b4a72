"""Options of `Engine` that other functions hand on."""

from typing import TypedDict


class EngineOptions(TypedDict, total=False):
    """Those that say how, and not what, is computed: see `Engine`."""

    backend: str
    precision: str
    skin: float | None
    decomposition: str
