"""What an analysis gives to the terminal."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """Rows (name, value) for the terminal, notes, and the files that were written."""

    rows: list[tuple[str, str]]
    notes: list[str]
    files: list[Path]
