"""`taichimd check` as part of the suite: random clusters, lone atoms, cutoffs and straight angles."""

from math import inf, isfinite

from taichimd.core.printable import counted
from taichimd.program.check import TOLERANCE, check_forcefield
from taichimd.program.check import Check as Report
from taichimd.program.ends import JUMP
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

FORCE_JUMP = 1e-2
"""eV/angstrom."""
MEASURES = (
    Measure("cluster-forces", "Are forces of random clusters minus the derivative of the energy?", TOLERANCE),
    Measure("cluster-virial", "Is the virial of random clusters the derivative to strain?", TOLERANCE),
    Measure("cluster-sum", "Do the forces on the atoms of a cluster add up to zero?", TOLERANCE),
    Measure("cluster-order", "Does the energy of a cluster not depend on the order of its atoms?", TOLERANCE),
    Measure("finite", "Are energies and forces of lone atoms and at cutoffs numbers?", 0.0, "not numbers"),
    Measure("cutoff-energy", "Does the energy of a pair end continuously at its cutoff?", JUMP, "eV"),
    Measure("cutoff-force", "Is the jump of the force of a pair at its cutoff small?", FORCE_JUMP, "eV/Å"),
    Measure("cutoff-triplets", "Does the three-body energy end continuously at its cutoff?", JUMP, "eV"),
    Measure("straight-angles", "Are three-body forces smooth at angles of 0° and 180°?", JUMP, "eV/Å"),
)
WITHOUT = "the force field has no three-body term"


def findings_of(report: Report) -> Findings:
    """The measures of a report of `taichimd check`."""
    triplets: Found | NotRun = NotRun(WITHOUT)
    angles: Found | NotRun = NotRun(WITHOUT)
    if report.triplet_jump is not None:
        energy, force = report.triplet_jump
        triplets = Found(energy, f"forces jump by {force:.1e} eV/Å")
    if report.kink is not None:
        angles = Found(report.kink)
    energy_end, force_end = (
        max(report.ends, key=lambda end: _size(getattr(end, name)), default=None)
        for name in ("energy", "slope")
    )
    of = counted(report.clusters, "cluster")
    return {
        "cluster-forces": Found(report.force_error, of),
        "cluster-virial": Found(report.virial_error, of),
        "cluster-sum": Found(report.sum_error, of),
        "cluster-order": Found(report.order_error, of),
        "finite": Found(float(len(report.not_finite)), "; ".join(report.not_finite)),
        "cutoff-energy": _end(energy_end, "energy"),
        "cutoff-force": _end(force_end, "slope"),
        "cutoff-triplets": triplets,
        "straight-angles": angles,
    }


def _end(end: object, name: str) -> Found | NotRun:
    if end is None:
        return NotRun("the force field has no cutoff of pairs")
    pair, cutoff = getattr(end, "pair", ""), getattr(end, "cutoff", 0.0)
    return Found(_size(getattr(end, name)), f"{pair} at {cutoff:g} Å")


def _size(value: float) -> float:
    return abs(value) if isfinite(value) else inf


def _run(case: Case) -> Findings:
    elements = case.elements
    if elements is None and not (case.built and case.forcefield.elements):
        elements = case.species
    found = check_forcefield(case.forcefield, elements, clusters=case.level.clusters, seed=case.seed)
    return findings_of(found)


CHECKS: tuple[Check, ...] = (Check(MEASURES, _run, "random clusters, cutoffs and angles"),)
