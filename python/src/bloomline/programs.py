"""The calls of a filter as programs without input and output, which `drivers` runs.

A program is a generator. It yields the calls of one pipeline, and is resumed with their replies: an
error reply is an exception object among them. So the clients that wait and those of asyncio share
all code but one loop.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from .answers import Answers, Builder, of_booleans
from .creation import Create, CreateCuckoo, text_of, window_text
from .errors import BloomlineError, BulkError, reason_of
from .identity import Watch, identity_call
from .packing import Batch, Item, Items, Word, batches, check_types
from .replies import as_dict, is_exists, is_full, is_missing, is_unknown

T = TypeVar("T")
Call = tuple[Word, ...]
Program = Generator[list[Call], list[Any], T]

_NO_BLOOMLINE = "{} needs the module Bloomline, which the server does not have"

# Items of one call to a server without packed calls.
_PLAIN_ITEMS = 1000


@dataclass(frozen=True)
class Verb:
    """A command in its forms for one item and for many.

    `plain` takes an argument per item; without it, one call of `single` per item takes its place.
    `in_flight` is the number of batches that are sent before a reply is read.
    """

    single: str
    packed: str
    plain: str | None
    adds: bool = False
    in_flight: int = 4


BF_ADD = Verb("BF.ADD", "BF.BULKADD", "BF.MADD", adds=True)
BF_EXISTS = Verb("BF.EXISTS", "BF.BULKEXISTS", "BF.MEXISTS")
# Whatever follows a failed call must not be added: a repetition would add it a second time.
CF_ADD = Verb("CF.ADD", "CF.BULKADD", None, adds=True, in_flight=1)
CF_EXISTS = Verb("CF.EXISTS", "CF.BULKEXISTS", "CF.MEXISTS")
CF_DELETE = Verb("CF.DEL", "CF.BULKDEL", None, in_flight=1)


@dataclass
class Reply:
    """The reply for one batch: answers for a prefix of its items, and why that is not all.

    `ahead` is the number of items behind this prefix that were added nevertheless.
    """

    answers: Answers
    error: Exception | None = None
    ahead: int = 0

    def with_new(self, at: int) -> Reply:
        """The same, with the item `at` among those that are new."""
        if at < len(self.answers):
            return replace(self, answers=self.answers.with_true(at))
        return replace(self, ahead=self.ahead + 1)


class Programs:
    """The programs of one filter. `create` is used whenever the filter is missing."""

    def __init__(self, key: str, create: Create | CreateCuckoo | None) -> None:
        self.key = key
        self.make = create
        # Whether the server has packed calls: unknown before the first one.
        self.is_packed: bool | None = None
        # Whether the filter was compared with `create`, as far as the user may read its window.
        self._is_checked = False
        # Whether the server has accepted an item with the options of `create`.
        self._is_accepted = False

    def create(self) -> Program[bool]:
        """Creates the filter. Returns whether there was none."""
        if self.make is None:
            raise ValueError("the filter has no parameters: give a Create")
        yield from self.check()
        is_new = yield from self._reserve()
        if not is_new:
            # It may have been created after it was found missing.
            yield from self.check()
        return is_new

    def _reserve(self) -> Program[bool]:
        """Creates the filter if there is none. Returns whether there was none."""
        if self.make is None:
            return False
        (reply,) = yield [self.make.reserve(self.key)]
        if isinstance(reply, Exception) and not is_exists(reply):
            raise reply
        return not isinstance(reply, Exception)

    def one(self, verb: Verb, item: Item) -> Program[bool]:
        """One call for one item, in one round trip."""
        call: Call = (verb.single, self.key, word_of(item))
        if verb.adds:
            yield from self.check()
            if isinstance(self.make, Create):
                call = self.make.insert(self.key, (call[-1],))
            else:
                yield from self._reserve()
        (reply,) = yield [call]
        if isinstance(reply, list):
            (reply,) = reply
        if isinstance(reply, Exception):
            raise reply
        return bool(reply)

    def many(self, verb: Verb, items: Items) -> Program[Answers]:
        """Packed calls for any number of items; memory for `in_flight` batches and the answers.

        If the filter is replaced during the call, items that have an answer are lost, so the call
        ends with an error.
        """
        builder, ahead = Builder(), 0
        watch: Watch | None = None
        is_later = False
        remaining = batches(items)
        is_created = not (verb.adds and isinstance(self.make, CreateCuckoo))
        while window := list(islice(remaining, verb.in_flight)):
            try:
                if not is_created:
                    yield from self.check()
                    yield from self._reserve()
                    is_created = True
                # A single call, for less than a window, is one step for the server.
                if watch is None and (is_later or verb.in_flight == len(window) > 1):
                    watch = Watch(self.key, is_there=is_later and verb.adds)
                is_later = True
                replies = yield from self.send(verb, window, watch)
            except Exception as error:
                raise ended(self.key, builder, 0, error) from error
            failed: Exception | None = None
            for reply in replies:
                if failed is not None:
                    ahead += reply.answers.ones + reply.ahead
                    continue
                builder.append(reply.answers)
                ahead += reply.ahead
                failed = reply.error
            if failed is not None:
                raise ended(self.key, builder, ahead, failed) from failed
        return builder.build()

    def fields(self, command: str) -> Program[dict[str, Any]]:
        """A call whose reply is a map of names and values."""
        (reply,) = yield [(command, self.key)]
        if isinstance(reply, Exception):
            raise reply
        return as_dict(reply)

    def number(self, command: str, *words: Word) -> Program[int]:
        """A call whose reply is a number."""
        (reply,) = yield [(command, self.key, *words)]
        if isinstance(reply, Exception):
            raise reply
        return int(reply)

    def status(self, command: str, *words: Word) -> Program[None]:
        """A call whose reply is OK."""
        (reply,) = yield [(command, self.key, *words)]
        if isinstance(reply, Exception):
            raise reply

    def send(
        self, verb: Verb, window: list[Batch], watch: Watch | None = None
    ) -> Program[list[Reply]]:
        """Sends batches in one pipeline, or one by one to a server without packed calls.

        Returns a reply per batch, of which there are fewer if one of them has an error. With a
        watch it is an error if the filter is another one than before, or changes meanwhile.
        """
        look = [identity_call(self.key, verb.packed[:2])] if watch is not None else []
        creation, at = (
            self._creation(window) if verb.adds and self.is_packed is not False else ([], 0)
        )
        is_new = False
        if creation and not self._is_accepted:
            # Nothing is sent before the server has compared the window once.
            try:
                yield from self.check()
                created, *found = yield [*creation, *look]
                is_new = _is_new([created])
                _notice(watch, found)
            except Exception as error:
                return [Reply(Answers(), error)]
            self._is_accepted, creation = True, []
        sent: list[Reply] = []
        if self.is_packed is not False:
            calls: list[Call] = [(verb.packed, self.key, *each.form, each.data) for each in window]
            replies = yield [*creation, *look, *calls, *look]
            start = len(creation) + len(look)
            created, packed = replies[: len(creation)], replies[start : start + len(calls)]
            self.is_packed = not is_unknown(packed[0])
            if self.is_packed:
                sent = [_of_packed(reply) for reply in packed]
                try:
                    is_new = is_new or _is_new(created)
                    _notice(watch, replies[len(creation) : start] + replies[start + len(calls) :])
                except Exception as error:
                    # The filter has been replaced since, or the user has lost the right.
                    sent[0] = Reply(Answers(), error, sent[0].answers.ones)
        if not self.is_packed:
            for batch in window:
                try:
                    sent.append((yield from self._send_plain(verb, batch.items)))
                except Exception as error:
                    sent.append(Reply(Answers(), error))
                if sent[-1].error is not None:
                    break
        if is_new:
            sent[0] = sent[0].with_new(at)
        return sent

    def _creation(self, window: list[Batch]) -> tuple[list[Call], int]:
        """The call that creates a Bloom filter with the first item of a window, and the item's
        place. It is the one that adds a single item, so it needs no other right.
        """
        if isinstance(self.make, Create):
            for at, item in enumerate(window[0].items):
                if item is not None:
                    return [self.make.insert(self.key, [word_of(item)])], at
        return [], 0

    def _send_plain(self, verb: Verb, items: Iterable[Item | None]) -> Program[Reply]:
        """The calls that RedisBloom and valkey-bloom have, one pipeline for a batch."""
        words = [word_of(item) for item in items if item is not None]
        groups = [words[at : at + _PLAIN_ITEMS] for at in range(0, len(words), _PLAIN_ITEMS)]
        if verb.plain is None:
            calls: list[Call] = [(verb.single, self.key, word) for word in words]
        elif verb.adds and isinstance(self.make, Create):
            calls = [self.make.insert(self.key, group) for group in groups]
        else:
            calls = [(verb.plain, self.key, *group) for group in groups]
        replies = yield calls
        answers = _one_by_one(replies)
        found: list[bool] = []
        failed: Exception | None = None
        for item in items:
            answer = False if item is None else next(answers)
            if isinstance(answer, Exception):
                failed = failed or answer
                # A full cuckoo filter tries the items after a refused one, as in a packed call.
                if verb is not CF_ADD or not is_full(answer):
                    break
                answer = False
            found.append(bool(answer))
        ahead = sum(answer == 1 for answer in answers)
        return Reply(of_booleans(found), failed, ahead if verb.adds else 0)

    def check(self) -> Program[None]:
        """Compares server and filter with the parameters, until a filter was compared.

        Raises:
            BloomlineError: the server does not have the options, or the filter another window.
        """
        if self._is_checked or self.make is None:
            return
        options = self.make.own_options()
        if isinstance(self.make, CreateCuckoo):
            if options:
                yield from need_bloomline(self.key, text_of(options))
            self._is_checked = True
            return
        (reply,) = yield [("BF.STATS", self.key, b"window")]
        if is_unknown(reply) and options:
            raise BloomlineError(_NO_BLOOMLINE.format(text_of(options)))
        if not isinstance(reply, Exception):
            found, wanted = as_dict(reply)["window"], self.make.kept()
            if found != wanted:
                raise BloomlineError(
                    f"the filter {self.key} has {window_text(found)}, but Create has "
                    f"{window_text(wanted)}: use the window of the filter, or another key"
                )
        # Without the right to ask, the server alone compares a window that is requested.
        self._is_checked = not (isinstance(reply, Exception) and is_missing(reply))


def need_bloomline(key: str, what: str) -> Program[None]:
    """Raises a `BloomlineError` that names `what` if the server does not have Bloomline."""
    (reply,) = yield [("BF.STATS", key)]
    if is_unknown(reply):
        raise BloomlineError(_NO_BLOOMLINE.format(what))


def gather(programs: list[Program[T]]) -> Program[list[T]]:
    """Runs programs in step: the calls of all of them are one pipeline. Returns their results."""
    results: dict[int, T] = {}
    waiting: dict[int, list[Call]] = {}

    def advance(number: int, replies: list[Any] | None) -> None:
        try:
            # `send(None)` starts a generator.
            waiting[number] = programs[number].send(replies)  # type: ignore[arg-type]
        except StopIteration as end:
            waiting.pop(number, None)
            results[number] = end.value

    for number in range(len(programs)):
        advance(number, None)
    while waiting:
        replies = yield [call for calls in waiting.values() for call in calls]
        at = 0
        for number, calls in list(waiting.items()):
            advance(number, replies[at : at + len(calls)])
            at += len(calls)
    return [results[number] for number in range(len(programs))]


def _one_by_one(replies: list[Any]) -> Iterator[Any]:
    for reply in replies:
        if isinstance(reply, list):
            yield from reply
        else:
            yield reply


def word_of(item: Item) -> bytes:
    """The bytes of an item. The client libraries would encode text by an option of the client, and
    take numbers as their digits.

    Raises:
        TypeError: the item is neither text nor bytes.
    """
    if isinstance(item, str):
        return item.encode()
    check_types([item])
    return bytes(item)


def _is_new(replies: list[Any]) -> bool:
    """Whether the call that creates a filter has added its item. Its error is raised."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    # An item that is refused is refused again.
    return any(added == 1 for added in _one_by_one(replies))


def _notice(watch: Watch | None, replies: list[Any]) -> None:
    if watch is not None:
        for reply in replies:
            watch.notice(reply)


def _of_packed(reply: Any) -> Reply:
    if isinstance(reply, Exception):
        return Reply(Answers(), reply)
    processed, bits, *refused = reply
    return Reply(Answers(bits, processed), refused[0] if refused else None)


def ended(key: str, builder: Builder, ahead: int, error: Exception) -> BulkError:
    """The error of a call that ended after the answers of `builder`; `ahead` more were new.

    `key` is the one whose call has failed.
    """
    answers = builder.build()
    new = answers.ones + ahead
    message = f"{key}: ended after {len(answers)} items, {new} of them new: {reason_of(error)}"
    return BulkError(message, answers, new)
