"""A second process walks the tree from its end: with it, and whatever becomes of it, it is the same snapshot."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.capture import scan, scout
from snapfs.capture.scouting import Scouting
from tests.harness.filesystems import mounted
from tests.harness.inprocess import InProcess
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, mutate, survey

pytestmark = pytest.mark.usefixtures("never_young")

Ready = Callable[[Scouting], None]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Scouting]:
    """Every run sends a scout and waits until it has looked at everything: those sent."""
    return send_scouts(monkeypatch, wait)


def send_scouts(monkeypatch: pytest.MonkeyPatch, then: Ready) -> list[Scouting]:
    sent: list[Scouting] = []

    class Sent(Scouting):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            sent.append(self)
            then(self)

    monkeypatch.setattr(scan, "Scouting", Sent)
    monkeypatch.setattr(scan, "worthwhile", lambda _: True)
    monkeypatch.setattr(scout, "ENTRIES_AT_ONCE", 5)
    return sent


def wait(scouting: Scouting) -> None:
    while scouting.listen(None):
        pass


def digests(snapfs: InProcess) -> list[bytes]:
    """What each snapshot was when it was taken."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        return [row[0] for row in db.execute("SELECT tree_digest FROM snapshot ORDER BY id")]


def vouched(snapfs: InProcess, scouting: Scouting) -> set[str]:
    """Names of the directories that a scout found unchanged."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        names = dict(db.execute("SELECT inode_id, CAST(name AS TEXT) FROM dirent"))
    return {names[inode] for inode in scouting._found}


@pytest.fixture
def three(tree: Path) -> Path:
    """Directories a, b and c, with one more level each, nothing of it young."""
    for name in ("a", "b", "c"):
        (tree / name / f"{name}-below").mkdir(parents=True)
        (tree / name / f"{name}-below" / "file").write_text(name)
        os.utime(tree / name / f"{name}-below" / "file", ns=(10**18, 10**18))
    return tree


def take(snapfs: InProcess, tree: Path) -> str:
    """A snapshot, as if nothing of the tree had changed within its clock's grain."""
    return snapfs("create", tree).errors


def test_a_history(workspace: Path, tree: Path, seen: list[Scouting]) -> None:
    need_root()
    build(tree, scale=0.01)
    scouted = InProcess(workspace / "scouted")
    plain = InProcess(workspace / "plain")
    found = 0
    for step in range(6):
        if step:
            mutate(tree, step)
        sent = len(seen)
        take(scouted, tree)
        assert len(seen) == sent + (step > 0)
        found += len(seen[-1]._found) if step else 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan, "worthwhile", lambda _: False)
            take(plain, tree)
    assert found > 100
    assert digests(scouted) == digests(plain)
    state = survey(tree)
    scouted("restore", "tree@6", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))
    said = take(scouted, tree)
    assert "nothing changed" in said
    plain_said = take(plain, tree)
    assert said.split(";")[0] == plain_said.split(";")[0], "counts are of the whole tree"
    scouted("verify", "--data")


def test_what_is_vouched_for(workspace: Path, three: Path, seen: list[Scouting]) -> None:
    snapfs = InProcess(workspace / "repository")
    take(snapfs, three)
    assert "nothing changed" in take(snapfs, three)
    assert vouched(snapfs, seen[-1]) == {"a", "b", "c"}
    (three / "b" / "b-below" / "file").write_text("other")
    assert "1 changed" in take(snapfs, three)
    assert vouched(snapfs, seen[-1]) == {"a", "c"}
    (three / "c" / ".snapfsignore").write_text("nothing\n")
    take(snapfs, three)
    assert vouched(snapfs, seen[-1]) == {"a", "b"}
    (three / "a" / "new").mkdir()
    take(snapfs, three)
    assert vouched(snapfs, seen[-1]) >= {"a-below", "b"}
    assert not vouched(snapfs, seen[-1]) & {"a", "c"}
    snapfs("create", three, "--exclude", "nothing")
    assert len(seen) == 4, "rules are for the walk alone"


def test_a_directory_with_other_attributes(
    workspace: Path, three: Path, seen: list[Scouting]
) -> None:
    snapfs = InProcess(workspace / "repository")
    take(snapfs, three)
    (three / "b").chmod(0o750)
    (three / "c" / "c-below").chmod(0o700)
    take(snapfs, three)
    state = survey(three)
    snapfs("restore", "tree@2", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))


def test_directories_change_places(workspace: Path, three: Path, seen: list[Scouting]) -> None:
    snapfs = InProcess(workspace / "repository")
    (three / "a" / "a-below").rename(three / "a" / "below")
    (three / "b" / "b-below").rename(three / "b" / "below")
    take(snapfs, three)
    (three / "a").rename(three / "t")
    (three / "b").rename(three / "a")
    (three / "t").rename(three / "b")
    (three / "c").rename(three / "a" / "c")
    take(snapfs, three)
    state = survey(three)
    snapfs("restore", "tree@2", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))
    assert "nothing changed" in take(snapfs, three)


def test_another_filesystem_inside(workspace: Path, three: Path, seen: list[Scouting]) -> None:
    snapfs = InProcess(workspace / "repository")
    with mounted("tmpfs", workspace / "other") as point:
        (point / "within").mkdir()
        os.rename(three / "a" / "a-below" / "file", three / "a" / "file")
        (three / "a" / "a-below").rmdir()
        mount = three / "a" / "mount"
        mount.mkdir()
        subprocess.run(["mount", "--bind", point, mount], check=True)
        try:
            take(snapfs, three)
            assert "nothing changed" in take(snapfs, three)
            assert vouched(snapfs, seen[-1]) == {"b", "c"}
        finally:
            subprocess.run(["umount", mount], check=True)


def test_a_change_behind_the_scouts_back(
    workspace: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in this snapshot or in the next, as with every walk."""
    snapfs = InProcess(workspace / "repository")
    take(snapfs, three)
    file = three / "b" / "b-below" / "file"

    def wait_and_change(scouting: Scouting) -> None:
        wait(scouting)
        file.write_text("changed meanwhile")

    with pytest.MonkeyPatch.context() as patch:
        send_scouts(patch, wait_and_change)
        assert "nothing changed" in take(snapfs, three)
    send_scouts(monkeypatch, wait)
    assert "1 changed" in take(snapfs, three)
    assert snapfs("cat", "tree@3:b/b-below/file").out == b"changed meanwhile"


def _kill(scouting: Scouting) -> None:
    assert scouting._worker is not None
    scouting._worker._process.kill()


def _kill_later(scouting: Scouting) -> None:
    scouting.listen(None)
    scouting.listen(None)
    if scouting._worker is not None:
        scouting._worker._process.kill()


@pytest.mark.parametrize("then", [_kill, _kill_later, lambda _: None])
def test_a_scout_that_is_lost(
    then: Ready, workspace: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is walked."""
    snapfs = InProcess(workspace / "repository")
    take(snapfs, three)
    (three / "b" / "b-below" / "file").write_text("other")
    sent = send_scouts(monkeypatch, then)
    assert "1 changed" in take(snapfs, three)
    assert sent
    assert sent[-1]._worker is None
    state = survey(three)
    snapfs("restore", "tree@2", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))
