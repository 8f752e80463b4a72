"""Build hook: copies the JavaScript of the 3D view, with its licences, from chemiscope into this package.

The repository does not hold these files. pip installs chemiscope while it builds a wheel or an editable
install. `python hatch_build.py` copies the files in a checkout whose Python has chemiscope.
"""

import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = {
    "sphinx/static/chemiscope.min.js": "chemiscope.min.js",
    "static/chemiscope-widget.mjs.LICENSE.txt": "LICENSES-of-parts.txt",
    "LICENSE": "LICENSE-chemiscope.txt",
}
"""Ends of the names of chemiscope's files, and their names here. It contains 3Dmol.js, which draws atoms."""


class ViewerHook(BuildHookInterface):
    """Runs before a wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the files; without chemiscope those that are there stay."""
        problem = copy_viewer(Path(self.root))
        if problem:
            self.app.display_warning(problem)


def copy_viewer(root: Path) -> str:
    """Copy the files to `taichimd/report/viewer`.

    Args:
        root: of the checkout.

    Returns:
        Why reports of this build have no 3D view; empty if they have one.
    """
    folder = root / "taichimd" / "report" / "viewer"
    try:
        package = distribution("chemiscope")
    except PackageNotFoundError:
        if all((folder / name).is_file() for name in FILES.values()):
            return ""
        return "chemiscope is not installed: reports of this build have no 3D view"
    folder.mkdir(exist_ok=True)
    for file in package.files or ():
        for end, name in FILES.items():
            if file.as_posix().endswith(f"/{end}"):
                shutil.copyfile(str(file.locate()), folder / name)
    return ""


if __name__ == "__main__":
    print(copy_viewer(Path(__file__).parent) or "done")
