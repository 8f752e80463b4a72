"""A checkpoint that commit 08e9505 wrote, of 8 silicon atoms in NVT, continues with the same bits."""

import hashlib
from pathlib import Path

from taichimd.io.checkpoint import read_checkpoint

WRITTEN = Path(__file__).parent.parent / "support" / "checkpoint_of_08e9505.npz"
BEHIND_20_STEPS = "244b5a010a6abee3e7feed68cb7c44caa7fc0f3882c3443e524673aaaa9da244"
"""SHA-256 of positions and velocities where 08e9505 itself continued."""


def test_a_checkpoint_of_an_earlier_commit_goes_on_with_the_same_bits(call, tmp_path):
    code, _, error = call(
        f"run --restart {WRITTEN} --steps 20 --output {tmp_path}/run --frames none --backend cpu"
    )
    assert code == 0, error
    found = read_checkpoint(tmp_path / "run" / "checkpoint.npz")
    assert (
        hashlib.sha256(found.positions.tobytes() + found.velocities.tobytes()).hexdigest() == BEHIND_20_STEPS
    )
