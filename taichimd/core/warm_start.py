"""Kernels of quadrants whose compiled code is found without walking their syntax trees again.

Quadrants keeps compiled code under a key that it makes from the whole syntax tree. Making this key takes most
of a start. So a record in the same folder says which key a kernel had. The name of the record is a digest of
everything that the kernel is compiled from (`captured`), of the settings of the compiler, of the device and
of the types of the arguments. The `fastcache` of quadrants has such records, too, but their names do not
cover what a kernel captures. Where private names of quadrants are missing, kernels are traced as without
records.
"""

import hashlib
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from taichimd.core.captured import OWN, UnsureError, digest_of
from taichimd.core.errors import BackendError, SettingsError
from taichimd.core.kernel_cache import private
from taichimd.core.printable import any_of
from taichimd.core.runtime import NAME, compile_setting, ti
from taichimd.core.tracing import uses_no_structs

MODES = ("0", "1", "check")
"""Values of the environment variable: never, as a rule, or trace each kernel all the same and compare."""
LOG = "TAICHIMD_WARM_START_LOG"
"""The environment variable that names a file, to which each kernel that is traced adds a line."""
_NEEDED = (
    "_try_load_fastcache", "_maybe_persist_l1_and_set_l2_key", "visited_functions", "graph_do_while_levels",
    "compiled_kernel_data_by_key", "used_py_dataclass_parameters_by_key_enforcing",
)  # fmt: skip


def _mode() -> str:
    mode = os.environ.get(OWN) or "1"
    if mode not in MODES:
        raise SettingsError(f"{OWN} is '{mode}', expected {any_of(MODES)}")
    return mode


class StaleRecordError(BackendError):
    """A record names other code than the kernel compiles to; only the mode "check" notices."""


class _Nothing(set[Any]):
    """Stays empty: quadrants would hash the source files of all functions, and digests cover them."""

    def add(self, _: Any) -> None:
        """Forget it."""


@cache
def _records() -> "_Records | None":
    """Quadrants' records, in a folder that only this user can write; None where there are none."""
    try:
        from quadrants.lang._fast_caching import args_hasher, config_hasher, src_hasher
        from quadrants.lang.kernel import GraphDoWhileLevel
    except ImportError:
        return None
    folder = Path(ti.lang.impl.get_runtime().prog.config().offline_cache_file_path, "python_side_cache")
    return None if private(folder) else _Records(args_hasher, config_hasher, src_hasher, GraphDoWhileLevel)


class _Records:
    """The private parts of quadrants that this module uses."""

    def __init__(self, args_hasher: Any, config_hasher: Any, src_hasher: Any, level: Any) -> None:
        self.args_hasher, self.config_hasher = args_hasher, config_hasher
        self.src_hasher, self.level = src_hasher, level
        self._names: set[str] = set()
        src_hasher.store = self._careful(src_hasher.store)

    def load(self, name: str) -> Any:
        """A record; None if it is not there or cannot be read, as one that another process is removing."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.src_hasher.load(name)
        except OSError:
            return None

    def name(self, primal: Any, arguments: tuple[Any, ...], captured: tuple[Any, ...]) -> str | None:
        """Name of the record of a kernel, or None; vectors passed by value are in `captured`."""
        flat = [None if isinstance(one, ti.Matrix) else one for one in arguments]
        types = self.args_hasher.hash_args(False, flat, primal.arg_metas)
        if not isinstance(types, str):
            return None
        hashed = self.config_hasher.hash_compile_config(), self.config_hasher.hash_device_caps()
        digest = digest_of(captured, compile_setting(), primal.use_graph)
        name = hashlib.sha256("\n".join((digest, types, *hashed)).encode()).hexdigest()
        self._names.add(name)
        return name

    def _careful(self, store: Callable[..., None]) -> Callable[..., None]:
        """`store` of quadrants, which compares with the record that is there; a full disk stops no run."""

        def careful(code: str, name: str, *others: Any, **named: Any) -> None:
            if name in self._names:
                before = self.load(name)
                word = "new" if before is None else "same" if before.frontend_cache_key == code else "STALE"
                _note(f"{word} {name[:12]} {code[:12]}")
                if word == "STALE" and _mode() == "check":
                    raise StaleRecordError(f"the record {name} names other code than its kernel compiles to")
            with suppress(OSError):
                store(code, name, *others, **named)

        return careful


def remember(compiled: Any, captured: Callable[[], tuple[Any, ...]]) -> None:
    """Let a kernel be found by its record, and make one when it is compiled from what `captured` gives."""
    if NAME != "quadrants" or _mode() == "0":
        return
    primal: Any = getattr(compiled, "_primal", None)
    launch = getattr(type(primal), "launch_kernel", None)
    if not all(hasattr(primal, name) for name in _NEEDED) or "fast_checksum" not in _names_in(launch):
        return
    primal.visited_functions = _Nothing()

    def look_up(arguments: tuple[Any, ...], key: Any) -> set[str] | None:
        primal.fast_checksum = None
        if (records := _records()) is None:
            return uses_no_structs(primal, key)
        try:
            primal.fast_checksum = records.name(primal, arguments, captured())
        except UnsureError as reason:
            _note(f"unsure {primal.func.__name__} {reason}")
        found = _found(records, primal, key) if primal.fast_checksum and _mode() != "check" else None
        return uses_no_structs(primal, key) if found is None else found

    primal._try_load_fastcache = look_up
    primal._maybe_persist_l1_and_set_l2_key = lambda key, arguments: None


def _names_in(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_names if code else ()


def _found(records: _Records, primal: Any, key: Any) -> set[str] | None:
    """Take the compiled code that the record names; None without a record or without its code."""
    record = records.load(primal.fast_checksum)
    if record is None:
        return None
    program = ti.lang.impl.get_runtime().prog
    code = program.load_fast_cache(
        record.frontend_cache_key, primal.func.__name__, program.config(), program.get_device_caps()
    )
    if not code:
        return None
    _note(f"found {primal.func.__name__}")
    primal.compiled_kernel_data_by_key[key] = code
    used: set[str] = record.used_py_dataclass_parameters
    primal.used_py_dataclass_parameters_by_key_enforcing[key] = used
    primal.graph_do_while_levels = [
        records.level(cond_arg_name=name, parent_id=parent, cond_cpp_arg_id=number)
        for name, parent, number in record.graph_do_while_levels or ()
    ]
    if primal.graph_do_while_levels:
        primal.graph_do_while_arg = primal.graph_do_while_levels[0].cond_arg_name
    return used


def _note(line: str) -> None:
    if file := os.environ.get(LOG):
        with open(file, "a", encoding="utf-8") as log:
            log.write(f"{line}\n")
