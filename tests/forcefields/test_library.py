"""Finding parameter files by path or name, and what a user reads when there is none."""

import os

import pytest

from taichimd.core.errors import ParameterFileError
from taichimd.forcefields import library
from taichimd.forcefields.library import SEARCH_PATH, find, shipped


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Each test runs in a folder of its own with no search path set."""
    monkeypatch.delenv(SEARCH_PATH, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def message(name) -> str:
    with pytest.raises(ParameterFileError) as caught:
        find(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_shipped_files_are_listed_by_name():
    files = shipped()
    names = [file.name for file in files]
    assert names == sorted(names)
    silicon = files[names.index("Si.tersoff")]
    assert (silicon.kind, silicon.elements) == ("tersoff", ("Si",))
    assert silicon.header.doi == "10.1103/PhysRevB.37.6991"
    assert silicon.path == find("Si.tersoff")
    assert files[names.index("Ar.lj")].kind == "lj"


def test_current_folder_then_search_path_then_shipped(tmp_path, monkeypatch):
    library_file = find("Si.tersoff")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "Si.tersoff").write_text("x")
    (second / "only.here").write_text("x")
    monkeypatch.setenv(SEARCH_PATH, os.pathsep.join([str(tmp_path / "absent"), str(first), "", str(second)]))
    assert find("Si.tersoff") == first / "Si.tersoff" != library_file
    assert find("only.here") == second / "only.here"
    (tmp_path / "here" / "Si.tersoff").write_text("x")
    assert find("Si.tersoff").resolve() == tmp_path / "here" / "Si.tersoff"


def test_explicit_paths(tmp_path, monkeypatch):
    file = tmp_path / "mine.txt"
    file.write_text("x")
    assert find(file) == find(str(file)) == file
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert find("~/mine.txt") == file


def test_other_case_is_suggested_not_taken():
    assert message("si.tersoff") == (
        "no parameter file si.tersoff in the current folder or among the shipped files; "
        "did you mean Si.tersoff?"
    )


def test_missing_extension_is_suggested_not_taken():
    assert message("Ge_1989").endswith("among the shipped files; did you mean Ge_1989.tersoff?")


def test_missing_year_suggests_the_years_there_are():
    text = message("SiC.tersoff")
    assert text.endswith(
        "did you mean SiC_1989.tersoff or SiC_1994.tersoff or SiC_2005.tersoff or SiC_2007.vashishta?"
    )


def test_nothing_near_points_to_the_list():
    assert message("nonsense.dat") == (
        "no parameter file nonsense.dat in the current folder or among the shipped files; "
        "`taichimd potentials` lists the shipped files"
    )


def test_path_is_not_searched_in_the_library(tmp_path):
    assert message(tmp_path / "Si.tersoff").startswith(
        f"no parameter file {tmp_path / 'Si.tersoff'}; did you mean"
    )


def test_near_miss_beside_the_path_is_named_with_its_folder(tmp_path):
    (tmp_path / "GaAs.tersoff").write_text("x")
    wanted, there = tmp_path / "GaAS.tersoff", tmp_path / "GaAs.tersoff"
    if wanted.exists():
        pytest.skip("this file system ignores upper and lower case")
    assert message(wanted) == f"no parameter file {wanted}; did you mean {there}?"


def test_search_path_folders_are_named_and_missing_ones_marked(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv(SEARCH_PATH, os.pathsep.join([str(tmp_path / "mine"), str(tmp_path / "gone")]))
    assert message("nonsense.dat").startswith(
        f"no parameter file nonsense.dat in the current folder, {tmp_path / 'mine'} (of {SEARCH_PATH}), "
        f"{tmp_path / 'gone'} (of {SEARCH_PATH}, no such folder) or among the shipped files"
    )


def test_folder_is_refused(tmp_path):
    assert message(tmp_path) == f"{tmp_path} is a folder, expected a parameter file such as Si.tersoff"


@pytest.mark.parametrize("name", ["", "  "])
def test_empty_name_is_refused(name):
    assert message(name) == "the name of the parameter file is empty, expected a path or a shipped name"


def test_installed_data_comes_before_the_source_tree(tmp_path, monkeypatch):
    package = tmp_path / "root" / "taichimd"
    for folder, content in (
        (package / "potentials", "installed"),
        (package.parent / "potentials", "checkout"),
    ):
        folder.mkdir(parents=True)
        (folder / "X.lj").write_text(content)
    (package.parent / "pyproject.toml").write_text("")
    monkeypatch.setattr(library, "_PACKAGE", package)
    assert find("X.lj").read_text() == "installed"
    assert [file.name for file in shipped()] == ["X.lj"]
    (package / "potentials" / "X.lj").unlink()
    (package / "potentials").rmdir()
    assert find("X.lj").read_text() == "checkout"


def test_another_package_called_potentials_is_not_ours(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "taichimd"
    other = package.parent / "potentials"
    other.mkdir(parents=True)
    (other / "Si.tersoff").write_text("x")
    monkeypatch.setattr(library, "_PACKAGE", package)
    assert shipped() == []
    assert message("Si.tersoff").endswith("`taichimd potentials` lists the shipped files")
