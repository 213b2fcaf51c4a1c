"""Filters survive a file bit for bit; damage is noticed before anything changes."""

import pytest
from conftest import DEADLINE
from test_load import refused, start


def call(server, *words):
    program = start(server, *words)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b""), errors
    return out.decode()


RESERVE = {
    "bloomline": ("BF.RESERVE", "k", 0.001, 1000),
    "windowed": ("BF.RESERVE", "k", 0.001, 50_000, "WINDOW", 3600),
    "redisbloom": ("BF.RESERVE", "k", 0.001, 1000, "LAYOUT", "REDISBLOOM"),
    "valkey-bloom": ("BF.RESERVE", "k", 0.001, 1000, "LAYOUT", "VALKEY-BLOOM"),
    "cuckoo": ("CF.RESERVE", "k", 1000),
}


@pytest.fixture(params=RESERVE)
def family(request, plain):
    items = [f"item:{number}" for number in range(50_000)]
    words = RESERVE[request.param]
    plain.execute_command(*words)
    family = words[0][:2]
    plain.execute_command(f"{family}.BULKADD", "k", "LINES", "\n".join(items))
    return family


def bits(client, family, key):
    """All chunks of a filter."""
    iterator, chunks = 0, []
    while True:
        iterator, data = client.execute_command(f"{family}.SCANDUMP", key, iterator)
        if not iterator:
            return chunks
        chunks.append((iterator, data))


def test_file_has_the_filter_bit_for_bit(bloomline_server, plain, family, tmp_path):
    file = tmp_path / "k.dump"
    plain.pexpire("k", 3_600_000)
    before = bits(plain, family, "k")
    call(bloomline_server, "export", "k", file)
    assert "exists" in refused(bloomline_server, "import", "k", file)
    call(bloomline_server, "import", "copy", file)
    call(bloomline_server, "import", "--replace", "k", file)
    assert bits(plain, family, "copy") == bits(plain, family, "k") == before
    assert 3_500_000 < plain.pttl("copy") <= 3_600_000
    assert sorted(plain.keys()) == [b"copy", b"k"]
    assert [each.name for each in tmp_path.iterdir()] == ["k.dump"]


@pytest.mark.parametrize("place", [0, 9, 12, 40, 1000, -1])
def test_any_damage_is_noticed_and_changes_nothing(
    bloomline_server, plain, family, tmp_path, place
):
    file = tmp_path / "k.dump"
    call(bloomline_server, "export", "k", file)
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    before = bits(plain, family, "k")
    for damaged in (data, file.read_bytes()[:-1], file.read_bytes()[:100], b""):
        file.write_bytes(damaged)
        refused(bloomline_server, "import", "--replace", "k", file)
        assert plain.keys() == [b"k"]
        assert bits(plain, family, "k") == before
        file.write_bytes(data)


def test_other_types_are_refused(bloomline_server, plain, tmp_path):
    plain.set("text", "x")
    for key, what in (("text", "string"), ("missing", "there is no key")):
        assert what in refused(bloomline_server, "export", key, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_filters_in_the_layout_of_valkey_bloom_are_copied(bloomline_server, plain, tmp_path):
    plain.execute_command("BF.RESERVE", "k", 0.001, 100, "LAYOUT", "VALKEY-BLOOM")
    plain.execute_command("BF.BULKADD", "k", "LINES", "\n".join(map(str, range(1000))))
    call(bloomline_server, "export", "k", tmp_path / "file")
    call(bloomline_server, "import", "copy", tmp_path / "file")
    assert plain.type("copy") == b"bloomfltr"
    assert bits(plain, "BF", "copy") == bits(plain, "BF", "k")
