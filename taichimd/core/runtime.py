"""The backends: the one place that picks the runtime and starts it.

`from taichimd.core.runtime import ti` gives Taichi, or its fork quadrants (`core.chosen`).
The same kernels run under both; under quadrants CPU and CUDA agree to the last bit, because it does not
contract a*b+c into a fused multiply-add where the source does not say so.
"""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import taichimd
from taichimd.core import chosen
from taichimd.core.chosen import DEVICE_LOOPS, NAME, backend_for, check_backend
from taichimd.core.cuda_driver import CAPABILITY_MAJOR, attribute, device_name, multiprocessors
from taichimd.core.errors import (
    BackendError,
    ParameterFileError,
    SettingsError,
    TaichimdError,
    TaichimdWarning,
)
from taichimd.core.exclusive import PROCESS, exclusive
from taichimd.core.freed_arrays import give_back_in_any_thread
from taichimd.core.hardware import cpu_name
from taichimd.core.kernel_cache import place_for_kernels
from taichimd.core.signals import interrupted
from taichimd.core.tracing import keep_lookups, quick_frames

DeviceFunction = Callable[..., Any]
"""A function that kernels call on the device. Factories return dataclasses of them, whose fields device code
reads. It may not pass such a dataclass as an argument, nor to `bool`: quadrants would pass its fields."""
# The banner would land in front of every command's output.
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
os.environ.setdefault("ENABLE_QUADRANTS_HEADER_PRINT", "0")
# So would a line on the buffer of `print` in kernels, in a notebook; no kernel prints.
os.environ.setdefault("TI_ENABLE_PYBUF", "0")
os.environ.setdefault("QD_ENABLE_PYBUF", "0")


@contextmanager
def _without_torch() -> Iterator[None]:
    """Inside, PyTorch is not found: the runtimes look for it when they load, and its import takes seconds."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


try:
    with quick_frames(), _without_torch():
        ti: Any = import_module(NAME)
except ImportError as error:
    raise BackendError(f"runtime '{NAME}' is not installed ({error}); pip install {NAME}") from error
# Where that matters, an error follows, with file and line.
warnings.filterwarnings("ignore", "(?s).*Calling non-", SyntaxWarning)
keep_lookups(NAME)
_impl: Any = import_module(f"{NAME}.lang.impl")
_COMPILATION_ERROR: Any = getattr(ti, f"{NAME.capitalize()}CompilationError")
_EXPRESSION: Any = import_module(f"{NAME}.lang.expr").Expr
if NAME == "taichi":
    # Taichi 1.7 frees arrays of scalars when Python drops them, but forgets arrays of vectors: without this
    # every dropped engine and every grown list would stay on the device until the process ends.
    _matrix: Any = import_module("taichi.lang.matrix")
    for _kind in (_matrix.VectorNdarray, _matrix.MatrixNdarray):
        if not hasattr(_kind, "__del__"):
            _kind.__del__ = import_module("taichi.lang._ndarray").ScalarNdarray.__del__

QUICK_COMPILE = bool(os.environ.get("TAICHIMD_QUICK_COMPILE"))
"""Whether kernels are compiled quickly and run longer (TAICHIMD_QUICK_COMPILE)."""


def _warps() -> bool:
    asked = os.environ.get("TAICHIMD_WARPS") or "1"
    if asked not in ("0", "1"):
        raise BackendError(f"TAICHIMD_WARPS is '{asked}', expected 0 or 1")
    return asked == "1"


WARPS = _warps()
"""Whether threads of a warp of a GPU work together (`core.warps`)."""
_DOUBLE, _SINGLE = (ti.f64, np.float64), (ti.f32, np.float32)
PRECISIONS = {"float64": _DOUBLE, "float32": _SINGLE, "mixed": _DOUBLE}
"""Types, on the device and on the host, of positions, velocities, forces and sums."""
TERM_PRECISIONS = {"float64": _DOUBLE, "float32": _SINGLE, "mixed": _SINGLE}
"""Types of parameters, of distance vectors (differences already), and of all that is computed from them."""
_backend: str | None = None


@exclusive
def start(backend: str = "auto") -> str:
    """Start the runtime once per process and return the backend that runs: "cuda" or "cpu".

    "auto" takes what already runs, else CUDA if there is a device, else the CPU.

    Raises:
        SettingsError: unknown backend.
        BackendError: no CUDA device, or another backend already runs in this process.
    """
    global _backend
    check_backend(backend)
    if _backend is None:
        found = backend_for(backend)
        options = _options()
        if NAME == "quadrants":
            # LLVM does the same after it, sooner: docs/decisions, 025.
            options["cfg_optimization"] = False
            # Vectors become numbers at the beginning, not the end: docs/decisions, 020.
            options["force_scalarize_matrix"] = True
        # Both runtimes announce themselves on stdout, where commands print results.
        try:
            with redirect_stdout(StringIO()):
                ti.init(arch=ti.cuda if found == "cuda" else ti.cpu, **options)
        except (RuntimeError, MemoryError) as error:
            raise BackendError(
                f"the runtime {NAME} cannot start on {found}: {str(error).strip() or 'out of memory'}; "
                "it takes 2 GB of virtual memory (ulimit -v) or more"
            ) from error
        _backend = found
        if found == "cuda":
            give_back_in_any_thread(ti.lang._ndarray.Ndarray)
        PROCESS.started = True
        if interrupted():
            raise KeyboardInterrupt
        # The threads exist. Kernels are compiled for all processors: fewer threads take the same code.
        config = _impl.current_cfg()
        config.cpu_max_num_threads = max(config.cpu_max_num_threads, os.cpu_count() or 1)
    elif backend not in ("auto", _backend):
        raise BackendError(
            f"backend {backend} was asked for, but this process already runs on {_backend}; "
            "use one backend per process"
        )
    return _backend


def _options() -> dict[str, Any]:
    """Options of the runtime's start, as the environment has them; warns if kernels cannot be kept."""
    options: dict[str, Any] = {
        "default_fp": ti.f64, "fast_math": False, "log_level": ti.ERROR, "unrolling_limit": 0,
    }  # fmt: skip
    if threads := os.environ.get("TAICHIMD_THREADS"):
        if not re.fullmatch("0*[1-9][0-9]{0,5}", threads):
            raise SettingsError(f"TAICHIMD_THREADS is '{threads}', expected a whole number above 0")
        options["cpu_max_num_threads"] = int(threads)
    if QUICK_COMPILE:
        # Kernels come much sooner, run longer, and give the same bits.
        options["advanced_optimization"] = False
    if os.environ.get("TAICHIMD_PROFILE"):
        options["kernel_profiler"] = True
    folder, remark = place_for_kernels(NAME, ti.reset)
    if folder is not None:
        options["offline_cache_file_path"] = str(folder)
        warnings.warn(remark, TaichimdWarning, stacklevel=3)
    return options


FULL_GRID = 64
"""More blocks (of 128 threads) for each multiprocessor than a GPU runs at a time."""


@contextmanager
def grid(blocks: int) -> Iterator[None]:
    """While kernels compile inside this context, their loops use at most `blocks` blocks (0: the default).

    The runtimes launch every loop with one and the same number of blocks, by default several thousand,
    however few atoms there are: then a loop that does nothing takes longer than one over a few thousand.
    """
    config = _impl.current_cfg()
    before = config.saturating_grid_dim
    if blocks:
        config.saturating_grid_dim = blocks
    try:
        yield
    finally:
        config.saturating_grid_dim = before


def blocks_for(threads: int) -> int:
    """Blocks for a loop of so many threads, in few steps so that few kernels are compiled; 0: default (CPU).

    A block continues with threads that are a whole grid farther. With many such rounds the atoms that are
    done at a time lie in places apart, whose neighbours a cache does not hold together (docs/decisions, 018).
    """
    if backend() != "cuda":
        return 0
    per_multiprocessor = threads / (128 * multiprocessors())
    steps = 2, 3, 4, 8, 16, FULL_GRID, 2 * FULL_GRID, 4 * FULL_GRID
    return multiprocessors() * next((step for step in steps if per_multiprocessor <= step), steps[-1])


def blocks_beside_steps() -> int:
    """Blocks for a long kernel outside of steps: the same for all sizes (docs/decisions, 025)."""
    return 8 * multiprocessors() if backend() == "cuda" else 0


def fills_device(blocks: int) -> bool:
    """Whether so many blocks, of `blocks_for`, are more than a GPU does at a time."""
    return blocks == 0 or blocks >= FULL_GRID * multiprocessors()


def threads_per_atom(on: str, n_atoms: int, enough: int) -> int:
    """Threads that share an atom on a backend: a power of two up to 8, no more than `enough` in all; or one.

    Without `WARPS` it is one.
    """
    threads = 1
    while on == "cuda" and WARPS and threads < 8 and 2 * threads * n_atoms <= enough:
        threads *= 2
    return threads


def backend() -> str:
    """The running backend; starts the default one if none runs."""
    return _backend or start()


@contextmanager
def literals(real: Any) -> Iterator[None]:
    """While kernels compile inside this context, their literals are of type `real`.

    A float64 literal would promote float32 arithmetic; so each precision compiles under its own default.
    """
    runtime = _impl.get_runtime()
    before = runtime.default_fp
    runtime.default_fp = real
    try:
        yield
    except _COMPILATION_ERROR as error:
        if told := told_before(error):
            raise told from None
        place = _place_outside(str(error))
        if place is None:
            raise  # a fault of ours: all of the runtime's message is wanted
        file, line, name = place
        reason = _last_reason(str(error))
        raise ParameterFileError(
            f"{file} line {line}: {name} cannot be compiled: {reason}; use arithmetic and taichimd.math"
        ) from error
    finally:
        runtime.default_fp = before


def told_before(error: BaseException | None) -> TaichimdError | None:
    """What a compilation within this one has said already: the runtime wraps it once more."""
    while error is not None and not isinstance(error, TaichimdError):
        error = error.__cause__ or error.__context__
    return error


def reason_of(error: Exception, function: Any) -> tuple[str, int, str, str]:
    """File, line and name of a user's function that does not compile, and the reason.

    The function is named if the error names no other place outside this package.
    """
    code = function.__code__
    found = _place_outside(str(error), innermost=False)
    file, line, name = found or (code.co_filename, code.co_firstlineno, function.__name__)
    return file, line, name, _last_reason(str(error))


def _place_outside(message: str, innermost: bool = True) -> tuple[str, int, str] | None:
    """File, line and function of a compilation error: the innermost one outside of this package.

    With `innermost`, None if a function of the package is further inside.
    """
    places = re.findall(r'File "([^"]+)", line (\d+), in (\w+):', message)
    inside = tuple(str(Path(module.__file__ or "").parent) for module in (taichimd, ti))
    outside = [place for place in places if not place[0].startswith(inside)]
    if not outside or (innermost and outside[-1] != places[-1]):
        return None
    file, line, name = outside[-1]
    return file, int(line), name


def _last_reason(message: str) -> str:
    """The runtime's own words, without the names that it gives to things."""
    reasons = [text.strip() for text in message.splitlines() if text.strip(" ^~.=")]
    unsaying = ("Did you mean", "In function:", "During handling", "- ")
    reason = next((text for text in reversed(reasons) if not text.startswith(unsaying)), "")
    return re.sub(r"^\w+ when calling `\w+`: |'?Struct\d+'? object", "", reason).strip(" .")


def described_type(value: Any) -> str | None:
    """The type of a value of the kernel that is being compiled: "f64", or "[Tensor (3) f]" of a vector.

    None for a number or an object of Python.
    """
    if isinstance(value, ti.Matrix):
        return f"[Tensor ({value.n}) f]"
    return str(type_of(value)) if isinstance(value, _EXPRESSION) else None


def computed_in(real: Any) -> Any:
    """Decorator of a device function whose literals, and those of all it calls, are of type `real`.

    Whatever the kernel's are: device functions are compiled where they are called, so that is the place to
    change the default.
    """

    def decorate(function: Any) -> Any:
        device = ti.func(function)

        @wraps(device)
        def call(*args: Any) -> Any:
            with literals(real):
                return device(*args)

        return call

    return decorate


in_double = computed_in(ti.f64)
"""For sums over the whole system."""


def compile_setting() -> dict[str, Any]:
    """What a kernel is compiled for at this moment, besides the runtime's own settings."""
    runtime, running = _impl.get_runtime(), backend()
    return {
        "literals": (runtime.default_fp, runtime.default_ip, runtime.default_up),
        "backend": running,
        "device": device_name() if running == "cuda" else cpu_name(),
        "multiprocessors": multiprocessors(),
        "capability": attribute(CAPABILITY_MAJOR),
        "flags": (DEVICE_LOOPS, WARPS, QUICK_COMPILE),
    }


def literal_type() -> Any:
    """The floating-point type that literals have in the kernel being compiled."""
    return _impl.get_runtime().default_fp


def type_of(value: Any) -> Any:
    """The type of a number in the kernel being compiled under Taichi."""
    return value.ptr.get_rvalue_type()


def info() -> dict[str, Any]:
    """Runtime, backend, device and versions, for reports: a JSON-able dictionary."""
    return chosen.info(backend())
