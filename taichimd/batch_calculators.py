"""ASE calculators of several images that are evaluated in one launch, and energies of many structures."""

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
from ase import Atoms

from taichimd.calculator import TaichiMD
from taichimd.copied_calculator import bare
from taichimd.forcefields.load import load_forcefield
from taichimd.program.batch import Batch
from taichimd.program.batchable import called, errors_name
from taichimd.program.results import Evaluation
from taichimd.system.checks import check_positions, check_turns, require_atoms


class BatchCalculators:
    """Gives each of several images a `TaichiMD`; the first request evaluates all images that have moved.

        >>> from ase.build import bulk
        >>> from taichimd import BatchCalculators
        >>> images = [bulk("Si", cubic=True) for _ in range(3)]
        >>> batch = BatchCalculators(images, "Si.sw")
        >>> [round(image.get_potential_energy() / 8, 3) for image in images]
        [-4.337, -4.337, -4.337]

    Use it for methods that move images together, such as `ase.mep.NEB`. The results of each image are bitwise
    identical to its results alone.

    Args:
        images: structures, whose calculators are replaced.
        potential: as for `TaichiMD`.
        **settings: backend, precision, skin, decomposition, as for `TaichiMD`.

    Raises:
        StructureError: an image that is not an Atoms object.
        ParameterFileError, SettingsError: as for `TaichiMD`. A potential without batches raises a
            SettingsError at the first request for energies.

    Attributes:
        launches: evaluations so far, each of all images.
    """

    def __init__(self, images: Sequence[Atoms], potential: Any, **settings: Any) -> None:
        for number, image in enumerate(images):
            with errors_name(called(number)):
                require_atoms(image)
        # Not the images themselves: they hold their calculators, and those hold this.
        self._images = [ref(image) for image in images]
        self._held: list[Atoms] = []
        self._batch: Batch | None = None
        self.launches = 0
        first = TaichiMD(potential, **settings)
        self._forcefield, self._settings = first.forcefield, settings
        for number, image in enumerate(images):
            image.calc = TaichiMD(potential, **settings) if number else first
            image.calc.join(self, number, self._forcefield)

    def member(self, number: int, atoms: Atoms) -> Any:
        """The member of the batch that is image `number`, set to `atoms`; other images keep their positions.

        Raises:
            StructureError, MissingParameterError: an image cannot be evaluated; the message names the image.
        """
        wanted: list[Atoms] = []
        for k, image in enumerate(self._images):
            now = atoms if k == number else image()
            # Of an image that nobody has any more, what is known of it; before the first launch, any.
            wanted.append(now if now is not None else self._held[k] if self._held else atoms)
        fits = self._batch is not None and all(
            np.array_equal(a.numbers, b.numbers) and np.array_equal(a.pbc, b.pbc)
            for a, b in zip(wanted, self._held, strict=True)
        )
        try:
            if self._batch is None or not fits:
                self._batch = None
                self._held = [bare(image) for image in wanted]
                self._batch = Batch(self._held, self._forcefield, **self._settings)
                self.launches += 1
            elif self._move(self._batch, wanted):
                self.launches += 1
        except BaseException:
            self.forget()
            raise
        return self._batch.members[number]

    def _move(self, batch: Batch, wanted: Sequence[Atoms]) -> bool:
        """Bring the batch to where the images are; whether any has moved."""
        both = list(enumerate(zip(wanted, self._held, strict=True)))
        cells = {k: a.cell.array for k, (a, b) in both if not np.array_equal(a.cell.array, b.cell.array)}
        moved = {k: a.positions for k, (a, b) in both if not np.array_equal(a.positions, b.positions)}
        for k, vectors in cells.items():
            self._held[k].set_cell(vectors)
        if cells:
            batch.set_cells({k: vectors.copy() for k, vectors in cells.items()})
        for k, positions in moved.items():
            with errors_name(called(k)):
                check_positions(positions, len(positions))
                check_turns(positions, batch.members[k].frame)
            self._held[k].positions = positions
        if moved:
            batch.set_vectors("pos", moved)
        return bool(cells or moved)

    def forget(self) -> None:
        """Free the memory of the device; the next evaluation builds the batch again."""
        self._batch, self._held = None, []


def evaluate_many(systems: Sequence[Atoms], potential: Any, **settings: Any) -> list[Evaluation]:
    """Energies, forces and virials of many structures in one launch.

    The results of each structure are bitwise identical to its results alone.

        >>> from ase.build import bulk
        >>> from taichimd import evaluate_many
        >>> found = evaluate_many([bulk("Si", a=a) for a in (5.3, 5.4, 5.5)], "Si.sw")
        >>> [round(one.energy, 2) for one in found]
        [-8.6, -8.67, -8.66]

    Args:
        systems: the structures.
        potential: a parameter file, a shipped name, "file.py:name" or a force field; a list is their sum.
        **settings: backend, precision, skin, decomposition, as for `Batch`.

    Returns:
        For each structure its energy (eV), forces (eV/angstrom) and virial (eV).

    Raises:
        StructureError, MissingParameterError, SettingsError, CapacityError: as for `Batch`.
    """
    batch = Batch([bare(one) for one in systems], load_forcefield(potential), **settings)
    return [member.evaluate() for member in batch.members]
