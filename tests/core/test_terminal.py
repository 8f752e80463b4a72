"""Standard output that is closed, full or not read: one line at most, an exit code, and no traceback."""

import os
import resource
import subprocess
import sys

import pytest

from taichimd import __main__ as program

LOST = "error: standard output cannot be written ({}): what it had to show is lost\n"


def shell(line):
    """Exit code of the first command of a line, and what stands on standard error."""
    line = line.replace("taichimd", f"{sys.executable} -m taichimd", 1) + "; exit ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    return done.returncode, done.stderr


def test_output_that_cannot_be_written_is_told():
    assert shell("taichimd potentials >&-") == (2, LOST.format("Bad file descriptor"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_output_on_a_full_disk_is_told():
    assert shell("taichimd potentials >/dev/full") == (2, LOST.format("No space left on device"))


@pytest.mark.parametrize("line", ["taichimd potentials | true", "taichimd --version 2>&- >&1"])
def test_who_reads_no_more_has_read_enough(line):
    assert shell(line) == (0, "")


def test_all_closed_ends_with_a_code():
    assert shell("taichimd energy none.xyz --potential Ar.lj <&- >&- 2>&-") == (2, "")


def test_a_file_of_results_does_not_take_the_number_of_a_closed_stream(tmp_path):
    code = (
        "from taichimd.core.terminal import Streams\n"
        "streams = Streams()\n"
        f"file = open({str(tmp_path / 'results')!r}, 'w')\n"
        "assert file.fileno() > 2\n"
        "print('shown')\n"
        "assert streams.lost()\n"
    )
    done = subprocess.run(["bash", "-c", f'{sys.executable} -c "$0" <&- >&-', code], check=True)
    assert done.returncode == 0
    assert (tmp_path / "results").read_text() == ""


def test_too_little_virtual_memory_is_told_before_anything_starts(monkeypatch, capsys):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (800_000_000, resource.RLIM_INFINITY))
    with pytest.raises(SystemExit) as caught:
        program.main(["info"])
    assert caught.value.code == 2
    said = "error: the limit on virtual memory (ulimit -v) is 0.8 GB, and taichimd needs 1.9 GB to start"
    assert capsys.readouterr().err.startswith(said)


def test_memory_that_ends_on_the_way_is_told(monkeypatch, capsys):
    import taichimd.cli.app as app

    def greedy(_):
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr(app, "main", greedy)
    with pytest.raises(SystemExit) as caught:
        program.main(["info"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("error: out of memory (Unable to allocate 8.00 TiB); use fewer")
