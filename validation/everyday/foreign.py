"""Files from someone else: does a record run code, write elsewhere, or reach the terminal?"""

from validation.everyday.cases import SILICON, Case, run

OWN = """
cat > own.py <<'END'
from pathlib import Path
from taichimd import LennardJones
Path("ran").touch()
pair = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0, truncation="force-shifted")
END
"""
RAN = "test -e ran && echo ran || echo not run\n"

CASES = [
    Case(
        "code that a checkpoint names does not run",
        SILICON
        + OWN
        + run("own.py:pair")
        + "rm ran || exit; taichimd run --restart out --steps 5 > log 2>&1\n"
        + RAN,
        "^not run$",
    ),
    Case(
        "the error says what to type, and it works",
        SILICON
        + OWN
        + run("own.py:pair")
        + """
line=$(taichimd run --restart out --steps 5 2>&1 | grep -o -e '--potential [^ ,]*')
taichimd run --restart out --steps 5 $line > log 2>&1; echo exit $?
""",
        "^exit 0$",
    ),
    Case(
        "a trusted checkpoint whose file has changed does not run",
        SILICON
        + OWN
        + run("own.py:pair")
        + "rm ran || exit; echo '# changed' >> own.py\n"
        + "taichimd run --restart out --steps 5 --trust > log 2>&1\n"
        + RAN,
        "^not run$",
    ),
    Case(
        "the command that is printed on a stop goes on with code",
        SILICON
        + OWN
        + """
taichimd run si.xyz --potential own.py:pair --steps 100000000 --every 100 --output out > log 2>&1 & first=$!
while kill -0 $first && ! grep -q ^200, out/thermo.csv; do sleep 0.1; done 2> waiting
kill -TERM $first; wait $first
line=$(grep '^taichimd run --restart' log)
$line --steps 5 > log 2>&1; echo exit $?
""",
        "^exit 0$",
    ),
    Case(
        "a batch.json that names another folder is refused",
        SILICON
        + """
taichimd run si.xyz --potential Si.sw --steps 5 --output victim > log 2>&1
taichimd run si.xyz --potential Si.sw --steps 5 --replicas 2 --output out > log 2>&1
sed -i 's#"name": "000[^"]*"#"name": "../victim"#' out/batch.json
before=$(cat victim/* | sha256sum)
taichimd run --restart out --steps 5 > log 2>&1; code=$?
test "$before" = "$(cat victim/* | sha256sum)" && echo "exit $code, unchanged"
""",
        "^exit 2, unchanged$",
    ),
    Case(
        "a link in the place of a temporary file is not followed",
        SILICON
        + "echo mine > victim; mkdir out; ln -s ../victim out/.checkpoint.npz.part\n"
        + run("Si.sw", "--steps 5")
        + "test -s out/checkpoint.npz && cat victim\n",
        "^mine$",
    ),
    Case(
        "a link in the place of the table is not followed",
        SILICON
        + "echo mine > victim; mkdir out; ln -s ../nothing out/thermo.csv; ln -s ../victim out/run.json\n"
        + run("Si.sw", "--steps 5 --overwrite")
        + "test -s out/thermo.csv && test ! -e nothing && cat victim\n",
        "^mine$",
    ),
    Case(
        "an output folder that is a link works",
        SILICON
        + "mkdir scratch; ln -s scratch out\n"
        + run("Si.sw", "--steps 5")
        + "ls scratch | grep -c csv\n",
        "^1$",
    ),
    Case(
        "escape sequences of a lock are written out",
        SILICON
        + r"""
mkdir out; printf '{"pid": 1, "host": "\\u001b[2Jelsewhere", "since": "x"}' > out/.taichimd-lock
taichimd run si.xyz --potential Si.sw --steps 5 --output out 2>&1 | grep -c -F '\x1b[2Jelsewhere'
""",
        "^1$",
    ),
    Case(
        "a packed checkpoint is refused before it is unpacked",
        SILICON
        + run("Si.sw", "--steps 5")
        + """
python -c '
import numpy as np
saved = dict(np.load("out/checkpoint.npz"))
np.savez_compressed("out/checkpoint.npz", **saved | {"positions": np.zeros((10**7, 3))})'
taichimd run --restart out --steps 5 2>&1 | tail -n 1
""",
        "^error: .*(packed|larger than the file)",
    ),
    Case(
        "a damaged run.json is one line",
        SILICON
        + run("Si.sw", "--steps 5")
        + "echo '{\"segments\": 5}' > out/run.json; taichimd run --restart out --steps 5 2>&1 | tail -n 1\n",
        "^error: .*run.json is damaged",
    ),
]
