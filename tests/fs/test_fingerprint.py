"""The fingerprint of a directory is one value, however the directory is looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapfs.fs import fingerprint, handles
from snapfs.fs.fingerprint import Fingerprint, glance
from snapfs.fs.handles import sorted_names

RULES = b"r" * 32


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    for number in range(20):
        (tmp_path / f"f{number:02d}").write_bytes(b"x" * number)
    (tmp_path / "f10-dir").mkdir()
    (tmp_path / "f10-link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "f10-pipe")
    os.close(os.open(os.fsencode(tmp_path) + b"/f10-\xff", os.O_CREAT | os.O_WRONLY, 0o600))
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize("slice_", [1, 5, 8, 24, 25, 8192])
def test_a_glance_is_what_is_seen_entry_by_entry(
    directory: int, slice_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "SLICE", slice_)
    names = sorted_names(directory)
    stats = [os.lstat(name, dir_fd=directory) for name in names]
    mark = Fingerprint(RULES)
    for name, st in zip(names, stats, strict=True):
        mark.add(name, st)
    seen = glance(directory, names, RULES, ())
    assert seen is not None
    assert seen.value == mark.value()
    assert seen.stats == (stats if len(names) <= slice_ else None)
    assert [name for name, _ in seen.directories] == [b"f10-dir"]
    assert (seen.entries, seen.files, seen.total_bytes) == (24, 21, sum(range(20)))


def test_a_glance_at_nothing(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert glance(fd, [], RULES, ()) == (Fingerprint(RULES).value(), [], [], 0, 0, 0)
    finally:
        os.close(fd)


def test_a_glance_leaves_what_vanished_to_a_closer_look(directory: int) -> None:
    assert glance(directory, [b"f00", b"gone"], RULES, ()) is None


@pytest.mark.parametrize("at_once", [1, 7, 24, 8192])
def test_names_are_sorted_bytes_however_many(
    directory: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "_NAMES_AT_ONCE", at_once)
    names = sorted_names(directory)
    assert names == sorted(os.listdir(b"/proc/self/fd/%d" % directory))
    assert b"f10-\xff" in names and len(names) == 24
