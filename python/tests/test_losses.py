"""Random events beside a load and an export: nothing is lost without an error that says so.

`BLOOMLINE_ROUNDS` is the number of rounds, `BLOOMLINE_SEED` the first seed. A round that fails
names its seed.
"""

import argparse
import os
from random import Random

import pytest
from test_load import KEY, REPLACEMENTS, Interfered, Stopped, create, lines, present, run_load, stop
from test_load import text as text_of

from bloomline import BloomlineError
from bloomline.cli import copying, dump
from bloomline.cli.load import positions_key

ROUNDS = int(os.environ.get("BLOOMLINE_ROUNDS", "20"))
SEED = int(os.environ.get("BLOOMLINE_SEED", "0"))
EVENTS = 6


def begin_again(client):
    """Does what the errors of a load advise."""
    client.delete(KEY, positions_key(KEY))
    create(client)


def load_through_events(client, path, random):
    """Runs a load again until it succeeds. Something happens in each of the first runs."""
    for number in range(10 * EVENTS):
        name = (
            random.choice([*REPLACEMENTS, "stopped", "nothing"]) if number < EVENTS else "nothing"
        )
        events = {"stopped": stop, "nothing": lambda: None}
        happen = events.get(name, lambda name=name: REPLACEMENTS[name](client))
        try:
            run_load(client, Interfered(path, happen, random.randint(1, 60)))
            return
        except Stopped:
            continue
        except BloomlineError:
            begin_again(client)
    pytest.fail("the load did not end")


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_nothing_is_lost_without_an_error(plain, tmp_path, monkeypatch, seed):
    random = Random(seed)
    path, file = tmp_path / "lines", tmp_path / "file"
    path.write_bytes(text_of(lines(0, 1000)))
    create(plain)
    plain.copy(KEY, "backup")
    load_through_events(plain, path, random)
    assert present(plain, lines(0, 1000)) == 1000

    real = dump.chunks_of
    events = random.sample([*REPLACEMENTS, "nothing"], 2)

    def chunks_of(client, head, key):
        for chunk in real(client, head, key):
            yield chunk
            if events and (name := events.pop()) != "nothing":
                REPLACEMENTS[name](client)

    monkeypatch.setattr(dump, "chunks_of", chunks_of)
    try:
        copying.export(plain, argparse.Namespace(key=KEY, file=str(file)))
    except Exception as error:
        assert not isinstance(error, AssertionError)
        assert not file.exists()
        return
    monkeypatch.undo()
    options = argparse.Namespace(key=KEY, file=str(file), replace=True)
    copying.import_(plain, options)
    assert present(plain, lines(0, 1000)) == 1000
