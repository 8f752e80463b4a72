"""Single moves on a board of many cells: energies are those of full evaluations."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import LennardJones
from taichimd.sampling.chain import MonteCarlo

SHORT = LennardJones(epsilon=0.0104, sigma=2.6, cutoff=4.0, truncation="energy-shifted")


@pytest.mark.parametrize("move", [0.6, 2.5])
@pytest.mark.parametrize("axis", range(3))
def test_single_moves_on_a_board_of_four_cells_along_each_axis(move, axis):
    """An atom that left its cell along an axis would come near other cells of the same colour.

    Long moves go beyond the skin of lists that were made for shorter moves.
    """
    atoms = bulk("Ar", cubic=True, a=5.5) * 3
    atoms.set_cell(atoms.cell.lengths() + 8.5 * np.eye(3)[axis], scale_atoms=True)
    atoms.rattle(0.2, seed=axis)
    chain = MonteCarlo(
        atoms, SHORT, temperature=400.0, kind="single", move=move, seed=7 + axis, backend="cpu"
    )
    for _ in range(12):
        chain.advance(1)
        assert abs(chain.compare()) < 1e-12
    assert chain.moves.accepted > 100
    assert (chain.group.singles._boards.board.layout.to_numpy()[3:6] >= 4).all()
