"""Seeds of several runs: each run has random numbers of its own, whatever differs between the runs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

_HEX_DIGITS = 12
"""48 bits: two of 10,000 runs share a seed with a probability of 2e-7; every JSON reader keeps the number."""


def derived_seed(seed: int, varied: Mapping[str, Any]) -> int:
    """Seed of one run of several: a number from 0 to 2^48 - 1 that looks random.

    The first 12 hexadecimal digits of the SHA-256 of the JSON text `[seed, {...}]`, with the keys of `varied`
    (settings with their values, the number of a replica) in alphabetical order and without spaces.
    """
    text = json.dumps([seed, dict(varied)], sort_keys=True, separators=(",", ":"))
    return int(hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS], 16)


def short_names(paths: Sequence[str]) -> list[str]:
    """Names of files that are the same on each machine: no folders, but those that tell them apart."""
    parts = {path: PurePath(path).parts or (path,) for path in paths}

    def last(path: str, n: int) -> str:
        return "/".join(parts[path][-n:])

    def names_one(path: str, n: int) -> bool:
        return sum(last(other, n) == last(path, n) for other in parts) == 1

    return [
        next((last(path, n) for n in range(1, len(parts[path])) if names_one(path, n)), "/".join(parts[path]))
        for path in paths
    ]
