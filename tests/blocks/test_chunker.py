"""Cutting: borders depend on content alone, and sizes keep their limits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapfs.blocks.chunker import AVERAGE_BLOCK, MAX_BLOCK, MIN_BLOCK, WHOLE_MAX, Chunker, is_zero

DATA = random.Random(1).randbytes(4 * 1024 * 1024)


def cut_in_windows(data: bytes, sizes: list[int]) -> list[int]:
    """Feed windows of these sizes (the last one again and again), as a caller does."""
    chunker = Chunker()
    lengths: list[int] = []
    window = b""
    at = turn = 0
    while True:
        size = sizes[min(turn, len(sizes) - 1)]
        window += data[at : at + size]
        at += size
        turn += 1
        cut = chunker.cut(window, last=at >= len(data))
        lengths += cut
        window = window[sum(cut) :]
        if at >= len(data):
            assert not window
            return lengths
        assert len(window) <= MAX_BLOCK


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 700_000), min_size=1, max_size=5))
def test_cuts_do_not_depend_on_windows(sizes: list[int]) -> None:
    sizes.append(MAX_BLOCK + 1)
    assert cut_in_windows(DATA, sizes) == Chunker().cut(DATA, last=True)


def test_sizes_keep_their_limits() -> None:
    lengths = Chunker().cut(DATA, last=True)
    assert sum(lengths) == len(DATA)
    assert all(MIN_BLOCK <= length <= MAX_BLOCK for length in lengths[:-1])
    assert AVERAGE_BLOCK / 2 < len(DATA) / len(lengths) < AVERAGE_BLOCK * 2


def test_an_insertion_moves_few_borders() -> None:
    changed = DATA[:1_000_000] + b"inserted" + DATA[1_000_000:]

    def blocks(data: bytes) -> set[bytes]:
        out = set()
        at = 0
        for length in Chunker().cut(data, last=True):
            out.add(data[at : at + length])
            at += length
        return out

    assert len(blocks(changed) - blocks(DATA)) <= 3


def test_cuts_of_format_1() -> None:
    """The same file gives the same blocks in every repository and version."""
    assert (WHOLE_MAX, MIN_BLOCK, AVERAGE_BLOCK, MAX_BLOCK) == (262144, 16384, 65536, 262144)
    assert Chunker().cut(DATA, last=True)[:6] == [33258, 78308, 80973, 39403, 28737, 67810]
    assert Chunker().cut(bytes(1_000_000), last=True) == [262144, 262144, 262144, 213568]


def test_a_chunker_may_be_used_again() -> None:
    chunker = Chunker()
    assert chunker.cut(DATA, last=True) == chunker.cut(memoryview(DATA), last=True)
    assert chunker.cut(b"", last=True) == []
    assert chunker.cut(b"x", last=True) == [1]
    assert chunker.cut(b"x", last=False) == []


@pytest.mark.parametrize("size", [1, 2, 4095, 4096, MAX_BLOCK])
def test_zeros_are_told_from_almost_zeros(size: int) -> None:
    assert is_zero(bytes(size))
    assert is_zero(memoryview(bytes(size)))
    for at in {0, size // 2, size - 1}:
        data = bytearray(size)
        data[at] = 1
        assert not is_zero(memoryview(data))
