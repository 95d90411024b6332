"""Making a golden repository, once for each released format: ``python -m tests.golden.make FOLDER``.

What it writes is checked in and never edited or made again: ``FOLDER.tar.xz`` is the repository (without
its reserve), ``FOLDER.json`` what every later version must find in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.harness.program import Program

NS = 1_000_000_000
PAST_NS = 1_500_000_000 * NS + 123_456_789


def manifest(top: Path) -> dict[str, list[Any]]:
    """Facts of every entry by path: what any user on any filesystem gets back."""
    found: dict[str, list[Any]] = {}
    groups: dict[int, str] = {}
    for folder, names, files in os.walk(top):
        names.sort()
        for name in sorted([*names, *files]):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            shown = os.path.relpath(path, top)
            facts: list[Any] = [stat.filemode(st.st_mode), st.st_mtime_ns]
            if stat.S_ISREG(st.st_mode):
                facts += [st.st_size, hashlib.sha256(Path(path).read_bytes()).hexdigest()]
                if st.st_nlink > 1:
                    facts.append(groups.setdefault(st.st_ino, shown))
                with contextlib.suppress(OSError):
                    facts.append(os.getxattr(path, "user.note").decode())
            elif stat.S_ISLNK(st.st_mode):
                facts.append(os.readlink(path))
            found[shown] = facts
    return found


def _text(number: int, lines: int) -> bytes:
    return b"".join(b"text %d, line %d\n" % (number, line * line) for line in range(lines))


def _age(top: Path) -> None:
    """No entry is younger than a minute: nothing is racy."""
    for number, folder in enumerate(sorted(os.walk(top, topdown=False))):
        for name in [*folder[2], *folder[1]]:
            with contextlib.suppress(FileNotFoundError):
                path = os.path.join(folder[0], name)
                if os.lstat(path).st_mtime_ns > PAST_NS + NS * 10_000:
                    os.utime(path, ns=(PAST_NS, PAST_NS + number), follow_symlinks=False)
    os.utime(top, ns=(PAST_NS, PAST_NS))


def _first(top: Path) -> None:
    for name in ("docs", "docs/deep", "src", "empty"):
        (top / name).mkdir()
    (top / "docs/deep/a").write_bytes(b"a")
    (top / "docs/none").write_bytes(b"")
    (top / "docs/large").write_bytes(_text(1, 30_000))
    for number in range(40):
        (top / f"src/m{number:02}.py").write_bytes(_text(number, 10 + number))
    with (top / "sparse").open("wb") as out:
        out.seek(1 << 20)
        out.write(b"end of a hole")
    (top / "zeros").write_bytes(bytes(500_000) + b"x")
    os.link(top / "docs/deep/a", top / "src/a-too")
    (top / "link").symlink_to("docs/nowhere")
    os.mkfifo(top / "fifo")
    Path(os.fsdecode(os.fsencode(top) + b"/n\xffame\nof two lines")).write_bytes(b"odd")
    os.setxattr(top / "src/m00.py", "user.note", b"kept")
    (top / "src/m01.py").chmod(0o4751)


def _second(top: Path) -> None:
    (top / "src/m02.py").write_bytes(b"changed\n")
    (top / "src/m03.py").unlink()
    (top / "docs").rename(top / "papers")
    with (top / "papers/large").open("r+b") as out:
        out.seek(300_000)
        out.write(b"in the middle")


def _third(top: Path) -> None:
    (top / "fifo").unlink()
    (top / "fifo").write_bytes(b"a file now")
    (top / "src/a-too").unlink()
    (top / "new").mkdir()
    (top / "new/one").write_bytes(_text(2, 100))


def _fourth(top: Path) -> None:
    (top / "link").unlink()
    (top / "link").symlink_to("papers/large")
    (top / "src/m04.py").chmod(0o600)


def main(folder: Path) -> None:
    """Build a tree, take snapshots of it, and keep both."""
    with tempfile.TemporaryDirectory() as scratch:
        top, home = Path(scratch, "golden"), Path(scratch, "home")
        top.mkdir()
        home.mkdir()
        snapfs = Program(repository=Path(scratch, folder.name), home=home)
        trees: dict[str, Any] = {}
        for number, step in enumerate((_first, _second, _third, _fourth)):
            step(top)
            _age(top)
            told = ("--message", f"step {number}", "--tag", f"t{number}", "--host", "elsewhere")
            snapfs.create(top, f"s{number}", *told)
            trees[f"s{number}"] = manifest(top)
        snapfs("delete", "golden@s1", "--yes")
        del trees["s1"]
        snapfs("pin", "golden@s0")
        snapfs("rename", "golden@s2", "middle")
        trees["middle"] = trees.pop("s2")
        listed = snapfs("list", "golden", "--json").json_lines()
        (snapfs.repository / "reserve").unlink()
        with tarfile.open(f"{folder}.tar.xz", "x:xz") as out:
            out.add(snapfs.repository, folder.name)
        expected = {"list": listed, "trees": trees}
        with open(f"{folder}.json", "x", encoding="ascii") as text:
            json.dump(expected, text, indent=1, sort_keys=True)
            text.write("\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
