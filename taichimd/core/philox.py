"""Counter-based random numbers on the host: Philox4x32-10 in NumPy, the same bits as `taichimd.core.random`.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, SC'11, doi:10.1145/2063384.2063405: ten rounds of
multiplications and exclusive-ors turn a counter of four words and a key of two into four random words. A
random number is a function of what it is for, not of what was drawn before: nothing to store in a
checkpoint, nothing that depends on threads or on the order of the atoms.

| word | content |
| --- | --- |
| key | the seed, 64 bits |
| counter 0 | the user's number of the atom; `GLOBAL` for what belongs to no atom |
| counter 1, 2 | the step, 64 bits |
| counter 3 | stream (high 16 bits: which use in the program) and block (low 16 bits) |

A block of four words gives two float64 numbers, or four float32 ones. Uniform numbers lie in the open
interval (0, 1), in the middle of 2^52 (float32: 2^23) equal cells, so a logarithm never meets zero. Normal
variates, on the device alone, are those of G. E. P. Box and M. E. Muller, Ann. Math. Stat. 29, 610 (1958).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""Constants of Salmon et al., section 3.3: multipliers, and what is added to the key each round."""
BLOCK_BITS = 16
"""Bits of the fourth counter word that count blocks; the others name the stream."""
GLOBAL = -1
"""In place of an atom's number: the numbers of a thermostat or barostat that acts on the whole system."""
UNIFORM_BITS = 52
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

Words = NDArray[np.uint64]


def philox(counter: Any, key: Any) -> Words:
    """Ten rounds of Philox4x32: (..., 4) words of 32 bits of counters (..., 4) and keys (..., 2)."""
    c = [np.asarray(counter, np.uint64)[..., k] for k in range(4)]
    k0, k1 = (np.asarray(key, np.uint64)[..., k] for k in range(2))
    for _ in range(ROUNDS):
        p0, p1 = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [(p1 >> _32) ^ c[1] ^ k0, p1 & _MASK, (p0 >> _32) ^ c[3] ^ k1, p0 & _MASK]
        k0, k1 = (k0 + np.uint64(WEYL[0])) & _MASK, (k1 + np.uint64(WEYL[1])) & _MASK
    return np.stack(np.broadcast_arrays(*c), axis=-1)


def blocks(seed: int | Sequence[int], atom: Any, step: int, stream: int, first: int, count: int) -> Words:
    """Random words (count, 4) of consecutive blocks, or (atoms, count, 4) for an array of atoms.

    Seed and step have 64 bits, a stream is below 2^16. SettingsError: numbers would come twice.
    """
    limit = 1 << BLOCK_BITS
    if not 0 <= stream < limit:
        raise SettingsError(f"random stream {stream}: expected 0 to {limit - 1}")
    if not 0 <= first <= first + count <= limit:
        raise SettingsError(
            f"random stream {stream} of step {step}: block {first + count} was asked for, but a step has "
            f"{limit} blocks of 2 numbers; use another stream for the rest"
        )
    atoms = np.asarray(atom, np.int64).astype(np.uint64) & _MASK
    counter = np.empty((*atoms.shape, count, 4), np.uint64)
    counter[..., 0] = atoms[..., None]
    counter[..., 1] = step & 0xFFFFFFFF
    counter[..., 2] = (step >> 32) & 0xFFFFFFFF
    counter[..., 3] = (stream << BLOCK_BITS) + first + np.arange(count)
    seeds = seed if isinstance(seed, Sequence) else [seed]
    keys = np.array([(one & 0xFFFFFFFF, (one >> 32) & 0xFFFFFFFF) for one in seeds], np.uint64)
    return philox(counter, keys[:, None] if isinstance(seed, Sequence) else keys[0])


def uniforms(words: Words) -> NDArray[np.float64]:
    """Uniform numbers in (0, 1), two for each block: (..., 4) words make (..., 2) numbers."""
    k = ((words[..., 0::2] << _32) | words[..., 1::2]) >> np.uint64(64 - UNIFORM_BITS)
    return (k.astype(np.float64) + 0.5) * 2.0**-UNIFORM_BITS


class Stream:
    """One number after the other for a decision of the host; the same four arguments give the same again."""

    def __init__(self, seed: int, step: int, stream: int) -> None:
        self._place = (seed, GLOBAL, step, stream)
        self._next = 0

    def uniform(self, n: int = 1) -> NDArray[np.float64]:
        """The next n uniform numbers; an odd n leaves one unused; at most 2^17 of one step and stream."""
        first, self._next = self._next, self._next + -(-n // 2)
        return uniforms(blocks(*self._place, first, self._next - first)).ravel()[:n]


def logarithm(x: float) -> float:
    """Natural logarithm of a normal number above 0, with the same bits on every processor."""
    return float(log(np.array([x]))[0])


# What follows repeats taichimd.core.math operation by operation, for the arguments that occur here.
_LN2_HI = 0.693147180369123816490
_LN2_LO = 1.90821492927058770002e-10
_ATANH = [2.0 / (2 * k + 1) for k in range(1, 13)]


def _four(x: Any, x2: Any, c: list[float], first: int) -> Any:
    return (c[first] + c[first + 1] * x) + (c[first + 2] + c[first + 3] * x) * x2


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithm of normal numbers above 0: the bits of NumPy's depend on the processor."""
    m, e = np.frexp(x)
    m, e = m * 2.0, e - 1
    large = m > 1.4142135623730951
    m, e = np.where(large, 0.5 * m, m), np.where(large, e + 1, e)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    z2 = z * z
    z4 = z2 * z2
    tail = z * (_four(z, z2, _ATANH, 0) + z4 * (_four(z, z2, _ATANH, 4) + z4 * _four(z, z2, _ATANH, 8)))
    k = e.astype(np.float64)
    return np.asarray(k * _LN2_HI - ((half - (s * (half + tail) + k * _LN2_LO)) - f))
