"""Tables, JSON and progress: what people and programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import pytest

from snapfs.cli.frame.options import Common
from snapfs.cli.frame.streams import Messages, Output, OutputClosed, words_as_text
from snapfs.cli.render.entries import attributes, long_fields
from snapfs.cli.render.json import json_line
from snapfs.cli.render.progress import JsonProgress, LineProgress, TerminalProgress, progress_for
from snapfs.cli.render.table import Column, plain_lines, print_table, table_lines, width
from snapfs.clock import Clock
from snapfs.errors import SnapfsError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.progress import Problem


class Colour(Enum):
    DARK_RED = 1


@dataclass(frozen=True, slots=True)
class Inner:
    path: bytes


@dataclass(frozen=True, slots=True)
class Outer:
    path: bytes
    created_ns: int | None
    duration_ns: int
    tree_digest: bytes
    names: tuple[str, ...]
    inner: Inner
    many: tuple[Inner, ...]
    colour: Colour
    nothing: str | None
    yes: bool
    share: float


def made(path: bytes) -> Outer:
    return Outer(
        path, 1_780_315_205_000_000_001, 1_500_000_000, b"\x01\xff", ("a", "b\udcff"), Inner(path),
        (Inner(b"x"),), Colour.DARK_RED, None, True, 0.5,
    )  # fmt: skip


def test_json() -> None:
    line = json_line("test/1", Inner(b"first"), made(b"caf\xc3\xa9\n"))
    assert "\n" not in line
    assert line.isascii()
    assert json.loads(line) == {
        "schema": "test/1",
        "path": "café\n",
        "created": "2026-06-01T12:00:05.000000001Z",
        "duration_s": 1.5,
        "tree_digest": "01ff",
        "names": ["a", "b\\xff"],
        "inner": {"path": "café\n"},
        "many": [{"path": "x"}],
        "colour": "dark_red",
        "nothing": None,
        "yes": True,
        "share": 0.5,
    }


def test_json_of_names_that_are_not_utf8() -> None:
    first, second = (json.loads(json_line("t/1", Inner(name))) for name in (b"\xff", b"\xfe"))
    assert first == {"schema": "t/1", "path": "\\xff", "path_b64": "/w=="}
    assert second["path_b64"] == "/g=="
    # The same text, written out: the second key tells them apart.
    assert json.loads(json_line("t/1", Inner(b"\\xff"))) == {"schema": "t/1", "path": "\\xff"}
    assert "path_b64" in json.loads(json_line("t/1", Inner(b"\xed\xa0\x80")))


class Pipe:
    """A pipe that a stream writes into."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def close(self) -> None:
        for descriptor in (self.reader, self.writer):
            try:
                os.close(descriptor)
            except OSError:
                pass

    def text(self) -> str:
        os.close(self.writer)
        with os.fdopen(self.reader, "rb", closefd=False) as file:
            return file.read().decode("utf-8", "surrogateescape")


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_output_keeps_bytes(pipe: Pipe) -> None:
    out = Output(pipe.writer)
    assert not out.is_terminal
    out.line("é\udcff")
    out.data(b"\0\xfe")
    out.flush()
    assert pipe.text() == "é\udcff\n\0\udcfe"
    assert words_as_text([os.fsdecode(b"\xff\xc3\xa9")]) == ["\udcffé"]


def test_output_that_cannot_be_written(pipe: Pipe) -> None:
    os.close(pipe.reader)
    out = Output(pipe.writer)
    out.line("x")
    with pytest.raises(OutputClosed):
        out.flush()
    out.flush()  # what was lost is not tried again
    with open("/dev/full", "wb", buffering=0) as full:
        out = Output(full.fileno())
        out.line("x")
        with pytest.raises(SnapfsError, match="standard output: No space left on device"):
            out.flush()
    messages = Messages(pipe.writer)
    messages.line("nobody listens")


def test_plain_tables(pipe: Pipe) -> None:
    rows = [("1", "a"), ("10", "東京"), ("100", "b" * 5)]
    assert plain_lines(("no", "name"), rows, right=(0,)) == [
        " no  name",
        "  1  a",
        " 10  東京",
        "100  bbbbb",
    ]
    assert plain_lines((), [("a", ""), ("bb", "x")]) == ["a", "bb  x"]
    assert (width("abc"), width("東京"), width("e\u0301")) == (3, 4, 1)
    assert plain_lines((), []) == []


def test_tables_on_a_terminal_hold_every_cell() -> None:
    leader, follower = os.openpty()
    try:
        out = Output(follower)
        assert out.is_terminal
        rows = [("[red]x[/]", ":smile:"), ("1", "2")]
        print_table(out, (Column("a", right=True), Column("b")), rows)
        out.flush()
        text = ""
        while ":smile:" not in text:
            text += os.read(leader, 65536).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert "[red]x[/]" in text
    assert ":smile:" in text


def test_columns_give_way_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    columns = (
        Column("name"),
        Column("path", gives_way=3, least=6, keeps_end=True),
        Column("time", gives_way=2),
        Column("command", gives_way=4, stays=True, first_word=True),
        Column("note", gives_way=1, least=5),
    )
    rows = [("a-name", "/one/two/three", "12:00", "create . --x", "東京東京東京")]

    def second(room: int | None) -> str:
        return table_lines(columns, rows, room=room)[1]

    assert second(None) == "a-name  /one/two/three  12:00  create . --x  東京東京東京"
    assert second(57) == second(None)
    assert second(56) == "a-name  /one/two/three  12:00  create . --x  東京東京東…"
    assert second(50) == "a-name  /one/two/three  12:00  create . --x  東京…"
    assert second(49) == "a-name  …ne/two/three  12:00  create . --x  東京…"
    assert second(41) == "a-name  …three  12:00  create . -…  東京…"
    # What can be shortened no further goes first; the time leaves more room than is needed.
    assert second(35) == "a-name  …three  create . --x  東京…"
    assert second(29) == "a-name  …/three  create . --x"
    assert second(25) == "a-name  …three  create .…"
    assert second(22) == "a-name  create . --x"
    assert second(18) == "a-name  create .…"
    assert second(3) == "a-name  create…"


def test_what_is_cut_is_marked_in_ascii_where_the_locale_is_not_utf8(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = (
        Column("path", gives_way=2, least=6, keeps_end=True),
        Column("command", gives_way=1, first_word=True),
    )

    def second(room: int) -> str:
        rows = [("/one/two/three", "create work --name")]
        return table_lines(columns, rows, room=room)[1]

    monkeypatch.setenv("LC_ALL", "C")
    for room in range(18, 40):
        assert second(room).isascii()
        assert width(second(room)) <= room
    assert second(34) == "/one/two/three  create work --name"
    assert second(33) == "/one/two/three  create work --..."
    assert second(28) == "/one/two/three  create wo..."
    assert second(22) == "...o/three  create..."
    assert second(18) == "...ree  create..."
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert second(28) == "/one/two/three  create work…"


def entry(**more: object) -> Entry:
    plain = dict.fromkeys(Entry._fields, 0)
    given = {"name": b"n", "xattr": b"", "target": b"", "tree_digest": None, "fingerprint": None}
    return Entry(**{**plain, **given, "kind": Kind.FILE, **more})  # type: ignore[arg-type]


def test_long_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = ({7: "seven"}, {8: "ei\x1bght"})
    file = entry(mode=0o4755, uid=7, gid=8, size=5, mtime_s=10**9)
    fields = long_fields(b"a b", file, owners, Clock())
    assert fields[:4] == ["-rwsr-xr-x", "seven", "ei\\x1bght", "5"]
    assert fields[5] == "'a b'"
    link = entry(kind=Kind.SYMLINK, mode=0o777, uid=1, target=b"x\ny", mtime_s=-(2**62))
    fields = long_fields(b"l", link, owners, Clock())
    assert fields[0] == "lrwxrwxrwx"
    assert fields[1] == "1"
    assert fields[5] == "l -> 'x'$'\\n''y'"
    device = entry(kind=Kind.CHAR, rdev=os.makedev(1, 3), state=State.UNREAD)
    fields = long_fields(b"d", device, owners, Clock())
    assert fields[3] == "1,3"
    assert fields[5] == "d (unread)"
    shown = attributes(b"p/a", file, owners)
    assert (shown.kind, shown.mode, shown.user, shown.target) == ("file", "4755", "seven", None)
    assert json.loads(json_line("ls/1", shown))["mtime"] == "2001-09-09T01:46:40Z"


def test_problems_and_notes_as_lines(pipe: Pipe) -> None:
    reporter = LineProgress(Messages(pipe.writer), 2)
    reporter.phase("scan", entries=5)
    reporter.advance(entries=1)
    reporter.problem(Problem(b"a\n", 13, "cannot be read"))
    for name in (b"", b"c", b"d"):
        reporter.problem(Problem(name, 13, "not set: owner 0:0 (Permission denied)"))
    reporter.note("a note\x1b[2J")
    reporter.finish()
    assert pipe.text().split("\n") == [
        "! 'a'$'\\n': cannot be read: Permission denied",
        "! .: not set: owner 0:0 (Permission denied)",
        "! more problems are counted, not listed; --verbose lists all",
        "a note\\x1b[2J",
        "",
    ]


def test_which_reporter(pipe: Pipe) -> None:
    messages = Messages(pipe.writer)
    assert type(progress_for(Common(), messages)) is LineProgress
    assert type(progress_for(Common(json=True), messages)) is JsonProgress
    messages.is_terminal = True
    assert type(progress_for(Common(), messages)) is TerminalProgress
    assert type(progress_for(Common(no_progress=True), messages)) is LineProgress
    assert type(progress_for(Common(quiet=True), messages)) is LineProgress
    quiet = progress_for(Common(quiet=True), messages)
    quiet.note("not wanted")
    quiet.problem(Problem(b"p", 0, "told all the same"))
    as_json = progress_for(Common(json=True), messages)
    as_json.note("n")
    as_json.problem(Problem(b"\xff", 5, "bad"))
    lines = pipe.text().splitlines()
    assert lines[0] == "! p: told all the same"
    assert json.loads(lines[1]) == {"schema": "note/1", "text": "n"}
    assert json.loads(lines[2])["path_b64"] == "/w=="


def test_the_progress_line(pipe: Pipe) -> None:
    reporter = TerminalProgress(Messages(pipe.writer), None)
    reporter.phase("storing", entries=4000, total_bytes=100 << 20)
    reporter.advance(entries=1200, read_bytes=25 << 20)
    assert reporter.text(0.5) == "storing  1,200 of 4,000  25M of 100M"
    assert reporter.text(5) == "storing  1,200 of 4,000  25M of 100M  5.0M/s  0:15 left"
    reporter.phase("folding", entries=10)
    reporter.advance(entries=5)
    assert reporter.text(2) == "folding  5 of 10  2/s  0:02 left"
    reporter.phase("waiting")
    assert reporter.text(9) == "waiting"
    reporter.problem(Problem(b"p", 0, "x"))
    reporter.finish()
    text = pipe.text()
    assert text.startswith("\rstoring")
    # The line is wiped before anything else is written.
    assert "\x1b[K\r\x1b[K! p: x\n" in text
