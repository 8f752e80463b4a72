"""Wrong commands are refused in one line that says what to give, before anything is shown or written."""

import pytest
from ase.build import bulk
from ase.io import write

KAPPA = "kappa si.extxyz --potential Si.sw --temperature 300"
NEMD = f"{KAPPA} --supercell 12 1 1 --method nemd --difference 20 --bath-length 10"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("si.extxyz", bulk("Si", cubic=True))
    write("au.extxyz", bulk("Au", cubic=True))
    silicon = bulk("Si", cubic=True)
    write("double.extxyz", silicon + silicon[:1])
    (tmp_path / "text.xyz").write_text("hello\nworld\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    (tmp_path / "kappa.out").write_text("1.0 2.0 0.1 0.2 5.0\n")
    (tmp_path / "POSCAR").write_text("Si\n1.0\n5 0 0\n0 5 0\n")
    (tmp_path / "bytes.out").write_bytes(bytes(range(256)))
    (tmp_path / "one.eam").write_text("x\n")
    (tmp_path / "other.yaml").write_text("structure: si.extxyz\npotential: Si.sw\n")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "certificate").mkdir()
    (tmp_path / "certificate" / "validation.json").write_text("{}")
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "run.json").write_text("{}")
    job = 'structure = "si.extxyz"\npotential = "Si.sw"\nsteps = 9\n'
    (tmp_path / "job.toml").write_text(job)
    (tmp_path / "insert.toml").write_text(f'{job}[insert]\nmolecule = "Ar"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sweep", "Missing argument 'job': expected TOML job file"),
        ("report", "Missing argument 'folders': expected folders of run"),
        (
            "kappa si.extxyz --potential Si.sw",
            "Missing option '--temperature': expected temperature of the runs",
        ),
        ("relax si.extxyz", "Missing option '--potential': expected parameter file"),
        ("potentials Si", "unexpected extra argument(s) (Si); add --help to the command"),
        ("cssp", "Missing command; add --help to the command"),
        ("relax au.extxyz --potential Si.sw", "Si.sw has no parameters for Au; it defines: Si"),
        (
            "kappa au.extxyz --potential Si.sw --temperature 300",
            "Si.sw has no parameters for Au; it defines: Si",
        ),
        ("groups si.extxyz x<3 --picture a.bmp", "a.bmp: expected the name of a picture, which ends in .png"),
        ("groups si.extxyz x<3 --picture no/a.png", "cannot write no/a.png: there is no folder no; make it"),
        ("build silicon --out empty", "cannot write empty: it is a folder; give the name of a file as --out"),
        ("build silicon --cells 1.5", "'--cells': '1.5'; expected a whole number"),
        ("build silicon --lattice-constant 5m", "'--lattice-constant': '5m'; expected a number"),
        ("sweep job.toml --seeds 0", "'--seeds': 0; expected a whole number above 0"),
        ("cssp score table.csv", "there is no table cssp.json; train one with `taichimd cssp train`"),
        ("view bytes.out", "trajectory bytes.out cannot be read: it is not text: byte 129 is not UTF-8"),
        (
            "report certificate",
            "certificate/validation.json is damaged or of another program (certificates is missing)",
        ),
        ("validate one.eam", "one.eam ends on line 1, expected a comment line"),
        ("run other.yaml", "other.yaml: expected a job file in TOML, whose name ends in .toml"),
        ("run other.json --potential=Si.sw --steps 0", "steps = 0: expected a whole number above 0"),
        ("mc job.toml", "job.toml: expected a structure file; mc has its settings as options"),
        ("relax job.toml", "job.toml: expected a structure file; relax has its settings as options"),
        ("run job.toml --time 1m", "time = '1m': expected a length of time with its unit"),
        ("demo --steps 0", "steps = 0: expected a whole number above 0"),
        ("view text.xyz", "cannot be read as the number of atoms: 'hello'; expected (extended) XYZ"),
        ("analyze text.xyz", "'hello' is not the number of atoms; expected a format"),
        ("analyze table.csv", "the format csv is not known; expected a format"),
        ("convert table.csv", "expected a file of GPUMD called shc.out, hac.out, kappa.out or compute.out"),
        (
            "run si.extxyz --potential Si.sw --steps 9 --bath cold:langevin",
            "there is no group 'cold' (character 1); give it in groups={...}, or with --group",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 9 --bath Si:langevin",
            "there is no group 'Si' (character 1); write species Si",
        ),
        ("validate Si.sw --output text.xyz", "cannot write text.xyz: a file is in the way of the folder"),
        ("convert kappa.out --output text.xyz", "cannot write text.xyz: a file is in the way of the folder"),
        (
            f"{KAPPA} --method hnemd --spectrum --spectrum-window 500ps --time 1ps --window 0.2ps",
            "spectrum_window = 500 ps is longer than a fifth of the run",
        ),
        (
            f"{KAPPA} --timestep 1000",
            "coupling_time = 100 fs is shorter than the time step of 1000 fs; typical are 50 to 1000 fs",
        ),
        (
            f"{NEMD} --coupling-time 0.1fs",
            "coupling_time = 0.1 fs is shorter than the time step of 1 fs",
        ),
        (
            f"{NEMD} --profile-bin 1e-4",
            "profile_bin = 0.0001: makes 651,600 bins, expected 4,096 at most",
        ),
        (
            f"{KAPPA} --method nemd --difference 20 --bath-length 40",
            "the cell is 5.43 Å long along x, too short for two baths of 40 Å and two paths of the same "
            "length between them; expected 160 Å or more: repeat it along x (supercell), or a bath_length of "
            "1.36 Å or less",
        ),
        (
            "energy double.extxyz --potential Si.sw",
            "atoms 0 and 8 (counted from 0) are 0 angstrom apart; remove",
        ),
        (
            "relax double.extxyz --potential Si.sw",
            "atoms 0 and 8 (counted from 0) are 0 angstrom apart; remove",
        ),
        (KAPPA.replace("si.", "double."), "atoms 0 (Si) and 8 (Si), counted from 0, are at one place, 0 Å"),
        (
            "sweep job.toml",
            "a sweep needs values of a setting, such as --set temperature=300,400, or --seeds 4",
        ),
        (
            "run empty --potential Si.sw --steps 9",
            "folder empty has no checkpoint.npz; expected a structure file",
        ),
        ("run POSCAR --potential Si.sw --steps 9", "its lines have different numbers of values"),
        (
            "run insert.toml",
            "[insert] has the key 'molecule'; expected a table such as [insert.hot], or [[insert]]",
        ),
        (
            "run si.extxyz --temperature 300,300 --potential Si.sw --steps 9",
            "temperature = '300,300': expected each value once; --replicas or --seeds repeat a run",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 9 --wall room=z>-1,style=lj93",
            "epsilon is missing: Wall expects a number above 0 (eV)",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 9 --insert molecule=Ar",
            "error: insert: every is missing;",
        ),
        ("run si.extxyz job.toml", "job.toml is a job file, which is given alone"),
        (
            "run si.extxyz --potential Si.sw --steps 9 --trust",
            "--trust is for a restart: give --restart with it",
        ),
        (
            "mc si.extxyz --potential Si.sw --sweeps 9 --trust",
            "--trust is for a restart: give --restart with it",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 9 --n-frames 10",
            "n_frames = 10: the run has 9 steps; expected as many or fewer",
        ),
        ("run job.toml --n-rows 10", "n_rows = 10: the run has 9 steps; expected as many or fewer"),
        (
            "run si.extxyz --potential Si.sw --steps 9 --from-frame 3",
            "trajectory si.extxyz has 1 frame; from_frame = 3: expected -1 to 0",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 900 --observe rdf --profile-bin 2",
            "profile_bin = 2: it is a setting of profile, and observe = rdf; leave profile_bin out, or add",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 900 --observe rdf --observe-window 1ps",
            "it is a setting of msd, vacf, heat, viscosity, ir or interface, and observe = rdf",
        ),
        (
            "run si.extxyz --potential Si.sw --steps 900 --interface-of a>b",
            'interface_of = a>b: nothing is observed; also give observe, such as "interface"',
        ),
        (
            "run si.extxyz --potential Si.sw --steps 900 --observe profile --profile-bin 5",
            "profile_bin = 5: the cell is 5.43 Å long along x; expected two bins or more, of 2.71 Å or less",
        ),
        (
            "mc si.extxyz --potential Si.sw --sweeps 9 --temperature 80,90 --exchange 20",
            "exchange = 20: the run has 11 sweeps, so it would end before the first exchange",
        ),
        (
            "mc si.extxyz --potential Si.sw --sweeps 9 --volume-move 0.1",
            "volume_move = 0.1: the ensemble nvt does not move the volume; expected ensemble = npt",
        ),
        (
            "mc si.extxyz --potential Si.sw --sweeps 9 --move 500",
            "move = 500 Å: expected 1.87 Å or less, half of",
        ),
        ("sweep job.toml --seeds 2 --output done", "done holds an earlier run (run.json); give --overwrite"),
        ("run job.toml --replicas 2 --output done", "done holds an earlier run (run.json); give --overwrite"),
        ("validate Si.sw --only ,", "no check is named; expected names of checks, such as forces,virial"),
        ("validate Si.sw --only forcs", "no check is called 'forcs'; did you mean 'forces'?"),
        ("report done ./done", "done is given twice; give each folder once"),
        ("analyze done/run.json", "cannot be read: the format json is not known"),
    ],
)
def test_a_wrong_command_ends_in_one_line_and_writes_nothing(call, folder, line, message):
    before = contents(folder)
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert contents(folder) == before


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
