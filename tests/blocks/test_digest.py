"""Digests of blocks, contents and directories."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapfs.blocks.digest import (
    block_digest,
    canonical_extents,
    checksum,
    content_digest,
    signed,
)
from snapfs.blocks.treedigest import TreeChild, tree_digest
from snapfs.model.extents import ExtentKind

BLOCK, ZERO, HOLE = int(ExtentKind.BLOCK), int(ExtentKind.ZERO), int(ExtentKind.HOLE)
A, B = block_digest(b"a"), block_digest(b"b")


def test_block_digest_is_blake3() -> None:
    # The published test vector for the empty input.
    assert block_digest(b"").hex().startswith("af1349b9f5f9a1a6a0404dea36dcc949")
    assert block_digest(memoryview(b"xay")[1:2]) == A


def test_content_of_one_block_has_its_digest() -> None:
    assert content_digest([(BLOCK, 1, A)]) == A
    assert content_digest([(ZERO, 0, b""), (BLOCK, 1, A), (HOLE, 0, b"")]) == A


def test_neighbouring_runs_are_one() -> None:
    split = [(HOLE, 3, b""), (HOLE, 4, b""), (BLOCK, 1, A), (ZERO, 1, b""), (ZERO, 1, b"")]
    merged = [(HOLE, 7, b""), (BLOCK, 1, A), (ZERO, 2, b"")]
    assert canonical_extents(split) == merged
    assert content_digest(split) == content_digest(merged)


def test_different_maps_have_different_digests() -> None:
    contents: list[list[tuple[int, int, bytes]]] = [
        [],
        [(ZERO, 1, b"")],
        [(HOLE, 1, b"")],
        [(HOLE, 2, b"")],
        [(BLOCK, 1, A)],
        [(BLOCK, 1, A), (BLOCK, 1, B)],
        [(BLOCK, 1, B), (BLOCK, 1, A)],
        [(BLOCK, 1, A), (BLOCK, 1, A)],
        [(BLOCK, 1, A), (ZERO, 1, b"")],
        [(BLOCK, 1, A), (HOLE, 1, b"")],
        [(ZERO, 1, b""), (BLOCK, 1, A)],
        [(ZERO, 1, b""), (HOLE, 1, b""), (ZERO, 1, b"")],
    ]
    assert len({content_digest(content) for content in contents}) == len(contents)


def test_a_block_made_like_a_list_is_not_that_content() -> None:
    extents = [(BLOCK, 1, A), (BLOCK, 1, B)]
    forged = b"".join((length << 2 | kind).to_bytes(8, "little") + d for kind, length, d in extents)
    assert block_digest(forged) != content_digest(extents)


@given(st.integers(0, 2**64 - 1))
def test_signed_is_twos_complement(value: int) -> None:
    assert signed(value).to_bytes(8, "little", signed=True) == value.to_bytes(8, "little")


def test_checksum_is_xxh3() -> None:
    assert checksum(b"") == 0x2D06800538D394C2


CHILD = TreeChild(
    b"name", 1, 0o644, 1000, 1000, 0, b"", 5, 1_700_000_000, 999_999_999, 0, b"", A, 0
)


@pytest.mark.parametrize("field", TreeChild._fields)
def test_every_field_of_a_child_counts(field: str) -> None:
    value = getattr(CHILD, field)
    other = CHILD._replace(**{field: value + (b"x" if isinstance(value, bytes) else 1)})
    assert tree_digest([CHILD]) != tree_digest([other])


def test_bytes_do_not_wander_between_fields() -> None:
    children = [
        CHILD._replace(name=b"ab", target=b"", xattr=b"c"),
        CHILD._replace(name=b"a", target=b"", xattr=b"bc"),
        CHILD._replace(name=b"a", target=b"bc", xattr=b""),
        CHILD._replace(name=b"a", target=b"b", xattr=b"c"),
        CHILD._replace(name=b"a", target=b"b", xattr=b"", digest=b"c" + A),
    ]
    assert len({tree_digest([child]) for child in children}) == len(children)


def test_tuples_will_do_and_order_counts() -> None:
    other = CHILD._replace(name=b"other")
    plain = (b"name", 1, 0o644, 1000, 1000, 0, b"", 5, 1_700_000_000, 999_999_999, 0, b"", A, 0)
    assert tree_digest([plain]) == tree_digest([CHILD])
    assert tree_digest([CHILD, other]) != tree_digest([other, CHILD])
    assert tree_digest([]) != tree_digest([CHILD])


def test_a_large_directory_is_hashed_in_parts() -> None:
    children = [CHILD._replace(name=b"%06d" % i, digest=os.urandom(32)) for i in range(9000)]
    assert tree_digest(iter(children)) == tree_digest(children)
    assert tree_digest(children[:-1]) != tree_digest(children)


def test_digests_of_format_1() -> None:
    """Repositories exchange these: they never change."""
    assert (
        tree_digest([CHILD]).hex()
        == "a480be71096ecc19c27fe07e783fbce9a3992f1ef52ff86934f4d6c529619d1d"
    )
    assert (
        content_digest([(BLOCK, 1, A), (HOLE, 4096, b"")]).hex()
        == "3052026955ce2ebb8f02e393be5d8a9e3174f52b1216a2b4ad4a5f38d1f9459d"
    )
