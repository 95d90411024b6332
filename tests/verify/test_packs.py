"""Damage in packs: what is damaged is named, and exactly the files and snapshots that it touches."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from snapfs.blocks.pack import TRAILER_BYTES
from snapfs.blocks.segment import HEADER_BYTES
from snapfs.errors import LockedError
from snapfs.progress import RecordingProgress
from snapfs.repository.locks import GC
from snapfs.verify import VerifyOptions, VerifyResult, verify
from tests.damage.damaging import flip
from tests.verify.repositories import Store

Damaged = dict[bytes, tuple[str, ...]]

EVERYTHING_OF_S0: Damaged = {
    b"a/deep/moved": ("s0",),
    b"b/moved": ("s1", "s2"),
    b"big": ("s0", "s1", "s2"),
    b"linked": ("s0", "s1", "s2"),
    b"a/linked-too": ("s0", "s1", "s2"),
    b"changed": ("s0",),
    b"gone": ("s0",),
}
SMALL_OF_S0 = {path: names for path, names in EVERYTHING_OF_S0.items() if path != b"big"}


def pack_of(history: Store, snapshot: int) -> Path:
    """The pack that a snapshot added."""
    name = sorted(history.tables()["PACK"])[snapshot][1]
    return history.path / "packs" / str(name)


class Small(NamedTuple):
    """The segment that has the small files of s0."""

    ordinal: int
    offset: int
    stored: int
    blocks: int


def small_segment(history: Store) -> Small:
    tables = history.tables()
    (segment,) = {row[2] for row in tables["BLOCK"] if row[4] == 1000}
    pack = min(row[1] for row in tables["SEGMENT"])
    places = sorted((row[2], row[3], row[0]) for row in tables["SEGMENT"] if row[1] == pack)
    ordinal = [place[2] for place in places].index(segment)
    count = sum(row[2] == segment for row in tables["BLOCK"])
    return Small(ordinal, places[ordinal][0], places[ordinal][1], count)


def damaged(result: VerifyResult) -> Damaged:
    assert {file.root for file in result.damaged} <= {"tree"}
    assert len({file.path for file in result.damaged}) == len(result.damaged)
    return {file.path: file.snapshots for file in result.damaged}


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("data", [True, False])
def test_missing_pack(data: bool, history: Store) -> None:
    pack = pack_of(history, 0)
    pack.unlink()
    result = history.verify(data=data)
    (finding,) = result.findings
    assert (finding.where, finding.what) == (f"packs/{pack.name}", "pack is missing")
    assert damaged(result) == EVERYTHING_OF_S0


def test_symlinked_pack(history: Store, workspace: Path) -> None:
    pack = pack_of(history, 0)
    pack.rename(workspace / "elsewhere")
    pack.symlink_to(workspace / "elsewhere")
    result = history.verify()
    (finding,) = result.findings
    assert finding.where == f"packs/{pack.name}"
    assert damaged(result) == EVERYTHING_OF_S0


def test_swapped_packs(history: Store) -> None:
    """No pack is believed by its name."""
    first, second = pack_of(history, 0), pack_of(history, 1)
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    result = history.verify()
    assert {finding.where for finding in result.findings} == {
        f"packs/{first.name}",
        f"packs/{second.name}",
    }
    assert damaged(result).keys() >= EVERYTHING_OF_S0.keys()


@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("part", ["header", "lengths", "digests", "payload"])
def test_segment(part: str, data: bool, history: Store) -> None:
    pack = pack_of(history, 0)
    ordinal, offset, stored, count = small_segment(history)
    at = {
        "header": 3,
        "lengths": HEADER_BYTES + count,
        "digests": HEADER_BYTES + 4 * count + 5,
        "payload": stored - 10,
    }[part]
    byte = pack.read_bytes()[offset + at]
    overwrite(pack, offset + at, bytes([byte ^ 0x10]))
    result = history.verify(data=data)
    if part == "payload" and not data:
        assert result.findings == ()
        return
    assert result.findings
    assert all(
        (finding.where, finding.offset) == (f"packs/{pack.name}", offset)
        for finding in result.findings
    )
    assert {finding.segment for finding in result.findings} == {ordinal}
    # The table is for finding blocks without the catalog: no file needs it.
    assert damaged(result) == ({} if part in ("lengths", "digests") else SMALL_OF_S0)


@pytest.mark.parametrize("data", [True, False])
def test_truncated_pack(data: bool, history: Store) -> None:
    pack = pack_of(history, 0)
    small = small_segment(history)
    os.truncate(pack, small.offset + small.stored // 2)
    result = history.verify(data=data)
    assert any(finding.what == "segment is cut off" for finding in result.findings)
    assert any("bytes instead of" in finding.what for finding in result.findings)
    behind = {
        finding.segment for finding in result.findings if finding.what == "segment is cut off"
    }
    assert min(behind) == small.ordinal
    assert damaged(result) in (SMALL_OF_S0, EVERYTHING_OF_S0)


@pytest.mark.parametrize("at", [2, -5, -TRAILER_BYTES - 3])
def test_frame(at: int, history: Store) -> None:
    """Header, trailer and index of a pack: no file needs them."""
    pack = pack_of(history, 1)
    data = bytearray(pack.read_bytes())
    data[at] ^= 1
    pack.write_bytes(data)
    result = history.verify(data=False)
    (finding,) = result.findings
    assert finding.where == f"packs/{pack.name}"
    assert finding.segment is None
    assert result.damaged == ()


def test_every_flip_is_found(history: Store) -> None:
    rng = random.Random(3)
    for turn in range(40):
        pack = pack_of(history, turn % 3)
        at = rng.random()
        flip(pack, at)
        result = history.verify()
        assert {finding.where for finding in result.findings} == {f"packs/{pack.name}"}
        flip(pack, at)
    history.clean()


def test_one_segment_of_a_large_file(history: Store) -> None:
    pack = pack_of(history, 0)
    first = min(row[2] for row in history.tables()["SEGMENT"])
    overwrite(pack, first + 500_000, b"damage")
    result = history.verify()
    assert damaged(result) == {b"big": ("s0", "s1", "s2")}
    assert [finding.segment for finding in result.findings] == [0]


def test_sample(history: Store) -> None:
    pack = pack_of(history, 0)
    overwrite(pack, 500_000, b"damage")
    assert history.verify(sample=0.0).findings == ()
    assert damaged(history.verify(sample=1.0)) == {b"big": ("s0", "s1", "s2")}
    nothing, everything = (history.verify(sample=share).read_bytes for share in (0.0, 1.0))
    assert nothing < history.verify(sample=0.5).read_bytes < everything
    assert nothing < history.verify(sample=0.001).read_bytes < everything  # one segment at least


def test_strangers_are_told_and_are_no_damage(history: Store, workspace: Path) -> None:
    other = Store(workspace / "other")
    other.base.mkdir()
    (other.tree() / "f").write_bytes(b"foreign")
    other.take("s0")
    (foreign,) = other.packs()
    packs = history.path / "packs"
    shutil.copyfile(other.path / "packs" / foreign, packs / foreign)
    own = pack_of(history, 1)
    shutil.copyfile(own, packs / ("f" * 32))
    (packs / "tmp-root-1-0").write_bytes(b"unfinished")
    (packs / "notes.txt").write_bytes(b"mine")
    (packs / "folder").mkdir()
    result = history.verify()
    assert result.findings == ()
    assert result.damaged == ()
    assert sorted(history.notes) == sorted(
        [
            f"packs/{foreign} is a pack of another repository",
            f"packs/{'f' * 32} is a pack that the catalog does not know; "
            "the next create takes it in if it is sound",
            "packs/tmp-root-1-0 is unfinished",
            "packs/notes.txt is no pack",
            "packs/folder is no pack",
        ]
    )


def test_packs_stay_while_they_are_read(history: Store) -> None:
    seen: list[str] = []

    class Watching(RecordingProgress):
        def phase(
            self, name: str, *, entries: int | None = None, total_bytes: int | None = None
        ) -> None:
            seen.append(name)
            with history.open() as other:
                # Another reader or writer may come in, nobody may remove blocks.
                with other.locks.hold_blocks(0):
                    pass
                with (
                    pytest.raises(LockedError),
                    other.locks.hold(GC, exclusive=True, wait_s=0),
                ):
                    pass

    with history.open(write=False) as repository:
        verify(repository, VerifyOptions(data=True), progress=Watching())
    assert "checking packs" in seen


def test_change_meanwhile_is_no_damage(history: Store) -> None:
    """Snapshots that others take and delete while verify reads."""
    tree = history.tree("other")
    number = 0

    class Busy(RecordingProgress):
        def phase(
            self, name: str, *, entries: int | None = None, total_bytes: int | None = None
        ) -> None:
            nonlocal number
            number += 1
            (tree / f"f{number}").write_bytes(os.urandom(1000))
            history.take(f"busy{number}", tree)
            if number > 1:
                history.delete(f"busy{number - 1}")

    with history.open(write=False) as repository:
        result = verify(repository, VerifyOptions(data=True), progress=Busy())
    assert result.findings == ()
    assert number >= 3
    history.clean()


@pytest.mark.parametrize("change", ["delete", "rename"])
def test_touched_after_more_history(change: str, store: Store) -> None:
    """A file that came back, and directories that moved, are named where they were in each snapshot."""
    tree = store.tree()
    (tree / "x" / "y").mkdir(parents=True)
    (tree / "x" / "y" / "f").write_bytes(b"the bytes")
    store.take("s0")
    (pack,) = store.packs()
    steps: dict[str, Callable[[], object]] = {
        "s1": lambda: (tree / "x").rename(tree / "z"),
        "s2": lambda: (tree / "z" / "y" / "f").unlink(),
        "s3": lambda: (tree / "z" / "y" / "g").write_bytes(b"the bytes"),
        "s4": lambda: (tree / "z" / "y").rename(tree / "y"),
    }
    for name, step in steps.items():
        step()
        store.take(name)
    expected: Damaged = {
        b"x/y/f": ("s0",),
        b"z/y/f": ("s1",),
        b"z/y/g": ("s3",),
        b"y/g": ("s4",),
    }
    if change == "delete":
        store.delete("s1", "s3")
        expected = {b"x/y/f": ("s0",), b"y/g": ("s4",)}
    (store.path / "packs" / pack).unlink()
    assert damaged(store.verify()) == expected
