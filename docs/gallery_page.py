"""The gallery: each example of examples/README.md with its picture, its command and its source."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ROW = re.compile(r"^\| \[([\w.]+)\]\(\1\) \| (.+?) \| `(.+?)` \| \[[\w.]+\]\(([\w.]+)\).*\|$", re.MULTILINE)


def examples() -> list[tuple[str, str, str, str]]:
    """File, what it shows, command and picture of each row of the table.

    Raises:
        ValueError: a row has another form.
    """
    table = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    found = _ROW.findall(table)
    if len(found) != len(re.findall(r"^\| \[", table, re.MULTILINE)):
        raise ValueError("examples/README.md: a row of the table is not: file, shows, command, picture")
    return found


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of the page."""
    parts = [
        "# Gallery\n\nEach picture is drawn by the command below it. Click on a picture to enlarge it, "
        "and on Source to read the example.\n"
    ]
    for file, shows, command, picture in examples():
        title, _, rest = shows.partition(": ")
        title = title[0].upper() + title[1:]
        about = re.sub(r"\]\((?!https?:)", "](../examples/", rest or title)
        language = "toml" if file.endswith(".toml") else "python"
        parts.append(
            f"\n## {title}\n\n![{title}](../examples/{picture})\n\n{about[0].upper() + about[1:]}.\n\n"
            f"```console\n$ {command}\n```\n\n<details><summary>Source: {file}</summary>\n\n"
            f"```{{literalinclude}} ../examples/{file}\n:language: {language}\n```\n\n</details>\n"
        )
    yield "docs/gallery.md", "".join(parts)
