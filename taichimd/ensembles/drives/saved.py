"""What a checkpoint keeps of drives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.given import GroupDrive, drive_of_record, packed, unpacked
from taichimd.ensembles.drives.rows import DriveRows


def state_of(drives: DriveRows, number: int) -> list[dict[str, Any]]:
    """What a restart needs of a system, with the drives themselves: JSON-able, and exact."""
    values, sums, numbers = drives.values.to_numpy(), drives.read_sums(), drives.numbers.to_numpy()
    clock = [int(numbers[of.STEP_ORIGIN]), float(values[of.TIME_ORIGIN]), drives.timestep]
    found = []
    for own in drives.own[number]:
        state: dict[str, Any] = {"clock": clock, "started": own.started, "taken": own.taken}
        state["rows"] = [
            {
                "sums": sums[row, : of.LASTING].tolist(),
                "values": packed(values[drives.row_values(row)]),
                **(
                    {"block": packed(values[drives.blocks[row]].reshape(-1, 3)[atoms])}
                    if _keeps(drives, row)
                    else {}
                ),
            }
            for row, atoms in zip(own.rows, _atoms_of_rows(own.drive), strict=False)
        ]
        found.append({**own.drive.record(), "state": state})
    return found


def _keeps(drives: DriveRows, row: int) -> bool:
    """Whether numbers of atoms of a row are places."""
    return int(drives.table[row, of.KIND]) in (of.TETHER, of.MOVE)


def set_state(drives: DriveRows, number: int, state: Sequence[dict[str, Any]]) -> None:
    """Continue from what `state_of` returned for the same groups and drives."""
    ours = [own.drive.record() for own in drives.own[number]]
    theirs = [drive_of_record(one).record() for one in state]
    if ours != theirs:
        names = [", ".join(one["name"] for one in each) or "none" for each in (theirs, ours)]
        raise SettingsError(
            f"the state of drives ({names[0]}) belongs to different groups or settings, now {names[1]}"
        )
    values, sums = drives.read_values(), drives.slots()
    numbers = drives.numbers.to_numpy()
    for own, one in zip(drives.own[number], state, strict=True):
        if one.get("state") is None:
            continue
        kept_state = one["state"]
        numbers[of.STEP_ORIGIN], values[of.TIME_ORIGIN], drives.timestep = kept_state["clock"]
        values[of.TIMESTEP] = drives.timestep or 0.0
        own.started, own.taken = kept_state["started"], list(kept_state["taken"])
        atoms_of = _atoms_of_rows(own.drive)
        for row, atoms, kept_row in zip(own.rows, atoms_of, kept_state["rows"], strict=False):
            sums[row] = 0
            sums[row, : of.LASTING, 0] = kept_row["sums"]
            values[drives.row_values(row)] = unpacked(kept_row["values"])
            if "block" in kept_row:
                block = values[drives.blocks[row]].reshape(-1, 3)
                block[atoms] = unpacked(kept_row["block"])
                values[drives.blocks[row]] = block.ravel()
    drives.values.from_numpy(values)
    drives.numbers.from_numpy(numbers)
    drives.write_sums(sums)
    drives.forget()


def _atoms_of_rows(drive: GroupDrive) -> list[NDArray[np.int64]]:
    return [drive.atoms] if drive.partner is None else [drive.atoms, drive.partner]
