"""The table that says what the workers of a run store already."""

from __future__ import annotations

import hashlib
import multiprocessing
import os

from snapfs.blocks.digest import block_digest
from snapfs.capture import claims
from snapfs.capture.claims import Claims, make_table

COUNT = 20_000


def digests(count: int) -> list[bytes]:
    return [hashlib.sha256(b"%d" % number).digest() for number in range(count)]


def table() -> tuple[Claims, Claims]:
    """Two views of one table."""
    fd = make_table()
    views = Claims(fd), Claims(fd)
    os.close(fd)
    return views


def test_each_is_claimed_once_by_either() -> None:
    one, other = table()
    found = digests(1000)
    for number, digest in enumerate(found):
        assert (one if number % 2 else other).claim(digest)
    assert not any(view.claim(digest) for digest in found for view in (one, other))


def test_what_begins_alike_is_told_apart() -> None:
    """A digest counts as claimed only as a whole."""
    one, other = table()
    alike = [b"same" * 2 + bytes([number]) * 24 for number in range(1, 4)]
    assert all(one.claim(digest) for digest in alike)
    assert not any(other.claim(digest) for digest in alike)
    more = [b"same" * 2 + bytes([number]) * 24 for number in range(4, 50)]
    assert all(one.claim(digest) for digest in more), "what it forgot it does not claim to know"


def test_a_full_table_forgets() -> None:
    one, _ = table()
    for digest in digests(3 * 256 * 1024):
        assert one.claim(digest)
    assert not one.claim(digests(3 * 256 * 1024)[-1])


def _claim(fd: int, found: list[bytes], say: object) -> None:
    view = Claims(fd)
    say.put([digest for digest in found if view.claim(digest)])  # type: ignore[attr-defined]


def test_processes_at_once() -> None:
    """Nothing is lost: each is claimed by somebody, and hardly any by both."""
    fd = make_table()
    found = digests(COUNT)
    context = multiprocessing.get_context("fork")
    say = context.Queue()
    running = [
        context.Process(target=_claim, args=(fd, order, say)) for order in (found, found[::-1])
    ]
    for process in running:
        process.start()
    claimed = [say.get(timeout=60) for _ in running]
    for process in running:
        process.join()
    os.close(fd)
    assert set(claimed[0]) | set(claimed[1]) == set(found)
    assert len(claimed[0]) + len(claimed[1]) < COUNT * 1.05


def test_small_ones_are_not_asked_about() -> None:
    class Sink:
        def __init__(self) -> None:
            self.stored: list[bytes] = []
            self.take_finished = self.flush = self.abandon = list

        def add(self, digest: bytes, data: bytes, *, large: bool = False) -> bool:
            self.stored.append(data)
            return True

    one, other = table()
    sinks = Sink(), Sink()
    both = [
        claims.ClaimingSink(sink, view)  # type: ignore[arg-type]
        for sink, view in zip(sinks, (one, other), strict=True)
    ]
    tiny, data = b"x" * (claims.WORTHWHILE - 1), b"x" * claims.WORTHWHILE
    for sink in both:
        sink.add(block_digest(tiny), tiny)
        sink.add(block_digest(data), data)
    assert sinks[0].stored == [tiny, data]
    assert sinks[1].stored == [tiny]
