"""Damage, full disks, interruption, death, and users who may not do everything."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from snapfs.errors import SnapfsError, StorageFullError, WorkerDiedError
from snapfs.fs import temporary
from snapfs.materialize import dispatch
from snapfs.materialize.apply import materialize
from snapfs.materialize.owners import OwnerRule
from snapfs.materialize.wanted import MaterializeOptions, Overwrite, WantedDir
from snapfs.progress import Problem, RecordingProgress
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, survey
from tests.harness.user import User
from tests.materialize.conftest import Restorer
from tests.materialize.stored import StoredTree

Stored = Callable[[Path], Restorer]


def fill(tree: Path, files: int, size: int = 20_000) -> None:
    for number in range(files):
        folder = tree / f"d{number % 5}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_bytes(os.urandom(size))


def whole(tree: Path, target: Path) -> None:
    """Every file in ``target`` is one of ``tree``, complete."""
    for path in target.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tree / path.relative_to(target)).read_bytes(), path


def lose(stored: StoredTree, content: int) -> None:
    for _, _, digest in stored.extents[content]:
        del stored.where[digest]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("exists", [False, True])
def test_a_damaged_file_never_appears(
    stored: Stored, tree: Path, target: Path, workers: int, exists: bool
) -> None:
    fill(tree, 500)
    (tree / "large").write_bytes(os.urandom(1_000_000))
    for name in ("d0/f0", "large"):
        os.link(tree / name, tree / f"link-{Path(name).name}")
    restore = stored(tree)
    if exists:
        for name in ("d0/f0", "large", "link-f0", "extra"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text("old")
    lose(restore.stored, restore.stored.entry(b"large").content)
    lose(restore.stored, restore.stored.entry(b"d1/f1").content)
    digest = restore.stored.extents[restore.stored.entry(b"d0/f0").content][0][2]
    pack, segment, stored_bytes, offset = restore.stored.where[digest]
    restore.stored.where[digest] = (pack, segment, stored_bytes, offset + 1)
    problems: list[Problem] = []
    result = restore(target, workers=workers, problems=problems, dry=False)
    bad = [b"d0/f0", b"d1/f1", b"large", b"link-f0", b"link-large"]
    assert sorted(problem.path for problem in problems) == bad
    assert result.problems == 5
    assert all(problem.errno == 0 for problem in problems)
    left = sorted(name for name in bad if (target / os.fsdecode(name)).exists())
    assert left == ([b"d0/f0", b"large", b"link-f0"] if exists else [])
    assert all((target / os.fsdecode(name)).read_text() == "old" for name in left)
    assert result.created + result.overwritten == 504
    assert not [
        path for path in target.rglob("*") if temporary.is_temporary(os.fsencode(path.name))
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_missing_pack_is_damage(stored: Stored, tree: Path, target: Path, workers: int) -> None:
    fill(tree, 450, 100)
    restore = stored(tree)
    for pack in (restore.stored.repository / "packs").iterdir():
        pack.unlink()
    problems: list[Problem] = []
    restore(target, workers=workers, problems=problems)
    assert len(problems) == 450
    assert sum(path.is_file() for path in target.rglob("*")) == 0


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_is_told_and_leaves_nothing_half(
    stored: Stored,
    tree: Path,
    small_filesystem: Callable[..., Path],
    workers: int,
    exists: bool,
) -> None:
    fill(tree, 600, 30_000)
    (tree / "large").write_bytes(os.urandom(3_000_000))
    restore = stored(tree)
    target = small_filesystem("ext4", 12 << 20)
    if exists:
        (target / "large").write_text("old")
    with pytest.raises(StorageFullError) as caught:
        restore(target, workers=workers, dry=False)
    assert str(target) in str(caught.value)
    whole_but_old = [path for path in target.rglob("*") if path.is_file()]
    assert whole_but_old
    for path in whole_but_old:
        data = path.read_bytes()
        assert data in (b"old", (tree / path.relative_to(target)).read_bytes()), path
        assert not temporary.is_temporary(os.fsencode(path.name))


@pytest.mark.parametrize("case", [(0, False), (2, False), (0, True), (2, True)])
def test_an_interruption_leaves_no_unfinished_file(
    stored: Stored,
    tree: Path,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[int, bool],
) -> None:
    workers, exists = case
    fill(tree, 800)
    monkeypatch.setattr("snapfs.materialize.files.LARGE_BYTES", 400_000)
    (tree / "z").mkdir()
    (tree / "z/large").write_bytes(os.urandom(700_000))
    restore = stored(tree)
    if exists:
        target.mkdir()
        (target / "z").mkdir()
        (target / "z/other").touch()
        (target / "z").chmod(0o500)
        restore(target, problems=[], dry=False)
        (target / "z").chmod(0o500)

    def wanted() -> Iterator[WantedDir]:
        for directory in restore.stored.wanted():
            yield directory
            if directory.entry.name == b"z":
                raise KeyboardInterrupt

    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        restore(target, wanted, workers=workers, dry=False)
    assert time.monotonic() - before < 5
    for path in target.rglob("*"):
        assert not temporary.is_temporary(os.fsencode(path.name))
    if exists:
        (target / "z").chmod(0o700)
        (target / "z/other").unlink()
    whole(tree, target)
    assert_unused(target)
    # The same call again completes it.
    restore(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert_same(survey(tree), survey(target))


RUN = """
import os, pickle, signal, sys, time
sys.path.insert(0, {project!r})
from snapfs.materialize.apply import materialize
from snapfs.materialize.wanted import MaterializeOptions
from snapfs.progress import NullProgress
stored = pickle.load(open({stored!r}, "rb"))
class Slow(NullProgress):
    def advance(self, **_):
        print("going", flush=True)
materialize({target!r}, stored.wanted(), stored.source, MaterializeOptions(workers={workers}), progress=Slow())
"""


@pytest.mark.parametrize("case", [(0, False), (2, False), (0, True), (2, True)])
def test_killed_in_the_middle(
    stored: Stored, tree: Path, target: Path, workspace: Path, case: tuple[int, bool]
) -> None:
    workers, exists = case
    fill(tree, 1500)
    restore = stored(tree)
    if exists:
        restore(target, dry=False)
    with (workspace / "pickle").open("wb") as file:
        pickle.dump(restore.stored, file)
    code = RUN.format(
        project=os.getcwd(),
        stored=str(workspace / "pickle"),
        target=os.fsencode(target),
        workers=workers,
    )
    for lines in (1, 5, 12):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            for _ in range(lines):
                running.stdout.readline()
            running.send_signal(signal.SIGKILL)
    assert_unused(target)
    restore(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert_same(survey(tree), survey(target))


def assert_unused(target: Path) -> None:
    """No process that writes to ``target`` outlives its parent."""
    for _ in range(100):
        if not users_of(target):
            return
        time.sleep(0.1)
    pytest.fail(f"still at work: {users_of(target)}")


def users_of(target: Path) -> list[str]:
    """Other processes that hold a descriptor on the directory."""
    found = []
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(descriptor) == str(target):
                found.append(descriptor.parts[2])
    return [process for process in found if process != str(os.getpid())]


def test_what_a_killed_run_left_is_removed(stored: Stored, tree: Path, target: Path) -> None:
    (tree / "f").write_text("x")
    (tree / "w").mkdir()
    (tree / "w/f").write_text("x")
    restore = stored(tree)
    restore(target)
    mtime = (target / "w").stat().st_mtime_ns
    names = [os.fsdecode(temporary.new_name()) for _ in range(3)]
    (target / names[0]).write_text("half")
    (target / names[1]).symlink_to("x")
    (target / "w" / names[2]).write_text("half")
    with (target / "w" / names[2]).open("rb") as used:
        temporary.hold(used.fileno())
        restore(target, lambda: restore.stored.selected(b"w/f"), delete=True)
        assert (target / "w" / names[2]).exists()
    assert (target / names[0]).exists()
    restore(target, overwrite=Overwrite.IF_CHANGED)
    assert_same(survey(tree), survey(target))
    assert (target / "w").stat().st_mtime_ns == mtime


def test_a_dead_process_fails_the_run(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tree, 2000)
    restore = stored(tree)
    started: list[dispatch._Crew] = []
    real = dispatch._Crew.feed

    def feed(crew: dispatch._Crew, on_report: dispatch.OnReport) -> None:
        if not started:
            started.append(crew)
            crew.workers[0]._process.kill()
        real(crew, on_report)

    monkeypatch.setattr(dispatch._Crew, "feed", feed)
    with pytest.raises(WorkerDiedError):
        restore(target, workers=2, dry=False)
    whole(tree, target)


def test_a_target_that_is_no_directory(stored: Stored, tree: Path, target: Path) -> None:
    restore = stored(tree)
    target.write_text("x")
    with pytest.raises(SnapfsError, match=re.escape(str(target))):
        restore(target)
    assert target.read_text() == "x"


def test_trouble_with_one_entry_does_not_stop_the_rest(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tree / name).symlink_to("x")
        (tree / f"d{name}").mkdir()
        (tree / f"d{name}" / "f").write_text("x")
    restore = stored(tree)
    real_symlink, real_mkdir = os.symlink, os.mkdir

    def symlink(source: bytes, path: bytes, **kw: object) -> None:
        if path == b"b":
            raise OSError(errno.EIO, "broken")
        real_symlink(source, path, **kw)  # type: ignore[arg-type]

    def mkdir(path: bytes, mode: int = 0o777, **kw: object) -> None:
        if path == b"db":
            raise OSError(errno.EIO, "broken")
        real_mkdir(path, mode, **kw)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "symlink", symlink)
    monkeypatch.setattr(os, "mkdir", mkdir)
    problems: list[Problem] = []
    result = restore(target, problems=problems, dry=False)
    assert [problem.path for problem in problems] == [b"b", b"db"]
    assert sorted(os.listdir(target)) == ["a", "c", "da", "dc"]
    assert result.created == 7
    monkeypatch.undo()
    restore(target, overwrite=Overwrite.IF_CHANGED)
    assert_same(survey(tree), survey(target))


USER_RUN = """
import os, pickle, sys
sys.path.insert(0, {project!r})
from snapfs.materialize.apply import materialize
from snapfs.materialize.wanted import *
from snapfs.progress import RecordingProgress
from tests.materialize.stored import is_same
stored = pickle.load(open({stored!r}, "rb"))
progress = RecordingProgress()
options = MaterializeOptions(workers={workers}, delete=True, overwrite=Overwrite.IF_CHANGED,
                             same=lambda *a: is_same(stored, *a))
result = materialize({target!r}, stored.wanted(), stored.source, options, progress=progress)
print(repr([(p.path, p.what) for p in progress.problems]))
"""


def run_as(
    user: User, stored: StoredTree, target: Path, workspace: Path, workers: int = 0
) -> list[tuple[bytes, str]]:
    """Restore as an ordinary user; the problems."""
    file = workspace / "pickle"
    with file.open("wb") as out:
        pickle.dump(stored, out)
    file.chmod(0o644)
    for path in stored.repository.rglob("*"):
        path.chmod(0o755)
    stored.repository.chmod(0o755)
    code = USER_RUN.format(
        project=os.getcwd(), stored=str(file), target=os.fsencode(target), workers=workers
    )
    done = subprocess.run(
        [*user.launcher(workspace), sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: list[tuple[bytes, str]] = eval(done.stdout)
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_an_ordinary_user_gets_everything_allowed(
    stored: Stored, tree: Path, workspace: Path, user: User, workers: int
) -> None:
    source = build(workspace / "built", "modes", "setid", "special", "acl", "caps", "xattrs")
    fill(source, 450 if workers else 5, 100)
    restore = stored(source)
    home = workspace / "home"
    home.mkdir()
    os.chown(home, user.uid, user.gid)
    target = home / "target"
    for _ in range(2):
        problems = run_as(user, restore.stored, target, workspace, workers)
        paths = [path for path, _ in problems]
        assert len(paths) == len(set(paths))
        assert b"special/null" in paths
        one, two = survey(source), survey(target)
        devices = [b"special/null", b"special/tty", b"special/loop"]
        assert_same(one.without(devices), two, ignore=["uid", "gid", "mode", "xattr", "mtime"])
        for path, facts in two.facts.items():
            wrong = facts["uid"] != one.facts[path]["uid"]
            if facts["type"] == "file":
                assert not (wrong and facts["mode"] & stat.S_ISUID), path
                expected = one.facts[path]["mode"] & 0o1777
                assert facts["mode"] & 0o1777 == expected, path
            assert facts["mtime"] == one.facts[path]["mtime"], path
        for path in (b"xattrs/file", b"xattrs/readonly", b"xattrs/dir"):
            kept = {n: v for n, v in one.facts[path]["xattr"].items() if n.startswith(b"user.")}
            assert two.facts[path]["xattr"] == kept
        assert b"xattrs/file" in paths


def test_an_ordinary_user_restores_over_closed_directories(
    stored: Stored, tree: Path, workspace: Path, user: User
) -> None:
    for name in ("a/f", "b/c/f", "gone/g", "same/f"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    home = workspace / "home"
    home.mkdir()
    (tree / "a/f").chmod(0o444)
    for path in (tree, home, *tree.rglob("*")):
        os.chown(path, user.uid, user.gid)
    for name, mode in (("a", 0o555), ("b", 0o111), ("b/c", 0), ("gone", 0o500), ("same", 0o300)):
        (tree / name).chmod(mode)
    first = stored(tree)
    target = home / "target"
    assert run_as(user, first.stored, target, workspace) == []
    assert_same(survey(tree), survey(target))
    (tree / "a/f").write_text("new")
    (tree / "b/c/g").write_text("new")
    for path in (tree / "a/f", tree / "b/c/g"):
        os.chown(path, user.uid, user.gid)
    (tree / "gone/g").unlink()
    (tree / "gone").rmdir()
    assert run_as(user, stored(tree).stored, target, workspace) == []
    assert_same(survey(tree), survey(target))
    assert run_as(user, first.stored, target, workspace) == []


def test_owner_rules(stored: Stored, tree: Path, target: Path) -> None:
    need_root()
    for name, mode in (("program", 0o6755), ("mine", 0o4755)):
        (tree / name).touch()
        if name == "program":
            os.chown(tree / name, 1234, 4321)
        (tree / name).chmod(mode)
    (tree / "l").symlink_to("x")
    os.chown(tree / "l", 1234, 4321, follow_symlinks=False)
    subprocess.run(["setfacl", "-m", "u:1234:r,u:7:w,g:4321:x", tree / "program"], check=True)
    restore = stored(tree)

    restore(target, owner=OwnerRule.nobody())
    assert (target / "program").stat().st_uid == os.geteuid()
    assert stat.S_IMODE((target / "program").stat().st_mode) == 0o755 | 0o020
    assert stat.S_IMODE((target / "mine").stat().st_mode) == 0o4755
    assert os.lstat(target / "l").st_uid == os.geteuid()

    rule = replace(OwnerRule(), uids={1234: 5}, gids={4321: 6})
    restore(target, owner=rule, overwrite=Overwrite.IF_CHANGED)
    found = (target / "program").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (5, 6, 0o6775)
    assert os.lstat(target / "l").st_uid == 5
    shown = subprocess.run(
        ["getfacl", "-n", "-c", target / "program"], check=True, capture_output=True, text=True
    ).stdout
    assert [line for line in shown.split() if line.startswith(("user:5", "user:7", "group:6"))] == [
        "user:5:r--", "user:7:-w-", "group:6:--x",
    ]  # fmt: skip

    named = OwnerRule.by_name({1234: "daemon", 99: "nobody-knows"}, {4321: "daemon"})
    assert named.user(1234) == 1
    assert named.user(99) == 99
    assert named.group(4321) == 1
    assert OwnerRule().is_plain
    assert not named.is_plain


def test_refused_attributes_are_told_once(
    stored: Stored, tree: Path, filesystem: Callable[[str], Path]
) -> None:
    need_root()
    (tree / "f").touch()
    os.setxattr(tree / "f", "user.large", b"x" * 3000)
    os.setxattr(tree / "f", "user.small", b"y")
    os.utime(tree / "f", ns=(0, 2**33 * 10**9))
    restore = stored(tree)
    place = filesystem("ext4-128")
    problems: list[Problem] = []
    result = restore(place / "target", problems=problems)
    assert [problem.path for problem in problems] == [b"f"]
    assert "time" in problems[0].what
    assert result.problems == 1
    assert os.getxattr(place / "target/f", "user.small") == b"y"


def test_what_a_filesystem_does_in_silence_is_noted(
    stored: Stored, tree: Path, small_filesystem: Callable[..., Path]
) -> None:
    need_root()
    (tree / "program").touch()
    (tree / "program").chmod(0o4755)
    os.utime(tree, ns=(0, 1_500_000_000_123_456_789))
    restore = stored(tree)
    coarse = small_filesystem("ext4-128", 8 << 20, "nosuid") / "target"
    for place, notes in ((coarse, 2), (tree.with_name("plain"), 0)):
        progress = RecordingProgress()
        materialize(
            os.fsencode(place),
            restore.stored.wanted(),
            restore.stored.source,
            MaterializeOptions(),
            progress=progress,
        )
        assert len(progress.notes) == notes, progress.notes
