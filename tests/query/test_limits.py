"""A query reads the views and nothing else, and ends with its limits, whatever it asks for."""

from __future__ import annotations

import re
import resource
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.catalog import compiled, queries, watch
from snapfs.catalog.database import Catalog
from snapfs.cli import sql as cli_sql
from snapfs.errors import DamageError, Exit, SnapfsError, UsageError
from snapfs.query import VIEWS, QueryOptions, query
from snapfs.query.operation import Cut
from snapfs.repository.opened import Repository
from tests.catalog.test_plans import GROWING
from tests.harness.inprocess import InProcess
from tests.harness.program import Program

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
LONG = "WITH a(x, y) AS (SELECT hex(zeroblob(260000)), hex(zeroblob(130000)) || '1') "


@pytest.fixture
def repository(run: InProcess, tree: Path) -> Iterator[Repository]:
    (tree / "d").mkdir()
    (tree / "d/f").write_text("one")
    run("create", tree, "--name", "s1")
    with Repository(bytes(run.repository), write=False) as opened:
        yield opened


def ask(repository: Repository, text: str, **options: object) -> tuple[list[object], Cut | None]:
    with query(repository, text, QueryOptions(**options)) as answer:  # type: ignore[arg-type]
        rows = [*answer.rows()]
    return rows, answer.cut


FORBIDDEN = (
    "SELECT * FROM inode", "SELECT count(*) FROM inode", "SELECT id FROM main.inode", "SELECT * FROM place",
    "WITH entries AS (SELECT * FROM inode) SELECT * FROM entries",
    "WITH RECURSIVE entries(a) AS (SELECT id FROM inode UNION SELECT a FROM entries) SELECT * FROM entries",
    "WITH entries AS (SELECT count(*) FROM dirent) SELECT * FROM entries",
    "SELECT id FROM (SELECT id FROM inode) AS entries", "SELECT (SELECT count(*) FROM inode) FROM entries",
    "SELECT * FROM entries WHERE inode IN (SELECT id FROM inode)",
    "SELECT * FROM sqlite_master", "SELECT count(*) FROM sqlite_temp_master", "SELECT * FROM sqlite_schema",
    "SELECT * FROM pragma_table_info('inode')", "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM dbstat", "PRAGMA user_version", "PRAGMA query_only = OFF",
    "ATTACH '/tmp/x' AS x", "DETACH main", "VACUUM", "VACUUM INTO '/tmp/x'", "BEGIN", "COMMIT", "ROLLBACK",
    "SAVEPOINT x", "ANALYZE", "REINDEX", "CREATE TABLE x (y)", "CREATE TEMP TABLE x (y)",
    "CREATE TEMP VIEW x AS SELECT 1", "CREATE TRIGGER x AFTER INSERT ON inode BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE temp.x USING fts5(y)", "DROP TABLE inode", "DROP VIEW entries",
    "ALTER TABLE inode ADD x", "DELETE FROM inode", "DELETE FROM entries", "DELETE FROM temp.place",
    "INSERT INTO inode (id) VALUES (1)", "UPDATE snapshot SET name = 'x'", "REPLACE INTO meta VALUES ('a', 'b')",
    "WITH x AS (SELECT 1) DELETE FROM run", "EXPLAIN DELETE FROM run",
    "SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')", "SELECT readfile('/etc/passwd')",
    "SELECT sqlite_compileoption_get(1)", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE inode",
)  # fmt: skip


def test_nothing_else_is_reached(repository: Repository) -> None:
    before = Path(repository.name, "catalog.db").read_bytes()
    for text in FORBIDDEN:
        with pytest.raises(UsageError):
            ask(repository, text)
            pytest.fail(f"was allowed: {text}")
    assert Path(repository.name, "catalog.db").read_bytes() == before


def test_the_name_that_lets_a_view_read_is_drawn_anew(repository: Repository) -> None:
    inner = set()
    for _ in range(2):
        catalog = queries.QueryCatalog(repository.path + b"/catalog.db", timeout_s=None)
        with closing(catalog), catalog.watch:
            catalog.begin(placed=False)
            inner |= catalog._inner
    assert len(inner) == 2 * len(VIEWS)
    assert all(len(name) >= len("runs_") + 32 for name in inner)


def test_ordinary_names_of_a_with_are_free(repository: Repository) -> None:
    for text in (
        "WITH x AS (SELECT path FROM entries) SELECT count(*) FROM x",
        "WITH entries AS (SELECT * FROM changes UNION ALL SELECT * FROM changes) SELECT count(*) FROM entries",
        "SELECT count(*) FROM json_each('[1]')",
        "SELECT sum(value) FROM json_tree('[1, 2]') WHERE type = 'integer'",
    ):  # fmt: skip
        assert len(ask(repository, text)[0]) == 1


@pytest.mark.parametrize(
    "text",
    [
        ENDLESS + "SELECT max(n) FROM c",
        ENDLESS + "SELECT group_concat(n, '') FROM c WHERE n < 0",
        "SELECT count(*) FROM " + ", ".join(f"entries e{n}" for n in range(25)),
        ENDLESS + "SELECT n, randomblob(1000) AS x FROM c ORDER BY x",
    ],
)
def test_the_time_limit(repository: Repository, text: str) -> None:
    began = time.monotonic()
    rows, cut = ask(repository, text, timeout_s=0.3)
    assert (rows, cut) == ([], Cut.TIME)
    assert time.monotonic() - began < 3


def test_rows_that_came_before_the_time_limit_are_given_out(repository: Repository) -> None:
    rows, cut = ask(repository, ENDLESS + "SELECT n FROM c WHERE n < 500", timeout_s=0.3, rows=None)
    # Python's driver looks for the row after the one that it gives out, and loses that with the error.
    assert (len(rows), cut) == (498, Cut.TIME)


def test_time_counts_only_while_sqlite_works(repository: Repository) -> None:
    with query(repository, ENDLESS + "SELECT n FROM c LIMIT 1000", QueryOptions(0.3)) as answer:
        for (number,) in answer.rows():
            if number in (1, 600):
                time.sleep(0.4)
    assert (number, answer.cut) == (1000, None)


def test_wide_rows_end_and_are_not_held(run: InProcess, tree: Path) -> None:
    """What is done with them counts as work, and of what is aligned little is held."""
    run("create", tree)
    text = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x, hex(zeroblob(400000)) FROM r"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run("sql", "--limit", "0", "--timeout", "1s", text, cwd=tree, ok=(3,))
    assert b"time limit" in result.err
    assert result.out.count(b"\n") > 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20, (
        "in KiB, with the output"
    )


def test_the_row_limit(repository: Repository) -> None:
    for rows, cut in ((3, Cut.ROWS), (4, None), (None, None)):
        got = ask(repository, "SELECT value FROM json_each('[1, 2, 3, 4]')", rows=rows)
        assert got == ([(1,), (2,), (3,), (4,)][:rows], cut)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT zeroblob(1000000000)", "longer than 1,000,000 bytes"),
        ("SELECT length(randomblob(1000001))", "longer than 1,000,000 bytes"),
        (
            ENDLESS + "SELECT group_concat(printf('%1000d', n)) FROM (SELECT n FROM c LIMIT 1000)",
            "longer than 1,000,000 bytes",
        ),
        (
            "SELECT 1 WHERE " + " AND ".join(["length(hex(zeroblob(490000))) > 0"] * 300),
            "more than 256M of memory",
        ),
        ("SELECT " + "1 + " * 5000 + "1", "too large"),
        ("SELECT '" + "x" * 100_000 + "'", "too large"),
        (" UNION ALL ".join(["SELECT 1"] * 600), "too many terms"),
    ],
)
def test_what_is_too_much(repository: Repository, text: str, said: str) -> None:
    with pytest.raises(SnapfsError, match=said):
        ask(repository, text)


def test_the_limit_of_temporary_space(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "TEMPORARY_BYTES", 50 << 20)
    with pytest.raises(SnapfsError, match="of temporary space"):
        ask(repository, ENDLESS + "SELECT randomblob(100000) AS x FROM c ORDER BY x", timeout_s=60)


def test_one_step_that_does_not_hear(
    repository: Repository, run: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search in one long text: the process would end."""
    monkeypatch.setattr(watch, "GRACE_S", 0.1)
    codes: list[int] = []
    monkeypatch.setattr(cli_sql, "_exit", codes.append)
    done = run("sql", "--timeout", "1s", LONG + "SELECT instr(x, y) FROM a", ok=(0, 3))
    assert set(codes) == {Exit.PARTIAL}
    assert "did not stop at its time limit and was given up" in done.errors


def test_a_signal_ends_a_query(run: InProcess, snapfs: Program, tree: Path) -> None:
    snapfs.create(tree)
    words = ("sql", ENDLESS + "SELECT max(n) FROM c")
    process = snapfs.start(*words)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert snapfs.finish(process, words, ok=(143,), timeout_s=5).out == b""


def test_a_directory_within_itself_is_a_damage(repository: Repository, run: InProcess) -> None:
    with closing(sqlite3.connect(run.repository / "catalog.db")) as database:
        # f becomes another name of d, in which it is.
        database.execute("UPDATE dirent SET inode_id = parent_id WHERE name = CAST('f' AS BLOB)")
        database.commit()
    with pytest.raises(DamageError, match="contradicts itself"):
        ask(repository, "SELECT * FROM entries")
    assert ask(repository, "SELECT name FROM snapshots")[0] == [("s1",)]


FAST = (
    "entries WHERE dir = 'a'", "entries WHERE dir = 'a' AND name = 'b'", "entries WHERE inode = 5",
    "entries WHERE dir IN ('a', 'b') AND root = 'x'", "entries WHERE content = 5", "entries WHERE parent = 5",
    "changes WHERE snapshot_id = 5", "changes WHERE snapshot = 'a'", "changes WHERE snapshot = 'a' AND dir = 'b'",
    "blocks WHERE id = 5",
)  # fmt: skip


@pytest.mark.parametrize("condition", FAST)
def test_what_the_manual_calls_fast_is_looked_up(condition: str, tmp_path: Path) -> None:
    path = bytes(tmp_path / "catalog.db")
    Catalog.make(path)
    catalog = queries.QueryCatalog(path, timeout_s=None)
    with closing(catalog), catalog.watch:
        catalog.begin(placed=True)
        _, batches = catalog.run(f"EXPLAIN QUERY PLAN SELECT * FROM {condition}")
        plan = [row[3] for batch in batches for row in batch]
    view = getattr(compiled, f"VIEW_{condition.split(maxsplit=1)[0].upper()}")
    tables = {alias: table for table, alias in re.findall(r"\b(\w+) AS \"?(\w+)\"?", view)}
    scanned = [found[1] for step in plan if (found := re.match(r"SCAN (\w+)", step))]
    growing = {*GROWING, "place", "snapshot"}
    assert not [alias for alias in scanned if tables.get(alias, alias) in growing], "\n".join(plan)
