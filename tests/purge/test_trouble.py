"""What may hinder a purge: it is refused with nothing done, or says what is left and goes on later."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.purge.operation import _gain
from snapfs.repository.locks import Locks
from tests.harness.inprocess import InProcess
from tests.harness.trees import assert_same, survey
from tests.purge.traces import traces

MARKER = b"qZtroubleZq"


@pytest.fixture
def taken(run: InProcess, tree: Path) -> InProcess:
    """Two snapshots; the marker's block shares a pack with others."""
    for turn in range(2):
        (tree / "secret").write_bytes(MARKER + b" %d" % turn)
        (tree / "kept").write_bytes(os.urandom(3000))
        run("create", tree, "--name", f"s{turn}", cwd=tree)
    return run


def test_it_is_asked_for_first_and_the_root_stays(taken: InProcess, tree: Path) -> None:
    before = traces(taken.repository, MARKER)
    assert "asks first" in taken("purge", "secret", cwd=tree, ok=(2,)).errors
    assert "roots remove" in taken("purge", ".", "--yes", cwd=tree, ok=(2,)).errors
    assert "has nope" in taken("purge", "nope", cwd=tree, ok=(1,)).errors
    assert "which path" in taken("purge", "--yes", cwd=tree, ok=(2,)).errors
    assert "no snapshot of tree has nothing" in taken(
        "purge", "nothing", "secret", "--yes", cwd=tree, ok=(1,)
    ).errors  # fmt: skip
    assert traces(taken.repository, MARKER) == before


def test_pinned_snapshots_are_named(taken: InProcess, tree: Path) -> None:
    taken("pin", "s0", cwd=tree)
    assert taken("purge", "secret", "-n", "--json", cwd=tree).json()["pinned"] == ["s0"]


def test_somebody_reads_blocks(taken: InProcess, tree: Path) -> None:
    before = traces(taken.repository, MARKER)
    fd = os.open(taken.repository, os.O_RDONLY)
    try:
        with Locks(fd, None, write=True).hold_blocks(0):
            taken("purge", "secret", "--yes", cwd=tree, ok=(11,))
    finally:
        os.close(fd)
    assert traces(taken.repository, MARKER) == before
    taken("verify", "--data")


def test_somebody_reads_the_catalog(taken: InProcess, tree: Path) -> None:
    """The log cannot be cut meanwhile: that is said, and the next purge does it."""
    with closing(sqlite3.connect(taken.repository / "catalog.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM dirent").fetchall()
        done = taken("purge", "secret", "--yes", cwd=tree, ok=(3,))
        assert "somebody reads the catalog" in done.errors
        assert any(b"secret" in row for row in reader.execute("SELECT name FROM dirent"))
    assert "not finished" in taken("verify").errors
    taken("purge", "--deleted", "--yes", cwd=tree)
    assert traces(taken.repository, MARKER) == set()
    assert traces(taken.repository, b"secret") == set()


def test_what_was_set_aside_goes_or_is_named(taken: InProcess, tree: Path) -> None:
    repository = taken.repository
    (repository / "catalog.db.old").write_bytes(MARKER)
    (repository / "journal" / "damaged-0000000001.log").write_bytes(MARKER)
    (repository / "packs" / "tmp-root-9-0").write_bytes(MARKER)
    (repository / "packs" / "stranger").write_bytes(MARKER)
    (repository / "quarantine").mkdir()
    (repository / "quarantine" / "pack").write_bytes(MARKER)
    done = taken("purge", "secret", "--yes", "--json", cwd=tree, ok=(3,)).json()
    assert len(done["remaining"]) == done["problems"] == 2
    left = {
        path for path in repository.rglob("*") if path.is_file() and MARKER in path.read_bytes()
    }
    assert left == {repository / "packs" / "stranger", repository / "quarantine" / "pack"}


def test_a_damaged_pack_stays_and_is_named(taken: InProcess, tree: Path, target: Path) -> None:
    """What else lies in it might be lost with it."""
    state = survey(tree).without([b"secret"])
    for pack in (taken.repository / "packs").iterdir():
        data = bytearray(pack.read_bytes())
        at = data.index(MARKER + b" 0") if MARKER + b" 0" in data else None
        if at is not None:
            data[at] ^= 1
            pack.write_bytes(data)
            damaged = pack
    done = taken("purge", "secret", "--yes", "--json", cwd=tree, ok=(3,)).json()
    assert damaged.name in done["remaining"][0]
    assert damaged.exists()
    assert done["packs_rewritten"] == 1
    taken("restore", "s1", "--to", target, cwd=tree)
    assert_same(state, survey(target))


def test_lost_blocks_are_settled_first(taken: InProcess, tree: Path) -> None:
    """A directory's digest covers those of its files: without them it cannot be made anew."""
    (tree / "new").write_bytes(b"new")
    packs = set((taken.repository / "packs").iterdir())
    taken("create", "--name", "s2", cwd=tree)
    (lost,) = set((taken.repository / "packs").iterdir()) - packs
    lost.unlink()
    (tree / "new").unlink()
    taken("rebuild-catalog", ok=(3,))
    refused = taken("purge", "secret", "--yes", cwd=tree, ok=(1,))
    assert "not settled yet" in refused.errors
    taken("repair", "--yes", ok=(3,))
    taken("purge", "secret", "--yes", cwd=tree)
    assert traces(taken.repository, MARKER) == set()
    taken("verify", "--data")


def test_a_full_disk_leaves_all_as_it_was(
    small_filesystem: Callable[..., Path], tree: Path, target: Path
) -> None:
    disk = small_filesystem("ext4", 64 << 20)
    run = InProcess(disk / "repository")
    (tree / "secret").write_bytes(MARKER)
    (tree / "kept").write_bytes(os.urandom(18 << 20))
    run("create", tree, "--name", "s1", cwd=tree)
    state = survey(tree)
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    filler.write_bytes(bytes(free - (1 << 20)))
    packs = sorted(path.name for path in (run.repository / "packs").iterdir())
    run("purge", "secret", "--yes", cwd=tree, ok=(1,))
    assert sorted(path.name for path in (run.repository / "packs").iterdir()) == packs
    run("restore", "s1", "--to", target)
    assert_same(state, survey(target))
    run("verify", "--data")
    filler.unlink()
    run("purge", "secret", "--yes", cwd=tree)
    assert traces(run.repository, MARKER) == set()


def test_a_reused_number_is_no_other_name(run: InProcess, tree: Path) -> None:
    """Inode numbers come again: what stays under the other name is another thing, and nothing of this."""

    def take(name: str, *paths: str) -> None:
        run("create", tree, "--name", name, cwd=tree)
        for path in paths:
            (tree / path).rename(tree / f"new-{path}")

    for name in ("file", "moved"):
        (tree / name).write_bytes(f"old {name}".encode())
    (tree / "link").symlink_to("old")
    for name in ("dir", "alike", "empty"):
        (tree / name).mkdir()
    (tree / "dir" / "old").write_bytes(b"in dir")
    (tree / "alike" / "old").write_bytes(b"in another")
    take("a", "file", "moved", "dir", "alike", "empty")
    # Another thing with the same number, as a filesystem makes one that reuses it at once.
    (tree / "new-file").write_bytes(b"secret")
    (tree / "new-dir" / "old").unlink()
    (tree / "new-dir" / "new").write_bytes(b"also secret")
    take("b")
    for path, known, shared in (
        ("new-file", [], 0),
        ("new-dir", [], 0),
        ("new-moved", ["moved"], 1),
    ):
        plan = run("purge", path, "-n", "--json", cwd=tree).json()
        assert [one["path"] for one in plan["also_known"]] == known, path
        assert plan["shared_contents"] == shared, path
    run("purge", "new-file", "new-dir", "--yes", cwd=tree)
    assert traces(run.repository, b"secret") == set()
    run("verify", "--data")


def test_what_it_would_free_is_about_what_it_frees(run: InProcess, tree: Path) -> None:
    """Bytes that compress well lie beside others that do not: a share of the uncompressed size is far off."""
    (tree / "secret").write_bytes(os.urandom(8_000_000))
    (tree / "small").write_bytes(os.urandom(2000))
    (tree / "text").write_bytes(
        b"".join(b"line %d of text\n" % number for number in range(400_000))
    )
    run("create", tree, "--name", "a", cwd=tree)
    plan = run("purge", "secret", "small", "-n", "--json", cwd=tree).json()["freed_bytes"]
    text = run("purge", "secret", "-n", cwd=tree).errors
    assert "; about " in text
    done = run("purge", "secret", "small", "--yes", "--json", cwd=tree).json()["freed_bytes"]
    assert done > 7_900_000
    assert abs(plan - done) < done / 5  # one segment may hold both kinds


def test_a_purge_that_frees_nothing_says_so(run: InProcess, tree: Path) -> None:
    assert _gain(10) == "10 bytes freed"
    assert _gain(-5666) == "0 bytes freed, 5666 more used"
    (tree / "secret").write_bytes(b"kept")
    (tree / "kept").write_bytes(b"kept")
    run("create", tree, cwd=tree)
    text = run("purge", "secret", "-n", cwd=tree).errors
    assert "1 content of it stays, since" in text
