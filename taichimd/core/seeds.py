"""Seeds of several runs: each run has random numbers of its own, whatever differs between the runs."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_HEX_DIGITS = 12
"""48 bits: two of 10,000 runs share a seed with a probability of 2e-7; every JSON reader keeps the number."""


def derived_seed(seed: int, varied: Mapping[str, Any]) -> int:
    """Seed of one run of several: a number from 0 to 2^48 - 1 that looks random.

    The first 12 hexadecimal digits of the SHA-256 of the JSON text `[seed, {...}]`, with the keys of
    `varied` in alphabetical order and without spaces.

    Args:
        seed: what the user gave for all runs.
        varied: what differs between the runs: settings with their values, the number of a replica.
    """
    text = json.dumps([seed, dict(varied)], sort_keys=True, separators=(",", ":"))
    return int(hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS], 16)
