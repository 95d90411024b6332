"""A real ext4 in memory for everything that tests write.

snapfs waits for the disk whenever it promises something. On a disk that others use too, an fsync takes
5 to 10 ms, and the tests waited for longer than they computed; on an ext4 whose image lies in memory it
takes 0.2 ms. It is the same filesystem, so flags, attributes, times and holes are what they are on disk.

It is mounted in a mount namespace of the test run's own, which the kernel takes down with the last
process of the run, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_GIB = 1 << 30
_LEAST = 3 * _GIB
_MOST = 8 * _GIB
_NOTE = "in-use"
"""A file that keeps others, to whom the mount point is an empty directory, from removing it: with it
the kernel would take away what is mounted on it, under the feet of the run."""


def use() -> Path | None:
    """Make temporary files of this process and of its children lie in memory; the mount point.

    Left as it is without root, with little memory, where mounting is refused, or where TMPDIR says
    that the caller wants another place.
    """
    size = min(_available() // 2, _MOST)
    if os.geteuid() != 0 or "TMPDIR" in os.environ or size < _LEAST:
        return None
    if shutil.which("mkfs.ext4") is None or ctypes.CDLL(None).unshare(_CLONE_NEWNS) != 0:
        return None
    place = Path(tempfile.mkdtemp(prefix="snapfs-ram-"))
    (place / _NOTE).write_text(f"The mount point of a test run, process {os.getpid()}.\n")
    memory = os.memfd_create("snapfs-tests")
    image = f"/proc/{os.getpid()}/fd/{memory}"
    try:
        os.truncate(memory, size)
        _do("mount", "--make-rprivate", "/")
        _do("mkfs.ext4", "-q", "-F", "-m", "0", "-i", "8192", image)
        # Blocks that are freed are given back to the memory, which the loop device holds from now on.
        _do("mount", "-o", "loop,discard,noinit_itable", image, place)
    except (OSError, subprocess.CalledProcessError):
        leave(place)
        return None
    finally:
        os.close(memory)
    place.chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = str(place)
    return place


def leave(place: Path) -> None:
    """Remove the mount point as far as the processes outside see it."""
    subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
    (place / _NOTE).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # cleared away by others
        place.rmdir()


def _do(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _available() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    try:  # what a container may use
        most = int(Path("/sys/fs/cgroup/memory.max").read_text())
        free.append(most - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):  # no such limit
        pass
    return min(free, default=0)
