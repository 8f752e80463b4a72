"""Whatever is wrong with a structure file, reading it ends in atoms or in one line that names the file."""

import warnings

import pytest

from taichimd.core.errors import TaichimdError
from taichimd.io.structures import read_structure
from tests.support.structure_files import mutated, structure_bases

CASES = 25
"""Of each format."""


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return structure_bases(tmp_path_factory.mktemp("bases"))


def test_every_base_is_read(bases):
    for path in bases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(read_structure(path)) in (2, 3, 8), path


def test_mutated_files_end_in_one_line(bases, tmp_path):
    told = []
    for path in bases:
        content = path.read_bytes()
        for seed in range(CASES):
            file = tmp_path / path.name
            file.write_bytes(mutated(content, seed))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    read_structure(file)
            except TaichimdError as error:
                told.append((str(error), str(file), seed))
    assert len(told) > len(bases) * CASES // 4
    assert [one for one in told if "\n" in one[0] or one[1] not in one[0]] == []


@pytest.mark.parametrize("path", ["a.cif", "a.pdb", "a.xyz", "POSCAR", "a.gro", "a.json", "a.traj", "a"])
def test_a_text_by_another_name(tmp_path, path):
    (tmp_path / path).write_text("Dear colleague,\n\nplease find the structure attached.\n")
    unreadable = r"structure file .* (cannot be read|has no atoms|contains no structure)"
    with pytest.raises(TaichimdError, match=unreadable) as caught:
        read_structure(tmp_path / path)
    assert "Assertion" not in str(caught.value)
    assert "\n" not in str(caught.value)
