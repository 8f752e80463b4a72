"""The control array: slots have places of their own, and an instance reads and writes the values there."""

import numpy as np

from taichimd.neighbours.control import MAX_GROUPS, NONE, Control, Slot, control_size

SLOTS = {name: slot for name, slot in vars(Control).items() if isinstance(slot, Slot)}


def test_slots_follow_each_other_without_a_gap():
    places = [slot.place + k for slot in SLOTS.values() for k in range(slot.length)]
    assert places == list(range(Control.slots_end))
    assert SLOTS["overfull"].place == SLOTS["longest_near"].place + MAX_GROUPS


def test_flags_of_steps_come_last_and_have_room():
    assert Control.frozen == Control.slots_end - 1
    assert control_size(4) == Control.frozen + 4 + 3


def test_the_host_reads_and_writes_by_name():
    values = np.arange(control_size(1), dtype=np.int32)
    seen = Control(values)
    for name, slot in SLOTS.items():
        np.testing.assert_array_equal(
            getattr(seen, name), values[slot.place : slot.place + slot.length].squeeze()
        )
    seen.blown = NONE
    seen.overfull[:] = 0
    assert values[Control.blown] == NONE
    assert not values[Control.overfull : Control.overfull + MAX_GROUPS].any()
    assert values[Control.overfull - 1] == Control.overfull - 1


def test_every_slot_says_what_it_means_who_writes_and_who_reads_it():
    assert all(slot.meaning and slot.writes and slot.reads for slot in SLOTS.values())
