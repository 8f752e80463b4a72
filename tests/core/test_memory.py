"""What memory is free: of a machine, and of a container."""

from taichimd.core import memory


def test_the_limit_of_a_container_counts(tmp_path):
    files = {
        "memory.max": "1000000",
        "memory.current": "900000",
        "memory.stat": "anon 1\ninactive_file 50000\n",
    }
    assert memory._free_group(tmp_path) is None
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory._free_group(tmp_path) == 150_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._free_group(tmp_path) is None


def test_free_memory_is_known_here():
    free = memory.free_memory()
    assert free is not None
    assert 2**20 < free < 2**44
