"""Results in validation/results are of commits that this history has, of trees without changes."""

import json
import re
import subprocess

import pytest
from pages import ROOT

from validation import common

FILES = sorted((ROOT / "validation" / "results").glob("*.json"))


def commits(found):
    """Every commit that a result names, in all of its parts."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from [value] if key.endswith("commit") else commits(value)
    elif isinstance(found, list):
        for value in found:
            yield from commits(value)


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


@pytest.fixture(scope="module")
def history():
    if git("rev-parse", "--is-shallow-repository") != ["false"]:
        pytest.skip("no checkout with its whole history")
    return git("rev-list", "HEAD")


def is_of_a_commit(file, history):
    named = set(commits(json.loads(file.read_text(encoding="utf-8"))))
    return bool(named) and all(one and any(known.startswith(one) for known in history) for one in named)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_result_names_commits_of_the_history(file, history):
    assert is_of_a_commit(file, history)


def made_by(found):
    """Command and commit of each part of a result that has both."""
    if isinstance(found, dict):
        if found.get("command") and found.get("commit"):
            yield found["command"], found["commit"]
        for value in found.values():
            yield from made_by(value)


def test_the_commit_of_a_result_has_the_driver_that_its_command_names(history):
    trees, missing = {}, []
    for file in FILES:
        for command, commit in set(made_by(json.loads(file.read_text(encoding="utf-8")))):
            if commit not in trees:
                trees[commit] = set(git("ls-tree", "-r", "--name-only", commit, "--", "validation") or [])
            module = re.search(r"-m (validation[.\w]*)", command)[1].replace(".", "/")
            if not trees[commit] & {f"{module}.py", f"{module}/__main__.py"}:
                missing.append((file.stem, module, commit))
    assert not missing


@pytest.mark.parametrize("commit", ["", "0123456789ab+"])
def test_results_of_no_commit_are_refused_and_may_lie_elsewhere(tmp_path, monkeypatch, commit):
    monkeypatch.setattr(common, "_commit", lambda: commit or None)
    with pytest.raises(ValueError, match="write elsewhere"):
        common.write_json(common.RESULTS / "made_up.json", {})
    parser = common.parser("Made up.")
    parser.add_argument("--out", default=common.RESULTS / "made_up.json")
    with pytest.raises(SystemExit):
        parser.parse_args([])
    out = parser.parse_args(["--out", str(tmp_path / "made_up.json")]).out
    assert common.write_json(out, {"commit": commit}).exists()


def test_results_of_a_commit_are_accepted(monkeypatch):
    monkeypatch.setattr(common, "_commit", lambda: "0123456789ab")
    out = common.RESULTS / "made_up.json"
    parser = common.parser("Made up.")
    parser.add_argument("--out", default=out)
    assert parser.parse_args([]).out == out
