"""The file without a name that holds what a command need not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from snapfs.errors import StorageFullError
from snapfs.storage.scratch import ScratchFile
from tests.harness.filesystems import MIB, mounted


def test_records_come_back_in_any_order() -> None:
    file = ScratchFile()
    records = [b"", b"x", os.urandom(300_000), b"y" * 7]
    places = [file.append(record) for record in records]
    for number in (2, 0, 3, 1, 2):
        assert file.read(places[number]) == records[number]
    file.close()
    file.close()


def test_nothing_is_left_in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    file = ScratchFile()
    file.append(b"x")
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del file
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_room_names_the_directory_and_keeps_what_there_is(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted("tmpfs", workspace / "t", size=MIB) as point:
        monkeypatch.setattr(tempfile, "tempdir", str(point))
        file = ScratchFile()
        kept = file.append(b"a" * 1000)
        with pytest.raises(StorageFullError) as caught:
            file.append(b"b" * 2 * MIB)
        assert str(point) in caught.value.message
        assert "TMPDIR" in caught.value.hint
        assert file.read(kept) == b"a" * 1000
        file.close()
