"""Numbers in a user's text: plain ASCII digits, where Python also takes those of all scripts, and 1_000.

The help of the command line needs this module, so it imports no NumPy.
"""


def _plain(text: str) -> str:
    """The text, or a ValueError for a character that Python takes in numbers, and no other program."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r} is not a number of the digits 0 to 9")
    return text


def whole_of(text: str) -> int:
    """The integer that a text such as "12" says, or a ValueError."""
    return int(_plain(text))


def number_of(text: str) -> float:
    """The number that a text such as "1.5e3" says, or a ValueError."""
    return float(_plain(text))
