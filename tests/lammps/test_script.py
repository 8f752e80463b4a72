"""LAMMPS scripts: what must change in them is said with file, line and words."""

import pytest

from taichimd.core.errors import SettingsError
from taichimd.lammps.script import check_reach, read_script

GOOD = """units metal # eV
neighbor 1.5 bin
create_box 2 &
  all
pair_style   taichimd
pair_coeff * * Si &
   C
comm_modify cutoff 9.0
restart 100 a b
run 10
"""


def written(tmp_path, text):
    path = tmp_path / "in.lmp"
    path.write_text(text)
    return path


def test_a_script_is_cut_behind_its_pair_lines(tmp_path):
    found = read_script(written(tmp_path, GOOD))
    assert found.elements == ("Si", "C")
    assert found.skin == 2.0
    assert found.restarts
    assert found.before.split("\n")[:4] == GOOD.split("\n")[:4]
    assert "pair" not in found.before + found.after
    assert found.after.startswith("comm_modify")
    check_reach(found.cutoffs, 7.0, found.skin)
    with pytest.raises(
        SettingsError, match=r"line 8: comm_modify cutoff 9.0: .* write comm_modify cutoff 9.1"
    ):
        check_reach(found.cutoffs, 7.1, found.skin)


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        ("units metal # eV", "units real", r"line 1: units real: .* write units metal"),
        ("pair_style   taichimd", "pair_style sw", r"line 5: pair_style sw: .*pair_style taichimd"),
        (
            "pair_coeff * * Si &\n   C",
            "pair_coeff 1 1 Si.sw Si",
            r"line 6: pair_coeff 1 1 Si.sw Si: expected",
        ),
        ("pair_coeff * * Si &\n   C", "", r"no pair lines; expected the lines 'pair_style taichimd'"),
        ("run 10", "pair_style none", r"line 10: pair_style none: pair_style taichimd stands once"),
        ("run 10", "clear", r"line 10: clear: it would remove the force field"),
        ("run 10", "neigh_modify exclude group a a", r"leave exclude out"),
        ("run 10", "neighbor ${skin} bin", r"write a number instead of \$\{skin\}"),
    ],
)
def test_a_line_that_must_change_is_named(tmp_path, line, instead, told):
    with pytest.raises(SettingsError, match=told):
        read_script(written(tmp_path, GOOD.replace(line, instead)))


def test_a_script_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match=r"in.none: cannot be read"):
        read_script("in.none")
