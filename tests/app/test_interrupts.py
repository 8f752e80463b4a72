"""A Ctrl-C before a run looks for it: never lost, never told as something else."""

import importlib
import os
import pty
import signal
import subprocess
import sys

import pytest
from ase.build import bulk

from taichimd import __main__ as program
from taichimd.core.signals import StopRequest, interrupted, keep_interrupts

ENDS = [
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 143, "stopped by SIGTERM"),
    (signal.SIGHUP, 129, "stopped by SIGHUP"),
]


def swallowed(number=signal.SIGINT):
    """What a callback of C++ does with the exception."""
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt:
        return
    pytest.fail("the signal must raise")


@pytest.fixture(autouse=True)
def python_handles_interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_was_swallowed_stops_the_run_before_it_begins():
    with keep_interrupts():
        swallowed()
        assert interrupted()
        with pytest.raises(KeyboardInterrupt), StopRequest():
            pytest.fail("the run must not begin")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with keep_interrupts(), StopRequest() as stop:
        assert not interrupted()
        assert not stop()


def test_who_ignores_the_signal_goes_on_ignoring_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with keep_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert not interrupted()


@pytest.fixture(autouse=True)
def not_ignored():
    """A program under `nohup` ignores SIGHUP: these tests are of one that does not."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_handlers_are_as_before_behind_it():
    before = [signal.getsignal(number) for number, *_ in ENDS]
    with keep_interrupts(), StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.received == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number, *_ in ENDS] == before


@pytest.mark.parametrize("where", ["the program", "a command"])
@pytest.mark.parametrize(("number", "code", "said"), ENDS)
def test_an_import_that_fails_because_of_a_signal_says_which(where, number, code, said, monkeypatch, capsys):
    """Compiled modules then raise ImportError, of which nothing is true."""
    app = importlib.import_module("taichimd.cli.app")

    def failing(*_, **__):
        swallowed(number)
        raise ImportError("initialization failed")

    monkeypatch.setattr(app, "main" if where == "the program" else "program", failing)
    with pytest.raises(SystemExit) as caught:
        program.main(["info"])
    assert caught.value.code == code
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize(("number", "code", "said"), ENDS)
@pytest.mark.parametrize("bare", [130, 0])
def test_a_signal_that_ends_as_a_bare_exit_code_is_told(bare, number, code, said, monkeypatch, capsys):
    """The option parser catches the exception; or nothing has looked since it was swallowed."""
    app = importlib.import_module("taichimd.cli.app")

    def quiet(*_, **__):
        swallowed(number)
        return bare

    monkeypatch.setattr(app, "program", lambda _: quiet)
    with pytest.raises(SystemExit) as caught:
        program.main(["info"])
    assert caught.value.code == code
    assert capsys.readouterr().err == f"error: {said}\n"


def stopped_while_compiling(number, module, there, words, folder, monkeypatch, capsys):
    """Stop a run by a signal while kernels compile, check what each leaves, and return its words."""

    def compiling(*_):
        assert there()
        signal.raise_signal(number)

    monkeypatch.setattr(module, "_start", compiling)
    bulk("Ar", cubic=True).write(folder / "ar.xyz", format="extxyz")
    line = f"run {folder}/ar.xyz --potential Ar.lj --steps 5 {words}"
    with pytest.raises(SystemExit) as caught:
        program.main(line.split())
    assert caught.value.code == 128 + number
    assert capsys.readouterr().err.startswith("error: ")
    assert [file.name for file in folder.iterdir()] == ["ar.xyz"]
    return line.split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_kernels_compile_leaves_no_empty_folder(number, tmp_path, monkeypatch, capsys):
    from taichimd.app import driver

    words, there = f"--output {tmp_path}/all/out", (tmp_path / "all" / "out").is_dir
    stopped_while_compiling(number, driver, there, words, tmp_path, monkeypatch, capsys)


def test_an_interrupt_in_the_start_of_the_runtime_is_not_lost():
    code = (
        "import os, signal, sys\n"
        "from taichimd.core.signals import keep_interrupts\n"
        "with keep_interrupts():\n"
        "    from taichimd.core import runtime\n"
        "    def start(**_):\n"
        "        try:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "        except KeyboardInterrupt:\n"
        "            pass\n"
        "    runtime.ti.init = start\n"
        "    try:\n"
        "        runtime.start('cpu')\n"
        "    except KeyboardInterrupt:\n"
        "        print('raised')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "raised\n"


def test_a_command_whose_output_nobody_reads_any_more_goes_on():
    code = (
        "import sys\n"
        "from taichimd.app.console import Console\n"
        "console = Console()\n"
        "sys.stdin.readline()\n"
        "for _ in range(3):\n"
        "    console.print('x' * 70000, highlight=False)\n"
        "print('on', file=sys.stderr)\n"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stderr.read() == "on\n"
    assert process.returncode == 0


def test_a_terminal_that_is_gone_stops_a_command_as_it_should(tmp_path):
    """Hangup and failing output together: what is printed behind it is lost, not what is done."""
    code = (
        "import sys, time\n"
        "from taichimd.app.console import Console\n"
        "from taichimd.core.signals import StopRequest\n"
        "console = Console()\n"
        "with StopRequest() as stop, console.status('at work'):\n"
        "    console.print('begun')\n"
        "    while not stop():\n"
        "        time.sleep(0.01)\n"
        "    time.sleep(0.5)\n"
        "console.print('stopped')\n"
        "open(sys.argv[1], 'w').write('done')\n"
    )
    done = tmp_path / "done"
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", code, str(done)])
    seen = b""
    while b"begun" not in seen:
        seen += os.read(terminal, 1024)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert done.read_text() == "done"


def test_the_module_is_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "taichimd", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("taichimd ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_several_runs_start_leaves_no_list_of_them(number, tmp_path, monkeypatch, capsys):
    from taichimd.app import driver

    words, there = f"--temperature 20,30 --output {tmp_path}/out", (tmp_path / "out" / "batch.json").exists
    line = stopped_while_compiling(number, driver, there, words, tmp_path, monkeypatch, capsys)
    (tmp_path / "out" / "000-20K").mkdir(parents=True)
    (tmp_path / "out" / "batch.json").write_text('{"members": []}')
    with pytest.raises(SystemExit):
        program.main(line)
    assert "stopped; to continue:\ntaichimd run --restart " in capsys.readouterr().out
