"""A catalog in which somebody wrote what cannot be: named, never followed, and the rest is restored."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.loosely import loosely


@pytest.fixture
def run(workspace: Path, tree: Path) -> InProcess:
    """Two snapshots, a and b, of the files ``kept`` and ``file``, a symlink and a directory."""
    run = InProcess(workspace / "repository")
    (tree / "d").mkdir()
    (tree / "kept").write_text("as it was")
    (tree / "file").write_text("old")
    (tree / "link").symlink_to("file")
    run("create", tree, "--name", "a")
    (tree / "file").write_text("newer")
    run("create", tree, "--name", "b")
    return run


def edit(run: InProcess, *statements: str) -> None:
    with closing(sqlite3.connect(run.repository / "catalog.db")) as database:
        for statement in statements:
            assert database.execute(statement).rowcount != 0
        database.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE segment SET stored = 9223372036854775807 WHERE id = (SELECT max(id) FROM segment)",
        "UPDATE inode SET target = X'610062' WHERE kind = 3",
        "UPDATE inode SET size = -5 WHERE id = (SELECT inode_id FROM dirent WHERE name = X'66696C65')",
        "UPDATE inode SET kind = 9 WHERE id = (SELECT inode_id FROM dirent WHERE name = X'66696C65')",
    ],
)
def test_one_impossible_row_costs_one_entry(
    statement: str, run: InProcess, tree: Path, workspace: Path
) -> None:
    edit(run, statement)
    run("restore", "b", "--to", workspace / "to", cwd=tree, ok=(3,))
    assert (workspace / "to" / "kept").read_text() == "as it was"
    assert "damage: " in run("verify", "--data", cwd=tree, ok=(3,)).text


@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE attr SET uid = 99999999999",),
        ("INSERT INTO xattr VALUES (77, X'FFFFFFFFFFFF')", "UPDATE attr SET xattr_id = 77"),
    ],
)
def test_impossible_attributes_of_the_root(
    statements: tuple[str, ...], run: InProcess, tree: Path, workspace: Path
) -> None:
    edit(run, *statements)
    done = run("restore", "b", "--to", workspace / "to", cwd=tree, ok=(1,))
    assert "what the catalog says of . is damaged" in done.errors
    assert run("verify", cwd=tree, ok=(3,)).text


def test_another_state_than_the_snapshot_was(run: InProcess, tree: Path, workspace: Path) -> None:
    """The newest state under the name of an older snapshot: told, and nothing is deleted for it."""
    edit(run, "UPDATE root SET head_id = (SELECT min(id) FROM snapshot)")
    (workspace / "to").mkdir()
    (workspace / "to" / "mine").write_text("not theirs to delete")
    words = ("--to", workspace / "to", "--overwrite", "always", "--delete", "--yes")
    done = run("restore", "a", *words, cwd=tree, ok=(3,))
    assert "not a as it was" in done.errors
    assert (workspace / "to" / "mine").exists()


def test_a_directory_below_itself_without_digests(
    run: InProcess, tree: Path, workspace: Path
) -> None:
    """A directory without a digest vouches for nothing: what leads back in it is not followed."""
    edit(
        run,
        "INSERT INTO dirent SELECT inode_id, X'6C6F6F70', parent_id FROM dirent WHERE name = X'64'",
        "UPDATE inode SET tree_digest = NULL WHERE kind = 2",
    )
    run("restore", "b", "--to", workspace / "to", cwd=tree, ok=(3,))
    assert sorted(path.name for path in (workspace / "to").rglob("*")) == [
        "d",
        "file",
        "kept",
        "link",
    ]


@pytest.mark.parametrize("rules", ["{{{", "[1,2]", '{"patterns": 3}'])
def test_rules_that_are_none(rules: str, run: InProcess, tree: Path, workspace: Path) -> None:
    edit(run, f"UPDATE snapshot SET rules = '{rules}'")
    assert "lost the rules" in run("verify", cwd=tree, ok=(3,)).text
    for words in (("show", "b"), ("restore", "b", "--to", workspace / "to")):
        assert "rules of a snapshot are damaged" in run(*words, cwd=tree, ok=(1,)).errors


def test_names_that_move_the_cursor(run: InProcess, tree: Path) -> None:
    edit(
        run,
        "UPDATE snapshot SET name = char(27) || '[31mx' WHERE name = 'b'",
        "UPDATE root SET label = char(27) || '[2J'",
    )
    for words in (("list",), ("roots", "list"), ("verify",), ("create", "."), ("show",)):
        done = run(*words, cwd=tree, ok=None)
        assert b"\x1b" not in done.out + done.err, str(done)
    assert "no snapshot can have" in run("verify", cwd=tree, ok=(3,)).text


@pytest.mark.parametrize("place", ["packs/tmp-root-1-0-0", "journal/tmp-x"])
def test_a_folder_in_place_of_an_unfinished_file(place: str, run: InProcess, tree: Path) -> None:
    (run.repository / place).mkdir()
    run("create", tree)
    run("create", tree)


def test_packs_that_are_gone_are_told_by_the_next_create(run: InProcess, tree: Path) -> None:
    for pack in (run.repository / "packs").iterdir():
        pack.unlink()
    done = run("create", tree, ok=(3,))
    assert "missing or cut off" in done.errors
    assert run("create", tree, "--json", ok=(3,)).json()["damaged"] is True
    run("create", tree, "--checksum", "--name", "again")
    assert (tree / "file").read_bytes() == run("cat", "again:file", cwd=tree).out


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE inode SET content_id = (SELECT max(content_id) FROM inode) WHERE id = "
        "(SELECT inode_id FROM dirent WHERE name = X'6B657074')",
        "UPDATE inode SET size = 3 WHERE id = (SELECT inode_id FROM dirent WHERE name = X'6B657074')",
        "DELETE FROM dirent WHERE name = X'64'",
    ],
)
def test_nothing_is_built_on_what_was_not_captured(
    statement: str, links: bool, run: InProcess, tree: Path, workspace: Path
) -> None:
    """A create that looks into a directory would take over what the edit made of its other entries."""
    if links:
        (tree / "first").write_text("linked")
        (tree / "second").hardlink_to(tree / "first")
        run("create", tree, "--name", "c")
        (tree / "first").write_text("linked, longer")
    edit(run, statement)
    (tree / "new").write_text("new")
    before = run("list", "--json", cwd=tree).out
    for words in (("create", tree), ("diff",), ("create", tree, "--dry-run")):
        assert "not as it was captured" in run(*words, cwd=tree, ok=(1,)).errors
    assert run("list", "--json", cwd=tree).out == before
    run("rebuild-catalog")
    run("create", tree, "--name", "sound")
    run("restore", "sound", "--to", workspace / "to", cwd=tree)
    assert (workspace / "to" / "kept").read_text() == "as it was"
    run("verify", "--data", cwd=tree)


@pytest.mark.parametrize(
    "counter", ["inode", "content", "pack", "segment", "attr", "snapshot", "run"]
)
@pytest.mark.parametrize(
    "edited",
    ["UPDATE counter SET next = 1 WHERE name = '{}'", "DELETE FROM counter WHERE name = '{}'"],
)
def test_no_id_is_given_again(counter: str, edited: str, run: InProcess, tree: Path) -> None:
    run("tag", "a", "t", cwd=tree)
    edit(run, edited.format(counter))
    (tree / "file").write_text("the newest")
    for words in (("create", tree), ("tag", "a", "u"), ("delete", "b", "--yes")):
        assert f"counter {counter} would give id" in run(*words, cwd=tree, ok=(1,)).errors, words
    assert f"counter {counter}" in run("verify", cwd=tree, ok=(3,)).text
    run("rebuild-catalog")
    run("create", tree, "--name", "c")
    run("verify", "--data", cwd=tree)


LOOKING: tuple[tuple[str, ...], ...] = (
    ("list",), ("show", "a"), ("roots",), ("runs",), ("info",), ("ls", "a:"), ("diff", "a", "b"),
    ("list", "--json"), ("runs", "--json"), ("restore", "a", "--in-place", "--dry-run"),
    ("delete", "a", "--dry-run"), ("create", "--dry-run"),
)  # fmt: skip


OF_ANOTHER_KIND = {"INTEGER": ("1.5", "'text'"), "TEXT": ("X'FF00'",), "BLOB": ("'text'", "1")}


@pytest.mark.parametrize("table", ["root", "snapshot", "snapshot_tag", "run", "owner", "problem"])
def test_values_of_another_kind(table: str, run: InProcess, tree: Path) -> None:
    """SQLite refuses text in a column of numbers, but a page that was written past it may have it."""
    run("tag", "a", "kept", cwd=tree)
    edit(run, "INSERT INTO problem VALUES (1, 1, X'66', 13, 'cannot be read')")
    catalog = run.repository / "catalog.db"
    sound = catalog.read_bytes()
    with closing(sqlite3.connect(catalog)) as database:
        columns = [row[1:3] for row in database.execute(f"PRAGMA table_info({table})")]
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    edited = 0
    for column, kind in columns:
        for value in OF_ANOTHER_KIND[kind]:
            statement = f'UPDATE {table} SET "{column}" = {value}'
            with pytest.raises(sqlite3.IntegrityError):
                edit(run, statement)
            try:
                with loosely(catalog, table) as database:
                    database.execute(statement)
            except sqlite3.IntegrityError:
                continue  # a key
            edited += 1
            for words in LOOKING:
                run(*words, cwd=tree, ok=None)  # which asserts that no error is an internal one
            assert "damage: catalog.db" in run("verify", cwd=tree, ok=(3,)).text, column
            for part in run.repository.glob("catalog.db-*"):
                part.unlink()
            catalog.write_bytes(sound)
    assert edited > 2
