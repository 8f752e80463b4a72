"""The lock of an output folder: one process at a time, and none that a dead one has left stays for ever."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from ase.build import bulk

from taichimd.cli.app import main
from taichimd.core.errors import OutputError
from taichimd.io import lock
from taichimd.io.lock import NAME, locked

HOLD = """
import sys, time
from pathlib import Path
from taichimd.io.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def _hold(folder):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def _left_by(folder, **owner):
    folder.mkdir()
    gone = {"pid": 4_000_000, "host": socket.gethostname(), "since": "2026-01-01T00:00:00Z"} | owner
    (folder / NAME).write_text(json.dumps(gone))


def test_a_second_process_is_refused_while_the_first_lives_and_takes_over_when_it_was_killed(tmp_path):
    holder = _hold(tmp_path / "out")
    try:
        said = rf"process {holder.pid} on {socket.gethostname()}, since 20.*Z\).*crashed, remove .*{NAME}"
        with pytest.raises(OutputError, match=said), locked(tmp_path / "out"):
            pass
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / "out" / NAME).exists(), "a killed process cannot remove it"
    with locked(tmp_path / "out"):
        assert json.loads((tmp_path / "out" / NAME).read_text())["pid"] == os.getpid()
        with pytest.raises(OutputError, match=f"process {os.getpid()} "), locked(tmp_path / "out"):
            pass
    assert not (tmp_path / "out" / NAME).exists()


def test_the_process_of_another_host_may_live(tmp_path):
    _left_by(tmp_path / "out", host="elsewhere")
    with pytest.raises(OutputError, match="on elsewhere, since 2026-01-01"), locked(tmp_path / "out"):
        pass
    os.remove(tmp_path / "out" / NAME)
    with locked(tmp_path / "out"):
        pass


def test_where_the_system_has_no_lock_the_file_alone_counts(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(lock.fcntl, "flock", none)
    with locked(tmp_path / "new"), pytest.raises(OutputError, match="in use"), locked(tmp_path / "new"):
        pass
    _left_by(tmp_path / "out")
    with pytest.raises(OutputError, match=r"crashed, remove"), locked(tmp_path / "out"):
        pass


@pytest.mark.parametrize("text", ["", '{"pid": 17'])
def test_a_lock_of_a_process_that_was_killed_before_its_word_is_taken_over(tmp_path, monkeypatch, text):
    monkeypatch.setattr(lock, "_PAUSE", 0.0)
    (tmp_path / NAME).write_text(text)
    with locked(tmp_path):
        assert json.loads((tmp_path / NAME).read_text())["pid"] == os.getpid()
    assert not (tmp_path / NAME).exists()


def test_a_lock_that_says_nothing_yet_is_refused_while_the_system_knows_its_holder(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_PAUSE", 0.0)
    with open(tmp_path / NAME, "w") as file:
        lock.fcntl.flock(file, lock.fcntl.LOCK_EX)
        with pytest.raises(OutputError, match=r"process \? on \?"), locked(tmp_path):
            pass


def _try(folders, ready, results, told):
    for folder, seen in zip(folders, told, strict=True):
        ready.wait(60)
        try:
            with locked(folder):
                results.put("ran")
                seen.wait(60)
        except OutputError:
            results.put("refused")


def test_of_many_that_start_together_exactly_one_gets_it(tmp_path):
    """In empty folders, and in folders with a lock of a process that is gone."""
    context = multiprocessing.get_context("spawn")
    folders = [tmp_path / name for name in ("new", "new too", "stale", "stale too")]
    for folder in folders[2:]:
        _left_by(folder)
    ready, results = context.Barrier(3), context.Queue()
    told = [context.Event() for _ in folders]
    several = [context.Process(target=_try, args=(folders, ready, results, told)) for _ in range(3)]
    for process in several:
        process.start()
    for seen in told:
        assert sorted(results.get(timeout=60) for _ in several) == ["ran", *["refused"] * 2]
        seen.set()
    for process in several:
        process.join()
        assert process.exitcode == 0


def test_relax_and_kappa_ask_for_the_lock_before_they_compute(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    bulk("Ar", cubic=True).write("ar.xyz", format="extxyz")
    _left_by(tmp_path / "out", host="elsewhere")
    for command in ("relax ar.xyz", "kappa ar.xyz --temperature 30"):
        with pytest.raises(SystemExit) as caught:
            main([*command.split(), "--potential", "Ar.lj", "--output", "out", "--overwrite"])
        assert caught.value.code == 2
        assert "out is in use by another run (process 4000000 on elsewhere" in capsys.readouterr().err


def test_a_lock_that_is_held_briefly_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_SILENT", 0.05)
    monkeypatch.setattr(lock, "_TRIES", 2)
    held, told = threading.Event(), []

    def hold():
        with locked(tmp_path, tell=told.append):
            held.set()
            time.sleep(0.4)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(10)
    with pytest.raises(OutputError, match="in use"), locked(tmp_path):
        pass
    with locked(tmp_path, tell=told.append):
        pass
    other.join()
    assert told == [f"waiting for another process, which writes to {tmp_path}"]


def test_a_lock_that_is_held_for_long_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_TRIES", 2)
    with locked(tmp_path), pytest.raises(OutputError, match="in use"), locked(tmp_path, tell=print):
        pass
    monkeypatch.setattr(lock, "_WAIT", 0.2)
    with locked(tmp_path, tell=print), pytest.raises(OutputError, match="in use"):
        with locked(tmp_path, tell=print):
            pass
