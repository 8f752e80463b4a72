"""Two energy-drift results, compared bit by bit: did two machines follow the same trajectory?

    python -m validation.same_energies energy_drift_quadrants.json other.json --out same.json

A total energy is a sum over all positions and velocities. If it is the same in every bit at every sample of
a run in which rounding errors grow, so was everything it was computed from.
"""

import argparse
import json
from pathlib import Path

from validation import common


def main() -> None:
    """Compare the cases that both files hold, sample by sample, as far as the shorter one goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs=2, type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    first, second = (json.loads(file.read_text()) for file in options.files)
    cases = {}
    for name in first["cases"].keys() & second["cases"].keys():
        a, b = (report["cases"][name] for report in (first, second))
        pairs = list(zip(a["energies_eV_per_atom"], b["energies_eV_per_atom"], strict=False))
        differing = [x != y for x, y in pairs]
        every = a["steps"] // (len(a["energies_eV_per_atom"]) - 1)
        cases[name] = {
            "samples": len(pairs),
            "steps": (len(pairs) - 1) * every + a["equilibration_steps"],
            "differing_samples": sum(differing),
            "largest_difference_eV_per_atom": max(abs(x - y) for x, y in pairs),
        }
        print(f"{name}: {cases[name]}")
    report = {"cases": cases}
    for label, run in (("a", first), ("b", second)):
        report[label] = {key: run[key] for key in ("machine", "runtime", "commit", "date")}
    if options.out:
        common.write_json(options.out, report)


if __name__ == "__main__":
    main()
