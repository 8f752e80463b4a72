"""A potential as text, with options behind the file."""

import shutil

import pytest

from taichimd.core.errors import SettingsError
from taichimd.forcefields.library import find
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.reaxff.options import Options
from taichimd.forcefields.spec import split_spec
from taichimd.settings.types import absolute


def options_of(spec):
    return load_forcefield(spec).terms[0].options


def test_options_have_the_types_of_their_defaults():
    text = "constants=consistent, charge-tolerance=1e-8,net_charge=-1,lammps_forces=True,tables=false"
    assert options_of(f"H2O.ffield:{text},max_iterations=7") == Options(
        "consistent", 1e-8, -1.0, True, False, max_iterations=7
    )
    assert options_of("H2O.ffield") == Options()


def test_a_file_may_have_a_colon_and_an_equals_sign_in_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(find("H2O.ffield"), "T=1:a=b")
    assert load_forcefield("T=1:a=b").name == "ReaxFF T=1:a=b"
    shutil.copy(find("H2O.ffield"), "water")
    assert absolute("water:tables=false") == f"{tmp_path}/water:tables=false"
    assert absolute("water") == f"{tmp_path}/water"
    assert absolute("H2O.ffield:tables=false") == "H2O.ffield:tables=false"
    assert split_spec("T=300/my.py:own") == ("T=300/my.py", ":own")


def test_options_make_another_potential_unless_they_change_no_result():
    plain, same, other = (
        load_forcefield(f"H2O.ffield{text}").fingerprint(["H", "O"])
        for text in ("", ":max_iterations=20", ":charge_tolerance=1e-7")
    )
    assert plain == same != other


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "H2O.ffield:charge_tol=1",
            "H2O.ffield: unknown option 'charge_tol'; did you mean 'charge_tolerance'?",
        ),
        (
            "H2O.ffield:zzz=1",
            "H2O.ffield: unknown option 'zzz'; expected one of constants, charge_tolerance, net_",
        ),
        ("H2O.ffield:charge_tolerance=low", "H2O.ffield: charge_tolerance = 'low': expected a number"),
        ("H2O.ffield:max_iterations=1.5", "H2O.ffield: max_iterations = '1.5': expected a whole number"),
        ("H2O.ffield:max_iterations=0", "max_iterations is 0, expected 1 to 2^31 - 1; try 200"),
        ("H2O.ffield:tables=1", "H2O.ffield: tables = '1': expected true or false"),
        ("H2O.ffield:net_charge=nan", "net_charge is nan, expected a finite number (e)"),
        ("H2O.ffield:tables=true,tables=false", "H2O.ffield: option tables is given twice; give it once"),
        (
            "H2O.ffield:tables=true,",
            "H2O.ffield: '' is not an option; expected option=value, with commas between",
        ),
        (
            "H2O.ffield:charges=qtpie,field=nofile.csv",
            "H2O.ffield: field = 'nofile.csv': expected numbers with commas between, as in 0,0,0.1 or "
            "C:0.2,N:0.22, or a file that exists",
        ),
        ("H2O.ffield:charges=fixed", "charges is 'fixed', expected one of converged, extended-lagrangian"),
        ("H2O.ffield:charge_tolerance=2", "charge_tolerance is 2.0, expected 1e-14 to 1; try 1e-6"),
        ("Si.sw:tables=true", "Si.sw: 'tables=true' are options, which only ReaxFF takes; leave them out"),
    ],
)
def test_mistakes(spec, message):
    with pytest.raises(SettingsError) as caught:
        load_forcefield(spec)
    assert str(caught.value).startswith(message)
