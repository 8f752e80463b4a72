"""What tests of readers share."""

import pytest

from taichimd.core.errors import ParameterFileError


def reader(folder, name, read):
    """A function that writes a text or bytes into a file of that name and returns what reading it gives."""
    path = folder / name

    def write_and_read(text: str | bytes):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(path)

    write_and_read.path = path
    return write_and_read


def refused(read, text, error=ParameterFileError) -> str:
    """The message, without the path that it starts with."""
    with pytest.raises(ParameterFileError) as caught:
        read(text)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(read.path))
    return str(caught.value).removeprefix(str(read.path)).strip()
