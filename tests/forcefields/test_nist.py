"""Lennard-Jones energies and virials that NIST publishes: configuration 4, 30 atoms in a cubic cell.

NIST Standard Reference Simulation Website, Standard Reference Database 173, "Lennard-Jones Fluid Reference
Calculations: Cuboid Cell", https://doi.org/10.18434/T4M88Q. Lengths in sigma, energies in epsilon, which are
1 Å and 1 eV here; tail corrections, which taichimd has not, are left out.
"""

import numpy as np
import pytest
from ase import Atoms

from taichimd import LennardJones, TaichiMD

POSITIONS = np.array("""
 1.077169909511 -1.020988125886 -1.348259447733  0.1830884592213 -1.557698231574 -1.782405485883
-2.060346185437  3.927378276290  3.889555115290  1.936298049102  0.7181973326223  3.715169082037
-0.7514139041700 -0.4184139469527 -3.250183630687  2.257391305584 -1.126577405146 -2.291542913197
 0.1208868721243 -1.395611520000  2.003709382777  3.327427055092 -1.476502868105  3.394023898450
 2.130927328546 -1.106827632561 -0.1972896367169  2.117442019559 -0.1844743512029  0.9301638993772
-1.459378119580  2.382882188329 -3.788199401470  2.432313424884 -1.118537915440 -1.224088264651
 2.416845366530  1.845499053895  2.906107003288  2.515247912050  0.03580976978134 -2.445590080636
 1.113585242376 -2.478011342991 -0.008092189527960  1.261664073561  1.075432348722 -2.751715752259
-0.5811873476022 -2.429378395199  2.668996832737 -1.533182296119  2.319699660489  1.762429379767
 2.639946585704 -0.7847515599358  2.251233247739 -1.927486378623 -1.432729425739 -2.439226375584
 0.9212801355440 -2.427925517025  2.150024430246  2.114172305774  0.9586575168591 -1.790678078404
-0.7312380271746 -3.366157234697  0.1376597954432  1.612569300954 -0.9233415846164  2.037484769332
 3.967911812136  0.2002508998947  2.659432175592  1.188751191387 -0.05955638413419 -0.7363070447875
 3.789497702433  1.570674334424  0.7265918374820  2.786625773109 -1.524167484397  0.8358187540631
-1.629362446504 -1.139061532617 -0.7654084051377  2.592655226763  3.786335083587 -1.252452130644
""".split(), float).reshape(30, 3)  # fmt: skip


@pytest.mark.parametrize(
    ("truncation", "cutoff", "energy", "virial"),
    [
        ("truncated", 3.0, -16.790, -46.249),
        ("truncated", 4.0, -17.060, -47.869),
        ("force-shifted", 3.0, -15.001, -43.096),
    ],
)
def test_energy_and_virial_are_those_of_nist(truncation, cutoff, energy, virial):
    atoms = Atoms("Ar30", positions=POSITIONS, cell=[8.0] * 3, pbc=True)
    atoms.calc = TaichiMD(LennardJones(epsilon=1.0, sigma=1.0, cutoff=cutoff, truncation=truncation))
    # The sum of r . f over pairs is minus the trace of the stress times the volume.
    found = -atoms.get_stress(voigt=False).trace() * atoms.get_volume()
    # Five digits are published.
    assert (atoms.get_potential_energy(), found) == (
        pytest.approx(energy, abs=5.1e-4), pytest.approx(virial, abs=5.1e-4)
    )  # fmt: skip
