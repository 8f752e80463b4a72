"""The order of the numbers of an ffield file, against a second list of it."""

from taichimd.forcefields.reaxff.ffield import read_ffield

BY_PLACE = {
    "general": {
        1: "p_boc1", 2: "p_boc2", 3: "p_coa2", 4: "p_trip4", 5: "p_trip3", 6: "k_c2", 7: "p_ovun6",
        8: "p_trip2", 9: "p_ovun7", 10: "p_ovun8", 11: "p_trip1", 12: "swa", 13: "swb", 15: "p_val6",
        16: "p_lp1", 17: "p_val9", 18: "p_val10", 20: "p_pen2", 21: "p_pen3", 22: "p_pen4", 24: "p_tor2",
        25: "p_tor3", 26: "p_tor4", 28: "p_cot2", 29: "p_vdW1", 30: "cutoff", 31: "p_coa4", 32: "p_ovun4",
        33: "p_ovun3", 34: "p_val8", 39: "p_coa3",
    },
    "atom": {
        1: "r_sigma", 2: "Val", 3: "mass", 4: "r_vdW", 5: "D", 6: "gamma", 7: "r_pi", 8: "Val_e",
        9: "alpha", 10: "gamma_w", 11: "Val_ang", 12: "p_ovun5", 14: "chi", 15: "eta", 16: "hb",
        17: "r_pipi", 18: "p_lp2", 20: "p_boc4", 21: "p_boc3", 22: "p_boc5", 25: "p_ovun2", 26: "p_val3",
        28: "Val_boc", 29: "p_val5", 30: "r_core", 31: "e_core", 32: "a_core",
    },
    "bond": {
        1: "De_s", 2: "De_p", 3: "De_pp", 4: "p_be1", 5: "p_bo5", 6: "v13corr", 7: "p_bo6", 8: "p_ovun1",
        9: "p_be2", 10: "p_bo3", 11: "p_bo4", 13: "p_bo1", 14: "p_bo2", 15: "ovcorr",
    },
    "off_diagonal": {
        1: "D", 2: "r_vdW", 3: "alpha", 4: "r_sigma", 5: "r_pi", 6: "r_pipi",
    },
    "angle": {
        1: "Theta00", 2: "p_val1", 3: "p_val2", 4: "p_coa1", 5: "p_val7", 6: "p_pen1", 7: "p_val4",
    },
    "torsion": {
        1: "V1", 2: "V2", 3: "V3", 4: "p_tor1", 5: "p_cot1",
    },
    "hydrogen_bond": {
        1: "r0", 2: "p_hb1", 3: "p_hb2", 4: "p_hb3",
    },
}  # fmt: skip
"""Which number of a section is what, from 1 on: as LAMMPS's reaxff_ffield.cpp reads them."""


def test_numbers_at_literal_places(tmp_path):
    """Of a file of whole numbers in turn; nothing here asks the reader's own table for the order."""

    def rows(first, *lengths):
        turn = iter(range(first, first + sum(lengths)))
        return [" ".join(str(next(turn)) for _ in range(length)) for length in lengths]

    lines = ["in turn", "39 ! general", *rows(1, *[1] * 39)]
    atom_rows = rows(1, 8, 8, 8, 8)
    lines += ["1 ! atoms", "", "", "", "C " + atom_rows[0], *atom_rows[1:]]
    bond_rows = rows(1, 8, 8)
    lines += ["1 ! bonds", "", "1 1 " + bond_rows[0], bond_rows[1]]
    sections = {"off-diagonals": ("1 1", 6), "angles": ("1 1 1", 7), "torsions": ("1 1 1 1", 7)}
    sections["hydrogen bonds"] = ("1 1 1", 4)
    for section, (types, length) in sections.items():
        lines += [f"1 ! {section}", f"{types} {rows(1, length)[0]}"]
    path = tmp_path / "turn.ffield"
    path.write_text("\n".join(lines) + "\n")
    file = read_ffield(path)
    found = {
        "general": file.general, "atom": file.atoms[0].values, "bond": file.bonds[0].values,
        "off_diagonal": file.off_diagonals[0].values, "angle": file.angles[0].values,
        "torsion": file.torsions[0].values, "hydrogen_bond": file.hydrogen_bonds[0].values,
    }  # fmt: skip
    for section, places in BY_PLACE.items():
        assert {name: found[section][name] for name in places.values()} == {
            name: place for place, name in places.items()
        }, section
        # What has no name here is used nowhere.
        others = set(found[section]) - set(places.values())
        assert all(name.startswith("unused") or name in ("d_lg", "triple") for name in others), section
