"""Attributes, flags, holes, special files, temporary names, mounts, the machine."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapfs.fs import machine, temporary
from snapfs.fs.handles import open_file, open_path, open_top, proc_child, proc_path
from snapfs.fs.holes import Range, data_ranges, has_holes
from snapfs.fs.inodeflags import APPEND, IMMUTABLE, NODUMP, get_flags, set_flags
from snapfs.fs.mounts import Mount, is_network, mount_of, mounts_below, parse_mountinfo
from snapfs.fs.special import make_node
from snapfs.fs.syscalls import open_dir_same_mount, sync_filesystem
from snapfs.fs.xattrs import ACCESS_ACL, drop_xattr, has_xattr, read_xattrs
from snapfs.model.kinds import Kind
from snapfs.model.xattrs import pack_xattrs
from tests.harness.filesystems import bound, mounted
from tests.harness.require import need_root


@pytest.fixture
def top(workspace: Path) -> Iterator[int]:
    fd = open_top(os.fsencode(workspace))
    yield fd
    os.close(fd)


def test_attributes_of_every_kind(workspace: Path, top: int) -> None:
    need_root()
    (workspace / "f").touch()
    (workspace / "l").symlink_to("f")
    os.mkfifo(workspace / "p")
    os.setxattr(workspace / "f", "user.b\xff", b"\0\xff")
    for name in ("f", "l", "p"):
        os.setxattr(workspace / name, "trusted.t", name.encode(), follow_symlinks=False)
    of_link = pack_xattrs({b"trusted.t": b"l"})
    assert read_xattrs(proc_child(top, b"l")) == of_link
    assert read_xattrs(proc_child(top, b"p")) == pack_xattrs({b"trusted.t": b"p"})
    for name, expected in ((b"l", of_link), (b"p", pack_xattrs({b"trusted.t": b"p"}))):
        held = open_path(name, top)
        assert read_xattrs(proc_path(held), held=True) == expected
        os.close(held)
    fd = open_file(b"f", top)
    expected = pack_xattrs({"user.b\xff".encode(): b"\0\xff", b"trusted.t": b"f"})
    assert read_xattrs(fd) == expected == read_xattrs(proc_child(top, b"f"))
    assert not has_xattr(fd, ACCESS_ACL)
    drop_xattr(fd, b"trusted.t")
    drop_xattr(fd, b"trusted.t")
    assert not has_xattr(fd, b"trusted.t")
    os.close(fd)


def test_a_filesystem_without_attributes_has_none() -> None:
    fd = os.open("/proc/self", os.O_RDONLY)
    assert read_xattrs(fd) == b""
    os.close(fd)


def test_flags(workspace: Path, top: int) -> None:
    need_root()
    (workspace / "f").touch()
    fd = open_file(b"f", top)
    assert get_flags(fd) == 0
    set_flags(fd, IMMUTABLE | NODUMP)
    assert get_flags(fd) == IMMUTABLE | NODUMP
    set_flags(fd, APPEND)
    assert get_flags(fd) == APPEND
    set_flags(fd, 0)
    assert get_flags(fd) == 0
    os.close(fd)
    fd = os.open("/proc/self/status", os.O_RDONLY)
    assert get_flags(fd) == 0
    with pytest.raises(OSError):
        set_flags(fd, NODUMP)
    os.close(fd)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_holes(filesystem: Callable[[str], Path], kind: str) -> None:
    path = filesystem(kind) / "f"
    unit = 1 << 16
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 8 * unit)
    os.pwrite(fd, b"x" * unit, 2 * unit)
    os.pwrite(fd, b"y" * unit, 5 * unit)
    os.fsync(fd)
    assert has_holes(fd, 8 * unit)
    assert data_ranges(fd, 8 * unit) == [
        Range(False, 0, 2 * unit),
        Range(True, 2 * unit, unit),
        Range(False, 3 * unit, 2 * unit),
        Range(True, 5 * unit, unit),
        Range(False, 6 * unit, 2 * unit),
    ]
    assert data_ranges(fd, 0) == []
    os.ftruncate(fd, unit)
    assert data_ranges(fd, unit) == [Range(False, 0, unit)]
    # The file became shorter than its stat said: what is gone reads as a hole.
    assert sum(found.length for found in data_ranges(fd, 3 * unit)) == 3 * unit
    os.close(fd)


def test_where_holes_are_unknown_all_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(os, "lseek", refuse)
    assert data_ranges(0, 10) == [Range(True, 0, 10)]


def test_special_files(top: int) -> None:
    need_root()
    for kind, rdev in (
        (Kind.FIFO, 0),
        (Kind.SOCKET, 0),
        (Kind.CHAR, os.makedev(1, 3)),
        (Kind.BLOCK, os.makedev(7, 123)),
    ):
        name = kind.name.encode()
        make_node(name, top, kind, 0o600, rdev)
        found = os.stat(name, dir_fd=top, follow_symlinks=False)
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_rdev == rdev


def test_temporary_names(workspace: Path, top: int) -> None:
    name = temporary.new_name()
    assert temporary.is_temporary(name)
    assert name != temporary.new_name()
    for other in (name + b"\n", name[:-1], b"x" + name, name.upper()):
        assert not temporary.is_temporary(other)
    path = workspace / os.fsdecode(name)
    path.touch()
    with path.open("rb") as file:
        temporary.hold(file.fileno())
        assert not temporary.remove_abandoned(name, top)
        assert path.exists()
    assert temporary.remove_abandoned(name, top)
    assert not path.exists()
    path.symlink_to("/nonexistent")
    assert temporary.remove_abandoned(name, top)
    path.mkdir()
    assert not temporary.remove_abandoned(name, top)


def test_mount_points_are_not_entered(workspace: Path, top: int) -> None:
    need_root()
    (workspace / "plain").mkdir()
    (workspace / "link").symlink_to("plain")
    (workspace / "bind").mkdir()
    os.close(open_dir_same_mount(b"plain", top))
    with pytest.raises(OSError) as caught:
        open_dir_same_mount(b"link", top)
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
    with bound(workspace / "plain", workspace / "bind"):
        with pytest.raises(OSError) as caught:
            open_dir_same_mount(b"bind", top)
        assert caught.value.errno == errno.EXDEV
        below = [mount.point for mount in mounts_below(os.fsencode(workspace))]
        assert below == [os.fsencode(workspace / "bind")]
    with mounted("tmpfs", workspace / "t") as point:
        mount = mount_of(os.fsencode(point / "x"))
        assert mount is not None
        assert (mount.point, mount.fs_type) == (os.fsencode(point), b"tmpfs")
        sync_filesystem(top)
    assert not is_network(os.fsencode(workspace))


def test_mountinfo_is_parsed() -> None:
    text = (
        rb"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw" + b"\n"
        b"40 36 0:44 / /mnt 2/nfs rw - nfs4 host:/x rw\n"
        b"41 36 0:45 / /net rw shared:2 - nfs4 host:/x rw\n"
        b"42 36 0:46 / /view rw - fuse.snapfs snapfs ro\n"
        b"junk\n"
    )
    mounts = parse_mountinfo(text)
    assert mounts[0] == Mount(b"/mnt 2", b"ext3")
    assert [mount.is_network for mount in mounts] == [False, True, True, False]
    assert [mount.is_own for mount in mounts] == [False, False, False, True]
    assert mount_of(b"/net/x", mounts) == mounts[2]
    assert mount_of(b"/network", mounts) is None


def test_the_machine() -> None:
    assert len(machine.host_id()) == 32
    assert machine.host_id() == machine.host_id()
    assert machine.host_name()
    assert machine.user_name(0) == "root"
    assert machine.user_number("root") == 0
    assert machine.group_number(machine.group_name(0) or "") == 0
    assert machine.user_name(2**32 - 2) is None
    assert machine.group_name(2**31 + 5) is None
    assert machine.user_number("no such user") is None
    assert machine.group_number("no\0such") is None


def test_host_without_a_machine_id(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "id"
    monkeypatch.setattr(machine, "_ID_FILES", (str(path),))
    made = machine.host_id()
    assert len(made) == 32
    path.write_text("uninitialized\n")
    assert machine.host_id() == made
    path.write_text("0123456789ABCDEF0123456789abcdef\n")
    assert machine.host_id() == "0123456789abcdef0123456789abcdef"


def test_a_pipe_is_not_waited_for(workspace: Path, top: int) -> None:
    os.mkfifo(workspace / "p")
    fd = open_file(b"p", top)
    assert stat.S_ISFIFO(os.fstat(fd).st_mode)
    os.close(fd)


def test_openat2_may_be_forbidden(workspace: Path) -> None:
    """A sandbox that answers EPERM to unknown calls: devices still tell mounts apart."""
    code = (
        "import errno, os, sys\n"
        "from snapfs.fs import syscalls\n"
        "import ctypes\n"
        "class Refusing:\n"
        "    def syscall(self, *_): ctypes.set_errno(errno.EPERM); return -1\n"
        "syscalls._libc = Refusing()\n"
        "fd = os.open('/', os.O_RDONLY)\n"
        "os.close(syscalls.open_dir_same_mount(b'usr', fd))\n"
        "try: syscalls.open_dir_same_mount(b'proc', fd)\n"
        "except OSError as error: sys.exit(0 if error.errno == errno.EXDEV else 1)\n"
        "sys.exit(2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0
