"""Is everyday work possible: fixed atoms, starts, frames, Python, commands?"""

from validation.everyday.cases import EXIT, SILICON, Case, run

CASES = [
    Case(
        "fixed atoms of a file do not move",
        """
python -c '
from ase.build import bulk
from ase.constraints import FixAtoms
from ase.io import write
atoms = bulk("Si", cubic=True) * 2
atoms.set_constraint(FixAtoms(range(16)))
write("slab.xyz", atoms, format="extxyz")'
taichimd run slab.xyz --potential Si.sw --ensemble nvt-langevin --steps 200 --output out > log 2>&1
python -c '
from ase.io import read
a, b = read("slab.xyz"), read("out/trajectory.extxyz@-1")
print(abs(a.positions - b.positions)[:16].max() == 0.0)'
""",
        "True",
    ),
    Case(
        "a constraint that is not applied is refused",
        """
python -c '
from ase.build import bulk
from ase.constraints import FixCartesian
from ase.io import write
atoms = bulk("Si", cubic=True) * 2
atoms.set_constraint(FixCartesian([0, 1], (True, False, False)))
write("part.traj", atoms)'
taichimd run part.traj --potential Si.sw --steps 5 2>&1 | tail -n 1
""",
        "^error: .*FixCartesian",
    ),
    Case(
        "velocities are drawn although the file has some",
        SILICON
        + "taichimd run si.xyz --potential Si.sw --temperature 900 --velocities draw --steps 5"
        + EXIT,
        "exit 0",
    ),
    Case(
        "a checkpoint is the start of a run with another potential",
        SILICON
        + run("Si.sw")
        + "taichimd run out/checkpoint.npz --potential Si.tersoff --steps 5 --output next "
        + EXIT,
        "exit 0",
    ),
    Case(
        "the error of another potential names the command that works",
        SILICON
        + run("Si.sw")
        + "taichimd run --restart out --potential Si.tersoff --steps 5 2>&1 | tail -n 1\n",
        "taichimd run .*checkpoint.npz",
    ),
    Case(
        "frames have a rhythm of their own",
        SILICON
        + run("Si.sw", "--steps 20 --every 5 --frames-every 10")
        + "grep -c Lattice out/trajectory.extxyz\n",
        "^3$",
    ),
    Case(
        "a run without frames",
        SILICON
        + run("Si.sw", "--steps 20 --every 5 --frames none")
        + "test -f out/run.json && ls out | grep -c trajectory\n",
        "^0$",
    ),
    Case(
        "a binary trajectory, which analyze reads",
        SILICON
        + run("Si.sw", "--steps 40 --every 5 --frames traj")
        + "taichimd analyze out/trajectory.traj "
        + EXIT,
        "exit 0",
    ),
    Case(
        "forces, energy, stress, save and load in Python",
        """
cat > door.py <<'END'
from ase.build import bulk
from taichimd import Simulation
one = Simulation(bulk("Si", cubic=True), "Si.sw", temperature=300, seed=1)
one.run(10)
one.save("point.npz")
one.run(10)
two = Simulation.load("point.npz", "Si.sw")
two.run(10)
same = (one.positions() == two.positions()).all()
shapes = one.forces().shape == (8, 3) and one.stress().shape == (6,)
print(bool(same and shapes), one.atoms().get_potential_energy() == one.energy())
END
python door.py 2>&1 | tail -n 1
""",
        "True True",
    ),
    Case(
        "a copied simulation is refused in a sentence",
        """
cat > door.py <<'END'
import copy
from ase.build import bulk
from taichimd import Simulation
copy.deepcopy(Simulation(bulk("Si", cubic=True), "Si.sw"))
END
python door.py 2>&1 | tail -n 1
""",
        "(save|load|atoms)",
    ),
    Case(
        "the observers of the command line in Python",
        """
cat > door.py <<'END'
from ase.build import bulk
from ase.io import read
from taichimd import ProgressObserver, Simulation, ThermoPlot, ThermoTable, TrajectoryFile
one = Simulation(bulk("Si", cubic=True), "Si.sw", temperature=300, seed=1)
with ThermoTable("rows.csv", every=5) as table, TrajectoryFile("melt.traj", every=10) as frames:
    one.run(20, observers=[table, frames, ThermoPlot("rows.png", table), ProgressObserver()])
print(len(open("rows.csv").readlines()), len(read("melt.traj", ":")), open("rows.png", "rb").read(4))
END
python door.py > log 2>&1; echo "$(grep -c 100% log) $(tail -n 1 log)"
""",
        r"^1 6 3 b'.x89PNG'$",
    ),
    Case(
        "taichimd run --restart goes on from a simulation saved in Python",
        """
cat > door.py <<'END'
from ase.build import bulk
from taichimd import Bussi, Simulation
one = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=Bussi(300.0))
one.run(10)
one.save("checkpoint.npz")
END
python door.py > log 2>&1
taichimd run --restart checkpoint.npz --steps 10 --output out > log 2>&1
python -c '
from taichimd import Simulation
print(Simulation.load("out").step)' 2>&1 | tail -n 1
""",
        "^20$",
    ),
    Case(
        "pressures from Python are in GPa",
        """
python -c '
from ase.build import bulk
from taichimd import Simulation
one = Simulation(bulk("Si", cubic=True, a=5.3), "Si.sw", temperature=1)
print(f"{one.thermo().pressure:.1f} {-one.stress()[:3].mean() * 160.2177:.1f}")' 2>&1 | tail -n 1
""",
        r"^(\d+\.\d) \1$",
    ),
    Case(
        "energy prints the ten largest forces, not every atom",
        SILICON + "taichimd energy si.xyz --potential Si.sw 2>&1 | wc -l\n",
        "^(1[0-9]|2[0-9])$",
    ),
    Case(
        "a time step with its unit",
        SILICON + "taichimd run si.xyz --potential Si.sw --steps 5 --timestep 1fs " + EXIT,
        "exit 0",
    ),
    Case(
        "a misspelt option suggests the nearest name",
        SILICON + "taichimd run si.xyz --potental Si.sw --steps 5 2>&1 | tail -n 1\n",
        "--potential",
    ),
    Case(
        "a misspelt command suggests the nearest name",
        "taichimd analyse x 2>&1 | tail -n 1\n",
        "analyze",
    ),
    Case(
        "a helper module beside the user's file is found from another folder",
        SILICON
        + """
mkdir mine; echo 'DEPTH = 0.01' > mine/helper_of_mine.py
cat > mine/pair.py <<'END'
from helper_of_mine import DEPTH
from taichimd import LennardJones
pair = LennardJones(epsilon=DEPTH, sigma=2.0, cutoff=4.0, truncation="force-shifted")
END
taichimd energy si.xyz --potential mine/pair.py:pair > log 2>&1; echo exit $?
""",
        "exit 0",
    ),
    Case(
        "build makes wurtzite, zincblende and graphene",
        """
for name in wurtzite zincblende graphene; do taichimd build $name --out $name.xyz > log 2>&1; done
ls *.xyz 2>/dev/null | wc -l
""",
        "^3$",
    ),
    Case(
        "--quiet prints nothing",
        SILICON + "taichimd run si.xyz --potential Si.sw --steps 5 --quiet 2>&1 | wc -c\n",
        "^0$",
    ),
    Case(
        "licence, citation and types are there",
        'cd "$CHECKOUT"; ls LICENSE CITATION.cff taichimd/py.typed 2>/dev/null | wc -l\n',
        "^3$",
    ),
    Case(
        "build makes a crystal of elements that a shipped potential has",
        """
taichimd build zincblende --elements Ga,N --cells 2 --out gan.xyz > log 2>&1
taichimd energy gan.xyz --potential GaN_2006.sw 2>&1 | grep 'per atom'
""",
        "-4.3",
    ),
    Case(
        "energy --per-atom prints every atom",
        SILICON + "taichimd energy si.xyz --potential Si.sw --per-atom 2>&1 | wc -l\n",
        "^7[0-9]$",
    ),
    Case(
        "--quiet of relax, analyze and kappa prints nothing",
        SILICON
        + run("Si.sw", "--steps 40 --every 5")
        + """
length="--equilibrate 50fs --time 300fs --window 20fs"
(taichimd relax si.xyz --potential Si.sw --quiet; taichimd analyze out --quiet
taichimd kappa si.xyz --potential Si.sw --temperature 300 --runs 1 $length --quiet) 2>&1 | wc -c
""",
        "^0$",
    ),
    Case(
        "pictures of a run, of analyze and of kappa as PDF or SVG",
        SILICON
        + run("Si.sw", "--steps 40 --every 5 --plot-format pdf")
        + """
length="--equilibrate 50fs --time 300fs --window 20fs --plot-format svg"
taichimd analyze out --rdf --plot-format pdf > log 2>&1
taichimd kappa si.xyz --potential Si.sw --temperature 300 --runs 1 $length > log 2>&1
file=$(ls out/*.pdf taichimd-analysis/*.pdf taichimd-kappa/*.svg); echo $file
""",
        "^out/thermo.pdf taichimd-analysis/rdf.pdf taichimd-kappa/kappa.svg$",
    ),
    Case(
        "pictures as PDF on request",
        SILICON
        + run("Si.sw", "--steps 40 --every 5")
        + "taichimd plot out --output thermo.pdf > log 2>&1; head -c 4 thermo.pdf 2>/dev/null; echo\n",
        "PDF",
    ),
]
