"""`taichimd cssp`: what the commands print and write, and one line for each mistake."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from random_chains import random_chains

from taichimd.sequences.chains import read_chains, write_chains
from taichimd.sequences.score import score
from taichimd.sequences.table import read_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    first, second, third = random_chains([40, 60, 9])
    write_chains(Path("chains.csv"), [first, replace(second, name="c,1"), third])
    assert call("cssp train chains.csv --table t.json")[0] == 0
    return tmp_path


def test_train_tells_the_counts(call):
    code, out, err = call("cssp train chains.csv --table u.json --fragment 4 --reference independent")
    assert (code, err) == (0, "")
    assert "3 chains, 109 residues (" in out
    assert out.split("singlets")[1].split()[:3] == ["20", "20", "109"]
    assert out.split("triplets")[1].split()[2] == str(3 * 109 - 3 * (2 + 3 + 3))
    table = read_table("u.json")
    assert (table.shape.fragment, table.reference) == (4, "independent")


def test_score_prints_and_writes_the_same_numbers(call):
    code, out, err = call("cssp score chains.csv --table t.json --output s.csv --json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    found = score(read_chains("chains.csv"), read_table("t.json"))
    assert [
        [one[name] for name in ("singlets", "doublets", "triplets")] for one in told["chains"]
    ] == found.tolist()
    with open("s.csv", newline="") as file:
        totals = [float(row["total"]) for row in csv.DictReader(file)]
    assert totals == [one["total"] for one in told["chains"]] == found.sum(axis=1).tolist()
    assert Path("s.csv").read_text().splitlines()[2].startswith('"c,1",60,')
    assert f"{found[1].sum():.4f}" in call("cssp score chains.csv --table t.json --method windows")[1]


def test_score_takes_other_pseudo_counts_and_reference(call):
    line = "cssp score chains.csv --table t.json --json"
    first, *others = (
        json.loads(call(line + more)[1])["chains"][0]["total"]
        for more in ("", " --pseudo-counts 1,300,1000", " --pseudo-counts 1,3,10", " --reference independent")
    )
    assert others[0] == first
    assert first not in others[1:]


def test_short_chains_can_be_left_out(call):
    assert "3 chains" in call("cssp train chains.csv --table u.json --fragment 9")[1]
    assert "2 chains" in call("cssp train chains.csv --table v.json --fragment 10 --skip-short")[1]
    code, _, err = call("cssp train chains.csv --table w.json --fragment 61 --skip-short")
    assert (code, err) == (2, "error: chains.csv: no chain has 61 residues or more\n")


HEADER = "chain,sequence,states\n"
FILES = {
    "letters.csv": HEADER + "a,ACDEFGHIKB,CCCCEEEEHH\n",
    "labels.csv": HEADER + "ok,ACDEFGH,CCCEEHH\na,ACDEFGHIKL,CCCCEEEEHQ\n",
    "short.csv": HEADER + "a,ACDEF,CCCCC\n",
    "lengths.csv": HEADER + "a,ACDEFGHIKL,CCCCEEEEH\n",
    "columns.csv": "chain,sequence\na,ACDEFGHIKL\n",
    "fields.csv": HEADER + "a,ACDEFGHIKL\n",
    "empty.csv": HEADER,
    "noise.csv": HEADER + "a,\0\xff,C\n",
}
MISTAKES = {
    "letters.csv": "letters.csv line 2: chain a, residue 10: residue 'B', expected one of ACDEF",
    "labels.csv": "labels.csv line 3: chain a, residue 10: label 'Q', expected C, E, H, or a state of DSSP",
    "short.csv": "chain a has 5 residues, fewer than a fragment of 7: leave it out (--skip-short)",
    "lengths.csv": "lengths.csv line 2: chain a has 10 residues and 9 labels",
    "columns.csv": "columns.csv has no column states: expected the header chain,sequence,states",
    "fields.csv": "fields.csv line 2 has fewer fields than the header",
    "empty.csv": "empty.csv has no chains below its header",
    "noise.csv": "noise.csv",
    "missing.csv": "cannot read missing.csv: No such file or directory",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_chains_are_one_line(call, name):
    if name in FILES:
        Path(name).write_text(FILES[name], encoding="latin-1")
    for command in ("train", "score"):
        code, out, err = call(f"cssp {command} {name} --table {'t' if command == 'score' else 'new'}.json")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert MISTAKES[name] in err
    assert not Path("new.json").exists()


def broken(change):
    content = json.loads(Path("t.json").read_text())
    change(content)
    return json.dumps(content)


TABLES = {
    "cut": (lambda: Path("t.json").read_text()[:1000], "bad.json is not a JSON file"),
    "other": (lambda: "[]", "bad.json is not a table of `taichimd cssp train`"),
    "version": (lambda: broken(lambda c: c.update(version=2)), "bad.json: version = 2, expected 1"),
    "labels": (lambda: broken(lambda c: c.update(labels="HEC")), "bad.json: labels = 'HEC', expected 'CEH'"),
    "missing": (lambda: broken(lambda c: c.pop("triplets")), "bad.json: triplets is missing"),
    "short row": (
        lambda: broken(lambda c: c["singlets"][0].update(A=[1, 2])),
        "cell 'A' of singlets is not 3 counts",
    ),
    "negative": (
        lambda: broken(lambda c: c["singlets"][0].update(A=[1, 2, -3])),
        "cell 'A' of singlets is not 3 counts",
    ),
    "text": (lambda: broken(lambda c: c["singlets"][0].update(A=5)), "bad.json is broken"),
    "wide": (
        lambda: broken(lambda c: c["doublets"][1].update({"A.A.7": 9 * [1]})),
        "doublets has a cell 'A.A.7'",
    ),
    "window": (lambda: broken(lambda c: c.update(window=6)), "has a cell"),
    "kappa": (
        lambda: broken(lambda c: c.update(kappa=[1, 0, 1])),
        "bad.json: pseudo-counts 1.0,0.0,1.0: expected",
    ),
    "groups": (lambda: broken(lambda c: c.update(groups=3)), "bad.json is broken"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_broken_table_is_one_line(call, name):
    text, words = TABLES[name]
    Path("bad.json").write_text(text())
    code, out, err = call("cssp score chains.csv --table bad.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_table_of_other_fragments_is_refused(call):
    code, _, err = call("cssp score chains.csv --table t.json --fragment 9")
    assert code == 2
    assert err == (
        "error: t.json was trained with fragments of 7 residues, not 9: take --fragment 7, "
        "or train a table with --fragment 9\n"
    )
    assert call("cssp score chains.csv --table t.json --fragment 7")[0] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train chains.csv --table t.json", "t.json already exists; give another name, or --overwrite"),
        ("train chains.csv --table no/t.json", "cannot write no/t.json"),
        ("train chains.csv --table u.json --fragment 2", "fragment = 2: expected 3 residues or more"),
        ("score chains.csv --table none.json", "there is no table none.json; train one with"),
        ("score chains.csv --table t.json --output t.json", "t.json already exists"),
        (
            "score chains.csv --table t.json --pseudo-counts 1,x",
            "--pseudo-counts 1,x: expected three numbers",
        ),
        ("score chains.csv --table t.json --method best", "method = 'best': expected forward, windows"),
    ],
)
def test_other_mistakes_are_one_line(call, line, words):
    code, out, err = call(f"cssp {line}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_structures_without_mdtraj_say_what_to_install(call, monkeypatch):
    monkeypatch.setattr("taichimd.sequences.structures.find_spec", lambda name: None)
    code, _, err = call("cssp score a.pdb --table t.json")
    assert (code, err.count("\n")) == (2, 1)
    assert "a.pdb: structures need mdtraj; in the checkout: pip install '.[protein]'" in err
