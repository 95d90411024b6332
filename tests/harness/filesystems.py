"""Loop-mounted filesystems of every kind the tests run on; root only."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.harness.require import need, need_root, need_tools

MIB = 1 << 20


@dataclass(frozen=True)
class Kind:
    """How one kind of filesystem is made; ``least`` is the smallest size mkfs takes, in bytes."""

    name: str
    make: tuple[str, ...]
    least: int = MIB
    options: str = "loop"


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("ext4", ("mkfs.ext4", "-q", "-F", "-m", "0")),
        # Times of whole seconds up to 2038 and no room for them to differ within a second.
        Kind("ext4-128", ("mkfs.ext4", "-q", "-F", "-m", "0", "-I", "128")),
        Kind("xfs", ("mkfs.xfs", "-q", "-f"), 300 * MIB),
        Kind("btrfs", ("mkfs.btrfs", "-q", "-f"), 128 * MIB),
        Kind("tmpfs", ()),
    )
}


@contextlib.contextmanager
def mounted(
    kind: str, folder: Path, *, size: int = 2048 * MIB, options: str = ""
) -> Iterator[Path]:
    """A fresh filesystem below ``folder``, mounted for the time of the context.

    ``size`` in bytes; the image is sparse. Its file is ``image`` beside the mount point ``at``.
    """
    need_root()
    need_tools("mount", "umount", *KINDS[kind].make[:1])
    folder.mkdir(parents=True, exist_ok=True)
    point, image = folder / "at", folder / "image"
    point.mkdir()
    if kind == "tmpfs":
        command = [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            f"size={size},mode=0755",
            "snapfs-test",
            str(point),
        ]
    else:
        with image.open("wb") as file:
            file.truncate(max(size, KINDS[kind].least))
        subprocess.run([*KINDS[kind].make, image], check=True, capture_output=True)
        joined = ",".join(filter(None, (KINDS[kind].options, options)))
        command = ["mount", "-o", joined, str(image), str(point)]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    need(made.returncode == 0, f"mounting {kind}: {made.stderr.strip()}")
    try:
        yield point
    finally:
        unmount(point)
        image.unlink(missing_ok=True)


def unmount(point: Path) -> None:
    """Unmount; what still uses it for a moment (a killed process' worker) is waited for."""
    for _ in range(50):
        if subprocess.run(["umount", str(point)], check=False, capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "--lazy", str(point)], check=True)
    raise AssertionError(f"still in use: {point}")


@contextlib.contextmanager
def bound(source: Path, target: Path) -> Iterator[Path]:
    """A bind mount."""
    need_root()
    subprocess.run(["mount", "--bind", str(source), str(target)], check=True)
    try:
        yield target
    finally:
        unmount(target)
