"""A repository by somebody who edits rows and makes digests that agree with them: nothing is believed for that."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from snapfs.blocks.treedigest import tree_digest
from tests.harness.inprocess import InProcess
from tests.harness.trees import survey

DIR = 2


class Forger:
    """Edits a catalog of one snapshot and makes all its tree digests again."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def seal(self) -> None:
        (root,) = self._database.execute("SELECT inode_id FROM root").fetchone()
        whole = tree_digest([(b"", *self._facts(root))])
        self._database.execute("UPDATE snapshot SET tree_digest = ?", (whole,))
        self._database.commit()

    def _facts(self, inode: int) -> tuple[Any, ...]:
        kind, attr, size, mtime_s, mtime_nsec, rdev, target, content, state = self._database.execute(
            "SELECT kind, attr_id, size, mtime_s, mtime_nsec, rdev, target, content_id, state"
            " FROM inode WHERE id = ?", (inode,),
        ).fetchone()  # fmt: skip
        mode, uid, gid, flags, xattr = self._database.execute(
            "SELECT mode, uid, gid, flags, (SELECT value FROM xattr WHERE xattr.id = xattr_id)"
            " FROM attr WHERE id = ?", (attr,),
        ).fetchone()  # fmt: skip
        digest = b""
        if kind == DIR:
            digest = self._directory(inode)
        elif content is not None:
            (digest,) = self._database.execute(
                "SELECT digest FROM content WHERE id = :id UNION ALL"
                " SELECT digest FROM block WHERE id = :id", {"id": content},
            ).fetchone()  # fmt: skip
        return (
            kind, mode, uid, gid, flags, xattr or b"", size, mtime_s, mtime_nsec, rdev, target or b"",
            digest, int(state == 1),
        )  # fmt: skip

    def _directory(self, inode: int) -> bytes:
        children = self._database.execute(
            "SELECT name, inode_id FROM dirent WHERE parent_id = ? ORDER BY name", (inode,)
        ).fetchall()
        digest = tree_digest([(name, *self._facts(child)) for name, child in children])
        self._database.execute("UPDATE inode SET tree_digest = ? WHERE id = ?", (digest, inode))
        return digest


def forge(run: InProcess, statement: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(run.repository / "catalog.db")) as database:
        assert database.execute(statement, values).rowcount > 0
        Forger(database).seal()


@pytest.fixture
def home(workspace: Path, run: InProcess) -> Path:
    """A root ``home/t`` with a neighbour ``home/other``; its snapshot is t@one."""
    home = workspace / "home"
    (home / "t" / "sub" / "deep").mkdir(parents=True)
    (home / "other").mkdir()
    (home / "t" / "sub" / "deep" / "file").write_text("evil")
    (home / "t" / "a").write_text("a")
    (home / "t" / "link").symlink_to("a")
    (home / "other" / "precious").write_text("precious")
    run("create", home / "t", "--name", "one")
    return home


def looked_at(run: InProcess) -> None:
    """Commands that only look say what they can; `InProcess` asserts that no error is an internal one."""
    for words in (
        ("ls", "t@one:", "-l"), ("ls", "t@one:", "-R", "--json"), ("cat", "t@one:a"), ("show", "t@one"),
        ("diff", "t@one", "."), ("restore", "t@one", "--in-place", "-n"),
    ):  # fmt: skip
        run(*words, ok=None)


@pytest.mark.parametrize("old", ["a", "sub", "link"])
@pytest.mark.parametrize(
    "new", [b"../escaped", b"..", b".", b"", b"../other", b"x/y", b"/tmp/snapfs-escaped", b"a\0b"]
)
def test_no_name_leads_out_of_the_target(
    new: bytes, old: str, run: InProcess, home: Path, workspace: Path
) -> None:
    forge(run, "UPDATE dirent SET name = ? WHERE name = ?", (new, old.encode()))
    looked_at(run)
    before = survey(home)
    done = run("restore", "t@one", "--to", home / "out", ok=(3,))
    assert "damaged" in done.errors
    assert sorted(os.listdir(home)) == ["other", "out", "t"]
    left = sorted({"a", "link", "sub"} - {old})
    assert sorted(os.listdir(home / "out")) == left
    for part in sorted((home / "out").rglob("*"), reverse=True):
        part.rmdir() if part.is_dir() and not part.is_symlink() else part.unlink()
    (home / "out").rmdir()
    run("restore", "t@one", "--in-place", "--delete", "--yes", ok=None)
    after = survey(home)
    # The name itself may go or stay; all that nobody named is as it was.
    for path in (b"other", b"other/precious", b"t", *(f"t/{name}".encode() for name in left)):
        assert after.facts[path] == before.facts[path]
    assert not os.path.lexists("/tmp/snapfs-escaped")
    assert run("verify", ok=(3,)).text


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        (
            "UPDATE inode SET kind = ? WHERE id = (SELECT inode_id FROM dirent WHERE name = X'61')",
            9,
        ),
        ("UPDATE inode SET target = ? WHERE kind = 3", b"a\0b"),
        ("UPDATE inode SET mtime_nsec = ? WHERE kind = 3", 1 << 61),
        ("UPDATE inode SET mtime_s = ? WHERE kind = 3", 1 << 61),
        (
            "UPDATE attr SET mode = ? WHERE id = (SELECT attr_id FROM inode WHERE kind = 3)",
            0o177777,
        ),
    ],
)
def test_no_value_ends_a_restore_in_the_middle(
    statement: str, value: object, run: InProcess, home: Path
) -> None:
    forge(run, statement, (value,))
    looked_at(run)
    run("restore", "t@one", "--to", home / "out", ok=(3,))
    assert (home / "out" / "sub" / "deep" / "file").read_text() == "evil"
