"""Settings and methods in words: sentences of a report, and of a paper's methods section."""

from collections.abc import Mapping, Sequence
from typing import Any

from taichimd.core.printable import counted
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.groups.source import Source

_UNITS = {
    "GW_per_m2K_per_THz": "GW/(m² K THz)", "W_per_mK_per_THz": "W/(m K THz)", "MW_per_m2K": "MW/(m² K)",
    "W_per_mK": "W/(m K)", "ueV_per_atom_per_ps": "µeV/atom/ps", "eV_per_atom": "eV/atom",
    "eV_per_ps": "eV/ps", "rad_per_ps": "rad/ps", "A3": "Å³", "A": "Å", "GPa": "GPa", "THz": "THz",
    "eV": "eV", "ps": "ps", "K": "K",
}  # fmt: skip
"""Units in names of columns, a unit that ends with another one first."""

_THERMOSTATS = {
    "langevin": ("Langevin dynamics", ["leimkuhler2013"]),
    "berendsen": ("the weak-coupling thermostat of Berendsen", ["berendsen1984"]),
    "bussi": ("stochastic velocity rescaling", ["bussi2007"]),
    "nose-hoover": ("a Nosé-Hoover chain", ["martyna1992"]),
}
"""What holds the temperature, with keys of `citations`, by its part of the name of an ensemble."""
_BAROSTATS = {
    "berendsen": ("the weak-coupling barostat of Berendsen", ["berendsen1984"], "berendsen"),
    "scr": ("stochastic cell rescaling", ["bernetti2020"], "bussi"),
    "mtk": ("the barostat of Martyna, Tobias and Klein", ["martyna1994"], "bussi"),
}
"""What holds the pressure, likewise, and the thermostat of an ensemble that names none."""
_PRECISION = {"float64": "double precision", "mixed": "mixed precision", "float32": "single precision"}


def _baths(name: str) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
    """Words and keys of the thermostat and of the barostat of an ensemble; empty where it has none."""
    kind, _, rest = name.partition("-")
    if kind == "nvt":
        return _THERMOSTATS.get(rest, (rest, [])), ("", [])
    if kind != "npt":
        return ("", []), ("", [])
    barostat, _, thermostat = rest.partition("-")
    words, keys, usual = _BAROSTATS.get(barostat, (barostat, [], thermostat))
    thermostat = thermostat or usual
    return _THERMOSTATS.get(thermostat, (thermostat, [])), (words, keys)


def cite(keys: Sequence[str]) -> str:
    r"""LaTeX of citations: " \cite{a,b}"; empty without keys."""
    return f" \\cite{{{','.join(keys)}}}" if keys else ""


def ensemble_words(settings: Mapping[str, Any]) -> str:
    """The ensemble of a run on one line."""
    name = settings.get("ensemble", "nve")
    (thermostat, _), (barostat, _) = _baths(name)
    deformed = f"; {_deformation(settings)}" if _deformation(settings) else ""
    if not thermostat:
        if deformed:
            return f"{name}{deformed}"
        return "constant energy and volume (NVE)" if name == "nve" else str(name)
    text = f"{_kelvin(settings)} by {thermostat}, coupling time {_fs(settings, 'coupling_time')}"
    if barostat:
        text += (
            f"; {_gigapascal(settings)} by {barostat}, coupling time "
            f"{_fs(settings, 'pressure_coupling_time')}, cell {settings.get('cell_control', 'isotropic')}"
        )
    return f"{text} ({name}){deformed}"


def _deformation(settings: Mapping[str, Any]) -> str:
    """What is deformed, at which rates; empty without a deformation."""
    rates = ", ".join(settings[key] for key in ("stretch", "shear") if settings.get(key))
    if not rates:
        return ""
    sllod = settings.get("remap") == "peculiar" or (not settings.get("remap") and settings.get("shear"))
    kind = f" ({settings.get('strain_rate', 'engineering')} rate)" if settings.get("stretch") else ""
    return f"cell deformed with {rates}{kind}, " + (
        "SLLOD equations of motion" if sllod else "atoms remapped"
    )


def length_words(settings: Mapping[str, Any], steps: int) -> str:
    """Number of steps, time step and length on one line."""
    timestep = float(settings.get("timestep", 1.0))
    return f"{steps:,} steps of {timestep:g} fs = {steps * timestep / 1000.0:g} ps"


def atoms_words(report: Mapping[str, Any]) -> str:
    """Number and formula of the atoms, as in "216 atoms of Si"."""
    from ase.formula import Formula

    formula = Formula(str(report.get("formula", ""))).reduce()[0].format("hill")
    fixed = report.get("n_fixed") or 0
    return f"{counted(report['n_atoms'], 'atom')} of {formula}" + (
        f", {fixed:,} of them fixed" if fixed else ""
    )


def column_words(column: str) -> str:
    """The name of a column with its unit in brackets: "time (ps)" for time_ps."""
    for unit, shown in _UNITS.items():
        if column.endswith(f"_{unit}"):
            return f"{column.removesuffix(f'_{unit}').replace('_', ' ')} ({shown})"
    return column.removeprefix("n_").replace("_", " ")


def dynamics_method(
    report: Mapping[str, Any], segments: Sequence[Mapping[str, Any]]
) -> tuple[str, list[str]]:
    """Sentences of a molecular dynamics run, and the keys that they cite."""
    keys = ["swope1982"]
    precision = _PRECISION.get(report["settings"].get("precision", "float64"), "double precision")
    text = (
        f"The equations of motion were integrated with the velocity Verlet algorithm{cite(keys)} in "
        f"{precision}. "
    )
    many = len(segments) > 1
    for number, one in enumerate(segments, 1):
        own, more = _stage(one, f"In stage {number} " if many else "")
        text += own + " "
        keys += more
    return text.strip(), list(dict.fromkeys(keys))


def _stage(segment: Mapping[str, Any], head: str) -> tuple[str, list[str]]:
    """A sentence of one segment, and its keys."""
    settings = segment["settings"]
    name = settings.get("ensemble", "nve")
    steps = segment.get("last_step", 0) - segment.get("first_step", 0)
    timestep = float(settings.get("timestep", 1.0))
    length = f"{steps * timestep / 1000.0:g} ps with a time step of {timestep:g} fs"
    start = "the" if head else "The"
    (thermostat, keys), (barostat, more) = _baths(name)
    deformed = f", {_deformation(settings)}" if _deformation(settings) else ""
    if not thermostat:
        constant = "without a thermostat" if deformed else "at constant energy and volume"
        return f"{head}{start} system evolved {constant} for {length}{deformed}.", []
    text = (
        f"{head}{start} temperature was {_held(settings, 'temperature')} {_kelvin(settings)} for {length} by "
        f"{thermostat}{cite(keys)} with a coupling time of {_fs(settings, 'coupling_time')}"
    )
    if barostat:
        more = [*more, *(["deltatto2022"] if name.startswith("npt-scr") and _shape(settings) else [])]
        text += (
            f", and the pressure was {_held(settings, 'pressure')} {_gigapascal(settings)} by "
            f"{barostat}{cite(more)} with a coupling time of {_fs(settings, 'pressure_coupling_time')}"
        )
        keys = [*keys, *more]
    return f"{text}{deformed}.", list(keys)


def baths_method(baths: Sequence[GroupBath]) -> tuple[str, list[str]]:
    """A sentence for each bath of a group, and the keys that the sentences cite."""
    sentences, cited = [], []
    for bath in baths:
        group = f"the group {bath.name} ({len(bath.atoms):,} atoms)"
        if isinstance(bath.what, Source):
            keys = ["wirnsberger2015"]
            sentences.append(f"A constant power of {bath.what.power:g} eV/ps acted on {group}{cite(keys)}.")
        else:
            words, keys = _THERMOSTATS[bath.what.name.removeprefix("nvt-")]
            sentences.append(f"In {group} {words}{cite(keys)} held {bath.what.temperature:g} K.")
        cited += keys
    return " ".join(sentences), cited


def drives_method(drives: Sequence[GroupDrive]) -> str:
    """A sentence on what acted on atoms besides the potential; empty without drives."""
    if not drives:
        return ""
    return (
        f"Besides the potential, these drives acted on atoms: {'; '.join(one.describe() for one in drives)}."
    )


def _shape(settings: Mapping[str, Any]) -> bool:
    """Whether the cell may change its shape."""
    return bool(settings.get("cell_control", "isotropic") != "isotropic")


def _held(settings: Mapping[str, Any], name: str) -> str:
    return "held at" if settings.get(f"final_{name}") is None else "changed linearly from"


def _kelvin(settings: Mapping[str, Any]) -> str:
    final = settings.get("final_temperature")
    return f"{settings.get('temperature', 300.0):g} K" + ("" if final is None else f" to {final:g} K")


def _gigapascal(settings: Mapping[str, Any]) -> str:
    def shown(value: Any) -> str:
        return ", ".join(f"{one:g}" for one in (value if isinstance(value, list | tuple) else [value]))

    final = settings.get("final_pressure")
    return (
        f"{shown(settings.get('pressure', 0.0))}" + ("" if final is None else f" to {shown(final)}") + " GPa"
    )


def _fs(settings: Mapping[str, Any], name: str) -> str:
    return f"{settings.get(name, 0.0):g} fs"
