"""What a case is: a bash script for an empty folder, and a pattern for its answer.

The scripts know `taichimd` and `python` of the checkout under trial, `$CHECKOUT` and `$POTENTIALS`. The
answer of a case is the last line that its script prints.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        name: what is tried.
        script: bash, run in an empty folder.
        answer: regular expression found in the last line that the script prints.
    """

    name: str
    script: str
    answer: str


SILICON = """
taichimd build silicon --cells 2 --temperature 300 --out si.xyz > /dev/null
"""
EXIT = " > log 2>&1; echo exit $?\n"


def run(potential: str, more: str = "--steps 20", out: str = "out") -> str:
    """A line that runs `si.xyz` silently."""
    return f"taichimd run si.xyz --potential {potential} {more} --output {out} > {out}.log 2>&1\n"
