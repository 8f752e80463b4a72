"""Numbers in tables of docs/ are those of the files in validation/results that the tables name."""

import json

import numpy as np
import pytest
from pages import ROOT, blocks, commands, text_of

from taichimd.forcefields.library import shipped
from validation.benchmarks import group_cost, kernel_profile
from validation.benchmarks.gpumd_figures import npt_over_nve
from validation.several_gpus import __main__ as several_gpus


def of(name, *path):
    """What a result holds at these keys."""
    found = json.loads((ROOT / "validation" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    for key in path:
        found = found[key]
    return found


def with_error(value, error, digits):
    return f"{value:.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def phonon(name, key):
    return f"{of('phonons', 'cases', name, key):.2f}"


def kappa(name, digits=1):
    return with_error(of(name, "kappa_W_per_mK"), of(name, "error"), digits)


def drift(name, case, precision, power, digits=1):
    slope = of(name, "cases", case, "drift", precision)
    scaled = (slope["slope_eV_per_atom_ns"] * 10**power, slope["slope_error"] * 10**power)
    # The pages have µeV/ps.
    return f"({with_error(*scaled, digits)})e-{power - 3}"


def nve_drift(case, power):
    slope = of("energy_drift", "cases", case)
    scaled = (slope["slope_eV_per_atom_ns"] * 10**power, slope["slope_error"] * 10**power)
    return f"({with_error(*scaled, 1)})e-{power - 3}"


def covered(length, quantity):
    found = of("averages", length, quantity)
    return ", ".join(f"{100 * found[share]:.0f}" for share in ("within_1_error", "within_2_errors"))


def sampled(name):
    one, exact = of("ensembles_npt", "barostats", name), of("ensembles_npt", "slope_expected")
    return one["slope"] / exact, abs(one["slope_error"] / exact)


def rebuild_cost(number):
    return f"{of('gpumd_figures_h100', 'figure_4', number, 'loss_of_speed') * 100:.0f}"


def plain(name):
    """Mean of runs and its standard error, without Student's t."""
    runs = of(name, "of_runs_W_per_mK")
    return with_error(np.mean(runs), np.std(runs, ddof=1) / len(runs) ** 0.5, 1)


def argon(program):
    found = of("kappa_argon", "found", program)
    return with_error(found["kappa_W_per_mK"], found["error"], 3)


def evaluations(case, optimiser):
    return str(of("relaxation", "cases", case, "optimisers", optimiser, "evaluations"))


def demonstrated(reference, kind):
    found = of("cssp_demonstration", "results", reference, "singlets + doublets + triplets", kind)
    return f"{found['z']:.2f} ({100 * found['native_lowest']:.0f} %)".replace("-", "−")


def scored(row, method, file="cssp_speed_cpu", digits=2):
    return f"{of(file, 'results')[row]['ms'][method]:.{digits}f}"


def faster(case):
    largest = max(of("precision_cuda", "cases", case, "speed"), key=lambda row: row["atoms"])
    return f"{largest['faster_than_float64']['mixed']:.2f}"


def at_interface(part, name, number):
    return with_error(*of(ARGON_INTERFACE, part, name)[number], 1)


def of_a_batch(ensemble, ratio):
    return f"{of('batches_h100', 'speed', ensemble, ratio):.2g}"


def started(case, cache, digits=0):
    """Seconds from Enter to the last file of a run on a GPU, with kernels in the cache or without."""
    (row,) = (row for row in of("starting_h200", "results") if row["case"] == case)
    return f"{row[cache]['wall_s']:.{digits}f}{'' if digits else ' s'}"


def compiled(case, run):
    """Seconds of compilation of a run on a GPU."""
    (row,) = (row for row in of("starting_h200", "results") if row["case"] == case)
    return f"{row[run]['compile_s']:.1f}"


def commanded(line):
    return f"{of('starting_h200', 'commands', line, 'wall_s'):.2f}"


def written(frames, key):
    return f"{of('output_h200', 'runs', frames, key):.2f}"


def bytes_of(form, per_atom):
    rows = of("output_formats_cpu", "frames")
    (row,) = (row for row in rows if (row["format"], row["per_atom"]) == (form, per_atom))
    return f"{row['bytes_per_atom']:.0f}"


STARTS = "docs/decisions/025-warm-start.md"
PHYSICS, CONDUCTIVITY = "docs/measurements/physics.md", "docs/measurements/conductivity.md"
LIMITS, RELAX = "docs/measurements/speed_limits.md", "docs/howto/relax.md"
BATCHES = "docs/decisions/022-batches.md"
NEMD, ARGON_INTERFACE = "docs/nemd.md", "interface_conductance_argon"
KAPPA = "kappa_W_per_mK"
SIGE = "interface_conductance_sige"
PHONONS = "docs/howto/phonons.md"
CSSP, OUTPUT = "docs/howto/cssp.md", "docs/howto/output.md"
SPEED, WRITTEN = "docs/measurements/speed.md", "docs/decisions/027-output.md"
FORMATS = {
    "| positions, velocities, forces": "",
    "| with `--per-atom energy` ": "energy",
    "| with `--per-atom energy,virial`": "energy,virial",
}
NUMBERS = [
    *(
        ("docs/trajectories.md", row, lambda form=form, per_atom=per_atom: bytes_of(form, per_atom))
        for row, per_atom in FORMATS.items()
        for form in ("extxyz", "traj", "nc")
    ),
    *(
        (WRITTEN, "| default", lambda key=key: written("default", key))
        for key in ("steps", "output", "end", "of_none")
    ),
    *(
        (WRITTEN, "| `netcdf`", lambda key=key: written("netcdf every 100", key))
        for key in ("steps", "output", "of_none")
    ),
    *((WRITTEN, "| none", lambda key=key: written("none", key)) for key in ("steps", "output", "end")),
    *(
        (
            WRITTEN,
            f"| {(8000, 64000)[k]:,} |",
            lambda k=k, key=key: f"{of('output_h200', 'rows')[k][key]:.2f}",
        )
        for k in (0, 1)
        for key in ("output_ms", "in_all_ms")
    ),
    (CSSP, "| background | singlets + doublets + t", lambda: demonstrated("background", "segments")),
    (CSSP, "| independent | singlets + doublets + t", lambda: demonstrated("independent", "shuffled")),
    (CSSP, "| fifty chains", lambda: scored(1, "forward")),
    (CSSP, "| the fifty chains", lambda: scored(1, "forward", "cssp_speed_h100", 3)),
    (CSSP, "| 100 chains of 200 | 15 |", lambda: scored(9, "windows")),
    (PHYSICS, "| Tersoff silicon, 1,000 atoms | 1 |", lambda: nve_drift("tersoff-si-1000", 7)),
    (PHYSICS, "| argon, 4,000 atoms, truncated", lambda: nve_drift("lj-argon-4000-truncated", 7)),
    (
        PHYSICS,
        "| Tersoff silicon, 1,000 atoms | float64",
        lambda: drift("precision_cuda", "tersoff-si", "float64", 6),
    ),
    (PHYSICS, "| | mixed | 2.4e-6 | 2.4e-6 | (2", lambda: drift("precision_cuda", "tersoff-si", "mixed", 6)),
    (
        PHYSICS,
        "| | float32 | 1.2e-5 | 2.2e-3 | (8",
        lambda: drift("precision_cuda", "tersoff-si", "float32", 6, 0),
    ),
    (
        PHYSICS,
        "| | float32 | 1.2e-5 | 2.2e-3 | (−",
        lambda: drift("precision_cuda", "sw-si", "float32", 6, 0),
    ),
    (PHYSICS, "| argon | float64", lambda: drift("precision_cuda", "lj-argon", "float64", 8)),
    (PHYSICS, "| Tersoff silicon | 512,000", lambda: faster("tersoff-si")),
    (PHYSICS, "| Stillinger-Weber silicon | 512,000", lambda: faster("sw-si")),
    (PHYSICS, "| argon | 1,048,576", lambda: faster("lj-argon")),
    (BATCHES, "| nve |", lambda: of_a_batch("nve", "batch/(n small)")),
    (BATCHES, "| nvt-langevin |", lambda: of_a_batch("nvt-langevin", "batch/large")),
    (OUTPUT, "| 20 ps |", lambda: covered("20 ps", "temperature_K")),
    (OUTPUT, "| 5 ps |", lambda: covered("5 ps", "temperature_K")),
    (OUTPUT, "| 5 ps |", lambda: covered("5 ps", "potential_eV_per_atom")),
    (PHYSICS, "| `npt-scr`", lambda: with_error(*sampled("npt-scr"), 3)),
    (PHYSICS, "| `npt-mtk`", lambda: with_error(*sampled("npt-mtk"), 3)),
    (PHYSICS, "| `npt-berendsen`", lambda: with_error(*sampled("npt-berendsen"), 1)),
    (
        "docs/spectra.md",
        "| from the heat",
        lambda: with_error(*of("heat_flow", "conductance_of_baths_MW_per_m2K"), 1),
    ),
    (
        "docs/spectra.md",
        "| integral of G",
        lambda: with_error(*of("heat_flow", "conductance_of_spectrum_MW_per_m2K"), 1),
    ),
    (
        "docs/spectra.md",
        "| of the baths",
        lambda: with_error(*(1e3 * x for x in of("heat_transmission", "heat_of_baths_eV_per_ps")), 3),
    ),
    (
        "docs/spectra.md",
        "| integral of the spectrum of the atoms",
        lambda: with_error(*(1e3 * x for x in of("heat_transmission", "heat_of_paths_eV_per_ps")), 3),
    ),
    (
        "docs/spectra.md",
        "| integral of the spectrum of the heat flow",
        lambda: f"{1e3 * of('heat_transmission', 'heat_of_planes_eV_per_ps'):.3f}",
    ),
    (
        "docs/spectra.md",
        "| lattice dynamics, exact",
        lambda: f"{1e3 * of('heat_transmission', 'heat_exact_eV_per_ps'):.3f}",
    ),
    (CONDUCTIVITY, "| HNEMD along x, y and z, with", lambda: plain("heat_silicon")),
    (CONDUCTIVITY, "| in the plane", lambda: with_error(*of("heat_graphene", "in_plane"), 0)),
    (CONDUCTIVITY, "| out of the plane | 1", lambda: with_error(*of("heat_graphene", "out_of_plane"), 0)),
    (CONDUCTIVITY, "| sum", lambda: with_error(*of("heat_graphene", "integral"), 0)),
    (CONDUCTIVITY, "| classical", lambda: with_error(*of("heat_silica", "kappa_W_per_mK"), 3)),
    (CONDUCTIVITY, "| with the quantum", lambda: with_error(*of("heat_silica", "quantum"), 3)),
    *(
        (
            CONDUCTIVITY,
            f"| {length} |",
            lambda k=k, key=key: with_error(*of("heat_silicon_short", "lengths", k, key), 0),
        )
        for k, length in enumerate(("2.09", "3.99"))
        for key in ("G_MW_per_m2K", "integral_of_spectrum_MW_per_m2K")
    ),
    *(
        (CONDUCTIVITY, row, lambda name=name, k=k: with_error(*of(SIGE, "nemd", name, k), 0))
        for row, name in (
            ("| NEMD, heat of the baths", "G_of_jump"),
            ("| NEMD, integral", "G_of_spectrum"),
        )
        for k in (0, 1)
    ),
    (
        CONDUCTIVITY,
        "| equilibrium, integral between 1 and 4.5 ps",
        lambda: with_error(*of(SIGE, "equilibrium", "G_on_plateau"), 0),
    ),
    (CONDUCTIVITY, "| 50 |", lambda: with_error(*of("heat_silicon_long", "lengths", 0, "kappa_W_per_mK"), 2)),
    (
        CONDUCTIVITY,
        "| 100 |",
        lambda: with_error(*of("heat_silicon_long", "lengths", 1, "kappa_W_per_mK"), 1),
    ),
    (
        CONDUCTIVITY,
        "| 200 |",
        lambda: with_error(*of("heat_silicon_long", "lengths", 2, "kappa_W_per_mK"), 1),
    ),
    (CONDUCTIVITY, "| infinite", lambda: with_error(*of("heat_silicon_long", "kappa_W_per_mK"), 0)),
    (
        CONDUCTIVITY,
        "| HNEMD of a larger cell along x, y and z",
        lambda: with_error(*of("heat_silicon_large", "kappa_W_per_mK"), 1),
    ),
    (
        CONDUCTIVITY,
        "| HNEMD along x, y and z, driving force 0.5e-4",
        lambda: with_error(*of("heat_silicon_300", "kappa_W_per_mK"), 1),
    ),
    (CONDUCTIVITY, "| Green-Kubo, window of 400 ps", lambda: kappa("kappa_silicon_green_kubo_300", 0)),
    (CONDUCTIVITY, "| NEMD, 100, 200", lambda: with_error(*of("heat_silicon_long_300", "kappa_W_per_mK"), 0)),
    (CONDUCTIVITY, "| expected in", lambda: f"{of(SIGE, 'expected_in_equilibrium_MW_per_m2K'):.0f}"),
    (NEMD, "| NEMD, heat of the baths", lambda: at_interface("nemd", "G_of_jump", 0)),
    (NEMD, "| NEMD, integral", lambda: at_interface("nemd", "G_of_spectrum", 1)),
    (
        NEMD,
        "| equilibrium, without",
        lambda: with_error(*of(ARGON_INTERFACE, "equilibrium", "G_without_exchange"), 1),
    ),
    (NEMD, "| expected in", lambda: f"{of(ARGON_INTERFACE, 'expected_in_equilibrium_MW_per_m2K'):.1f}"),
    ("docs/spectra.md", "| the same", lambda: f"{of('heat_flow', 'conductance_of_current_MW_per_m2K'):.1f}"),
    (
        "docs/howto/gpu.md",
        "| Tersoff |",
        lambda: f"{started('tersoff', 'cold')}; again {started('tersoff', 'warm')}",
    ),
    (
        "docs/howto/gpu.md",
        "| Tersoff with a barostat",
        lambda: f"{started('tersoff npt-scr', 'cold')}; again {started('tersoff npt-scr', 'warm')}",
    ),
    ("docs/howto/gpu.md", "| pairs | 6", lambda: f"{started('lj', 'cold')}; again {started('lj', 'warm')}"),
    *(
        (STARTS, row, lambda case=case, run=run: compiled(case, run))
        for row, case in (
            ("  | pairs |", "lj"),
            ("  | SW | 4.8", "sw"),
            ("  | Tersoff | 20", "tersoff"),
            ("  | Tersoff with `npt-scr`", "tersoff npt-scr"),
        )
        for run in ("cold", "larger_first", "larger_again")
    ),
    *(
        (STARTS, row, lambda line=line: commanded(line))
        for row, line in (
            ("| `--help`", "--help"),
            ("| `potentials`", "potentials"),
            ("| `run` of a structure", "run no-such.xyz --potential Si.sw --steps 5"),
            ("| `info`", "info"),
        )
    ),
    *(
        (STARTS, row, lambda case=case, cache=cache: started(case, cache, 1))
        for row, case in (
            ("| Tersoff | 24", "tersoff"),
            ("| pairs | 6", "lj"),
            ("| Tersoff with `npt-scr` | 48", "tersoff npt-scr"),
        )
        for cache in ("cold", "warm")
    ),
    (PHONONS, "| Stillinger-Weber", lambda: phonon("Stillinger-Weber", "gamma_THz")),
    (PHONONS, "| Tersoff 1988", lambda: phonon("Tersoff 1988", "ta_x_THz")),
    (PHONONS, "| Tersoff 1988", lambda: phonon("Tersoff 1988", "lo_x_THz")),
    *(
        (PHONONS, f"| {n} × {n} × {n}", lambda n=n, at=at: f"{of('lattice_kappa', KAPPA, str(n), at):.0f}")
        for n in (15, 19, 23)
        for at in (0, 1)
    ),
    (PHONONS, "| HNEMD", lambda: with_error(*of("heat_stillinger_weber_500", "kappa_W_per_mK"), 0)),
    (PHONONS, "| HNEMD", lambda: with_error(*of("heat_stillinger_weber", "kappa_W_per_mK"), 1)),
    (CONDUCTIVITY, "| HNEMD, H200", lambda: kappa("kappa_germanium_hnemd")),
    (CONDUCTIVITY, "| HNEMD, two CPU cores", lambda: kappa("kappa_germanium_hnemd_half_force")),
    (CONDUCTIVITY, "| HNEMD, four CPU cores", lambda: kappa("kappa_silicon_hnemd")),
    (CONDUCTIVITY, "| HNEMD | 1,728", lambda: kappa("kappa_silicon_hnemd_half_force")),
    (CONDUCTIVITY, "| Green-Kubo, 20 runs", lambda: kappa("kappa_silicon_green_kubo")),
    (CONDUCTIVITY, "| taichimd", lambda: argon("taichimd")),
    (CONDUCTIVITY, "| LAMMPS, eight runs", lambda: argon("lammps")),
    (RELAX, "| 500 atoms of argon", lambda: evaluations("argon 500", "taichimd")),
    (RELAX, "| 64 atoms of SiC", lambda: evaluations("SiC_1989.tersoff 64", "BFGS")),
    (RELAX, "| 4,096 atoms", lambda: evaluations("Si.sw 4096", "FIRE")),
    (LIMITS, "| 256,000 | float64 |", lambda: rebuild_cost(0)),
    (LIMITS, "| 256,000 | mixed |", lambda: rebuild_cost(1)),
    (LIMITS, "| 256,000 | float32 |", lambda: rebuild_cost(2)),
]


@pytest.mark.parametrize(("page", "row", "expected"), NUMBERS, ids=[f"{row}" for _, row, _ in NUMBERS])
def test_row_has_the_number_of_the_result(page, row, expected):
    lines = [line for line in text_of(page).splitlines() if line.startswith(row)]
    assert len(lines) == 1, f"{page} has {len(lines)} rows that begin with {row}"
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert expected() in cells


def drive_rows():
    """Rows of the page of drives, of drives.json."""
    floor, walls, found = (of("drives", key) for key in ("floor", "two_walls", "indentation"))
    worst = max(one["force_eV_per_A"] for one in of("drives", "lammps").values())
    rows = [["forces of eleven fixes of LAMMPS, largest difference", f"{worst:.1e} eV/Å", "0"]]
    for name in ("langevin", "bussi"):
        for group in ("hot", "cold"):
            both = [of("drives", "baths", name, program, group) for program in ("taichimd", "lammps")]
            ours, theirs = (with_error(one["power_eV_per_ps"], one["power_error"], 4) for one in both)
            rows.append(
                [f"{name} baths, power into the {group} group", f"{ours} eV/ps", f"{theirs} (LAMMPS)"]
            )
    height = with_error(floor["mean_height_A"], floor["mean_height_error"], 3)
    push, weight = floor["force_on_floor_eV_per_A"], floor["weight_eV_per_A"]
    between = with_error(walls["force_eV_per_A"], walls["error"], 4)
    modulus = found["reduced_modulus_of_half_space_GPa"]
    exact = found["elastic"]["reduced_modulus_GPa"]
    return [
        *rows,
        ["gas on a floor, mean height", f"{height} Å", f"{floor['kT_over_mg_A']:.3f}"],
        ["gas on a floor, force on the floor", f"{push:.3f} eV/Å", f"{weight:.3f}"],
        ["gas between harmonic walls, force", f"{between} eV/Å", f"{walls['expected_eV_per_A']:.4f}"],
        ["sphere on silicon (111), exponent", f"{found['exponent']:.2f}", "1.50"],
        ["sphere on silicon (111), modulus E*", f"{modulus:.0f} GPa", f"{exact:.0f}"],
    ]


def test_the_page_of_drives_has_the_numbers_of_the_result():
    shown = rows_between("docs/ensembles/drives.md", "## Evidence", "## What is refused")
    assert list(shown)[1:] == drive_rows()


def test_charge_models_on_a_gpu_have_the_times_of_the_result():
    page = "docs/decisions/032-acks2-preconditioner.md"
    _, *rows = rows_between(page, "Measured on an H200 (`reactive_charges_h200", "Conclusion: ACKS2 takes")
    assert len(rows) == 2
    for atoms, *shown in rows:
        found = of("reactive_charges_h200", "charges", atoms.replace(",", ""))
        ratios = [f"{found[model]['over_qeq']:.2f}" for model in ("QEqR", "QTPIE", "ACKS2")]
        iterations = ", ".join(f"{found[model]['mean_iterations']:.1f}" for model in ("QEq", "ACKS2"))
        assert shown == [f"{found['QEq']['us_per_step']:.0f}", *ratios, iterations]


def test_reaxff_on_a_newer_card_has_the_times_of_the_result():
    start, end = "Files: `reaxff_speed_h100", "taichimd is 2.4 to"
    rows = list(rows_between("docs/measurements/speed.md", start, end))[1:]
    measured = {name: row["ms_per_step"] for name, row in of("reaxff_speed_h200", "results").items()}
    shown = {
        f"{system} {atoms}{', paper' if tolerance == '1e-10' else ''}": last
        for system, atoms, tolerance, *_, last in rows
        if last
    }
    assert shown == {name: f"{ms:.2f}" for name, ms in measured.items()}


def test_kernels_of_reaxff_have_the_floors_of_the_result():
    page, file = "docs/decisions/021-queued-groups.md", "kernel_profile_reaxff_h200"
    _, *rows = rows_between(page, f"`{file}.json`", "Conclusion of the floors")
    found = kernel_profile.floors(of(file, "cases", "reaxff-water 52320"))
    assert rows == found
    assert f"Conclusion of the floors: hydrogen bonds reach {found[0][4]} % of their floor" in text_of(page)


def test_batches_of_reaxff_have_the_times_of_the_result():
    (_, *sizes), *rows = rows_between(
        "docs/decisions/022-batches.md", "(`reactive_speed_h200.json`)", "Conclusion: sixteen cells"
    )
    measured = of("reactive_speed_h200", "speed")
    assert sizes == [f"{size} atoms" for size in measured]
    for cells, *shown in rows:
        each = [of_size[cells] for of_size in measured.values()]
        assert shown == [f"{one['us_per_step'] / 1e3:.2f} ({one['over_one_by_one']:.3f})" for one in each]
    assert [cells for cells, *_ in rows] == [*measured["81"]]


def test_bands_of_silicon_are_those_of_the_results():
    rows = list(rows_between(CONDUCTIVITY, "### κ by frequency", "### At 300 K"))[1:]
    files = [of(f"heat_silicon_long{end}", "bands") for end in ("", "_300")]
    for (name, *shown), *bands in zip(rows, *files, strict=True):
        assert name == "{:g} to {:g}".format(*bands[0]["THz"])
        for at, band in enumerate(bands):
            driven, between = shown[2 * at : 2 * at + 2]
            assert driven == with_error(*band["hnemd_W_per_mK"], 1)
            found = band["nemd_W_per_mK"]
            if isinstance(found, str):
                assert between == "not determined"
            else:
                assert between == with_error(*found, 0 if found[1] > 10.0 else 1)
                assert abs(band["errors_apart"]) < 0.65


def test_costs_of_groups_are_those_of_the_results():
    page = "docs/ensembles/groups.md"
    first, second = (group_cost.table(of(f"group_cost{part}_h200")) for part in ("", "_force"))
    _, *rows = rows_between(page, "File: `group_cost_h200.json`", "File: `group_cost_force_h200.json`")
    assert rows == [row for row in first if row[:2] != ["512,000", "force on a group"]]
    _, *rows = rows_between(page, "File: `group_cost_force_h200.json`", "Conclusion of the costs")
    assert rows == second


def test_times_of_several_gpus_are_those_of_the_result():
    page, file = "docs/measurements/scaling.md", "several_gpus_four_h200"
    _, *rows = rows_between(page, "| case | atoms | GPUs", f"*`{file}.json`")
    assert rows == several_gpus.page_rows(of(file))


def test_gpumd_beside_taichimd_is_as_the_result_says():
    rows = rows_between("docs/measurements/speed.md", "## GPUMD on the same card", "## GPUMD's benchmark")
    shown = [[cell.replace(",", "") for cell in cells[1:]] for cells in rows]
    assert [cells for cells in shown if cells[0] != "atoms"] == [
        [
            str(one["atoms"]),
            f"{one['taichimd_us']:.1f}",
            f"{one['gpumd_us']:.1f}",
            f"{one['gpumd_us'] / one['taichimd_us']:.2f}",
        ]
        for file in ("gpumd_beside", "gpumd_copper")
        for one in of(file, "results")
    ]


def test_embedded_atoms_and_edip_are_as_the_result_says():
    _, *rows = rows_between("docs/measurements/speed.md", "## Embedded atoms and EDIP", "EDIP costs little")
    edip, melt = (
        [
            (one["atoms"], 1000 * one["ms_per_step"]["taichimd"])
            for one in of("benchmarks_eam_h200", "results")
            if one["case"] == case
        ]
        for case in ("edip-si", "lj-melt")
    )
    assert [cells[1:3] for cells in rows[3:]] == [[f"{atoms:,}", f"{us:.0f}"] for atoms, us in edip]
    ratios = []
    for cells, one, (of_melt, us) in zip(rows, of("two_commits_copper_h200", "results"), melt, strict=False):
        atoms = int(one["case"].split()[1].replace(",", ""))
        ratios.append(f"{one['after_us'] / atoms / 42 / (us / of_melt / 55):.1f}")
        assert cells[1:] == [f"{atoms:,}", f"{one['after_us']:.0f}", ratios[-1], f"{one['before_us']:.0f}"]
    words = f"take {min(ratios)} to {max(ratios)} times the melt's time for a pair"
    assert words in " ".join(text_of("docs/measurements/speed.md").split())


def test_variants_of_tersoff_are_as_the_result_says():
    rows = rows_between("docs/forcefields/tersoff_variants.md", "## Speed", "Conclusion: the variants")
    found = of("benchmarks_tersoff_variants_h200", "results")
    times = [1000 * one["ms_per_step"]["taichimd"] for one in found]
    first = {one["atoms"]: t for one, t in zip(found, times, strict=True) if one["case"] == "tersoff-si"}
    expected: dict[str, list[str]] = {}
    for one, t in zip(found, times, strict=True):
        expected.setdefault(one["case"], []).extend([f"{t:.1f}", f"{t / first[one['atoms']]:.2f}"])
    assert [cells[1:] for cells in list(rows)[1:]] == list(expected.values())


@pytest.mark.parametrize("row", of("mc_averages", "results"))
def test_averages_of_monte_carlo_are_those_of_the_result(row):
    found = of("mc_averages", "results", row)
    lines = [
        line for line in text_of("docs/measurements/monte_carlo.md").splitlines() if f"| {row} |" in line
    ]
    expected = [
        with_error(found[key]["mean"], found[key]["error"], digits)
        for key, digits in (("energy_eV_per_atom", 5), ("pressure_GPa", 4), ("pressure_by_volume_GPa", 4))
        if key in found
    ]
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert [cell for cell in cells[1:] if cell] == expected


@pytest.mark.parametrize("system", of("mc_speed_cpu", "results"))
@pytest.mark.parametrize(("file", "heading"), [("mc_speed_cpu", "Two cores"), ("mc_speed_h100", "One H100")])
def test_times_of_sweeps_are_those_of_the_result(file, heading, system):
    text = text_of("docs/measurements/monte_carlo.md")
    text = text[text.index(heading) :]
    row = system.replace("within 8.5 A", "within 8.5 Å")
    lines = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    if not lines:
        assert system.startswith("the paper's")
        return
    found = of(file, "results", system)
    keys = "single_sweep", "all_sweep", "energy", "evaluation"
    times = [f"{1e3 * found[f'{key}_seconds']:.1f}" for key in keys]
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert cells[1:] == [*times, f"{found['single_sweep_in_energy']:.1f}"]


@pytest.mark.parametrize("case", of("triples_lammps_cpu", "cases"))
def test_triples_beside_lammps_have_the_times_of_the_result(case):
    found = of("triples_lammps_cpu", "cases", case)
    lines = [line for line in text_of("docs/measurements/triples.md").splitlines() if f"| {case} |" in line]
    ms = [1e3 * found["median_seconds_per_step"][one] for one in ("taichimd", "lammps")]
    digits = 1 if ms[0] > 10 else 2
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert cells[3:] == [*(f"{one:.{digits}f}" for one in ms), f"{found['lammps_over_taichimd']:.2f}"]


def one_time(name, case, atoms):
    """µs of a step in a file of `benchmarks.run`."""
    (row,) = (
        row
        for row in of(name, "results")
        if (row["case"], row["atoms"]) == (case, int(atoms.replace(",", "")))
    )
    return f"{1e3 * row['ms_per_step']['taichimd']:.0f}"


def rows_between(page, start, end):
    """Cells of the rows of a table; an empty first cell is the one above."""
    text = text_of(page)
    first = ""
    for line in text[text.index(start) : text.index(end)].splitlines():
        if line.startswith("| ") and "---" not in line:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            first = cells[0] = cells[0] or first
            yield cells


def test_starts_on_a_cpu_are_those_of_the_result():
    names = {"tersoff": "Tersoff", "sw": "SW", "lj": "pairs", "tersoff npt-scr": "Tersoff with `npt-scr`"}
    found = {(row["case"], row["runtime"]): row for row in of("starting_cpu", "results")}
    for case, name in names.items():
        times = [
            f"{found[case, runtime][cache]['cpu_s']:.1f}"
            for runtime in ("quadrants", "taichi")
            for cache in ("cold", "warm")
        ]
        assert f"| {name} | {' | '.join(times)} |" in text_of(STARTS)


def test_runtimes_have_the_times_of_the_results():
    cases = {"Tersoff Si": "tersoff-si", "Stillinger-Weber Si": "sw-si", "Lennard-Jones melt": "lj-melt"}
    files = "benchmarks_taichi_h100", "benchmarks_h100"
    rows = list(rows_between("docs/measurements/speed.md", "## Runtimes", "## On two CPU cores"))[1:]
    assert len(rows) == 5
    for system, atoms, *shown in rows:
        assert shown[:2] == [one_time(name, cases[system], atoms) for name in files]


def test_times_of_the_page_on_gpus_are_those_of_the_results():
    rows = list(rows_between("docs/howto/gpu.md", "| atoms | runtime", "Loops on the device use"))[1:]
    assert len(rows) == 4
    for atoms, _, _, shown, name in rows:
        assert shown == one_time(name.strip("`").removesuffix(".json"), "tersoff-si", atoms)


def test_costs_of_a_barostat_are_those_of_the_result():
    results = of("gpumd_figures_h100", "results")
    head, *rows = rows_between("docs/measurements/speed_limits.md", "## What a barostat", "## What rebuilds")
    assert len(rows) == 3
    keys = "potential", "precision", "atoms"
    costs = {
        tuple(row[key] for key in keys): f"{100 * (npt_over_nve(results, row) - 1):.0f}"
        for row in results
        if row["ensemble"] == "npt-berendsen" and row["atom_steps_per_s"]
    }
    for potential, precision, *shown in rows:
        kind = {"Tersoff": "tersoff", "Stillinger-Weber": "sw"}[potential]
        for atoms, percent in zip(head[2:], shown, strict=True):
            assert percent == costs.get((kind, precision, int(atoms.replace(",", ""))), "")


def test_reaxff_on_two_cores_has_the_times_of_the_result():
    results = of("reaxff_cpu_speed", "results")
    rows = list(
        rows_between("docs/measurements/speed.md", "File: `reaxff_cpu_speed.json`", "## GPUMD on the same")
    )
    assert len(rows) == 3
    for system, atoms, *shown in rows[1:]:
        found = results[f"{system} {atoms}"]
        ms = found["ms_per_step"]
        assert shown == [f"{ms['taichimd']:.0f}", f"{ms['lammps']:.0f}", f"{found['ratio']:.2f}"]


def test_outputs_on_the_page_of_the_tutorial_are_real_ones():
    """Each line below a command is one that the driver recorded for it."""
    printed, last, shown = of("tutorial", "printed"), None, 0
    for kind, _, text in blocks("docs/tutorial.md"):
        if kind == "console":
            last = commands(text)[-1]
        elif kind == "text":
            lines = [line.rstrip() for line in text.splitlines()]
            assert [line for line in lines if line not in printed[last]] == []
            shown += len(lines)
    assert shown > 15


def test_the_page_of_potentials_lists_all_with_their_range_and_warnings():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text_of("docs/choose.md").splitlines()
        if "| `" in line
    ]
    shown = {
        cells[1].strip("`"): tuple(cells[2:4])
        for cells in rows
        if len(cells) == 4 and "." in cells[1] and "," not in cells[1]
    }
    assert shown == {
        file.name: (file.header.valid_range, "; ".join(file.header.warnings)) for file in shipped()
    }


def test_files_of_lammps_are_compared_as_the_result_says():
    _, *rows = rows_between(
        "docs/forcefields/eam.md", "## Agreement with LAMMPS", "Conclusion: both programs"
    )
    found = of("files_of_lammps", "files")
    keys = "energy_relative", "forces_eV_per_A", "virial_eV"
    assert rows == [
        [name.replace(" ", " + "), str(one["atoms"]), *(f"{one[key]:.0e}" for key in keys)]
        for name, one in found.items()
    ]


def test_properties_of_metals_are_those_of_the_result():
    _, *rows = rows_between("docs/forcefields/eam.md", "## Properties of crystals", "The error is")
    digits = {"a_A": 4, "energy_eV": 4, "stacking_fault_mJ_per_m2": 1}
    assert [row[2:] for row in rows] == [
        [
            f"{value:.{digits.get(key, 1)}f}",
            f"{one['error'][key]:.0e}",
            f"{one['paper'][key]:g}" if key in one["paper"] else "–",
        ]
        for one in of("metals", "files").values()
        for key, value in one["found"].items()
    ]


def test_melting_point_is_that_of_the_result():
    text = text_of("docs/forcefields/eam.md")
    _, *rows = rows_between(
        "docs/forcefields/eam.md", "## Melting point of copper", "**Conclusion.** The melting"
    )
    assert rows == [
        [str(one["seed"]), f"{one['temperature_K']:.1f}", f"{100 * one['share_of_crystal']:.0f} %"]
        for one in of("melting", "runs")
    ]
    found, error = of("melting", "melting_point_K"), of("melting", "error_K")
    assert f"melting point of this potential is {found:.1f} ± {error:.1f} K" in text
    assert f"{100 * (1357.8 / found - 1):.1f} % higher" in " ".join(text.split())


def test_a_gpu_has_made_each_run_with_the_bits_of_the_cpu():
    ours = of("ensemble_bits_cpu", "results")
    theirs = of("ensemble_bits_h100", "results") | of("ensemble_bits_h200", "results")
    assert theirs.keys() == ours.keys()
    assert {name for name, one in theirs.items() if one["sha256"] != ours[name]["sha256"]} == set()
    assert all(one["same_bits"] for one in theirs.values())
    assert all(one["restart_has_same_bits"] for one in (*ours.values(), *theirs.values()))


def test_an_earlier_commit_is_no_faster():
    results = of("two_commits_h200", "results")
    ratios = [one["ratio"] for one in results]
    words = (
        f"takes {min(ratios):.2f} to {max(ratios):.2f} times as long as at 08e9505, and is bitwise identical "
        f"({len(results)} systems"
    )
    assert words in " ".join(text_of("docs/measurements/speed.md").split())
    assert all(one["same_bits"] for one in results)


def test_blocks_of_the_gather_are_kept_where_they_are_faster():
    ratios = {one["case"]: one["ratio"] for one in of("two_commits_sw_h200", "results")}
    assert all(one["same_bits"] for one in of("two_commits_sw_h200", "results"))
    gains = [100 * (1 - ratios[f"sw {atoms} nve"]) for atoms in ("64,000", "512,000")]
    words = f"It saves {gains[0]:.0f} % with 64,000 atoms, {gains[1]:.0f} % with 512,000, and nothing"
    assert words in text_of("docs/decisions/018-registers-and-shared-memory.md")
    assert max(ratios.values()) < 1.01


def test_vectors_that_become_numbers_first_cost_no_step_time():
    ratios = [one["ratio"] for one in of("two_commits_scalars_h200", "results")]
    assert all(one["same_bits"] for one in of("two_commits_scalars_h200", "results"))
    words = f"take {min(ratios):.2f} to {max(ratios):.2f} times as long as before (c3b8907a)"
    assert words in text_of("docs/decisions/020-compilation.md")


def test_fracture_has_the_numbers_of_the_result():
    _, *rows = rows_between("docs/ensembles/deformation.md", "**Fracture.**", "![Bars under tension")
    assert rows == [
        [
            name,
            one["potential"],
            f"{one['atoms']:,}",
            f"{one['strength_GPa']:.1f}",
            f"{one['strain_of_strength']:.2f}",
            f"{one['strain_of_fracture']:.2f}",
            f"{one['last_stress_GPa']:.1f}",
        ]
        for name, one in of("fracture", "bars").items()
    ]


def test_tension_has_the_numbers_of_the_result():
    _, *rows = rows_between("docs/ensembles/deformation.md", "**Tension.**", "![Stress against strain")
    assert rows == [
        [
            name,
            str(one["atoms"]),
            "{:.1f} to {:.1f}".format(*one["modulus_of_ranges_GPa"]),
            "{:.2f} to {:.2f}".format(*one["poisson_of_ranges"]),
            f"{one['strength_GPa']:.1f}",
            f"{one['strain_of_strength']:.2f}",
        ]
        for name, one in of("tension", "tests").items()
    ]
