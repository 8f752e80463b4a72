"""What NCCL's wrapper makes of the library's answers, without a GPU: a stand-in answers."""

import ctypes
from types import SimpleNamespace

import pytest

from taichimd.parallel import nccl

KEY = bytes(range(nccl.KEY_BYTES))


class Library:
    """Answers with a code to one function, and with success to the others; keeps what it was asked."""

    def __init__(self, fails="", code=3):
        self.asked = []
        self._fails, self._code = fails, code
        for name in ("ncclGetUniqueId", "ncclCommInitRank", "ncclAllGather"):
            setattr(self, name, self._answering(name))
        # An attribute of a function of `ctypes`, which the wrapper sets.
        self.ncclGetErrorString = lambda code: f"told {code}".encode()

    def _answering(self, name):
        def answer(*arguments):
            self.asked.append((name, arguments))
            if name == self._fails:
                return self._code
            if name == "ncclGetUniqueId":
                ctypes.memmove(arguments[0], KEY, nccl.KEY_BYTES)
            if name == "ncclCommInitRank":
                arguments[0]._obj.value = 77
            return 0

        return answer


def connected(monkeypatch, **answers):
    library = Library(**answers)
    monkeypatch.setattr(nccl, "_library", lambda: library)
    return nccl.Nccl(), library


def test_what_the_library_is_asked(monkeypatch):
    one, library = connected(monkeypatch)
    assert library.ncclGetErrorString.restype is ctypes.c_char_p
    assert one.key() == KEY
    one.connect(2, KEY, 1)
    one.all_gather(1000, 2000, 12, 8)
    one.all_gather(1000, 2000, 12, 4)
    (_, first), (_, joined), (_, doubles), (_, floats) = library.asked
    assert len(first) == 1
    assert joined[1] == 2
    assert bytes(joined[2]) == KEY
    assert joined[3] == 1
    assert [getattr(one, "value", one) for one in doubles] == [1000, 2000, 12, 8, 77, None]
    assert floats[3] == 7  # ncclFloat32


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("ncclGetUniqueId", lambda one: one.key()),
        ("ncclCommInitRank", lambda one: one.connect(2, KEY, 0)),
        ("ncclAllGather", lambda one: one.all_gather(1, 2, 3, 8)),
    ],
)
def test_error_codes_become_errors_with_the_librarys_text(monkeypatch, name, asks):
    one, _ = connected(monkeypatch, fails=name)
    with pytest.raises(RuntimeError, match=f"^{name}: told 3$"):
        asks(one)


@pytest.mark.parametrize("package", [None, "missing", "broken"])
def test_without_the_library_it_is_said_what_to_install(monkeypatch, tmp_path, package):
    """No package of NVIDIA, not even their name space, or one whose library cannot be loaded."""
    tried = []

    def load(place):
        tried.append(place)
        raise OSError(place)

    def find(name):
        if package == "missing":
            raise ModuleNotFoundError(name)
        return package and SimpleNamespace(submodule_search_locations=[str(tmp_path)])

    monkeypatch.setattr(nccl.ctypes, "CDLL", load)
    monkeypatch.setattr(nccl.importlib.util, "find_spec", find)
    with pytest.raises(RuntimeError, match="pip install nvidia-nccl-cu12` or -cu13"):
        nccl.Nccl()
    assert tried == ["libnccl.so.2", str(tmp_path / "lib" / "libnccl.so.2")][: 1 + (package == "broken")]
