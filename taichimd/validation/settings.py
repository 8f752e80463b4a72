"""Settings of a validation, in the user's units, and checked."""

from dataclasses import dataclass
from typing import Annotated

from taichimd.settings import types
from taichimd.settings.declared import Settings, setting
from taichimd.settings.run import shared
from taichimd.settings.types import Values

Words = Annotated[str, Values("words with commas between them", "words")]
Symbols = Annotated[str, Values("elements with commas between them, as Si,C", "elements")]


@dataclass(frozen=True)
class ValidationSettings(Settings):
    """Settings of a validation besides the potential and the structure.

    `taichimd validate --help` says what each setting means.

    Raises:
        SettingsError: a value that makes no sense.
    """

    only: Words | None = setting(None, "Names of the checks to run, such as forces,virial; default all")
    elements: Symbols | None = setting(
        None, "Elements of the crystal and of random clusters; default all that the potential defines"
    )
    temperature: types.Kelvin | None = setting(
        None, "Temperature of the velocities at the start; default 300 K, lower for a weakly bound crystal"
    )
    seed: types.Seed = setting(1, "Seed of displacements and velocities")
    backend: types.Backend = shared("backend")

    @property
    def checks(self) -> list[str] | None:
        """Names of the checks, or None for all."""
        return None if self.only is None else [part.strip() for part in self.only.split(",") if part.strip()]
