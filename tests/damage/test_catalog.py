"""Damage in catalog, journal and config; the catalog is made again from journal and packs alone."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.damage.conftest import Stored
from tests.damage.damaging import DAMAGES, flip
from tests.harness.history import History
from tests.harness.inprocess import InProcess
from tests.harness.trees import assert_same, survey, unlock_and_remove

CATALOG = ("catalog.db", "catalog.db-wal", "catalog.db-shm")


def everything_said(snapfs: InProcess, tree: Path) -> dict[str, Any]:
    """All that the commands tell of the repository: snapshots, tags, times, every entry of every view."""
    said: dict[str, Any] = {}
    listed = snapfs("list", "--all", "--json", cwd=tree)
    said["list"] = listed.json_lines()
    said["roots"] = snapfs("roots", "list", "--json", cwd=tree).json_lines()
    names = [line["name"] for line in said["list"]]
    for name in names:
        said[f"show {name}"] = snapfs("show", name, "--json", cwd=tree).json()
        said[f"ls {name}"] = snapfs(
            "ls", f"{name}:", "--recursive", "--json", cwd=tree
        ).json_lines()
    for a, b in itertools.pairwise(names):
        said[f"diff {a} {b}"] = snapfs("diff", a, b, "--json", cwd=tree).json_lines()
    return said


def random_history(past: History, rng: random.Random) -> None:
    """Creates, deletes, renames, pins, tags."""
    snapfs, tree = past.snapfs, past.tree
    for turn in range(4):
        past.take(f"h{turn}")
        names = past.listed()
        some = rng.choice(names)
        snapfs("tag", some, f"tag-{turn}", cwd=tree)
        if turn % 2:
            snapfs("untag", some, f"tag-{turn}", cwd=tree)
        snapfs("rename", names[-1], f"renamed-{turn}", "-m", f"message {turn} \u00e9", cwd=tree)
        past.states[f"renamed-{turn}"] = past.states.pop(names[-1])
        if turn % 3 == 1:
            victim = rng.choice(past.listed()[:-1])
            snapfs("delete", victim, "--yes", cwd=tree)
            past.states.pop(victim)
    kept = rng.choice(past.listed())
    snapfs("pin", kept, cwd=tree)
    snapfs("roots", "rename", "tree", "another-label", cwd=tree)


@pytest.mark.parametrize("how", ["removed", "flipped", "zeroed", "emptied", "older"])
def test_rebuild_gives_everything_as_it_was(how: str, past: History) -> None:
    rng = random.Random(how)
    snapfs, tree = past.snapfs, past.tree
    repository = snapfs.repository
    random_history(past, rng)
    older = past.scratch / "older.db"
    shutil.copyfile(repository / "catalog.db", older)
    # Two more: a journal that is one record ahead is a killed run, which the next writer finishes.
    past.take("last-but-one")
    past.take("last")
    before = everything_said(past.referee, tree)
    names = past.listed()
    catalog = repository / "catalog.db"
    if how == "flipped":
        for _ in range(200):
            flip(catalog, rng.random())
    elif how == "zeroed":
        with catalog.open("r+b") as file:
            file.write(bytes(8192))
    elif how == "emptied":
        catalog.write_bytes(b"")
    for name in CATALOG:
        if how == "removed" or name != "catalog.db":
            (repository / name).unlink(missing_ok=True)
    if how == "older":
        # A catalog that the journal is ahead of stops every writer.
        shutil.copyfile(older, catalog)
        for words in (("create", tree), ("delete", names[0], "--yes"), ("tag", names[0], "x")):
            stopped = snapfs(*words, cwd=tree, ok=(1,))
            assert "rebuild-catalog" in stopped.errors
    elif how == "removed":
        for words in (("create", tree), ("list",), ("ls", f"{names[0]}:")):
            stopped = snapfs(*words, cwd=tree, ok=(1,))
            assert "rebuild-catalog" in stopped.errors
        assert not catalog.exists(), "never an empty new one"
    snapfs("rebuild-catalog", "--yes", cwd=tree)
    assert everything_said(past.referee, tree) == before
    past.check(*names)
    past.take("next")
    snapfs("rebuild-catalog", "--yes", cwd=tree)
    past.check(*names, "next")


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("at", [0.02, 0.5, 0.97])
def test_catalog_page(how: str, at: float, stored: Stored) -> None:
    """Damage in any page: a wrong answer is never given as a right one, and rebuild-catalog mends it."""
    catalog = stored.snapfs.repository / "catalog.db"
    DAMAGES[how](catalog, at)
    for number in range(3):
        target = stored.scratch / f"r{number}"
        done = stored.snapfs.restore(f"s{number}", target, cwd=stored.tree, ok=None)
        assert done.code in (0, 1, 3)
        if done.code == 0:
            assert_same(stored.states[number], survey(target))
        unlock_and_remove(target)
    found = stored.snapfs.verify(cwd=stored.tree, ok=(0, 1, 3))
    if how in ("remove", "truncate"):
        assert found.code in (1, 3)
        assert "catalog" in found.text + found.errors
    if how != "remove" and found.code == 0:
        # A page that nothing uses, or a byte within one that nothing reads.
        stored.check_all()
    stored.snapfs("rebuild-catalog", "--yes", cwd=stored.tree)
    stored.check_all()
    stored.snapfs.verify(cwd=stored.tree)


def test_a_damaged_page_is_told_by_every_command(stored: Stored) -> None:
    """Whatever page a command comes upon: one line that names the file and the way out."""
    catalog = stored.snapfs.repository / "catalog.db"
    pristine = catalog.read_bytes()
    words = (
        ("list",),
        ("ls", "s0:"),
        ("roots", "list"),
        ("runs",),
        ("diff", "s0", "s1"),
        ("info",),
    )
    told = 0
    for page in range(1, len(pristine) // 4096):
        with catalog.open("r+b") as file:
            file.seek(4096 * page)
            file.write(bytes(4096))
        done = stored.snapfs(*words[page % len(words)], cwd=stored.tree, ok=None)
        assert done.code in (0, 1), str(done)
        if done.code:
            assert "catalog.db" in done.errors
            assert len(done.errors.splitlines()) == 1
            told += 1
        catalog.write_bytes(pristine)
    assert told


def test_flips_all_over_the_catalog_are_found(stored: Stored) -> None:
    """Random flips in a SQLite file pass its own integrity check half of the time; not verify."""
    rng = random.Random(9)
    catalog = stored.snapfs.repository / "catalog.db"
    pristine = catalog.read_bytes()
    for _ in range(12):
        flip(catalog, rng.random())
        found = stored.snapfs.verify(cwd=stored.tree, ok=(0, 1, 3))
        if found.code == 0:
            stored.check_all()
        for name in CATALOG[1:]:
            (stored.snapfs.repository / name).unlink(missing_ok=True)
        catalog.write_bytes(pristine)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("at", [0.1, 0.6, 0.99])
def test_journal(how: str, at: float, stored: Stored) -> None:
    """The journal is for rebuilding: verify names it, and every file still restores."""
    journal = max((stored.snapfs.repository / "journal").iterdir())
    DAMAGES[how](journal, at)
    found = stored.snapfs.verify(cwd=stored.tree, ok=(1, 3))
    assert journal.name in found.text + found.errors
    stored.check_all()


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("at", [0.1, 0.5])
def test_config(how: str, at: float, stored: Stored) -> None:
    """A config that cannot be believed is named in one line, and made again from what packs say."""
    config = stored.snapfs.repository / "config"
    pristine = config.read_bytes()
    DAMAGES[how](config, at)
    assert "config" in stored.snapfs("list", cwd=stored.tree).errors
    stored.check_all()
    found = stored.snapfs.verify(cwd=stored.tree, ok=(3,))
    assert "damage: config" in found.text
    written = stored.snapfs("create", stored.tree, "--name", "x", cwd=stored.tree, ok=(1,))
    assert "config" in written.errors
    stored.snapfs("rebuild-catalog", "--yes", cwd=stored.tree)
    assert config.read_bytes() == pristine
    stored.check_all()
    stored.snapfs.verify(cwd=stored.tree)


def test_wal_is_left_behind(stored: Stored) -> None:
    """A copy of the repository without its -wal is an older catalog: nothing is made up from it."""
    (stored.tree / "more").write_bytes(os.urandom(1000))
    stored.snapfs.create(stored.tree, "s3")
    for name in CATALOG[1:]:
        (stored.snapfs.repository / name).unlink(missing_ok=True)
    done = stored.snapfs("list", "--json", cwd=stored.tree, ok=(0, 1))
    if done.code == 0 and "s3" in done.text:
        stored.snapfs.verify(cwd=stored.tree)
    stored.snapfs("rebuild-catalog", "--yes", cwd=stored.tree)
    assert "s3" in stored.snapfs("list", "--json", cwd=stored.tree).text
    stored.check_all()
    (stored.tree / "more").unlink()
