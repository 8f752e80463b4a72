"""Names of the numbers of an ffield file, in the file's order.

The names are those of Chenoweth, van Duin and Goddard, J. Phys. Chem. A 112, 1040 (2008), supporting
information; the columns of the inner wall and of the low-gradient dispersion (lg) are those of Liu et al.,
J. Phys. Chem. A 115, 11016 (2011). Comment lines of published files name some columns differently, and often
wrongly. Only ACKS2 uses columns called `unused_...` (`SOFTNESS`).
"""

GENERAL = (
    *("p_boc1", "p_boc2", "p_coa2", "p_trip4", "p_trip3", "k_c2", "p_ovun6", "p_trip2", "p_ovun7", "p_ovun8"),
    *("p_trip1", "swa", "swb", "unused_14", "p_val6", "p_lp1", "p_val9", "p_val10", "unused_19", "p_pen2"),
    *("p_pen3", "p_pen4", "unused_23", "p_tor2", "p_tor3", "p_tor4", "unused_27", "p_cot2", "p_vdW1"),
    *("cutoff", "p_coa4", "p_ovun4", "p_ovun3", "p_val8", "unused_35", "d_lg", "unused_37", "triple"),
    "p_coa3",
)
"""The 39 general parameters. `cutoff` is 100 times the bond order at which bonds end."""
SOFTNESS, SOFTNESS_RADIUS = "unused_35", "unused_3_7"
"""A general parameter and a column of atoms that ACKS2 alone uses: amplitude (e^2/eV) and bond cutoff
(angstrom) of the bond softness."""

ATOM = (
    ("r_sigma", "Val", "mass", "r_vdW", "D", "gamma", "r_pi", "Val_e"),
    ("alpha", "gamma_w", "Val_ang", "p_ovun5", "unused_2_5", "chi", "eta", "hb"),
    ("r_pipi", "p_lp2", "unused_3_3", "p_boc4", "p_boc3", "p_boc5", "unused_3_7", "unused_3_8"),
    ("p_ovun2", "p_val3", "unused_4_3", "Val_boc", "p_val5", "r_core", "e_core", "a_core"),
)
"""The rows of an atom; its name stands before the first."""
ATOM_LG = ("C_lg", "R_lg")
"""The fifth row of an atom in a file with lg."""

BOND = (
    ("De_s", "De_p", "De_pp", "p_be1", "p_bo5", "v13corr", "p_bo6", "p_ovun1"),
    ("p_be2", "p_bo3", "p_bo4", "unused_2_4", "p_bo1", "p_bo2", "ovcorr", "unused_2_8"),
)
"""The rows of a bond; the numbers of its two atoms stand before the first."""

OFF_DIAGONAL = ("D", "r_vdW", "alpha", "r_sigma", "r_pi", "r_pipi")
"""An off-diagonal row after the numbers of its two atoms."""
OFF_DIAGONAL_LG = (*OFF_DIAGONAL, "C_lg")
"""The same in a file with lg."""

ANGLE = ("Theta00", "p_val1", "p_val2", "p_coa1", "p_val7", "p_pen1", "p_val4")
"""A row of the angles after the numbers of its three atoms, the centre in the middle."""

TORSION = ("V1", "V2", "V3", "p_tor1", "p_cot1", "unused_6", "unused_7")
"""A row of the torsions after the numbers of its four atoms."""

HYDROGEN = ("r0", "p_hb1", "p_hb2", "p_hb3")
"""A row of the hydrogen bonds after the numbers of donor, hydrogen and acceptor."""
