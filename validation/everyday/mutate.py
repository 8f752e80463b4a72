"""Random changes of valid files: bytes, words, lines, values of JSON and TOML, arrays of NumPy."""

import copy
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator
Change = Callable[[bytes, Rng], bytes]

VALUES: list[Any] = [
    None, True, -1, 0, 5, 2**31, 2**64, -5, 1e300, -1e-300, float("nan"), float("inf"), 0.5, "", "x",
    "../victim", "\x1b[2J", "٣", [], [1], [[1.0], [2.0]], {}, {"x": 1}, "9" * 5000, "/etc/passwd",
    "a\u0000b", 10**30,
]  # fmt: skip
"""What is put into the place of a value."""
WORDS = [
    b"nan", b"inf", b"-1", b"1e300", b"1e-300", b"0", b"99999999999999999999", b"x", b"", b"\x1b[2J",
    "٣".encode(), b"1,5", b"0x10", b"1_000", b"%s", b'"', b"'", b"[" * 2000, b"\xff\xfe", b"1d5", b"Si",
]  # fmt: skip
"""What is put into the place of a word."""


def some_bytes(content: bytes, rng: Rng) -> bytes:
    """One to eight bytes are others."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        found[int(rng.integers(len(found)))] = int(rng.integers(256))
    return bytes(found)


def cut(content: bytes, rng: Rng) -> bytes:
    """The end is missing."""
    return content[: int(rng.integers(len(content)))]


def a_word(content: bytes, rng: Rng) -> bytes:
    """One word of a line is another."""
    lines = content.split(b"\n")
    full = [k for k, line in enumerate(lines) if line.split()]
    if not full:
        return content
    k = full[int(rng.integers(len(full)))]
    words = lines[k].split(b" ")
    words[int(rng.integers(len(words)))] = WORDS[int(rng.integers(len(WORDS)))]
    lines[k] = b" ".join(words)
    return b"\n".join(lines)


def a_line(content: bytes, rng: Rng) -> bytes:
    """One line is missing, there twice, or elsewhere."""
    lines = content.split(b"\n")
    k, other = int(rng.integers(len(lines))), int(rng.integers(len(lines)))
    line = lines.pop(k) if rng.integers(2) else lines[k]
    if rng.integers(2):
        lines.insert(other, line)
    return b"\n".join(lines)


TEXT = [some_bytes, cut, a_word, a_word, a_word, a_line]
"""Changes of files of text."""
BINARY = [some_bytes, some_bytes, cut]


def a_value(content: Any, rng: Rng) -> Any:
    """One value within lists and dictionaries is another, is missing, or has another name."""
    found = copy.deepcopy(content)
    place = found
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return found
        key = keys[int(rng.integers(len(keys)))]
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner) or rng.integers(4) == 0:
            break
        place = inner
    kind = int(rng.integers(8))
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place[f"{key}x"] = place.pop(key)
    else:
        place[key] = VALUES[int(rng.integers(len(VALUES)))]
    return found


def json_value(content: bytes, rng: Rng) -> bytes:
    """One value of a JSON file is another."""
    return json.dumps(a_value(json.loads(content), rng)).encode()


def npz_entry(content: bytes, rng: Rng) -> bytes:
    """One entry of a NumPy archive is another: a value of a text, or an array of another type or shape."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = dict(archive)
    names = sorted(arrays)
    texts = [name for name in names if arrays[name].dtype.kind == "U" and arrays[name].ndim == 0]
    some = texts if texts and rng.integers(2) else names
    name = some[int(rng.integers(len(some)))]
    array = arrays[name]
    if name in texts:
        try:
            arrays[name] = np.array(json.dumps(a_value(json.loads(str(array)), rng)))
        except (TypeError, ValueError):  # of a text that is one value
            arrays[name] = np.array(json.dumps(VALUES[int(rng.integers(len(VALUES)))]))
    else:
        arrays[name] = _another(array, rng)
    if rng.integers(12) == 0:
        del arrays[name]
    file = io.BytesIO()
    (np.savez_compressed if rng.integers(12) == 0 else np.savez)(file, **arrays)
    return file.getvalue()


def _another(array: Any, rng: Rng) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: array.astype(complex) if array.dtype.kind in "biuf" else array.astype(bytes),
        lambda: array.astype(str),
        lambda: array[:-1] if array.ndim else array.reshape(1),
        lambda: np.concatenate([array, array]) if array.ndim else np.array([array, array]),
        lambda: array.T.copy() if array.ndim > 1 else array[None],
        lambda: array.astype(float) * np.nan if array.dtype.kind in "biuf" else np.array(np.nan),
        lambda: array.astype(float) * 1e300 if array.dtype.kind in "biuf" else np.array(5),
        lambda: -array if array.dtype.kind in "if" else array,
        lambda: np.zeros(0),
        lambda: array.astype(np.float32) if array.dtype.kind == "f" else array.astype("U8"),
        lambda: np.zeros_like(array),
        lambda: array[..., None],
    ]
    return kinds[int(rng.integers(len(kinds)))]()
