r"""Text of files from elsewhere as a terminal may have it.

Control characters move the cursor, change the title, or hide what is printed. They are shown as Python writes
them in a string, such as \x1b, wherever this program prints: errors, notes, warnings, tables, results.
"""

import sys
import unicodedata
from collections.abc import Iterable

_HARMLESS = "\n\t"
_SHOWN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Categories of Unicode: controls, invisible marks as of direction, halves of pairs, separators."""


def printable(text: str) -> str:
    r"""A text in which control characters are written out; line ends and tabs stay.

    >>> printable("Si\x1b[2J\r")
    'Si\\x1b[2J\\r'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(one)[1:-1] if unicodedata.category(one) in _SHOWN and one not in _HARMLESS else one
        for one in text
    )


def one_line(text: object) -> str:
    """A text on one line, printable, with single spaces."""
    # Not `split()` without a separator: it takes control characters such as \x1c for spaces.
    words = str(text).replace("\n", " ").replace("\t", " ").split(" ")
    return printable(" ".join(word for word in words if word))


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural unless there is one.

    >>> counted(1, "word"), counted(12000, "word")
    ('1 word', '12,000 words')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def any_of(words: Iterable[str]) -> str:
    """Words with commas and "or" between.

    >>> any_of(["a", "b", "c"]), any_of(["a"])
    ('a, b or c', 'a')
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def tell(text: object) -> None:
    """Print one line on the error stream, now."""
    print(one_line(text), file=sys.stderr, flush=True)
