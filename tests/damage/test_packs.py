"""Damage in a pack: verify names it and what it touches, everything else restores."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.damage.conftest import Stored
from tests.damage.damaging import DAMAGES, flip
from tests.harness.trees import assert_same, differences, survey

INDEX = 0.999999
"""The last byte of a pack belongs to the trailer of its index."""


def touched(stored: Stored, number: int) -> set[bytes]:
    return {name.encode() for name in stored.added[number]}


@pytest.mark.parametrize("how", DAMAGES)
def test_segment(how: str, stored: Stored) -> None:
    DAMAGES[how](stored.packs[1], 0.4)
    found = stored.snapfs.verify(cwd=stored.tree, ok=(3,))
    said = found.text + found.errors
    assert stored.packs[1].name in said
    assert "s1-f" in said, "the files that the damage touches are named"
    assert "s1" in said and "s2" in said
    assert "s0-f" not in said
    assert stored.packs[0].name not in said

    assert_same(stored.states[0], stored.restore(0)[0])
    restored, errors = stored.restore(1, ok=(3,))
    missing = stored.states[1].facts.keys() - restored.facts.keys()
    assert missing
    assert missing <= touched(stored, 1), "every untouched file still restores"
    for path in missing:
        assert path.decode() in errors
    assert_same(stored.states[1].without(missing), restored)


@pytest.mark.parametrize("how", ["truncate", "flip", "zero"])
def test_index(how: str, stored: Stored) -> None:
    """The index at a pack's end is for finding blocks without the catalog: no file needs it."""
    if how == "zero":
        # A whole sector would reach into the last segment: index and trailer are 76 bytes.
        pack = stored.packs[1]
        with pack.open("r+b") as file:
            file.seek(pack.stat().st_size - 60)
            file.write(bytes(60))
    else:
        DAMAGES[how](stored.packs[1], INDEX)
    found = stored.snapfs.verify(cwd=stored.tree, ok=(3,))
    assert stored.packs[1].name in found.text + found.errors
    stored.check_all()
    # Without the catalog the pack is read by scanning its segments.
    (stored.snapfs.repository / "catalog.db").unlink()
    stored.snapfs("rebuild-catalog", "--yes", cwd=stored.tree, ok=(0, 3))
    stored.check_all()


def test_damage_found_by_restore_alone(stored: Stored) -> None:
    """Without a verify before: no damaged byte under a final name without a word."""
    for at in (0.05, 0.3, 0.55, 0.8):
        flip(stored.packs[0], at)
    restored, errors = stored.restore(2, ok=(3,))
    different = differences(stored.states[2], restored)
    assert different
    assert all("only in first" in line for line in different), different
    assert errors.count("s0-f") >= len(different)


def test_damage_in_place_keeps_what_is_there(stored: Stored, workspace: Path) -> None:
    """In place, a file whose bytes are damaged is not replaced by anything less."""
    live = workspace / "live"
    stored.snapfs.restore("s0", live, cwd=stored.tree)
    for path in live.glob("s0-f*"):
        path.write_bytes(b"live " + path.name.encode())
    flip(stored.packs[0], 0.4)
    done = stored.snapfs(
        "restore", "s0", "--to", live, "--overwrite", "always", cwd=stored.tree, ok=(3,)
    )
    for path in live.glob("s0-f*"):
        same = path.read_bytes() == (stored.tree / path.name).read_bytes()
        assert same or path.read_bytes() == b"live " + path.name.encode()
        assert same or path.name in done.errors


def test_case_52_flips_at_many_places(stored: Stored) -> None:
    """25 flips: each is found, and a later create of the same source heals what it can."""
    rng = random.Random(52)
    for turn in range(25):
        pack = stored.packs[turn % 3]
        at = rng.random()
        flip(pack, at)
        found = stored.snapfs.verify(cwd=stored.tree, ok=(3,))
        assert pack.name in found.text + found.errors, at
        flip(pack, at)
    stored.snapfs.verify(cwd=stored.tree)
    flip(stored.packs[0], 0.4)
    stored.snapfs.verify(cwd=stored.tree, ok=(3,))
    stored.snapfs.create(stored.tree, "healing", "--checksum")
    target = stored.scratch / "healed"
    stored.snapfs.restore("healing", target, cwd=stored.tree)
    assert_same(survey(stored.tree), survey(target))
    stored.check_all()


def test_sample(stored: Stored) -> None:
    """--sample reads a share of the bytes; all of them find what --data finds."""
    stored.snapfs("verify", "--sample", "5%", cwd=stored.tree)
    flip(stored.packs[2], 0.5)
    stored.snapfs("verify", "--sample", "100%", cwd=stored.tree, ok=(3,))
