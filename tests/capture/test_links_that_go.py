"""Names of hard-linked files that go, or become other files, between the walk and the reading."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.capture.scan import Scanner
from snapfs.capture.seen import Frame
from snapfs.capture.store import Intake
from tests.harness.inprocess import InProcess
from tests.harness.output import entries

OLD = 10**18


def write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, ns=(OLD, OLD))


def between(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Do something after the walk of the next create, before anything that is staged is read."""
    read_all = Intake.read_all

    def changed(intake: Intake) -> None:
        monkeypatch.setattr(Intake, "read_all", read_all)
        change()
        read_all(intake)

    monkeypatch.setattr(Intake, "read_all", changed)


def replace(path: Path, text: str) -> None:
    """As editors do."""
    write(path.with_name("new"), text)
    path.with_name("new").rename(path)


class Linked:
    """Four files with three names each, in three directories."""

    def __init__(self, tree: Path, repository: Path) -> None:
        self.tree, self.snapfs = tree, InProcess(repository)
        self.names = [tree / f"d{n}" for n in range(3)]
        for folder in self.names:
            folder.mkdir()

    def fill(self, text: str) -> None:
        for file in "abcd":
            first = self.names[0] / file
            if not first.exists():
                write(first, f"{text} {file}")
                for folder in self.names[1:]:
                    os.link(first, folder / file)
            else:
                write(first, f"{text} {file}")

    def change(self) -> None:
        """The first name of a goes, two of b, all of c; that of d becomes another file."""
        for gone in ("d0/a", "d0/b", "d1/b", "d0/c", "d1/c", "d2/c"):
            (self.tree / gone).unlink()
        replace(self.tree / "d0/d", "another")

    def check(self, text: str, back: Path) -> None:
        names = entries(self.snapfs("ls", "tree@s:", "--recursive", "--json"))
        files = {name for name in names if name.count(b"/")}
        assert files == {b"d1/a", b"d2/a", b"d2/b", b"d0/d", b"d1/d", b"d2/d"}
        self.snapfs("restore", "tree@s", "--to", back)
        assert (back / "d1/a").read_text() == f"{text} a"
        assert (back / "d2/b").read_text() == f"{text} b"
        assert (back / "d2/d").read_text() == f"{text} d"
        assert (back / "d0/d").read_text() == "another"
        assert (back / "d1/a").samefile(back / "d2/a")
        assert (back / "d1/d").samefile(back / "d2/d")
        assert not (back / "d0/d").samefile(back / "d2/d")
        self.snapfs("verify", "--data")


@pytest.fixture
def linked(workspace: Path, tree: Path) -> Linked:
    return Linked(tree, workspace / "repository")


def settle(linked: Linked, back: Path) -> None:
    """The next one finds what there is, and a rebuild gives the same."""
    snapfs, tree = linked.snapfs, linked.tree
    snapfs("create", tree, "--name", "t")
    snapfs("restore", "tree@t", "--to", back)
    for name in ("d1/a", "d2/b", "d0/d", "d1/d"):
        assert (back / name).read_text() == (tree / name).read_text()
    before = snapfs("ls", "tree@s:", "--recursive", "--json").out
    (snapfs.repository / "catalog.db").unlink()
    snapfs("rebuild-catalog")
    assert snapfs("ls", "tree@s:", "--recursive", "--json").out == before
    snapfs("verify", "--data")


def test_in_a_first_snapshot(
    linked: Linked, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked.fill("one")
    between(monkeypatch, linked.change)
    linked.snapfs("create", linked.tree, "--name", "s", ok=(0, 3))
    linked.check("one", workspace / "back")
    settle(linked, workspace / "again")


def test_in_a_later_one(linked: Linked, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked.fill("one")
    linked.snapfs("create", linked.tree, "--name", "r")
    linked.fill("other")
    between(monkeypatch, linked.change)
    linked.snapfs("create", linked.tree, "--name", "s", ok=(0, 3))
    linked.check("other", workspace / "back")
    settle(linked, workspace / "again")
    linked.snapfs("restore", "tree@r", "--to", workspace / "older")
    assert (workspace / "older/d0/c").samefile(workspace / "older/d2/c")
    assert (workspace / "older/d0/d").read_text() == "one d"


@pytest.mark.usefixtures("never_young")
def test_the_only_name_that_was_seen_to_change(
    linked: Linked, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk saw the others before the file changed: they stay as they were."""
    linked.fill("one")
    linked.snapfs("create", linked.tree, "--name", "r")
    seen = linked.tree / "d2/a"

    def change() -> None:
        seen.unlink()

    enter = Scanner._enter

    def late(scanner: Scanner, frame: Frame) -> None:
        if frame.name == b"d2":
            write(seen, "changed")
        enter(scanner, frame)

    monkeypatch.setattr(Scanner, "_enter", late)
    between(monkeypatch, change)
    linked.snapfs("create", linked.tree, "--name", "s", ok=(0, 3))
    monkeypatch.undo()
    linked.snapfs("verify", "--data")
    linked.snapfs("restore", "tree@s", "--to", workspace / "back")
    assert (workspace / "back/d0/a").samefile(workspace / "back/d1/a")
    linked.snapfs("create", linked.tree, "--name", "t")
    linked.snapfs("restore", "tree@t", "--to", workspace / "again")
    assert (workspace / "again/d0/a").read_text() == "changed"
    linked.snapfs("verify", "--data")


@pytest.mark.usefixtures("never_young")
def test_a_file_that_changes_between_two_of_its_names(
    linked: Linked, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is two files in that snapshot, each as it was seen, and one again in the next."""
    linked.fill("one")
    linked.snapfs("create", linked.tree, "--name", "r")
    enter = Scanner._enter

    def late(scanner: Scanner, frame: Frame) -> None:
        if frame.name == b"d2":
            write(linked.tree / "d2/a", "changed")
        enter(scanner, frame)

    monkeypatch.setattr(Scanner, "_enter", late)
    linked.snapfs("create", linked.tree, "--name", "s")
    monkeypatch.undo()
    linked.snapfs("verify", "--data")
    linked.snapfs("restore", "tree@s", "--to", workspace / "back")
    assert (workspace / "back/d0/a").read_text() == "one a"
    assert (workspace / "back/d2/a").read_text() == "changed"
    linked.snapfs("create", linked.tree, "--name", "t")
    linked.snapfs("restore", "tree@t", "--to", workspace / "again")
    assert (workspace / "again/d0/a").read_text() == "changed"
    assert (workspace / "again/d0/a").samefile(workspace / "again/d2/a")
    assert (workspace / "again/d1/a").samefile(workspace / "again/d2/a")
    linked.snapfs("verify", "--data")
