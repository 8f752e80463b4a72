"""Files of GPUMD, written here from known numbers, come back in the units of taichimd."""

import numpy as np
import pytest

from taichimd.core.errors import OutputError
from taichimd.estimators.spectra import hann, spectrum
from taichimd.io.analysis_files import read_table
from taichimd.io.gpumd import GpumdRun, read_gpumd


def shc(path, lags=50, interval=0.004, num=100, windowed=True):
    """shc.out of an exponential: K after its window or before it, rows of w from w_max/num on."""
    t = interval * np.arange(lags)
    k = np.stack([3.0 * np.exp(-t / 0.03), np.exp(-t / 0.05)], axis=1)
    printed = k * hann(lags)[:, None] if windowed else k
    rows = np.column_stack([np.r_[-t[:0:-1], t], np.r_[printed[:0:-1], printed]])
    w = 300.0 * np.arange(1, num + 1) / num
    cosines = np.cos(np.outer(w, t)) * hann(lags)
    both = 2.0 * k
    both[0] = k[0]
    j = np.column_stack([w, 2.0 * interval * cosines @ both])
    path.write_text(
        "# a header\n" + "\n".join(" ".join(f"{x:.12g}" for x in row) for row in [*rows, *j]) + "\n"
    )
    return k, j


@pytest.mark.parametrize("windowed", [True, False])
def test_shc_without_window_and_with_conductivity(tmp_path, windowed):
    k, j = shc(tmp_path / "shc.out", windowed=windowed)
    found = read_gpumd(tmp_path / "shc.out", GpumdRun(volume=1000.0, temperature=300.0, driving_force=1e-4))
    kept, spectral = found["spectrum_correlation"], found["spectrum"]
    np.testing.assert_allclose(kept["K_all"][49:], k.sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(kept["time_ps"][:49], -0.004 * np.arange(49, 0, -1))
    np.testing.assert_allclose(spectral["frequency_THz"], j[:, 0] / (2 * np.pi))
    np.testing.assert_allclose(spectral["J_all"], j[:, 1:].sum(axis=1))
    np.testing.assert_allclose(
        spectral["kappa_W_per_mK_per_THz"], 1602.176634 * j[:, 1:].sum(axis=1) / (1000.0 * 300.0 * 1e-4)
    )
    # The same definition as here.
    mine = spectrum(k.sum(axis=1), k.sum(axis=1), 0.004)
    w = np.pi / 0.004 * (np.arange(100) + 0.5) / 100
    np.testing.assert_allclose(np.interp(w[10:30], j[:, 0], spectral["J_all"]), mine[10:30], rtol=2e-2)
    of_nemd = read_gpumd(tmp_path / "shc.out", GpumdRun(volume=1000.0, difference=20.0))["spectrum"]
    np.testing.assert_allclose(
        of_nemd["conductance_GW_per_m2K_per_THz"], 16021.76634 * j[:, 1:].sum(axis=1) / (1000.0 * 20.0)
    )


def test_hac_kappa_and_compute(tmp_path, call):
    rows = np.arange(1.0, 23.0).reshape(2, 11)
    np.savetxt(tmp_path / "hac.out", rows)
    table = read_gpumd(tmp_path / "hac.out", GpumdRun())["kappa"]
    assert table["correlation_x_in_eVA_per_fs_2"][0] == pytest.approx(2.0 * 0.0096485332, rel=1e-6)
    assert table["kappa_z_W_per_mK"].tolist() == [11.0, 22.0]
    np.savetxt(tmp_path / "kappa.out", np.outer([1.0, 3.0], np.arange(1.0, 6.0)))
    table = read_gpumd(tmp_path / "kappa.out", GpumdRun())["kappa"]
    assert table["running_kappa_x_out_W_per_mK"].tolist() == [2.0, 4.0]
    # Two groups: T, jp, then source and sink.
    np.savetxt(tmp_path / "compute.out", np.arange(1.0, 11.0)[None])
    code, out, err = call(
        f"convert {tmp_path}/compute.out --quantities jp,temperature --interval 100 --output {tmp_path}/t"
    )
    assert (code, err) == (0, "")
    assert "1 row: time_ps, temperature_0_K" in out
    table = read_table(tmp_path / "t/flow.csv")
    assert (table["temperature_1_K"][0], table["heat_source_eV"][0], table["heat_sink_eV"][0]) == (2, 9, 10)
    assert table["jp_1_x_eVA_per_fs"][0] == pytest.approx(4.0 * 0.09822695, rel=1e-6)
    assert table["time_ps"][0] == 0.1


def test_what_is_no_file_of_gpumd_is_refused(tmp_path):
    for name, text, message in (
        ("other.out", "1 2 3", "expected a file of GPUMD called shc.out"),
        ("hac.out", "1 2 3\n", "has 3 columns, expected 11"),
        ("kappa.out", "1 2 3 4 5\n1 2\n", "the file may be cut off"),
        ("kappa.out", "1 2 x 4 5\n", "line 1: expected numbers"),
        ("shc.out", "1 2 3\n2 3 4\n", "rows of times around 0"),
        ("compute.out", "1 2 3\n", "does not say its quantities"),
        ("kappa.out", "", "has no numbers"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(OutputError, match=message):
            read_gpumd(tmp_path / name, GpumdRun())
