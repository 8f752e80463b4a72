"""Compiled kernels are found by their records, and never by those of other code."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taichimd.core import warm_start
from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.captured import OWN, digest_of
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import literals, start, ti
from taichimd.core.warm_start import LOG, StaleRecordError

pytestmark = pytest.mark.runtime("quadrants")


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    """What was said of each kernel that a test has compiled or found."""
    start("cpu")
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    monkeypatch.setenv(OWN, "1")

    def read(of_line=lambda line: line.split()[0]):
        file = tmp_path / "log"
        words = [of_line(line) for line in file.read_text().splitlines()] if file.exists() else []
        file.unlink(missing_ok=True)
        return words

    return read


@pytest.fixture
def unseen():
    """A number that no kernel of an earlier run of the tests has captured; its record would be found."""
    return 1 + random.SystemRandom().random()


def _kernel(value, helper=None):
    @ti.func
    def scaled(x):
        return x * value

    used = helper or scaled

    @kernel(types_of(ti.f64), out=ArrayField("f64", "n", "numbers"))
    def fill(out):
        for i in out:
            out[i] = used(i) + 0.1

    return fill


def _filled(made):
    out = ti.ndarray(ti.f64, 3)
    made(out)
    return out.to_numpy()


def test_a_kernel_is_found_and_another_number_is_another_kernel(log):
    _filled(_kernel(3.25))
    log()
    found = _filled(_kernel(3.25))
    assert log() == ["found"]
    np.testing.assert_array_equal(found, 3.25 * np.arange(3) + 0.1)
    assert _filled(_kernel(3.250000001))[2] == 2 * 3.250000001 + 0.1


def test_literals_of_another_type_never_meet_old_code(log):
    for real, number in ((ti.f64, 0.1), (ti.f32, np.float32(0.1))) * 2:
        with literals(real):
            assert _filled(_kernel(1))[0] == number
    assert log()[2:] == ["found", "found"]


def test_another_helper_never_meets_old_code(log):
    @ti.func
    def doubled(x):
        return 2 * x

    first = _filled(_kernel(1, doubled))

    @ti.func
    def doubled(x):
        return 3 * x

    np.testing.assert_allclose(_filled(_kernel(1, doubled)), [0.1, 3.1, 6.1])
    np.testing.assert_allclose(first, [0.1, 2.1, 4.1])


@pytest.mark.parametrize("which", ["device", "backend", "flags"])
def test_records_of_another_device_are_not_those_of_this_one(log, monkeypatch, which, unseen):
    _filled(_kernel(unseen))
    _filled(_kernel(unseen))
    assert log()[-1] == "found"
    setting = warm_start.compile_setting
    monkeypatch.setattr(warm_start, "compile_setting", lambda: setting() | {which: "another"})
    _filled(_kernel(unseen))
    assert log() == ["new"]


def test_a_record_that_cannot_be_read_counts_as_none(log, unseen):
    expected = _filled(_kernel(unseen))
    _break_record(log, lambda text: text[: len(text) // 2])
    np.testing.assert_array_equal(_filled(_kernel(unseen)), expected)
    assert "found" not in log()


def test_a_record_whose_code_is_gone_counts_as_none(log, unseen):
    expected = _filled(_kernel(unseen))
    _break_record(log, lambda text: text.replace('"frontend_cache_key":"T', '"frontend_cache_key":"T00'))
    np.testing.assert_array_equal(_filled(_kernel(unseen)), expected)
    assert "found" not in log()


def _break_record(log, change):
    """Change the only record that was written since the log was read."""
    from quadrants.lang._fast_caching.python_side_cache import PythonSideCache

    ((word, name, _),) = log(str.split)
    assert word in ("new", "same"), word
    (file,) = Path(PythonSideCache().cache_folder).glob(f"{name}*.cache.txt")
    changed = change(text := file.read_text())
    assert changed != text
    file.write_text(changed)


def test_the_mode_check_traces_and_notices_other_code(log, monkeypatch, unseen):
    _filled(_kernel(unseen))
    monkeypatch.setenv(OWN, "check")
    assert log() == ["new"]
    _filled(_kernel(unseen))
    _break_record(log, lambda text: text.replace('"frontend_cache_key":"T', '"frontend_cache_key":"T00'))
    with pytest.raises(StaleRecordError):
        _filled(_kernel(unseen))
    assert log() == ["STALE"]
    monkeypatch.setenv(OWN, "1")
    _filled(_kernel(unseen))  # which mends the record
    assert log() == ["STALE"]


def test_without_records_nothing_is_looked_up(log, monkeypatch):
    monkeypatch.setenv(OWN, "0")
    _filled(_kernel(8.5))
    assert log() == []
    monkeypatch.setenv(OWN, "yes")
    with pytest.raises(SettingsError, match="TAICHIMD_WARM_START is 'yes', expected 0, 1 or check"):
        _kernel(8.5)


def test_records_that_others_can_write_are_not_read(log, monkeypatch):
    warm_start._records.cache_clear()
    monkeypatch.setattr(warm_start, "private", lambda folder: f"others can write in {folder}")
    _filled(_kernel(9.5))
    _filled(_kernel(9.5))
    assert log() == []
    warm_start._records.cache_clear()


def test_without_private_names_of_quadrants_kernels_are_traced(log, monkeypatch):
    monkeypatch.setattr(warm_start, "_NEEDED", ("no_such_name",))
    assert _filled(_kernel(10.5))[2] == 21.1
    assert log() == []


def test_a_vector_that_is_captured_and_one_that_is_passed(log):
    from taichimd.core.arguments import Number

    def made(captured):
        @kernel(types_of(ti.f64), out=ArrayField("f64", "n", "numbers"), v=Number("double_vec", "passed"))
        def fill(out, v):
            for i in out:
                out[i] = v[i] * captured[i]

        return fill

    vector = ti.types.vector(3, ti.f64)
    for captured, passed in ((2.0, 1.0), (3.0, 1.0), (2.0, 5.0)):
        out = ti.ndarray(ti.f64, 3)
        made(ti.Vector([captured] * 3))(out, vector(passed, passed, passed))
        assert out.to_numpy()[1] == captured * passed
    assert log()[-1] == "found"


SCRIPT = """
import os
import sys
sys.path.insert(0, {tests!r})
from test_warm_start import _filled, _kernel, start
start("cpu")
print([float(_filled(_kernel(k))[2]) for k in (1.5, 2.5, 3.5)])
tasks = "/proc/self/task"
print(len(os.listdir(tasks)) if os.path.exists(tasks) else {threads})
"""


def test_processes_share_a_cache_however_many_threads_they_have(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), LOG: str(tmp_path / "all")}

    def process(threads):
        script = SCRIPT.format(tests=os.path.dirname(__file__), threads=threads)
        own = environment | {"TAICHIMD_THREADS": str(threads)}
        return subprocess.Popen([sys.executable, "-c", script], env=own, stdout=-1, stderr=-1, text=True)

    at_once = [process(1) for _ in range(2)]
    outputs = [one.communicate() for one in at_once]
    assert {out.splitlines()[0] for out, _ in outputs} == {"[3.1, 5.1, 7.1]"}, outputs
    (tmp_path / "all").unlink()
    numbers, threads = process(2).communicate()[0].splitlines()
    assert numbers == "[3.1, 5.1, 7.1]"
    # One code for any number of threads, and as many threads as were asked for.
    assert int(threads) - int(outputs[0][0].splitlines()[1]) == 1
    assert {line.split()[0] for line in (tmp_path / "all").read_text().splitlines()} == {"found"}
    for folder, _, _ in os.walk(tmp_path / "cache" / "quadrants"):
        assert not os.stat(folder).st_mode & 0o022 or os.path.basename(folder) != "python_side_cache"


POTENTIAL = """
from taichimd import pair_potential
from taichimd.math import exp

DEPTH = {depth}


def shape(r):
    return exp(-r){more}


@pair_potential(params={{"alpha": "1"}})
def declared(r, p):
    u = DEPTH * shape(r)
    return u, -u


bump = declared(alpha=1.0, cutoff=6.0)
"""


@pytest.mark.parametrize(("depth", "more"), [(1.0, " * 2.0"), (2.0, "")], ids=["helper", "constant"])
def test_a_changed_user_potential_never_meets_old_code(tmp_path, log, depth, more):
    from ase import Atoms

    from taichimd import TaichiMD

    file = tmp_path / "own_bump.py"
    atoms = Atoms("Ar2", [[0, 0, 0], [0, 0, 2.0]])

    def energy(*text):
        file.write_text(POTENTIAL.format(depth=text[0], more=text[1]))
        atoms.calc = TaichiMD(f"{file}:bump")
        return atoms.get_potential_energy()

    first = energy(1.0, "")
    second = energy(depth, more)
    assert second == pytest.approx(2.0 * first, rel=1e-12)
    log()
    assert energy(1.0, "") == first
    assert set(log()) == {"found"}


SIBLINGS = """
from taichimd import ManyBody, bond_order, each_atom, pair_forces, pair_potential, triplet_potential
from taichimd import neighbour_sum
from taichimd.math import power

SCALE = {scale}


def helper(r):
    return 1.0 / (1.0 + r){more}


@triplet_potential(params={{"K": "eV"}})
def plain(r_ij, r_ik, cos_jik, p):
    return SCALE * p.K * helper(r_ij), 0.0, 0.0, 0.0


@triplet_potential(params={{"K": "eV"}}, derive=True)
def derived(r_ij, r_ik, cos_jik, p):
    return SCALE * p.K * helper(r_ij) * helper(r_ik)


@neighbour_sum("density")
def density(r, p, mine, theirs):
    return SCALE * helper(r)


@each_atom("slope")
def embedding(mine, p):
    return -mine.density * mine.density, -2.0 * mine.density


@pair_forces
def bonds(r, p, mine, theirs):
    to_both = -(mine.slope + theirs.slope) * helper(r)
    return 0.0, 0.5 * to_both, 0.5 * to_both


def cutoff(r, p):
    return 1.0 - r / p.cutoff, -1.0 / p.cutoff


def angle(r_ij, r_ik, cos_jik, p):
    return SCALE + cos_jik * helper(r_ik)


def bond(r, f, zeta, p):
    return f * p.A * power(1.0 + zeta, -0.5)


own_plain = plain(K=1.0, cutoff=3.0)
own_derived = derived(K=1.0, cutoff=3.0)
passes = ManyBody("own", [density, embedding, bonds], arrays=("density", "slope"), params={{}})
own_passes = passes(cutoff=3.0)
orders = bond_order("own", cutoff=cutoff, zeta=angle, bond=bond, params={{"A": "eV"}}, derive=True)
own_order = orders(A=1.0, cutoff=3.0)
"""


@pytest.mark.parametrize("kind", ["own_plain", "own_derived", "own_passes", "own_order"])
def test_other_user_functions_have_another_record(kind, tmp_path):
    """What kernels capture of a potential: the terms that are bound for the elements."""
    from taichimd import load_forcefield

    file = tmp_path / "siblings.py"

    def digest(scale, more):
        file.write_text(SIBLINGS.format(scale=scale, more=more))
        return digest_of([bound.terms for bound in load_forcefield(f"{file}:{kind}").bind(["Si"])])

    texts = ((1.0, ""), (1.0, ""), (1.0000000001, ""), (1.0, " * 1.0000000001"))
    first, again, constant, helper = (digest(*text) for text in texts)
    assert first == again
    assert len({first, constant, helper}) == 3
