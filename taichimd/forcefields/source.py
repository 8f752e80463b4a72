"""What can be told from a user's function before anything is compiled: arguments, results, names, types."""

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.names import hint
from taichimd.core.printable import counted
from taichimd.core.runtime import NAME as RUNTIME

Function = Callable[..., Any]
_NOT_USERS = ("taichimd", "taichi", "quadrants", "numpy", "math", "scipy", "sympy", "ase")


@dataclass(frozen=True)
class Expected:
    """What a user's function takes and returns."""

    arguments: tuple[str, ...]  # names, in their order
    results: tuple[str, ...]  # what is returned, in its order
    derived: bool = False  # whether the function is followed in Python, with symbols, rather than compiled
    hint: str = ""  # what to do if the number of arguments or results is another


PAIR = Expected(("r", "p"), ("u", "du/dr"), hint="or the energy alone with derive=True")
TRIPLET = Expected(
    ("r_ij", "r_ik", "cos_jik", "p"),
    ("h", "dh/dr_ij", "dh/dr_ik", "dh/dcos"),
    hint="or the energy alone with derive=True",
)
BY_ORDER = {2: PAIR, 3: TRIPLET}


def expected_of(order: int, derive: bool) -> Expected:
    """What a function of 2 or 3 atoms takes and returns."""
    whole = BY_ORDER[order]
    return Expected(whole.arguments, whole.results[:1], derived=True) if derive else whole


def place(function: Function, line: int | None = None) -> str:
    """`file line n: name`, as messages begin; the line is that of its `def` if none is given."""
    code = function.__code__
    at = code.co_firstlineno if line is None else line
    return f"{code.co_filename} line {at}: {function.__name__}"


def check_function(function: Any, expected: Expected) -> None:
    """Refuse what can be seen to fail: a wrong number of arguments or results, returns, endless loops."""
    if not isinstance(function, FunctionType):
        what = function if isinstance(function, str) else type(function).__name__
        raise SettingsError(f"a potential is declared by a function, got {what}; write it with def")
    if function.__name__ == "<lambda>":
        raise SettingsError(f"{place(function)} cannot be compiled; write the function with def")
    tree = _Tree.of(function)
    line = None if tree is None else tree.line(tree.body)
    _check_arguments(function, expected, line)
    if tree is None:
        return  # no source to look at
    _check_loops(tree)
    _check_returns(tree, expected)
    if not expected.derived:
        _check_variables(tree)


def check_attributes(function: Function, expected: Expected, known: Mapping[str, Sequence[str]]) -> None:
    """Refuse an attribute that an argument does not have; `known`: the attributes of some arguments."""
    for name, node, argument in attributes_of(function, expected):
        if argument in known and node.attr not in known[argument]:
            have = known[argument]
            more = hint(node.attr, have, otherwise=f"it has {', '.join(have) or 'none'}")
            raise SettingsError(f"{place_of(function, node)}: {name} has no '{node.attr}'; {more}")


def attributes_of(function: Function, expected: Expected) -> Iterator[tuple[str, ast.Attribute, str]]:
    """Attributes of its arguments that a function reads: the user's name of the argument, node, our name."""
    tree = _Tree.of(function)
    if tree is None:
        return
    names = [one.arg for one in (*tree.body.args.posonlyargs, *tree.body.args.args)]
    stored = {n.id for n in ast.walk(tree.body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    ours = {n: a for n, a in zip(names, expected.arguments, strict=False) if n not in stored}
    for node in ast.walk(tree.body):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ours:
            yield node.value.id, node, ours[node.value.id]


def place_of(function: Function, node: ast.AST) -> str:
    """`file line n: name` of a node that `attributes_of` gave."""
    tree = _Tree.of(function)
    return place(function) if tree is None else tree.where(node)


def return_line(function: Function) -> int | None:
    """The line of the last `return`; None without a source."""
    tree = _Tree.of(function)
    returns = [] if tree is None else tree.returns
    return None if tree is None or not returns else tree.line(returns[-1])


def foreign_call(function: Function, line: int) -> str | None:
    """`np.exp` or the like, if such a function of another library is called on a line; else None."""
    tree = _Tree.of(function)
    if tree is None:
        return None
    for node in ast.walk(tree.body):
        if not isinstance(node, ast.Call) or tree.line(node) > line or tree.line(node, last=True) < line:
            continue
        text = ast.unparse(node.func)
        found: Any = (
            function.__globals__.get(text.split(".")[0]) if isinstance(function, FunctionType) else None
        )
        for part in text.split(".")[1:]:
            found = getattr(found, part, None)
        owner = str(getattr(found, "__module__", None) or type(found).__module__).split(".")[0]
        if found is not None and owner in ("numpy", "math", "scipy", "cmath", "sympy"):
            return text
    return None


def text_of_line(file: str, line: int) -> str:
    """A line of a file without its indentation; empty if there is none."""
    return linecache.getline(file, line).strip()


def check_helpers(function: Function, seen: frozenset[Any] = frozenset()) -> None:
    """Refuse a plain Python helper that decides by a number: Python would decide once, for all numbers."""
    tree = _Tree.of(function)
    if tree is None:
        return
    for node in ast.walk(tree.body):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        helper: Any = getattr(function, "__globals__", {}).get(node.func.id)
        # What a runtime or a library has wrapped, and this package's own, is no plain function of the user.
        plain = isinstance(helper, FunctionType) and not hasattr(helper, "__wrapped__")
        if not plain or helper in seen or str(helper.__module__).split(".")[0] in _NOT_USERS:
            continue
        inner = _Tree.of(helper)
        decisions = ast.If | ast.IfExp | ast.While | ast.BoolOp | ast.Assert
        for part in [] if inner is None else inner.inner:
            if isinstance(part, decisions) and inner is not None:
                raise SettingsError(
                    f"{inner.where(part)} decides by a number that only the device knows, because it is no "
                    f"compiled function; decorate it with {RUNTIME}.func, or write it into "
                    f"{function.__name__}"
                )
        check_helpers(helper, seen | {helper})


def line_in(error: BaseException, file: str) -> int | None:
    """The innermost line of a file that an exception went through; of a `SyntaxError` the line it names."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    return line


@dataclass(frozen=True)
class _Tree:
    """The syntax tree of a function, and where in its file it begins."""

    function: Function
    body: ast.FunctionDef
    first: int

    @classmethod
    def of(cls, function: Function) -> "_Tree | None":
        """None if there is no source, or the function is no `def`."""
        try:
            lines, first = inspect.getsourcelines(function)
            body = ast.parse(textwrap.dedent("".join(lines))).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            return None
        return cls(function, body, first) if isinstance(body, ast.FunctionDef) else None

    def line(self, node: Any, last: bool = False) -> int:
        """Return the line of the file on which a node begins, or ends."""
        return int(self.first + (node.end_lineno if last else node.lineno) - 1)

    def where(self, node: Any) -> str:
        return place(self.function, self.line(node))

    @property
    def returns(self) -> list[ast.Return]:
        """Those of the function itself, in their order."""
        found = [node for node in self.inner if isinstance(node, ast.Return)]
        return sorted(found, key=lambda node: node.lineno)

    @property
    def inner(self) -> list[ast.AST]:
        """Nodes that are not within a function inside this one."""
        open_: list[ast.AST] = list(self.body.body)
        found: list[ast.AST] = []
        while open_:
            node = open_.pop()
            found.append(node)
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                open_ += ast.iter_child_nodes(node)
        return found


def _check_arguments(function: Function, expected: Expected, line: int | None) -> None:
    known = inspect.signature(function).parameters.values()
    by_position = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in by_position if p.default is p.empty]
    others = [p for p in known if p not in by_position]
    count = len(expected.arguments)
    if len(needed) <= count <= len(by_position) and not others:
        return
    takes = counted(len(list(known)), "argument")
    raise SettingsError(
        f"{place(function, line)} takes {takes} {inspect.signature(function)}, expected {count}: "
        f"{', '.join(expected.arguments)}"
        + (f"; {expected.hint}" if expected.hint and not expected.hint.startswith("or ") else "")
    )


def _check_loops(tree: _Tree) -> None:
    for node in tree.inner:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == tree.body.name:
            raise SettingsError(f"{tree.where(node)} calls itself; a compiled function cannot, use a loop")
        if not isinstance(node, ast.While) or not isinstance(node.test, ast.Constant) or not node.test.value:
            continue
        if not any(isinstance(inner, ast.Break) for inner in ast.walk(node)):
            raise SettingsError(f"{tree.where(node)} never ends: this loop has no break; give it a condition")


def _check_returns(tree: _Tree, expected: Expected) -> None:
    """One return, at the end, of as many values as are expected."""
    returns, last = tree.returns, tree.body.body[-1]
    if expected.derived and len(returns) > 1:
        return  # derivation has more to say about branches
    if not isinstance(last, ast.Return) or len(returns) != 1:
        line = next((node for node in returns if node is not last), tree.body)
        raise SettingsError(
            f"{tree.where(line)} needs exactly one return, at its end; inside a branch, set a variable "
            "instead"
        )
    count = _count(last.value)
    if count is not None and count != len(expected.results):
        returned = "nothing" if count == 0 else counted(count, "value")
        hint = f", {expected.hint}" if expected.hint.startswith("or ") else ""
        raise SettingsError(
            f"{tree.where(last)} returns {returned}, expected {', '.join(expected.results)}{hint}"
        )


def _count(value: ast.expr | None) -> int | None:
    """Number of values that are returned; None if that cannot be told: a name or a call may be several."""
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return 0
    if isinstance(value, ast.Tuple | ast.List):
        return None if any(isinstance(one, ast.Starred) for one in value.elts) else len(value.elts)
    known = isinstance(value, ast.BinOp | ast.UnaryOp | ast.Constant | ast.Compare | ast.Attribute)
    return 1 if known else None


def _check_variables(tree: _Tree) -> None:
    """Refuse a variable whose later values are of another type than its first one, which it keeps.

    `u = 0`, then `u = 1.7` in a branch, would be 1 in the compiled function; of a vector that is put into a
    number a runtime aborts.
    """
    module = getattr(tree.function, "__globals__", {})
    whole = {name for name, value in module.items() if type(value) is int}
    whole -= {one.arg for one in tree.body.args.args}
    loops = [node.target for node in tree.inner if isinstance(node, ast.For)]
    whole |= {target.id for target in loops if isinstance(target, ast.Name)}
    values: dict[str, list[tuple[ast.stmt, ast.expr | None]]] = {}
    for name, node, value in sorted(_assignments(tree), key=lambda one: one[1].lineno):
        values.setdefault(name, []).append((node, value))
    for name, ((first, begins), *later) in values.items():
        is_whole = _is_whole(begins, whole)
        whole |= {name} if is_whole else set()
        for node, value in later:
            if isinstance(node, ast.Assign) and _is_list(begins) != _is_list(value):
                kinds = ("a list", "a number") if _is_list(begins) else ("a number", "a list")
                raise SettingsError(
                    f"{tree.where(node)}: {name} begins as {kinds[0]} and cannot become {kinds[1]}; take "
                    "another name"
                )
            if is_whole and not _is_whole(value, whole):
                raise SettingsError(
                    f"{tree.where(first)}: {name} begins as a whole number and stays one, so the value of "
                    f"line {tree.line(node)} would lose its fraction; begin with a decimal point, as in 0.0"
                )


def _is_list(value: ast.expr | None) -> bool:
    """Whether an expression is surely several numbers."""
    made = isinstance(value, ast.Call) and ast.unparse(value.func).endswith((".Vector", ".Matrix"))
    return made or isinstance(value, ast.List | ast.Tuple)


def _assignments(tree: _Tree) -> Iterator[tuple[str, ast.stmt, ast.expr | None]]:
    """Name, statement and value of each assignment to a variable; None for a value that cannot be told."""
    for node in tree.inner:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            # A division makes no whole number, whatever it divides.
            yield node.target.id, node, None if isinstance(node.op, ast.Div | ast.Pow) else node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            parts: list[ast.expr | None] = [value]
            if isinstance(target, ast.Tuple):
                parts = [*value.elts] if isinstance(value, ast.Tuple) else [None] * len(targets)
            for one, part in zip(targets, parts, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, node, part


def _is_whole(value: ast.expr | None, whole: set[str]) -> bool:
    """Whether an expression is surely a whole number."""
    if isinstance(value, ast.Constant):
        return type(value.value) is int
    if isinstance(value, ast.Name):
        return value.id in whole
    if isinstance(value, ast.UnaryOp):
        return _is_whole(value.operand, whole)
    if isinstance(value, ast.BinOp):
        arithmetic = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
        return isinstance(value.op, arithmetic) and all(
            _is_whole(one, whole) for one in (value.left, value.right)
        )
    return False
