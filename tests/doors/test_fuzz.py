"""A part of the fuzz driver: valid files with random changes are read, or refused in one line."""

from validation.everyday.fuzz import try_cases

CASES = 312
"""Twelve of each of the 26 files."""


def test_no_changed_file_ends_in_a_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = try_cases(CASES, tmp_path)
    assert found["failed"] == []
    assert len(found["bases"]) == 26
    for name, counts in found["bases"].items():
        assert sum(counts.values()) == CASES // 26, name
    assert sum(counts.get("read", 0) for counts in found["bases"].values()) > CASES // 10


def test_the_same_seed_makes_the_same_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = (try_cases(24, tmp_path, seed=5, kinds="own_Ar") for _ in range(2))
    assert one == other
