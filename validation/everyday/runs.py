"""Does the record of a run hold what ran, is a folder safe, and is a likely mistake noted?"""

from validation.everyday.cases import EXIT, SILICON, Case, run

CASES = [
    Case(
        "run.json has the full settings of every segment",
        SILICON
        + run("Si.sw", "--steps 20 --ensemble nvt-langevin --timestep 0.5")
        + "taichimd run --restart out --ensemble nve --timestep 1 --steps 20 > log 2>&1\n"
        + """
python -c '
import json
parts = json.load(open("out/run.json")).get("segments", [])
print([(p["settings"]["ensemble"], p["settings"]["timestep"], "terms" in p["potential"]) for p in parts])'
""",
        r"\[\('nvt-langevin', 0.5, True\), \('nve', 1.0, True\)\]",
    ),
    Case(
        "of two runs that start together in one folder one runs and the other says so",
        SILICON
        + """
taichimd run si.xyz --potential Si.sw --steps 30000 --overwrite > a.log 2>&1 & a=$!
taichimd run si.xyz --potential Si.sw --steps 30000 --overwrite > b.log 2>&1 & b=$!
wait $a; x=$?; wait $b; y=$?
grep -h '^error' a.log b.log | head -n 1; echo "exit codes $((x < y ? x : y)) $((x < y ? y : x))"
""",
        "exit codes 0 2",
    ),
    Case(
        "a run that was killed in its last writes is completed by a restart",
        SILICON
        + run("Si.sw")
        + """
python -c '
import json
report = json.load(open("out/run.json")); report["exit_reason"] = "running"
for part in report.get("segments", []): part["exit_reason"] = "running"
json.dump(report, open("out/run.json", "w"))'
rm out/thermo.png
taichimd run --restart out > log 2>&1
python -c '
import json, os
print(json.load(open("out/run.json"))["exit_reason"], os.path.exists("out/thermo.png"))'
""",
        "finished True",
    ),
    Case(
        "a run that finished without its picture is completed by a restart",
        SILICON
        + run("Si.sw")
        + "rm out/thermo.png; taichimd run --restart out > log 2>&1; ls out/thermo.png\n",
        "^out/thermo.png",
    ),
    Case(
        "what a complete run observed is drawn again by a restart",
        SILICON
        + run("Si.sw", "--steps 200 --observe rdf")
        + "cp out/rdf.png a.png; rm out/rdf.png; taichimd run --restart out > log 2>&1\n"
        + "cmp a.png out/rdf.png && echo same\n",
        "^same",
    ),
    Case(
        "taichimd plot draws again",
        SILICON + run("Si.sw") + "rm out/thermo.png; taichimd plot out > log 2>&1; ls out/thermo.png 2>&1\n",
        "^out/thermo.png",
    ),
    Case(
        "an interrupted kappa keeps the run under way",
        SILICON
        + """
length="--equilibrate 1ps --time 400ps --window 1ps"
timeout -s INT 25 taichimd kappa si.xyz --potential Si.sw --temperature 300 --runs 1 $length > log 2>&1
ls taichimd-kappa | grep -c part
""",
        "^1",
    ),
    Case(
        "an interrupted kappa goes on within its run",
        SILICON
        + """
line="taichimd kappa si.xyz --potential Si.sw --temperature 300 --runs 1 --equilibrate 1ps --time 10ps"
$line --output whole > log 2>&1
timeout -s INT 8 $line > log 2>&1; $line > log 2>&1
python -c '
import numpy as np
one, two = (np.load(f"{name}/run-01.npz")["current"] for name in ("whole", "taichimd-kappa"))
print("same" if (one == two).all() else "differs")'
""",
        "^same",
    ),
    Case(
        "the lock of a process that was killed is taken over",
        SILICON
        + """
taichimd run si.xyz --potential Si.sw --steps 100000000 --output out > log 2>&1 & first=$!
while ! test -f out/thermo.csv; do sleep 0.1; done
kill -9 $first; wait $first 2> /dev/null
test -f out/.taichimd-lock && taichimd run si.xyz --potential Si.sw --steps 5 --output out --overwrite"""
        + EXIT,
        "exit 0",
    ),
    Case(
        "a time step that looks like picoseconds is noted",
        SILICON
        + "taichimd run si.xyz --potential Si.sw --steps 5 --timestep 0.001 2>&1 | grep -c 'note.*LAMMPS'\n",
        "^[1-9]",
    ),
    Case(
        "velocities of 0 K in a file are noted",
        """
python -c '
import numpy as np
from ase.build import bulk
from ase.io import write
atoms = bulk("Si", cubic=True) * 2
atoms.set_momenta(np.zeros((64, 3)))
write("rest.xyz", atoms, format="extxyz")'
taichimd run rest.xyz --potential Si.sw --steps 5 2>&1 | grep -c 'note.* 0 K'
""",
        "^[1-9]",
    ),
    Case(
        "an element that was taken from a numeric type is noted",
        """
printf '2\\n\\n14 0 0 0\\n14 0 0 2.35\\n' > numbers.xyz
taichimd run numbers.xyz --potential Si.sw --steps 5 2>&1 | grep -c -i 'note.*\\(numb\\|type\\)'
""",
        "^[1-9]",
    ),
    Case(
        "kappa from a record that is short for its plateau is noted",
        SILICON
        + """
length="--equilibrate 50fs --time 300fs --window 140fs"
taichimd kappa si.xyz --potential Si.sw --temperature 300 --runs 1 $length 2>&1 \\
    | grep -c 'note.*\\(plateau\\|window\\)'
""",
        "^[1-9]",
    ),
]
