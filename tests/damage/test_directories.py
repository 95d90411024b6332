"""One row of a directory lost or changed in the catalog: its other entries are there, nothing is deleted
because of it, and whoever reads it is told.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.loosely import loosely

FILES = 700  # more than one slice
ODD = "f0010"


def _id(db: sqlite3.Connection) -> int:
    (found,) = db.execute("SELECT inode_id FROM dirent WHERE name = ?", (ODD.encode(),)).fetchone()
    return int(found)


DAMAGES: dict[str, Callable[[sqlite3.Connection], object]] = {
    "attr": lambda db: db.execute("DELETE FROM attr WHERE mode = ?", (0o741,)),
    "inode": lambda db: db.execute("DELETE FROM inode WHERE id = ?", (_id(db),)),
    "attr_id": lambda db: db.execute("UPDATE inode SET attr_id = 999 WHERE id = ?", (_id(db),)),
    "dirent": lambda db: db.execute("DELETE FROM dirent WHERE name = ?", (ODD.encode(),)),
    "inode_id": lambda db: db.execute(
        "UPDATE dirent SET inode_id = 99999 WHERE name = ?", (ODD.encode(),)
    ),
    "name is a number": lambda db: db.execute(
        "UPDATE dirent SET name = 7 WHERE name = ?", (ODD.encode(),)
    ),
    "name leads out": lambda db: db.execute(
        "UPDATE dirent SET name = ? WHERE name = ?", (b"../../escaped", ODD.encode())
    ),
    "size is a text": lambda db: db.execute(
        "UPDATE inode SET size = 'large' WHERE id = ?", (_id(db),)
    ),
}


@pytest.mark.parametrize("at", ["head", "old"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_one_row(damage: str, at: str, workspace: Path, tree: Path) -> None:
    folder = tree / "d"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"f{number:04}").write_text(str(number))
    (folder / ODD).chmod(0o741)
    (tree / "e").write_text("x")
    run = InProcess(workspace / "repository")
    run("create", tree, "--name", "one")
    if at == "old":
        (tree / "e").write_text("xy")
        run("create", tree, "--name", "two")
    with loosely(run.repository / "catalog.db", "dirent", "inode") as db:
        DAMAGES[damage](db)
    others = {f"f{number:04}" for number in range(FILES)} - {ODD}

    target = workspace / "target"
    done = run("restore", "one", "--to", target, cwd=tree, ok=(3,))
    assert "the catalog is damaged here" in done.errors
    assert set(os.listdir(target / "d")) - {ODD} == others
    for name in others:
        assert (target / "d" / name).read_text() == str(int(name[1:]))
    assert sorted(os.listdir(target)) == ["d", "e"], "nothing lands elsewhere"

    (target / "d" / ODD).write_text("precious")
    (target / "gone").write_text("is deleted")
    words = ("--overwrite", "if-changed", "--delete", "--yes")
    run("restore", "one", "--to", target, *words, cwd=tree, ok=(3,))
    assert {ODD} | others == set(os.listdir(target / "d")), "nothing is deleted where it is damaged"
    assert not (target / "gone").exists()

    for more in ((), (f"d/{ODD}",)):
        words = ("--in-place", "--delete", "--yes", "--no-safety")
        run("restore", "one", *more, *words, cwd=tree, ok=(1, 3))
        assert {ODD} | others == set(os.listdir(folder))
    listed = run("ls", "one:d", cwd=tree, ok=(0, 1, 3))
    assert others - set(listed.lines) <= {ODD}
    run("verify", cwd=tree, ok=(3,))
