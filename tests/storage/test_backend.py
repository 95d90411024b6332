"""The storage contract, and what the file backend adds: every backend is to pass the first part."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapfs.errors import DamageError, StorageFullError
from snapfs.storage import Backend, FileBackend, MissingObjectError, StorageError, is_temporary
from snapfs.storage.contract import check_key


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[FileBackend]:
    with FileBackend(tmp_path) as backend:
        yield backend


def put(backend: Backend, key: str, data: bytes) -> None:
    folder, name = check_key(key)
    with backend.create(folder, "test") as writer:
        writer.write(data)
        writer.commit(name)


def get(backend: Backend, key: str) -> bytes:
    with backend.open_reader(key) as reader:
        return reader.pread(0, reader.size)


class TestContract:
    def test_what_is_committed_is_read_back(self, backend: Backend) -> None:
        put(backend, "packs/a", b"0123456789")
        with backend.open_reader("packs/a") as reader:
            assert reader.size == 10
            assert reader.pread(3, 4) == b"3456"
            assert reader.pread(8, 100) == b"89"
            assert reader.pread(10, 1) == b""
        assert backend.size("packs/a") == 10

    def test_nothing_has_the_name_before_commit(self, backend: Backend) -> None:
        with backend.create("packs", "run") as writer:
            writer.write(b"abc")
            assert writer.tell() == 3
            assert backend.names("packs") == [writer.temporary_name]
            assert is_temporary(writer.temporary_name)
            writer.commit("done")
            assert backend.names("packs") == ["done"]
            writer.abandon()
        assert get(backend, "packs/done") == b"abc"

    def test_what_is_not_committed_is_gone(self, backend: Backend) -> None:
        with pytest.raises(RuntimeError), backend.create("packs", "run") as writer:
            writer.write(b"abc")
            raise RuntimeError
        assert backend.names("packs") == []

    def test_commit_replaces(self, backend: Backend) -> None:
        put(backend, "config", b"old")
        put(backend, "config", b"new")
        assert get(backend, "config") == b"new"

    def test_names_are_sorted_and_a_missing_folder_is_empty(self, backend: Backend) -> None:
        assert backend.names("packs") == []
        for name in ("b", "a", "c"):
            put(backend, f"packs/{name}", b"x")
        assert backend.names("packs") == ["a", "b", "c"]

    def test_two_writers_at_once_do_not_meet(self, backend: Backend) -> None:
        with backend.create("packs", "run") as one, backend.create("packs", "run") as two:
            one.write(b"1")
            two.write(b"2")
            one.commit("one")
            two.commit("two")
        assert get(backend, "packs/one") == b"1"
        assert get(backend, "packs/two") == b"2"

    def test_what_is_set_aside_is_kept(self, backend: Backend) -> None:
        for data in (b"one", b"two"):
            put(backend, "packs/a", data)
            backend.set_aside("packs/a", "quarantine")
        assert backend.names("packs") == []
        assert backend.names("quarantine") == ["a", "a-2"]
        assert [get(backend, f"quarantine/{name}") for name in ("a", "a-2")] == [b"one", b"two"]
        with pytest.raises(MissingObjectError):
            backend.set_aside("packs/a", "quarantine")

    def test_a_leftover_of_the_same_run_is_not_touched(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        (tmp_path / "packs").mkdir()
        (tmp_path / "packs" / "tmp-run-0").write_bytes(b"left")
        with backend.create("packs", "run") as writer:
            writer.commit("new")
        assert backend.names("packs") == ["new", "tmp-run-0"]

    def test_removed_is_missing(self, backend: Backend) -> None:
        put(backend, "packs/a", b"x")
        backend.remove("packs/a")
        backend.sync("packs")
        for call in (backend.open_reader, backend.open_appender, backend.size, backend.remove):
            with pytest.raises(MissingObjectError) as caught:
                call("packs/a")
            assert caught.value.subject == "packs/a"
        with pytest.raises(MissingObjectError):
            backend.open_reader("nowhere/a")

    def test_appending_and_cutting(self, backend: Backend) -> None:
        put(backend, "journal/1", b"abc")
        with backend.open_appender("journal/1") as appender:
            assert appender.tell() == 3
            appender.append(b"def")
            appender.append(memoryview(b"ghi"))
            appender.sync()
            assert appender.tell() == 9
            appender.truncate(4)
            appender.append(b"X")
            appender.sync()
        assert get(backend, "journal/1") == b"abcdX"

    def test_large_writes_are_whole(self, backend: Backend) -> None:
        data = os.urandom(1 << 20) * 20
        put(backend, "packs/a", data)
        assert get(backend, "packs/a") == data

    @pytest.mark.parametrize(
        "key", ["", "/", "a/", "/a", "../a", "a/../b", ".", "a//b", "a\n", "a\0", "é", ".hidden"]
    )
    def test_keys_that_could_lead_elsewhere_are_refused(self, backend: Backend, key: str) -> None:
        for call in (backend.open_reader, backend.size, backend.remove, backend.open_appender):
            with pytest.raises(StorageError):
                call(key)


class TestFiles:
    def test_modes(self, backend: FileBackend, tmp_path: Path) -> None:
        put(backend, "packs/a", b"x")
        assert stat.S_IMODE((tmp_path / "packs").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "packs" / "a").stat().st_mode) == 0o600

    def test_new_files_go_to_the_owner(self, tmp_path: Path) -> None:
        with FileBackend(tmp_path, owner=(os.getuid(), os.getgid())) as backend:
            put(backend, "packs/a", b"x")
        if os.getuid() == 0:
            with FileBackend(tmp_path, owner=(4711, 4712)) as backend:
                put(backend, "other/b", b"x")
            for path in (tmp_path / "other", tmp_path / "other" / "b"):
                assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712)

    def test_a_symlinked_object_is_refused_by_name(
        self, backend: FileBackend, tmp_path: Path
    ) -> None:
        put(backend, "packs/real", b"x")
        (tmp_path / "packs" / "link").symlink_to("real")
        for call in (backend.open_reader, backend.open_appender, backend.size):
            with pytest.raises(StorageError, match="packs/link") as caught:
                call("packs/link")
            assert not isinstance(caught.value, MissingObjectError)

    def test_a_symlinked_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "a").write_bytes(b"secret")
        (tmp_path / "packs").symlink_to("elsewhere")
        with FileBackend(tmp_path) as backend:
            with pytest.raises(StorageError):
                backend.open_reader("packs/a")
            with pytest.raises(StorageError):
                backend.create("packs", "run")
            with pytest.raises(StorageError):
                backend.names("packs")

    def test_a_fifo_does_not_hang(self, backend: FileBackend, tmp_path: Path) -> None:
        (tmp_path / "packs").mkdir()
        os.mkfifo(tmp_path / "packs" / "fifo")
        with pytest.raises(StorageError, match="plain file"):
            backend.open_reader("packs/fifo")
        with pytest.raises(StorageError):
            backend.open_appender("packs/fifo")

    def test_the_repository_may_be_moved_while_it_is_open(self, tmp_path: Path) -> None:
        (tmp_path / "old").mkdir()
        with FileBackend(tmp_path / "old") as backend:
            put(backend, "packs/a", b"x")
            (tmp_path / "old").rename(tmp_path / "new")
            put(backend, "packs/b", b"y")
            assert backend.names("packs") == ["a", "b"]

    def test_a_descriptor_will_do(self, tmp_path: Path) -> None:
        fd = os.open(tmp_path, os.O_RDONLY)
        try:
            with FileBackend(fd) as backend:
                put(backend, "packs/a", b"x")
            os.fstat(fd)
        finally:
            os.close(fd)

    def test_no_descriptor_is_left(self, tmp_path: Path) -> None:
        before = len(os.listdir("/proc/self/fd"))
        with FileBackend(tmp_path) as backend:
            for name in ("a", "b"):
                put(backend, f"packs/{name}", b"x")
                get(backend, f"packs/{name}")
            with pytest.raises(RuntimeError), backend.create("packs", "run"):
                raise RuntimeError
        backend.close()
        assert len(os.listdir("/proc/self/fd")) == before

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
    def test_a_full_disk_says_so(
        self, backend: FileBackend, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        put(backend, "journal/1", b"abc")

        def fail(*args: object) -> int:
            raise OSError(number, os.strerror(number))

        with backend.create("packs", "run") as writer:
            monkeypatch.setattr(os, "write", fail)
            with pytest.raises(StorageFullError):
                writer.write(b"x")
        monkeypatch.setattr(os, "pwrite", fail)
        with backend.open_appender("journal/1") as appender, pytest.raises(StorageFullError):
            appender.append(b"x")
        assert backend.names("packs") == []

    def test_an_unreadable_sector_is_damage(
        self, backend: FileBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: object) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        put(backend, "packs/a", b"x")
        with backend.open_reader("packs/a") as reader:
            monkeypatch.setattr(os, "pread", fail)
            with pytest.raises(DamageError, match="packs/a"):
                reader.pread(0, 1)
