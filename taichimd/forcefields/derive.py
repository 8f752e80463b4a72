"""From an energy alone to its derivatives: trace with SymPy, differentiate, write a readable function.

The function is called once with symbols in place of distances and parameters; what it imported from
`taichimd.math` stands for SymPy's functions meanwhile, also in functions of its file that it calls. The
result is a module of its own with source
(Taichi compiles source, so there must be some), named after the function and a hash.
"""

from collections.abc import Callable
from contextlib import suppress
from traceback import walk_tb
from types import CellType, FunctionType, SimpleNamespace
from typing import Any, cast

import sympy
from sympy.printing.str import StrPrinter

import taichimd.core.math as portable
from taichimd.core.errors import SettingsError
from taichimd.core.generated import imported
from taichimd.core.runtime import ti
from taichimd.forcefields.source import line_in, place, return_line

VARIABLES = {2: ("r",), 3: ("r_ij", "r_ik", "cos_jik")}
_SYMPY = {
    "exp": sympy.exp, "log": sympy.log, "sqrt": sympy.sqrt, "sin": sympy.sin, "cos": sympy.cos,
    "power": sympy.Pow,
}  # fmt: skip


def derived_function(function: Callable[..., Any], names: tuple[str, ...], columns: tuple[str, ...]) -> Any:
    """Compiled function returning the energy and its derivatives to every variable; `columns`: of p.

    SettingsError: a function that SymPy cannot follow (branches, foreign functions).
    """
    variables = [sympy.Symbol(name, positive=name != "cos_jik") for name in names]
    parameters = {column: sympy.Symbol(f"p.{column}", real=True) for column in columns}
    try:
        energy = sympy.sympify(_traced(function)(*variables, SimpleNamespace(**parameters)))
        if not isinstance(energy, sympy.Expr) or energy.has(sympy.oo, sympy.zoo, sympy.nan, sympy.I):
            raise SettingsError(f"it returns {str(energy)[:60]}, expected a real number")
        derivatives = [sympy.diff(energy, variable) for variable in variables]
        shared, results = sympy.cse([energy, *derivatives], symbols=sympy.numbered_symbols("t"))
        printer = _Printer()
        lines = [f"{name} = {printer.doprint(value)}" for name, value in shared]
        values = ", ".join(printer.doprint(value) for value in results)
    except Exception as error:
        at = place(function, line_in(error, function.__code__.co_filename) or return_line(function))
        if _of_runtime(error):
            raise SettingsError(
                f"{at}: cannot derive it, because it calls a compiled function, or a function of "
                "another file that uses taichimd.math; write that function without @ti.func in this "
                "file, or return the derivatives yourself and drop derive=True"
            ) from error
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SettingsError(
            f"{at}: cannot derive it ({why}); use arithmetic and "
            "taichimd.math without branches, or return the derivatives yourself and drop derive=True"
        ) from error
    body = "\n    ".join([*lines, f"return {values}"])
    source = (
        f'"""Derived by taichimd from the energy of {function.__name__}; do not edit."""\n\n'
        "from taichimd.core.math import cos, exp, log, power, sin, sqrt\n"
        "from taichimd.core.runtime import ti\n\n\n"
        f"@ti.func\ndef {function.__name__}({', '.join(names)}, p):\n"
        f'    """Energy and its derivatives to {", ".join(names)}."""\n    {body}\n'
    )
    return getattr(imported(source, function.__name__), function.__name__)


def _traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same code, seeing SymPy's functions where it imported ours; so do functions of the same file."""
    space: dict[str, Any] = function.__globals__  # type: ignore[attr-defined]
    ours = {getattr(portable, name): value for name, value in _SYMPY.items()}
    seen: dict[str, Any] = {}
    made: dict[Any, Any] = {}

    def copied(of: Any) -> Any:
        if of not in made:
            cells = tuple(CellType() for _ in of.__closure__ or ())
            made[of] = FunctionType(of.__code__, seen, of.__name__, of.__defaults__, cells)
            made[of].__kwdefaults__ = of.__kwdefaults__
            for cell, theirs in zip(cells, of.__closure__ or (), strict=True):
                # A name that the enclosing function binds later is empty now.
                with suppress(ValueError):
                    cell.cell_contents = shown(theirs.cell_contents)
        return made[of]

    def shown(value: Any) -> Any:
        if _is_math(value):
            return SimpleNamespace(**_SYMPY)
        if not _hashable(value):
            return value
        if value not in ours and isinstance(value, FunctionType) and value.__globals__ is space:
            return copied(value)
        return ours.get(value, value)

    seen |= {name: shown(value) for name, value in space.items()}
    return cast("Callable[..., Any]", copied(function))


def _of_runtime(error: BaseException) -> bool:
    """Whether an exception comes from a device function, called outside of kernels."""
    frames = [step.f_globals.get("__name__", "") for step, _ in walk_tb(error.__traceback__)]
    return frames[-1].startswith(f"{ti.__name__}.")


def _is_math(value: Any) -> bool:
    """Whether it is the module of our functions, by its public name or the other one."""
    return value is portable or getattr(value, "__name__", None) == "taichimd.math"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class _Printer(StrPrinter):
    """Arithmetic as Taichi takes it: float literals, whole powers as products, ours for the rest."""

    def _print_Integer(self, expr: Any) -> str:  # noqa: N802
        return f"{float(expr)!r}"

    _print_Rational = _print_Float = _print_NumberSymbol = _print_Integer  # noqa: N815

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        above, below = [], []
        for factor in expr.args:
            base, exponent = factor.as_base_exp()
            if exponent.is_number and exponent.is_negative and base != sympy.E:
                below.append(self._factor(base**-exponent))
            else:
                above.append(self._factor(factor))
        product = " * ".join(above) or "1.0"
        return f"{product} / ({' * '.join(below)})" if below else product

    def _factor(self, expr: Any) -> str:
        text = self.doprint(expr)
        return f"({text})" if expr.is_Add or text.startswith("-") else text

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:  # noqa: N802
        base, exponent = expr.args
        if exponent.is_Integer:
            n = int(exponent)
            product = _product(self._atom(base), abs(n))
            return product if n > 0 else f"1.0 / ({product})"
        if exponent == sympy.S.Half:
            return f"sqrt({self.doprint(base)})"
        if exponent == -sympy.S.Half:
            return f"1.0 / sqrt({self.doprint(base)})"
        return f"power({self.doprint(base)}, {self.doprint(exponent)})"

    def _atom(self, expr: Any) -> str:
        return self.doprint(expr) if expr.is_Symbol else f"({self.doprint(expr)})"

    def _print_Function(self, expr: Any) -> str:  # noqa: N802
        name = expr.func.__name__
        if name not in _SYMPY:
            raise SettingsError(f"'{name}' is not in taichimd.math")
        return f"{name}({', '.join(self.doprint(a) for a in expr.args)})"

    _print_exp = _print_Function
    _print_log = _print_Function


def _product(base: str, n: int) -> str:
    """base^n as nested squares: ((x*x)*(x*x))*x."""
    if n == 1:
        return base
    half = _product(base, n // 2)
    square = f"({half}) * ({half})" if n > 3 else f"{half} * {half}"
    return f"({square}) * {base}" if n % 2 else f"({square})"
