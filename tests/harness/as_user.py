"""Program: ``as_user.py UID:GID:GROUPS PATH:PATH... COMMAND...`` (see ``user.py``)."""

import ctypes
import os
import stat
import sys

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
O_PATH = 0o10000000

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    if (
        libc.mount(
            source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
        )
        != 0
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def blocked_ancestor(path: str) -> str | None:
    """The first directory on the way to ``path`` that others may not pass."""
    at = "/"
    for part in path.strip("/").split("/"):
        at = os.path.join(at, part)
        if at != path and not os.stat(at).st_mode & stat.S_IXOTH:
            return at
    return None


def main() -> None:
    ids, reachable, command = sys.argv[1], sys.argv[2].split(os.pathsep), sys.argv[3:]
    uid, gid, groups = ids.split(":")
    working = os.getcwd()
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    paths = {
        path
        for given in reachable
        for path in (given, os.path.realpath(given))
        if os.path.isdir(path)
    }
    covered: dict[str, int] = {}
    for path in sorted(paths):
        above = next((c for c in covered if path.startswith(c + "/")), None)
        if above is None:
            above = blocked_ancestor(path)
            if above is None:
                continue
            covered[above] = os.open(above, O_PATH | os.O_DIRECTORY)
            mount("tmpfs", above, "tmpfs", 0, "mode=0755")
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o755)
            source = f"/proc/self/fd/{covered[above]}/{os.path.relpath(path, above)}"
            mount(source, path, "", MS_BIND | MS_REC)
    for fd in covered.values():
        os.close(fd)
    os.setgroups([int(group) for group in groups.split(",") if group])
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
    os.chdir(working)
    os.execvp(command[0], command)


main()
