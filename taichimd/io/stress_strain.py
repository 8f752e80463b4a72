"""stress_strain.png: stresses of a deformed cell against its strain."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taichimd.core.arrays import Array
from taichimd.core.strain_rates import SHEARED, STRETCHED, parse_rates
from taichimd.io.files import write_atomically
from taichimd.io.thermo import DEFORMATION_COLUMNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRESS_STRAIN = "stress_strain"
"""Name of the picture, without its suffix."""
_COLOURS = ("#1f6fb4", "#c8402f", "#3a8f4d")


def rates_of_record(settings: Mapping[str, Any]) -> dict[str, float]:
    """Rates of the deformation of a record (run.json), 1/s by axis or plane; none without a deformation."""
    found: dict[str, float] = {}
    for key, names in (("stretch", STRETCHED), ("shear", SHEARED)):
        if settings.get(key):
            found |= parse_rates(settings[key], names)
    return found


def is_deformed(columns: Mapping[str, Array]) -> bool:
    """Whether a thermo table has strains."""
    return DEFORMATION_COLUMNS[0] in columns


def plot_stress_strain(
    columns: Mapping[str, Array], rates: Mapping[str, float], picture: Path, title: str
) -> None:
    """Draw stresses against the strain of what is deformed, with rates by axis (x) or plane (xy)."""
    figure = stress_strain_figure(columns, rates, title)
    write_atomically(picture, lambda file: figure.savefig(file, format=picture.suffix[1:]))


def stress_strain_figure(columns: Mapping[str, Array], rates: Mapping[str, float], title: str) -> "Figure":
    """The picture of `plot_stress_strain`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.5), dpi=120, layout="constrained")
    axis = figure.subplots()
    axis.set_title(title, fontsize=11)
    for name, colour in zip(rates, _COLOURS * 2, strict=False):
        own = name * 2 if len(name) == 1 else name
        strain = columns[f"strain_{name}"]
        axis.plot(strain, columns[f"stress_{own}_GPa"], color=colour, linewidth=1.2, label=f"stress {own}")
        for other in "xyz" if len(name) == 1 else "":
            if other not in rates:
                stress, label = columns[f"stress_{other * 2}_GPa"], f"stress {other * 2}"
                axis.plot(strain, stress, color="#999999", linewidth=0.7, label=label)
    axis.set_xlabel(f"strain {', '.join(rates)}")
    axis.set_ylabel("stress (GPa)")
    axis.legend(frameon=False, fontsize=8)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
