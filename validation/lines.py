"""How many lines has each package, and how many of them are code, docstrings, comments or blank?"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

from validation import common

KINDS = ("code", "docstring", "comment", "blank")


def main() -> None:
    """Parse the command line, count, print a table."""
    parser = common.parser(__doc__)
    parser.add_argument("folder", nargs="?", default="taichimd", help="of the checkout, such as validation")
    root = common.ROOT / parser.parse_args().folder
    counts: dict[str, Counter[str]] = {}
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        package = inside.parts[0] if len(inside.parts) > 1 else "."
        counts.setdefault(package, Counter()).update(kinds_of(file))
    ordered = sorted(counts.items(), key=lambda one: -one[1].total())
    every = [*ordered, ("all", sum(counts.values(), Counter()))]
    rows = [(name, found.total(), *(found[kind] for kind in KINDS)) for name, found in every]
    print(common.table(rows, ("package", "lines", *KINDS)))


def kinds_of(file: Path) -> list[str]:
    """What each line of a file is."""
    text = file.read_text(encoding="utf-8")
    kinds = ["code" if line.strip() else "blank" for line in text.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            kinds[token.start[0] - 1] = "comment"
    for node in ast.walk(ast.parse(text)):
        # A text that stands by itself, wherever it is: of a module, class, function or constant.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                kinds[node.lineno - 1 : node.end_lineno] = ["docstring"] * (node.end_lineno - node.lineno + 1)
    return kinds


if __name__ == "__main__":
    main()
