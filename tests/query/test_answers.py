"""How an answer is printed, what is said of mistakes, and that the manual has it right."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.catalog.queries import FUNCTIONS, QueryCatalog
from snapfs.cli.render.rows import print_rows
from snapfs.query import VIEWS
from tests.cli.conftest import Shell, past, shell
from tests.harness.inprocess import InProcess

__all__ = ["past", "shell"]  # fixtures

PAGE = (Path(__file__).parents[2] / "man/snapfs-sql.7").read_text()


def test_a_table(past: Shell) -> None:
    done = past("sql", "SELECT name, size, message FROM snapshots ORDER BY id")
    assert done.lines == ["name  size  message", "s1       8  first", "s2    3013", "s3    3009"]
    assert past("sql", "SELECT root, 1.5 AS x, NULL FROM roots").lines[1:] == ["photos  1.5"]
    nothing = past("sql", "SELECT name, size FROM snapshots WHERE name = 'x'")
    assert nothing.lines == ["name  size"]


def test_names_that_are_no_text(past: Shell) -> None:
    query = (
        "SELECT name, NULL AS none, '' AS empty, 'a,\"b' AS odd FROM entries WHERE name LIKE 'n%'"
    )
    assert past("sql", query).lines[1] == 'n\\xff\\n               a,"b'
    assert past("sql", "--csv", query).out == 'name,none,empty,odd\n"n\udcff\n",,"","a,""b"\n'
    found = past("sql", "--json", query).objects
    assert found == [
        {"schema": "sql/1", "name": "n\\xff\n", "name_b64": "bv8K", "none": None, "empty": "", "odd": 'a,"b'}
    ]  # fmt: skip


def test_json_of_names_that_are_taken(past: Shell) -> None:
    query = "SELECT 1 AS a, 2 AS a, 3 AS schema, 9e999 AS far, x'ff00' AS raw, 0.5 AS half"
    assert past("sql", "--json", query).objects == [
        {
            "schema": "sql/1", "a": 1, "a_2": 2, "schema_2": 3, "far": None, "raw": "\\xff\x00",
            "raw_b64": "/wA=", "half": 0.5,
        }
    ]  # fmt: skip


def test_what_was_cut_is_said(past: Shell) -> None:
    done = past("sql", "--limit", "2", "SELECT name FROM snapshots", code=3)
    assert done.lines == ["name", "s1", "s2"]
    assert "there are more than 2 rows; --limit 0 prints all" in done.err
    assert len(past("sql", "--limit", "3", "SELECT name FROM snapshots").lines) == 4
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
    late = past("sql", "--timeout", "1s", "--json", endless, code=3)
    assert late.out == ""
    assert "was stopped at its time limit" in late.err
    assert late.err.startswith('{"schema":"note/1"')


def test_a_query_from_standard_input(past: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"-- which\nSELECT label\nFROM (SELECT root AS label FROM roots);\n")
    os.close(theirs)
    kept = os.dup(0)
    try:
        os.dup2(ours, 0)
        assert past("sql", "-").lines == ["label", "photos"]
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(ours)


MISTAKES = (
    ("SELECT pth FROM entries", "no such column: pth; did you mean path?"),
    ("SELECT e.first_snapshot FROM entries e", "no such column: e.first_snapshot"),
    ("SELECT qqq FROM roots", "roots has root, path, host,"),
    ("SELECT * FROM snapshot", "no such view: snapshot; did you mean snapshots?"),
    ("SELECT * FROM inode", "no such view: inode; there are snapshots, entries, changes,"),
    ("SELEC 1", 'near "SELEC": syntax error; `snapfs sql` lists'),
    ("SELECT nosuch(1)", "no such function: nosuch; snapfs-sql(7)"),
    ("DROP TABLE inode", "sql reads the views and does nothing else"),
    ("SELECT :x", "sql has no values for ? and :NAME"),
    ("SELECT 1; SELECT 2", "sql takes one SELECT"),
    ("", "the query is empty"),
    (" ; -- nothing", "the query is empty"),
    ("SELECT '\udcff'", "the query is not UTF-8"),
    ("SELECT abs(-9223372036854775807 - 1)", "integer overflow"),
    ("SELECT json('{')", "malformed JSON"),
    ("SELECT '\x1b[31m' FROM \x1b", 'unrecognized token: "\\x1b'),
)


def test_mistakes_are_exit_2_and_one_line(past: Shell) -> None:
    for text, said in MISTAKES:
        done = past("sql", text, code=2)
        assert done.out == ""
        assert said in done.err
        assert done.err.count("\n") == 1
        assert done.err.rstrip("\n").isprintable()
    assert "--csv and --json exclude" in past("sql", "--csv", "--json", "SELECT 1", code=2).err


def test_without_a_query_the_views_are_listed(run: InProcess) -> None:
    """Even where there is no repository yet."""
    listed = run("sql").text
    for view in VIEWS:
        assert f"\n{view.name}: {view.about}\n" in f"\n{listed}"
    assert re.search(r"^  tree_digest   text     digest of the whole tree", listed, re.MULTILINE)
    assert [view["name"] for view in run("sql", "--json").json_lines()] == [v.name for v in VIEWS]


def test_every_column_is_there_alone_and_with_all_others(past: Shell) -> None:
    """Whatever SQLite leaves out of a view for it."""
    kinds = {"text": str, "integer": int, "number": float, "bytes": bytes}
    folder = past.home / ".local/share/snapfs/repository"
    os.setxattr(past.tree / "a", "user.x", b"y")
    past("create")
    catalog = QueryCatalog(bytes(folder / "catalog.db"), timeout_s=None)
    with closing(catalog), catalog.watch:
        catalog.begin(placed=True)

        def ask(text: str) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
            columns, batches = catalog.run(text)
            return columns, [row for batch in batches for row in batch]

        for view in VIEWS:
            columns, rows = ask(f"SELECT * FROM {view.name}")
            assert columns == tuple(column.name for column in view.columns)
            for column, values in zip(view.columns, zip(*rows, strict=True), strict=True):
                found = {type(value) for value in values} - {type(None)}
                assert found <= {kinds[column.kind]}, column
                assert found or column.name in {"rdev", "target"}, column
                alone = ask(f"SELECT {column.name} FROM {view.name}")[1]
                assert sorted(map(repr, alone)) == sorted(repr((value,)) for value in values)
            assert ask(f"SELECT count(*) FROM {view.name}")[1] == [(len(rows),)]
            assert ask(f"SELECT 1 FROM {view.name}")[1] == [(1,)] * len(rows)


# --- the manual -----------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return text.replace("\\(dq", '"').replace("\\-", "-").replace("\\e", "\\")


def test_the_manual_lists_the_views_as_they_are() -> None:
    for view in VIEWS:
        section = PAGE.partition(f".Sh {view.name.upper()}\n")[2].partition("\n.Sh ")[0]
        listed = re.findall(r"^\.It Va (\w+)\n(.*)$", section, re.MULTILINE)
        assert listed == [(c.name, f"{c.kind}: {c.about}") for c in view.columns], view.name
    functions = PAGE.partition("\nFunctions:\n")[2].partition(",\nand the operators")[0]
    assert set(functions.split(",\n")) | {"->", "->>"} == FUNCTIONS


def test_the_examples_of_the_manual_run(past: Shell) -> None:
    lines = re.findall(r"^\.Dl (snapfs sql .*)$", PAGE, re.MULTILINE)
    assert len(lines) > 10
    (past.tree / "src").mkdir()
    for number in range(2):
        (past.tree / "src/main.c").write_text("x" * number * 2_000_000)
        (past.tree / "src/copy.c").write_text("x" * 2_000_000)
        past("create")
    for line in lines:
        done = past(*shlex.split(_plain(line))[1:])
        assert len(done.lines) >= (1 if "--json" in line else 2), line
    assert len(past(*shlex.split(_plain(lines[0]))[1:]).lines) == 3


class _Terminal:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_terminal = True

    def line(self, text: str) -> None:
        self.lines.append(text)


def test_a_table_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text gives way, numbers do not; a path keeps its end; headings stand once, sides stay the same."""
    monkeypatch.setenv("COLUMNS", "50")
    out = _Terminal()
    rows = [
        (f"some/long/path/to/a/file-{number}", 10**12 + number, "words " * 9)
        for number in range(1500)
    ]
    print_rows(
        out, ("path", "size", "said"), [*rows, (None, None, None), ("\x1b", "text", b"\xff")]
    )  # type: ignore[arg-type]
    assert len(out.lines) == 1503
    assert all(len(line) <= 50 for line in out.lines)
    assert [line for line in out.lines if "said" in line] == out.lines[:1]
    assert "file-3  1000000000003" in out.lines[4]
    assert out.lines[-1].split() == ["\\x1b", "text", "\\xff"]
