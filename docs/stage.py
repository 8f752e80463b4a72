"""Write what Sphinx reads, in build/site-source: pages under their own paths, so that their links hold there.

    python docs/stage.py

Taken are the README, the index and every page and file that one of them links to, directly or not. Written
are the contents of the sidebar, from the tables of the index, and the pages that are made from the program.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import api_pages
import command_pages
import gallery_page

ROOT = Path(__file__).resolve().parents[1]
STAGED = ROOT / "build" / "site-source"
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)")
_FENCES = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_MADE = ("gallery", "api/index", "commands/index")
_START = "<!doctype html><meta http-equiv=refresh content='0; url=docs/index.html'><title>taichimd</title>\n"


def stage() -> None:
    """Write all of it again.

    Raises:
        FileNotFoundError: a page links to a file that is not there.
    """
    shutil.rmtree(STAGED, ignore_errors=True)
    pages = copied_pages()
    _write("extra/index.html", _START)
    index = pages["docs/index.md"]
    _write("docs/index.md", index + contents(index, _MADE))
    for kind in (gallery_page, api_pages, command_pages):
        for name, text in kind.pages():
            _write(name, text)


def copied_pages() -> dict[str, str]:
    """Copy all pages and files that the README and the index reach; returns the text of each page by path."""
    pages: dict[str, str] = {}
    wanted = ["README.md", "docs/index.md"]
    while wanted:
        name = wanted.pop()
        if name in pages:
            continue
        text, linked = with_links_to_files(name, (ROOT / name).read_text(encoding="utf-8"))
        pages[name] = text
        _write(name, text)
        for target in linked:
            if target.endswith(".md"):
                wanted.append(target)
            else:
                (STAGED / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / target, STAGED / target)
    return pages


def with_links_to_files(page: str, text: str) -> tuple[str, list[str]]:
    """The text, where a link to a folder leads to the nearest README.md, and the files of its links.

    Args:
        page: path from the root.
        text: of that page.

    Raises:
        FileNotFoundError: there is no such file.
    """
    folder = (ROOT / page).parent
    linked: list[str] = []

    def checked(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[1]))
        if target.is_dir():
            above = (target, *target.parents)
            target = next(up / "README.md" for up in above if (up / "README.md").is_file())
        if not target.is_file():
            raise FileNotFoundError(f"{page} links to {match[1]}, which is not there")
        linked.append(str(target.relative_to(ROOT)))
        return os.path.relpath(target, folder)

    parts = _FENCES.split(text)
    parts[::2] = [_LINK.sub(checked, part) for part in parts[::2]]
    return "".join(parts), linked


def contents(index: str, made: Sequence[str]) -> str:
    """Sections of the sidebar: one for each heading of the index with its links, and one for pages made."""
    sections = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    written = [_toctree("Start", ["../README"])]
    for caption, text in zip(sections[1::2], sections[2::2], strict=True):
        if caption == "Evidence":
            written.append(_toctree("Made from the program", made))
        pages = [page for page in dict.fromkeys(_LINK.findall(text)) if page.endswith((".md", ".ipynb"))]
        written.append(_toctree(caption, [page.rpartition(".")[0] for page in pages]))
    return "".join(written)


def _toctree(caption: str, pages: Sequence[str]) -> str:
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def _write(name: str, text: str) -> None:
    path = STAGED / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    stage()
