"""A repository that somebody edited by hand: clear errors, no escape, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.history import History
from tests.harness.program import PROGRAM, Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey
from tests.harness.user import User


def edit_config(past: History, **values: Any) -> None:
    """Change values in the config."""
    path = past.snapfs.repository / "config"
    config = json.loads(path.read_bytes())
    config.update(values)
    path.write_text(json.dumps(config, indent=1) + "\n")


READING = (("list",), ("ls", "s0:"), ("diff", "s0", "s1"), ("cat", "s0:mode"), ("info",))


def test_feature_needed_for_reading(past: History) -> None:
    """An unknown feature that readers must know: every command refuses and names it."""
    edit_config(past, need_read=["time-travel"])
    for words in (*READING, ("create", past.tree), ("delete", "s0", "--yes"), ("verify",)):
        done = past.snapfs(*words, cwd=past.tree, ok=(1,))
        assert "time-travel" in done.errors, str(done)
        assert len(done.errors.strip().splitlines()) == 1


def test_feature_needed_for_writing(past: History) -> None:
    """An unknown feature that only writers must know: reading works, writing refuses and names it."""
    edit_config(past, need_write=["shiny-index"])
    for words in READING:
        past.snapfs(*words, cwd=past.tree)
    past.check_one("s1")
    for words in (("create", past.tree), ("delete", "s0", "--yes"), ("tag", "s0", "t")):
        done = past.snapfs(*words, cwd=past.tree, ok=(1,))
        assert "shiny-index" in done.errors, str(done)


def test_format_of_the_future(past: History) -> None:
    edit_config(past, format=99)
    for words in (*READING, ("create", past.tree)):
        done = past.snapfs(*words, cwd=past.tree, ok=(1,))
        assert "99" in done.errors


@pytest.mark.parametrize("pragma", ["user_version = 12345", "application_id = 7"])
def test_catalog_of_another_program(pragma: str, past: History) -> None:
    with sqlite3.connect(past.snapfs.repository / "catalog.db") as database:
        database.execute(f"PRAGMA {pragma}")
    database.close()
    for words in (("list",), ("create", past.tree)):
        done = past.snapfs(*words, cwd=past.tree, ok=(1,))
        assert "catalog" in done.errors


def test_catalog_of_another_repository(past: History, workspace: Path) -> None:
    other = Program(repository=workspace / "other" / "repository", home=past.snapfs.home)
    (workspace / "foreign").mkdir()
    other.create(workspace / "foreign", "f0")
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (past.snapfs.repository / name).unlink(missing_ok=True)
    shutil.copyfile(other.repository / "catalog.db", past.snapfs.repository / "catalog.db")
    stopped = past.snapfs("create", past.tree, cwd=past.tree, ok=(1,))
    assert "rebuild-catalog" in stopped.errors
    past.snapfs("rebuild-catalog", "--yes", cwd=past.tree)
    past.check("s0", "s1", "s2")


def test_foreign_files(past: History) -> None:
    """Files that snapfs did not put there are never believed by their name, and never removed."""
    repository = past.snapfs.repository
    foreign = [
        repository / "README",
        repository / "packs" / ("a" * 32),
        repository / "packs" / "notes.txt",
    ]
    foreign += [repository / "journal" / "99999999.log.bak", repository / "packs" / "sub"]
    for path in foreign[:-1]:
        path.write_bytes(b"not a pack")
    foreign[-1].mkdir()
    past.take("s3")
    past.snapfs("delete", "s0", "--yes", cwd=past.tree)
    past.snapfs("verify", cwd=past.tree, ok=(0, 3))
    for path in foreign:
        assert path.exists(), path
    past.check("s1", "s2", "s3", verify=False)
    past.snapfs("rebuild-catalog", "--yes", cwd=past.tree, ok=(0, 3))
    past.check("s1", "s2", "s3", verify=False)


def test_pack_of_another_repository(past: History, workspace: Path) -> None:
    other = Program(repository=workspace / "other" / "repository", home=past.snapfs.home)
    (workspace / "foreign").mkdir()
    (workspace / "foreign" / "f").write_bytes(os.urandom(100_000))
    other.create(workspace / "foreign", "f0")
    (pack,) = (other.repository / "packs").iterdir()
    shutil.copyfile(pack, past.snapfs.repository / "packs" / pack.name)
    past.take("s3")
    past.check("s0", "s1", "s2", "s3", verify=False)


def test_symlinked_pack_is_refused(past: History, workspace: Path) -> None:
    packs = past.snapfs.repository / "packs"
    pack = max(packs.iterdir(), key=lambda path: path.stat().st_size)
    moved = workspace / "moved-pack"
    pack.rename(moved)
    pack.symlink_to(moved)
    done = past.snapfs.restore("s0", workspace / "target", cwd=past.tree, ok=(1, 3))
    assert pack.name in done.errors
    found = past.snapfs("verify", cwd=past.tree, ok=(1, 3))
    assert pack.name in found.text + found.errors
    pack.unlink()
    moved.rename(pack)
    past.check("s0", "s1", "s2")


@pytest.mark.parametrize("name", ["packs", "journal", "locks", "catalog.db", "config"])
def test_symlinks_in_the_repository(name: str, past: History, workspace: Path) -> None:
    """Nothing is written through a symlink that stands where a part of the repository should."""
    part = past.snapfs.repository / name
    for suffix in ("-wal", "-shm"):
        (past.snapfs.repository / f"catalog.db{suffix}").unlink(missing_ok=True)
    aside = workspace / "aside"
    part.rename(aside)
    part.symlink_to(aside)

    def look() -> object:
        return survey(aside).facts if aside.is_dir() else aside.read_bytes()

    before = look()
    done = past.snapfs("create", past.tree, cwd=past.tree, ok=(1,))
    assert name in done.errors
    assert look() == before


def test_missing_parts(past: History) -> None:
    """Without the catalog: one line that says what to run; without everything: no repository."""
    for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
        (past.snapfs.repository / name).unlink(missing_ok=True)
    for words in (("list",), ("create", past.tree), ("info",)):
        done = past.snapfs(*words, cwd=past.tree, ok=(1,))
        assert "snapfs rebuild-catalog" in done.errors
    past.snapfs("rebuild-catalog", "--yes", cwd=past.tree)
    past.check("s0", "s1", "s2")


def test_a_folder_that_is_no_repository(snapfs: Program, tree: Path, workspace: Path) -> None:
    """It is never taken over."""
    folder = workspace / "documents"
    folder.mkdir()
    (folder / "letter").write_bytes(b"dear")
    other = Program(repository=folder, home=snapfs.home)
    for words in (("create", tree), ("list",), ("rebuild-catalog", "--yes")):
        done = other(*words, ok=(1, 10))
        assert str(folder) in done.errors
    assert os.listdir(folder) == ["letter"]


def test_repository_of_another_user(past: History, workspace: Path, user: User) -> None:
    """root writes into another user's repository only when it is named."""
    need_root()
    own = past.snapfs.home / ".local" / "share" / "snapfs" / "repository"
    own.parent.mkdir(parents=True)
    past.snapfs.repository.rename(own)
    for path in [own, *own.rglob("*")]:
        os.chown(path, user.uid, user.gid)
    unnamed = past.snapfs.environment()
    del unnamed["SNAPFS_REPO"]
    done = subprocess.run(
        [*PROGRAM, "create", past.tree],
        env=unnamed,
        cwd=past.tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done
    assert "--repo" in done.stderr or "-r" in done.stderr
    named = subprocess.run(
        [*PROGRAM, "-r", own, "create", past.tree],
        env=unnamed,
        cwd=past.tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert named.returncode == 0, named
    assert {path.lstat().st_uid for path in own.rglob("*")} == {user.uid}


def test_moved_repository(past: History, workspace: Path) -> None:
    """The repository holds no path of its own."""
    elsewhere = workspace / "elsewhere"
    past.snapfs.repository.rename(elsewhere)
    past.snapfs = Program(repository=elsewhere, home=past.snapfs.home)
    past.take("s3")
    past.check("s0", "s1", "s2", "s3")


def test_read_only_media(past: History, workspace: Path) -> None:
    """Everything that reads works from a read-only mount; what writes says why it cannot."""
    need_root()
    point = workspace / "read-only"
    point.mkdir()
    subprocess.run(["mount", "--bind", past.snapfs.repository.parent, point], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", point], check=True)
        media = Program(repository=point / past.snapfs.repository.name, home=past.snapfs.home)
        for words in READING:
            media(*words, cwd=past.tree)
        media.restore("s1", workspace / "target", cwd=past.tree)
        assert_same(past.states["s1"], survey(workspace / "target"))
        media.verify(cwd=past.tree)
        media("completion", "bash")
        done = media("create", past.tree, cwd=past.tree, ok=(1,))
        assert "read-only" in done.errors.lower()
    finally:
        subprocess.run(["umount", point], check=True)


def below_itself(past: History) -> None:
    """Write into the catalog that ``a/b/c/loop`` is ``a``."""
    with sqlite3.connect(past.snapfs.repository / "catalog.db") as database:
        found = database.execute("SELECT name, inode_id FROM dirent").fetchall()
        inodes = {bytes(name): inode for name, inode in found}
        database.execute(
            "INSERT INTO dirent VALUES (?, ?, ?)", (inodes[b"level-c"], b"loop", inodes[b"level-a"])
        )
    database.close()


@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_a_directory_below_itself(gone: bool, past: History, workspace: Path) -> None:
    """What a catalog that was tampered with leads back to is named, and nothing goes on for ever."""
    (past.tree / "level-a" / "level-b" / "level-c").mkdir(parents=True)
    (past.tree / "level-a" / "level-b" / "level-c" / "file").write_bytes(b"deep down")
    past.take("deep")
    below_itself(past)
    if gone:
        shutil.rmtree(past.tree / "level-a")
    way = "level-a/level-b/level-c/loop"

    def run(*words: str, ok: tuple[int, ...]) -> str:
        return past.snapfs(*words, cwd=past.tree, ok=ok, timeout_s=60).errors

    assert way in run("ls", "deep:", "--recursive", ok=(1,))
    run("diff", "s2", "deep", ok=(0, 1))
    run("diff", "deep", ".", ok=(0, 1))
    run("diff", "deep", ".", "--all", ok=(0, 1))
    assert "level-a/level-b/level-c: " in run(
        "restore", "deep", "--to", str(workspace / "to"), ok=(3,)
    )
    assert_same(past.states["deep"], survey(workspace / "to"))
    assert "damaged" in past.snapfs("verify", cwd=past.tree, ok=(3,)).errors
    run("create", ".", "--name", "after", ok=(0, 1, 3))
    for name in ("s0", "s1", "s2"):
        past.check_one(name)


@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_what_lies_beside_the_catalog_is_a_plain_file(
    side: str, kind: str, snapfs: Program, tree: Path
) -> None:
    """SQLite opens it unasked, and would wait for a pipe for ever."""
    snapfs.create(tree, "one")
    place = snapfs.repository / f"catalog.db{side}"
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/etc/passwd")
    else:
        place.mkdir()
    for words in (("list",), ("ls", "one"), ("create",), ("delete", "one", "--yes"), ("verify",)):
        done = snapfs(*words, cwd=tree, ok=(1, 3))
        assert "is no plain file" in done.text + done.errors, words
