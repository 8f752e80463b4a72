"""Does the record of a potential hold what ran, and does `check` find what jumps?"""

from validation.everyday.cases import EXIT, SILICON, Case, run

SUM = """
cat > toy.py <<'END'
from taichimd import LennardJones, triplet_potential
from taichimd.core.math import exp

@triplet_potential(params={"k": "eV"}, reference="a toy angle", derive=True)
def angle(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2 * exp(1.0 / (r_ij - p.cutoff) + 1.0 / (r_ik - p.cutoff))

def made(depth):
    pair = LennardJones(epsilon=depth, sigma=2.0, cutoff=4.0, truncation="force-shifted")
    return pair + angle(k=1.0, cutoff=3.0)

shallow, deep = made(0.3), made(0.9)
END
"""
TWO_FILES = """
cp "$POTENTIALS/Si.tersoff" mine.tersoff
cat > pair.lj <<'END'
# UNITS: metal
truncation force-shifted
Si Si 0.01 2.0 4.0
END
cat > both.py <<'END'
from taichimd import load_forcefield
both = load_forcefield("pair.lj") + load_forcefield("mine.tersoff")
END
"""
MODULE = """
cat > numbers_of_mine.py <<'END'
DEPTH = 0.010
END
cat > mine.py <<'END'
import sys
sys.path.insert(0, ".")
from numbers_of_mine import DEPTH
from taichimd import LennardJones
pair = LennardJones(epsilon=DEPTH, sigma=2.0, cutoff=4.0, truncation="force-shifted")
END
"""
RESTART = "taichimd run --restart out --steps 20 2>&1 | tail -n 1\n"


def restart(potential: str) -> str:
    """A restart that names its potential again, as Python code must be; its last line."""
    return RESTART.replace("--steps", f"--potential {potential} --steps")


CASES = [
    Case(
        "a sum of a force-shifted pair and an angle is recorded with all numbers of both",
        SUM
        + """
python -c '
import json, toy
text = json.dumps(toy.shallow.describe())
print(all(word in text for word in ("force-shifted", "epsilon", "0.3", "toy angle", "\\"k\\"")))'
""",
        "True",
    ),
    Case(
        "two sums whose pairs differ in depth have different records",
        SUM + "python -c 'import toy; print(toy.shallow.describe() != toy.deep.describe())'\n",
        "True",
    ),
    Case(
        "a single Lennard-Jones pair is recorded with its numbers",
        """python -c '
import json
from taichimd import LennardJones
text = json.dumps(LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.5).describe())
print("0.0104" in text and "3.4" in text)'
""",
        "True",
    ),
    Case(
        "a restart with an edited second file of a sum is refused",
        SILICON
        + TWO_FILES
        + run("both.py:both")
        + "sed -i 's/3264.7/3264.8/' mine.tersoff; cmp -s mine.tersoff $POTENTIALS/Si.tersoff && exit\n"
        + restart("both.py:both"),
        "^error: .*potential",
    ),
    Case(
        "a restart after a number in an imported module has changed is refused",
        SILICON
        + MODULE
        + run("mine.py:pair")
        + "sed -i 's/0.010/0.011/' numbers_of_mine.py\n"
        + restart("mine.py:pair"),
        "^error: .*potential",
    ),
    Case(
        "a restart with another number from the environment is refused",
        SILICON
        + """
cat > mine.py <<'END'
import os
from taichimd import LennardJones
pair = LennardJones(epsilon=float(os.environ["DEPTH"]), sigma=2.0, cutoff=4.0, truncation="force-shifted")
END
export DEPTH=0.010
"""
        + run("mine.py:pair")
        + "export DEPTH=0.011\n"
        + restart("mine.py:pair"),
        "^error: .*potential",
    ),
    Case(
        "a comment that was added to the user's file changes nothing",
        SILICON
        + MODULE
        + run("mine.py:pair")
        + "echo '# a comment' >> mine.py; taichimd run --restart out --steps 20 --potential mine.py:pair "
        + EXIT,
        "exit 0",
    ),
    Case(
        "kappa does not average runs of two potentials",
        SILICON
        + MODULE
        + """
kappa="taichimd kappa si.xyz --potential mine.py:pair --temperature 50 --runs"
more="--equilibrate 5fs --time 200fs --window 20fs"
$kappa 1 $more > log 2>&1
sed -i 's/0.010/0.011/' numbers_of_mine.py
$kappa 2 $more 2>&1 | tail -n 1
""",
        "^error: ",
    ),
    Case(
        "check: a triplet term that does not vanish at its cutoff has exit code 1",
        """
cat > mine.py <<'END'
from taichimd import triplet_potential

@triplet_potential(params={"k": "eV"}, derive=True)
def angle(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2

jumps = angle(k=1.0, cutoff=3.0)
END
taichimd check mine.py:jumps --elements Si > log 2>&1; echo exit $?
""",
        "exit 1",
    ),
    Case(
        "check: a triplet term that fades on one side only has exit code 1",
        """
cat > mine.py <<'END'
from taichimd import triplet_potential
from taichimd.core.math import exp

@triplet_potential(params={"k": "eV"}, derive=True)
def angle(r_ij, r_ik, cos_jik, p):
    return p.k * (cos_jik + 0.5) ** 2 * exp(0.5 / (r_ij - p.cutoff))

half = angle(k=1.0, cutoff=3.0)
END
taichimd check mine.py:half --elements Si > log 2>&1; echo exit $?
""",
        "exit 1",
    ),
    Case(
        "check: a shipped potential has exit code 0",
        "taichimd check SiC_2007.vashishta > log 2>&1; echo exit $?\n",
        "exit 0",
    ),
    Case(
        "check: a truncated pair has a verdict",
        "taichimd check Ar.lj 2>&1 | grep -i -c 'jumps by'\n",
        "[1-9]",
    ),
    Case(
        "check: a division by the sine of a straight angle is found",
        """
cat > mine.py <<'END'
from taichimd import triplet_potential
from taichimd.core.math import exp, sqrt

@triplet_potential(params={"k": "eV"}, derive=True)
def angle(r_ij, r_ik, cos_jik, p):
    fade = exp(0.5 / (r_ij - p.cutoff) + 0.5 / (r_ik - p.cutoff))
    return p.k * fade * sqrt(1.0 - cos_jik * cos_jik)

kink = angle(k=1.0, cutoff=3.0)
END
taichimd check mine.py:kink --elements Si > log 2>&1; echo exit $?
""",
        "exit 1",
    ),
    Case(
        "a truncation given to a triplet is not ignored",
        SUM
        + "python -c 'import toy; toy.angle(k=1, cutoff=3, truncation=\"force-shifted\")' 2>&1 | tail -n 1\n",
        "truncation",
    ),
    Case(
        "two options --potential are added up",
        SILICON
        + TWO_FILES
        + """
for one in pair.lj mine.tersoff "pair.lj --potential mine.tersoff"; do
taichimd energy si.xyz --potential $one --json > "$one.json" 2> log
done
python -c '
import json
one, two, both = (json.load(open(f))["energy"] for f in
                  ("mine.tersoff.json", "pair.lj.json", "pair.lj --potential mine.tersoff.json"))
print(abs(one + two - both) < 1e-9 * abs(both))'
""",
        "True",
    ),
    Case(
        "a restart of a sum from a job file has both potentials",
        SILICON
        + TWO_FILES
        + """
echo 'structure = "si.xyz"' > job.toml
echo 'potential = ["pair.lj", "mine.tersoff"]' >> job.toml
echo 'steps = 20' >> job.toml
echo 'output = "out"' >> job.toml
taichimd run job.toml > log 2>&1
sed -i 's/0.01 2.0/0.02 2.0/' pair.lj
"""
        + RESTART,
        "^error: .*pair.lj .*mine.tersoff.*epsilon 0.01",
    ),
    Case(
        "energy --terms ends with the sum",
        SILICON
        + TWO_FILES
        + """
taichimd energy si.xyz --potential pair.lj --potential mine.tersoff --terms > log 2>&1
python -c '
names = "pair.lj", "mine.tersoff", "sum"
rows = dict(line.split()[:2] for line in open("log") if line.startswith(names))
pair, bonds, whole = (float(rows[name]) for name in names)
print(list(rows), abs(pair + bonds - whole) < 1e-9)'
""",
        r"\['pair.lj', 'mine.tersoff', 'sum'\] True",
    ),
    Case(
        "the same file twice is told",
        SILICON + "taichimd energy si.xyz --potential Si.sw --potential Si.sw 2>&1 | grep -c twice\n",
        "^1",
    ),
]
