"""Reads the ReaxFF files of SEAMM (PyPI: forcefield-step), a second copy of published parameter sets.

A file has sections of rows: a version, a reference, elements or a name, then numbers. A row that begins with
`!Version` names the columns.
"""

from pathlib import Path

from taichimd.forcefields.formats.header import Header
from taichimd.forcefields.reaxff import columns
from taichimd.forcefields.reaxff.ffield import Entry, FField

GENERAL = {
    "Pboc,1": "p_boc1",
    "Pboc,2": "p_boc2",
    "Pcoa,2": "p_coa2",
    "Ptrip,4": "p_trip4",
    "Ptrip,3": "p_trip3",
    "kc2": "k_c2",
    "Povun,6": "p_ovun6",
    "Ptrip,2": "p_trip2",
    "Povun,7": "p_ovun7",
    "Povun,8": "p_ovun8",
    "Ptrip,1": "p_trip1",
    "Rtaper,lower": "swa",
    "Rtaper,upper": "swb",
    "Pfe1": "unused_14",
    "Pval,7": "p_val6",
    "Plp,1": "p_lp1",
    "Pval,9": "p_val9",
    "Pval,10": "p_val10",
    "Ppen,2": "p_pen2",
    "Ppen,3": "p_pen3",
    "Ppen,4": "p_pen4",
    "Ptor,2": "p_tor2",
    "Ptor,3": "p_tor3",
    "Ptor,4": "p_tor4",
    "Pcot,2": "p_cot2",
    "PvdW,1": "p_vdW1",
    "BO_cutoff": "cutoff",
    "Pcoa,4": "p_coa4",
    "Povun,4": "p_ovun4",
    "Povun,3": "p_ovun3",
    "Pval,8": "p_val8",
    "Pcoa,3": "p_coa3",
    "not_used_1": "unused_19",
    "not_used_2": "unused_23",
    "not_used_3": "unused_27",
    "not_used_4": "unused_35",
    "not_used_5": "d_lg",
    "not_used_6": "unused_37",
    "not_used_7": "triple",
}
ATOM = {
    "Acore,2": "a_core",
    "C_i": "unused_3_7",
    "Dij": "D",
    "Ecore,2": "e_core",
    "Hat": "unused_3_3",
    "Pboc,3": "p_boc3",
    "Pboc,4": "p_boc4",
    "Pboc,5": "p_boc5",
    "Phbond": "hb",
    "Plp,2": "p_lp2",
    "Povun,2": "p_ovun2",
    "Povun,5": "p_ovun5",
    "Pval,3": "p_val3",
    "Pval,5": "p_val5",
    "R0,alpha": "r_sigma",
    "R0,pi": "r_pi",
    "R0,pi-pi": "r_pipi",
    "Rcore,2": "r_core",
    "RvdW": "r_vdW",
    "Val": "Val",
    "Val,angle": "Val_ang",
    "Val,boc": "Val_boc",
    "Val,e": "Val_e",
    "alpha": "alpha",
    "alpha_e": "unused_3_8",
    "beta": "unused_4_3",
    "chi": "chi",
    "eta": "eta",
    "gamma": "gamma",
    "gamma,w": "gamma_w",
    "m": "mass",
    "not_used_1": "unused_2_5",
}
BOND = {
    "13_boc": "v13corr",
    "De,pi": "De_p",
    "De,pi-pi": "De_pp",
    "De,sigma": "De_s",
    "Pbe,1": "p_be1",
    "Pbe,2": "p_be2",
    "Pbo,2": "p_bo2",
    "Pbo,3": "p_bo3",
    "Pbo,4": "p_bo4",
    "Pbo,5": "p_bo5",
    "Pbo,6": "p_bo6",
    "Pbo_1": "p_bo1",
    "Povun,1": "p_ovun1",
    "not_used_1": "unused_2_4",
    "not_used_2": "unused_2_8",
    "ovc": "ovcorr",
}
OFF_DIAGONAL = {
    "Dij": "D",
    "R0,pi": "r_pi",
    "R0,pi-pi": "r_pipi",
    "R0,sigma": "r_sigma",
    "RvdW": "r_vdW",
    "alpha": "alpha",
}
ANGLE = {
    "Pcoa,1": "p_coa1",
    "Ppen,1": "p_pen1",
    "Pval,1": "p_val1",
    "Pval,2": "p_val2",
    "Pval,4": "p_val4",
    "Pval,7": "p_val7",
    "Theta0": "Theta00",
}
TORSION = {
    "Pcot,1": "p_cot1",
    "Ptor,1": "p_tor1",
    "V1": "V1",
    "V2": "V2",
    "V3": "V3",
    "not_used_1": "unused_6",
    "not_used_2": "unused_7",
}
HYDROGEN = {"Ehb": "p_hb1", "Phb3": "p_hb3", "Rhb": "r0", "Thb": "p_hb2"}

Rows = list[tuple[tuple[str, ...], dict[str, float]]]


def read_seamm(path: Path) -> FField:
    """Read a file; its elements are numbered in their order."""
    sections = _sections(path)
    general = {names[0]: values["Value"] for names, values in sections["general_parameters"]}
    atoms: dict[tuple[str, ...], dict[str, float]] = {}
    for part in ("1-8", "9-16", "17-24", "25-32"):
        for names, values in sections[f"atomic_parameters_{part}"]:
            atoms.setdefault(names, {}).update(values)
    bonds: dict[tuple[str, ...], dict[str, float]] = {}
    for part in ("1-8", "9-16"):
        for names, values in sections[f"bond_parameters_{part}"]:
            bonds.setdefault(names, {}).update(values)
    elements = [name for (name,) in atoms]

    def entries(rows: Rows, names: dict[str, str], order: tuple[str, ...]) -> tuple[Entry, ...]:
        numbers = {"*": 0, **{element: at for at, element in enumerate(elements, start=1)}}
        made = []
        for types, values in rows:
            ours = {names[name]: value for name, value in values.items()}
            made.append(
                Entry(tuple(numbers[name] for name in types), {name: ours[name] for name in order}, 0)
            )
        return tuple(made)

    atom_columns = tuple(name for row in columns.ATOM for name in row)
    bond_columns = tuple(name for row in columns.BOND for name in row)
    ours = {GENERAL[name]: value for name, value in general.items()}
    return FField(
        path=path,
        header=Header(units="real"),
        general={name: ours[name] for name in columns.GENERAL},
        names=tuple(elements),
        atoms=entries(list(atoms.items()), ATOM, atom_columns),
        bonds=entries(list(bonds.items()), BOND, bond_columns),
        off_diagonals=entries(sections["off-diagonal_parameters"], OFF_DIAGONAL, columns.OFF_DIAGONAL),
        angles=entries(sections["angle_parameters"], ANGLE, columns.ANGLE),
        torsions=entries(sections["torsion_parameters"], TORSION, columns.TORSION),
        hydrogen_bonds=entries(sections["hydrogen-bond_parameters"], HYDROGEN, columns.HYDROGEN),
        lg=False,
    )


def _sections(path: Path) -> dict[str, Rows]:
    """Rows of each section: names, and numbers by the heading of their column."""
    found: dict[str, Rows] = {}
    section, heads = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith("#"):
            section = words[0].removeprefix("#reaxff_") if line.startswith("#reaxff_") else ""
        elif line.startswith("!Version"):
            heads = words[2:]
        elif section and words and not line.startswith("!"):
            bodies = sum(head in ("Parameter", "Center", "I", "J", "K", "L") for head in heads)
            names = tuple(words[2 : 2 + bodies])
            # A general parameter is described in words after its number.
            heads_of_numbers = [head for head in heads[bodies:] if head != "Description"]
            numbers = map(float, words[2 + bodies : 2 + bodies + len(heads_of_numbers)])
            found.setdefault(section, []).append((names, dict(zip(heads_of_numbers, numbers, strict=True))))
    return found
