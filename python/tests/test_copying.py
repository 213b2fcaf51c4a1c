"""Filters survive a file bit for bit; damage is noticed before anything changes."""

import argparse
import io
import itertools
import os
import stat
import subprocess
import sys
import threading

import pytest
import redis
from conftest import DEADLINE
from test_load import refused, start

from bloomline import BloomlineError
from bloomline.cli import copying, dump


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


def test_any_damage_is_noticed_and_changes_nothing(bloomline_server, plain, family, tmp_path):
    file = tmp_path / "k.dump"
    export(plain, file)
    whole = file.read_bytes()
    damages = [whole[:-1], whole[:100], b""]
    for place in (0, 9, 12, 40, 1000, -1):
        damages.append(bytearray(whole))
        damages[-1][place] ^= 1
    before = bits(plain, family, "k")
    options = argparse.Namespace(key="k", file=str(file), replace=True)
    for damaged in damages:
        file.write_bytes(damaged)
        with pytest.raises((BloomlineError, redis.exceptions.ResponseError)):
            copying.import_(plain, options)
        assert plain.keys() == [b"k"] and bits(plain, family, "k") == before
    refused(bloomline_server, "import", "--replace", "k", file)
    assert bits(plain, family, "k") == before


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


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def whole(plain, tmp_path):
    """The bytes of the dump of `k`."""
    plain.execute_command("BF.RESERVE", "k", 0.001, 1000)
    file = tmp_path / "whole"
    export(plain, file)
    data = file.read_bytes()
    file.unlink()
    return data


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "existing"])
def test_export_follows_links(plain, whole, tmp_path, is_there):
    folder, file, link = tmp_path / "folder", tmp_path / "folder" / "file", tmp_path / "link"
    folder.mkdir()
    if is_there:
        file.write_bytes(b"before")
    (tmp_path / "between").symlink_to("folder/file")
    link.symlink_to("between")
    export(plain, link)
    assert link.is_symlink() and (tmp_path / "between").is_symlink()
    assert file.read_bytes() == whole and not file.is_symlink()
    assert list(folder.iterdir()) == [file]


def test_export_writes_into_pipes(plain, whole, tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    for key in ("k", "missing"):
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        if key == "k":
            assert export(plain, pipe, key) == 0
        else:
            with pytest.raises(BloomlineError, match="there is no key"):
                export(plain, pipe, key)
        # It ends, also if there is nothing to read.
        reader.join(DEADLINE)
        assert not reader.is_alive()
    assert got == [whole, b""]
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_export_writes_into_devices(plain, whole, tmp_path):
    null, full = tmp_path / "null", tmp_path / "full"
    null.symlink_to("/dev/null")
    full.symlink_to("/dev/full")
    assert export(plain, null) == 0
    with pytest.raises(BloomlineError, match=r"full cannot be written \(No space .* free some"):
        export(plain, full)
    assert null.is_char_device() and full.is_char_device()
    assert sorted(tmp_path.iterdir()) == [full, null]


@pytest.mark.parametrize("is_file", [False, True], ids=["pipe", "file"])
def test_a_name_of_the_output_is_the_output(bloomline_server, whole, tmp_path, is_file):
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    with open(tmp_path / "file", "wb") as file:
        options = {"stdout": file} if is_file else {}
        program = start(bloomline_server, "export", "k", link, **options)
        out, errors = program.communicate(timeout=DEADLINE)
    assert program.returncode == 0 and errors.decode().endswith(" bytes\n")
    assert (tmp_path / "file").read_bytes() + (out or b"") == whole
    assert link.is_symlink()


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o664])
def test_export_keeps_the_mode_of_a_file(plain, whole, tmp_path, monkeypatch, mode):
    file = tmp_path / "file"
    file.write_bytes(b"before")
    file.chmod(mode)
    modes = []
    during_chunks(monkeypatch, lambda _: modes.extend(map(mode_of, tmp_path.glob("*.partial"))))
    export(plain, file)
    assert file.read_bytes() == whole and mode_of(file) == mode
    # Meanwhile nobody else could read it.
    assert modes == [0o600]


def test_new_file_has_the_mode_of_the_umask(plain, whole, tmp_path):
    before = os.umask(0o027)
    try:
        export(plain, tmp_path / "file")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == 0o640


@pytest.mark.parametrize("may_change", [True, False])
def test_owner_is_kept_or_its_group_loses_its_rights(
    plain, whole, tmp_path, monkeypatch, may_change
):
    file, kept = tmp_path / "file", []
    file.write_bytes(b"before")
    file.chmod(0o664)
    facts = os.stat(file)
    if may_change and os.geteuid() == 0:
        os.chown(file, 1234, 1235)
        facts = os.stat(file)
    elif not may_change:
        # A file of another owner, and a user who may not change owners.
        real = os.stat

        def other(path, **options):
            found = real(path, **options)
            if path != str(file):
                return found
            return os.stat_result((*found[:4], found.st_uid + 1, found.st_gid + 1, *found[6:10]))

        def refuse(*_):
            kept.append("refused")
            raise PermissionError

        monkeypatch.setattr(os, "stat", other)
        monkeypatch.setattr(os, "chown", refuse)
    export(plain, file)
    monkeypatch.undo()
    found = os.stat(file)
    assert (found.st_uid, found.st_gid) == (facts.st_uid, facts.st_gid)
    assert mode_of(file) == (0o664 if may_change else 0o604)
    assert file.read_bytes() == whole and kept == ([] if may_change else ["refused"])


@pytest.mark.parametrize("name", ["missing/file", "folder"])
def test_file_that_cannot_be_written_is_named_as_it_was_given(plain, whole, tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BloomlineError) as caught:
        export(plain, tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name} cannot be written (")
    assert ".partial" not in str(caught.value)
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def during_chunks(monkeypatch, change, times=1):
    """Lets an export call `change` after its first chunk, and counts its attempts."""
    real, attempts = dump.chunks_of, []

    def chunks_of(client, head, key):
        attempts.append(key)
        for number, chunk in enumerate(real(client, head, key)):
            yield chunk
            if number == 0 and len(attempts) <= times:
                change(client)

    monkeypatch.setattr(dump, "chunks_of", chunks_of)
    return attempts


def export(client, file, key="k"):
    return copying.export(client, argparse.Namespace(key=key, file=str(file)))


numbers = itertools.count()


def add(client, count):
    lines = "\n".join(f"more:{next(numbers)}" for _ in range(count))
    client.execute_command("BF.BULKADD", "k", "LINES", lines)


def grow(client):
    layers = client.bf().info("k").get("filterNum")
    while client.bf().info("k").get("filterNum") == layers:
        add(client, 1000)


CHANGES = {
    "a layer": (RESERVE["bloomline"], grow),
    "a layer of redisbloom": (RESERVE["redisbloom"], grow),
    "a rotation": (
        ("BF.RESERVE", "k", 0.001, 5000, "GENERATIONS", 4),
        lambda client: client.execute_command("BF.ROTATE", "k"),
    ),
    "a compaction": (
        RESERVE["bloomline"],
        lambda client: client.execute_command("BF.COMPACT", "k"),
    ),
    "an item": (RESERVE["cuckoo"], lambda client: client.execute_command("CF.ADD", "k", "more")),
    "a deletion": (
        RESERVE["cuckoo"],
        lambda client: (
            client.execute_command("CF.ADD", "k", "new")
            and client.execute_command("CF.DEL", "k", "item:7")
        ),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_export_of_a_filter_that_changes_begins_again(
    bloomline_server, plain, tmp_path, monkeypatch, name
):
    reserve, change = CHANGES[name]
    plain.execute_command(*reserve)
    kind, file = reserve[0][:2], tmp_path / "k.dump"
    lines = "\n".join(f"item:{number}" for number in range(5000))
    plain.execute_command(f"{kind}.BULKADD", "k", "LINES", lines)
    attempts = during_chunks(monkeypatch, change)
    assert export(plain, file) == 0 and len(attempts) == 2
    monkeypatch.undo()
    call(bloomline_server, "import", "copy", file)
    assert bits(plain, kind, "copy") == bits(plain, kind, "k")
    if name == "a compaction":
        # A second one has nothing to do.
        return
    file.unlink()
    attempts = during_chunks(monkeypatch, change, 100)
    with pytest.raises(BloomlineError, match="changed during each of 5 attempts"):
        export(plain, file)
    assert len(attempts) == 5 and list(tmp_path.iterdir()) == []


def test_items_that_are_added_meanwhile_do_no_harm(bloomline_server, plain, tmp_path, monkeypatch):
    plain.execute_command("BF.RESERVE", "k", 1e-9, 100_000)
    plain.execute_command("BF.BULKADD", "k", "LINES", "\n".join(map(str, range(1000))))
    attempts = during_chunks(monkeypatch, lambda client: add(client, 1000), 100)
    assert export(plain, tmp_path / "file") == 0 and len(attempts) == 1
    call(bloomline_server, "import", "copy", tmp_path / "file")
    found = plain.execute_command(
        "BF.BULKEXISTS", "copy", "LINES", "\n".join(map(str, range(1000))), "COUNT"
    )
    assert found == [1000, 1000]


@pytest.mark.parametrize("name", ["bloomline", "redisbloom", "valkey-bloom", "cuckoo"])
def test_export_of_a_filter_that_is_replaced_fails(plain, tmp_path, monkeypatch, name):
    reserve = RESERVE[name]
    plain.execute_command(*reserve)
    kind = reserve[0][:2]
    plain.execute_command(f"{kind}.BULKADD", "k", "LINES", "\n".join(map(str, range(500))))

    def replace(client):
        client.delete("k")
        client.execute_command(*reserve)
        count = 500 if name == "bloomline" else 400
        client.execute_command(f"{kind}.BULKADD", "k", "LINES", "\n".join(map(str, range(count))))

    attempts = during_chunks(monkeypatch, replace, 100)
    if name == "cuckoo":
        # What is read at the second attempt is the second filter, whole.
        attempts.extend([None] * 99)
        assert export(plain, tmp_path / "file") == 0
        return
    with pytest.raises(BloomlineError, match="was replaced by another filter"):
        export(plain, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    during_chunks(monkeypatch, lambda client: client.delete("k"))
    with pytest.raises(Exception, match=r"(?i)not found|no key"):
        export(plain, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_exports_to_one_file_do_not_meet(bloomline_server, plain, tmp_path):
    file, foreign = tmp_path / "file", tmp_path / "file.partial"
    foreign.write_bytes(b"of another program")
    kinds = {}
    for key in ("a", "b"):
        plain.execute_command("BF.RESERVE", key, 1e-9, 100_000)
        plain.execute_command("BF.BULKADD", key, "LINES", "\n".join(map(str, range(1000))))
        export(plain, file, key)
        kinds[file.read_bytes()] = key
    for _ in range(3):
        programs = [start(bloomline_server, "export", key, file) for key in "abab"]
        for program in programs:
            _, errors = program.communicate(timeout=DEADLINE)
            assert (program.returncode, errors) == (0, b"")
        assert file.read_bytes() in kinds
    assert foreign.read_bytes() == b"of another program"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "file.partial"]


def test_imports_of_one_key_do_not_meet(bloomline_server, plain, tmp_path):
    wanted = []
    for name in "ab":
        plain.execute_command("BF.RESERVE", name, 1e-9, 1_000_000)
        plain.execute_command("BF.BULKADD", name, "LINES", "\n".join(map(str, range(1000))))
        call(bloomline_server, "export", name, tmp_path / name)
        wanted.append(bits(plain, "BF", name))
    plain.set("{k}:loading", "of another program")
    for _ in range(2):
        words = [("import", "--replace", "k", tmp_path / name) for name in "abab"]
        for program in [start(bloomline_server, *each) for each in words]:
            _, errors = program.communicate(timeout=DEADLINE)
            assert (program.returncode, errors) == (0, b"")
        assert bits(plain, "BF", "k") in wanted
    assert sorted(plain.keys()) == [b"a", b"b", b"k", b"{k}:loading"]
    plain.delete("k")
    # Without --replace exactly one of them creates the key.
    programs = [start(bloomline_server, "import", "k", tmp_path / name) for name in "abab"]
    for program in programs:
        program.communicate(timeout=DEADLINE)
    assert sorted(program.returncode for program in programs) == [0, 1, 1, 1]
    assert bits(plain, "BF", "k") in wanted and len(plain.keys()) == 4


def dump_of(client, key="k"):
    file = io.BytesIO()
    head = dump.head_of(client, key)
    dump.write(file, head, dump.chunks_of(client, head, key))
    file.seek(0)
    return file


@pytest.mark.parametrize("error", [KeyboardInterrupt, BloomlineError, ConnectionError])
def test_temporary_keys_expire_and_are_removed(plain, family, error):
    head, chunks = dump.read(dump_of(plain), "file")

    def until_error():
        for number, chunk in enumerate(chunks):
            if number > 0:
                (loading,) = plain.scan_iter("*loading*")
                assert 0 < plain.pttl(loading) <= 10 * 60 * 1000
            if number == 1:
                raise error
            yield chunk

    with pytest.raises(error):
        dump.load_chunks(plain, head, "copy", until_error(), replace=False)
    assert plain.keys() == [b"k"]


def test_import_compares_what_it_has_loaded(plain, family):
    head, chunks = dump.read(dump_of(plain), "file")

    def changed():
        yield from chunks
        (loading,) = plain.scan_iter("*loading*")
        plain.execute_command(f"{family}.ADD", loading, "more")

    plain.set("copy", "kept")
    with pytest.raises(BloomlineError, match="other bits"):
        dump.load_chunks(plain, head, "copy", changed(), replace=True)
    assert plain.get("copy") == b"kept" and len(plain.keys()) == 2


def test_key_that_is_created_meanwhile_is_kept(plain, family):
    head, chunks = dump.read(dump_of(plain), "file")

    def created():
        yield from chunks
        plain.set("copy", "kept", ex=1000)

    with pytest.raises(BloomlineError, match="created meanwhile"):
        dump.load_chunks(plain, head, "copy", created(), replace=False)
    assert plain.get("copy") == b"kept" and plain.ttl("copy") > 900
    assert len(plain.keys()) == 2


def test_dash_is_output_and_input(bloomline_server, plain, family, tmp_path):
    environment = {**os.environ, "REDIS_URL": bloomline_server.url}
    words = [sys.executable, "-m", "bloomline"]
    options = {"env": environment, "cwd": tmp_path}
    done = subprocess.check_output([*words, "export", "k", "-"], **options)
    subprocess.check_output([*words, "import", "copy", "-"], input=done, **options)
    assert bits(plain, family, "copy") == bits(plain, family, "k")
    assert list(tmp_path.iterdir()) == []
    closed = f"{sys.executable} -m bloomline"
    for command in (f"{closed} export k - >&-", f"{closed} import c - <&-"):
        shell = subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, check=False
        )
        assert shell.returncode == 1 and "is closed" in shell.stderr
