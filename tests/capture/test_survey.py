"""A first snapshot of many files is walked by workers, part by part: with parts of any size it is the
snapshot that one walk takes.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from snapfs import workers
from snapfs.capture import newdirectory, staging, store, survey
from snapfs.capture.comparison import Comparison
from snapfs.capture.held import NullSink
from snapfs.capture.reader import MOVED, FileReader
from snapfs.capture.seen import ScanOptions
from snapfs.capture.surveyor import Numbers, Part, Piece, Setup, Surveyed, Surveyor
from snapfs.fs.rules import RuleLine, Rules
from snapfs.model.kinds import Kind, State
from tests.harness.filesystems import bound, mounted
from tests.harness.inprocess import InProcess
from tests.harness.output import entries
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, unlock_and_remove
from tests.harness.trees import survey as look


def small(monkeypatch: pytest.MonkeyPatch, entries_at_once: int = 5, piece_rows: int = 7) -> None:
    """As if a small tree were a large one."""
    monkeypatch.setattr(survey, "SURVEYED_ENTRIES", -1)
    monkeypatch.setattr(survey, "ENTRIES_AT_ONCE", entries_at_once)
    monkeypatch.setattr(survey, "PIECE_ROWS", piece_rows)
    monkeypatch.setattr(survey, "NAMES_AT_ONCE", 1 + entries_at_once // 3)
    monkeypatch.setattr(store, "BATCH_FILES", 7)
    monkeypatch.setattr(staging, "FLUSH_ROWS", 3)
    monkeypatch.setattr(newdirectory, "FLUSH_ROWS", 3)


def told(snapfs: InProcess) -> tuple[bytes, str]:
    """What the one snapshot holds, in 32 bytes, and the rules as they were met."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        ((digest, rules),) = db.execute("SELECT tree_digest, rules FROM snapshot").fetchall()
    return bytes(digest), rules


def fingerprints(snapfs: InProcess) -> dict[bytes, Any]:
    """Fingerprint and state of every directory, by path; of the root by b""."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        ((top,),) = db.execute("SELECT inode_id FROM root").fetchall()
        found = {
            b"": db.execute("SELECT fingerprint, state FROM inode WHERE id=?", (top,)).fetchone()
        }
        todo = [(b"", top)]
        while todo:
            above, parent = todo.pop()
            for name, inode, *row in db.execute(
                "SELECT name, inode_id, fingerprint, state FROM dirent JOIN inode ON inode.id=inode_id"
                " WHERE parent_id=? AND kind=2",
                (parent,),
            ).fetchall():
                path = above + b"/" + name
                found[path] = tuple(row)
                todo.append((path, inode))
    return found


def tables(snapfs: InProcess) -> dict[str, list[tuple[object, ...]]]:
    """All that the catalog says of files."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        return {
            name: db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for name in ("inode", "dirent", "inode_diff", "dirent_diff", "block", "content", "attr")
        }


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[Path, InProcess]]:
    """An awkward tree with rules at several depths, and a snapshot of it that one walk took."""
    need_root()
    base = Path(tempfile.mkdtemp(prefix="snapfs-survey-"))
    tree = base / "tree"
    build(tree, scale=0.01)
    for number in range(12):
        folder = tree / "ruled" / f"d{number}" / "below" / "far"
        folder.mkdir(parents=True)
        for name in ("kept.txt", "no.log", "no.tmp"):
            (folder / name).write_text(f"{name} {number}")
        (folder.parent / "x").mkdir()
        (folder.parent / "x" / "only-here.tmp").write_text("x")
        if number % 3 == 0:
            (folder.parent.parent / ".snapfsignore").write_text("*.tmp\n/below/x\n")
        if number % 4 == 0:
            (folder / ".snapfsignore").write_text("!no.tmp\n")
        if number % 5 == 0:
            (folder.parent / ".nobackup").touch()
    time.sleep(2.6)
    plain = InProcess(base / "plain")
    plain("create", tree, "--name", "s", *RULES)
    yield tree, plain
    unlock_and_remove(base)


RULES = ("--exclude", "*.log", "--exclude-if-present", ".nobackup", "--exclude-larger-than", "3M")


@pytest.mark.parametrize(
    ("entries_at_once", "piece_rows"), [(1, 1), (7, 3), (40, 100), (10_000, 10_000)]
)
def test_same_snapshot(
    entries_at_once: int,
    piece_rows: int,
    workspace: Path,
    built: tuple[Path, InProcess],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, plain = built
    small(monkeypatch, entries_at_once, piece_rows)
    other = InProcess(workspace / "other")
    done = other("create", tree, "--name", "s", *RULES)
    assert told(other) == told(plain)
    marks, expected = fingerprints(other), fingerprints(plain)
    assert marks.keys() == expected.keys()
    # Which files are of just now depends on the moment.
    both = [path for path in marks if marks[path][0] and expected[path][0]]
    assert len(both) > 100
    assert [marks[path] for path in both] == [expected[path] for path in both]
    for fact in ("files", "dirs", "others", "logical_bytes", "read_bytes"):
        assert fact_of(other, fact) == fact_of(plain, fact), fact
    assert "matched nothing" not in done.errors
    assert_same(restored(plain, workspace / "expected"), restored(other, workspace / "back"))
    assert "nothing changed" in other("create", tree, "--name", "again", *RULES).errors
    other("verify", "--data")
    before = tables(other)
    (workspace / "other" / "catalog.db").unlink()
    other("rebuild-catalog")
    assert tables(other) == before


def fact_of(snapfs: InProcess, column: str) -> object:
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        return db.execute(f"SELECT {column} FROM snapshot ORDER BY id").fetchone()[0]


def restored(snapfs: InProcess, target: Path) -> Any:
    """What the snapshot gives back."""
    snapfs("restore", "tree@s", "--to", target)
    return look(target)


def test_two_roots_by_one_command(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the first is told of the second, and what the first has is not stored again."""
    small(monkeypatch)
    roots = [workspace / "one", workspace / "two"]
    for root in roots:
        root.mkdir()
        (root / "same").write_bytes(bytes(range(256)) * 40)
        for number in range(30):
            (root / f"{root.name}{number}").write_bytes(b"%d" % number)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", *roots)
    before = tables(snapfs)
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        assert db.execute("SELECT sum(raw) FROM segment").fetchone()[0] < 11_000
    (workspace / "repository" / "catalog.db").unlink()
    snapfs("rebuild-catalog")
    assert tables(snapfs) == before
    snapfs("verify", "--data")


def test_copies_are_stored_once_whoever_reads_them(
    monkeypatch: pytest.MonkeyPatch, workspace: Path, tree: Path
) -> None:
    """Two workers read, and neither knows what the other has stored."""
    small(monkeypatch, 20)
    for copy in range(4):
        folder = tree / f"copy-{copy}"
        folder.mkdir()
        for number in range(60):
            made = b"%d" % number * (600 + number)
            (folder / f"{'renamed-' * (copy % 2)}{number}").write_bytes(made)
        (folder / f"large{copy}").write_bytes(bytes(range(256)) * 4096)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree, "--name", "all")
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        (raw,) = db.execute("SELECT sum(raw) FROM segment").fetchone()
        (needed,) = db.execute("SELECT sum(length) FROM block").fetchone()
    assert raw == needed


def test_borders_and_the_repository_are_left_out(
    workspace: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch, 2)
    need_root()
    for name in ("a", "b", "c"):
        (tree / name / "inner").mkdir(parents=True)
        (tree / name / "inner" / "file").write_text(name)
    (tree / "a" / "tmp").mkdir()
    snapfs = InProcess(tree / "b" / "repository")
    with mounted("tmpfs", workspace / "other") as other:
        (other / "beyond").write_text("beyond")
        with bound(other, tree / "a" / "tmp"):
            done = snapfs("create", tree, "--name", "s", "-x")
    assert "lies inside and is left out" in done.errors
    names = set(entries(snapfs("ls", "tree@s:", "--recursive", "--json")))
    assert b"a/tmp" in names and b"a/tmp/beyond" not in names
    assert b"b/repository" not in names and b"b/inner/file" in names


def test_what_an_ordinary_user_cannot_read(as_user: Program) -> None:
    """Processes as they are: a tree of more entries than one walk is worth."""
    tree = as_user.home.parent / "tree"
    for folder in range(41):
        (tree / f"d{folder:02}").mkdir(parents=True)
        for number in range(100):
            (tree / f"d{folder:02}" / f"f{number}").touch()
    (tree / "d07" / "closed").mkdir()
    (tree / "d07" / "closed" / "in").write_text("x")
    (tree / "d08" / "secret").write_text("x")
    (tree / "d09" / "large").write_bytes(os.urandom(700_000))
    owner = tree.stat()
    for path in (tree, *tree.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
        os.utime(path, ns=(10**18, 10**18))
    (tree / "d07" / "closed").chmod(0)
    (tree / "d08" / "secret").chmod(0)
    done = as_user("create", tree, "--name", "s", ok=(3,))
    assert "d07/closed" in done.errors and "d08/secret" in done.errors
    shown = as_user("show", "tree@s", "--json").json()
    assert shown["snapshot"]["complete"] is False
    assert shown["snapshot"]["files"] == 4102
    assert {problem["path"] for problem in shown["problems"]} == {"d07/closed", "d08/secret"}
    (tree / "d07" / "closed").chmod(0o755)
    (tree / "d08" / "secret").chmod(0o644)
    as_user("create", tree, "--name", "t")
    state = look(tree)
    as_user("restore", "tree@t", "--to", tree.parent / "back")
    assert_same(state, look(tree.parent / "back"))
    as_user("verify", "--data")


class Parts:
    """A surveyor in this process, with all that it tells."""

    def __init__(
        self,
        tree: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        rules: Rules | None = None,
    ) -> None:
        self.next = 2
        self.pieces: list[Piece] = []
        self.left = [Part((), (), [])]
        monkeypatch.setattr(workers, "ask", self.answer)
        monkeypatch.setattr(workers, "tell", self.pieces.append)
        fd = os.open(tree, os.O_RDONLY)
        reader = FileReader(fd, NullSink(), None, lambda _: None)
        device = os.fstat(fd).st_dev
        setup = Setup(rules or Rules(), ScanOptions(), 0, device, 1, 100)
        self.surveyor = Surveyor(pickle.loads(pickle.dumps(setup)), fd, reader)

    def answer(self, wanted: Numbers) -> int:
        first = self.next
        self.next += wanted.rows + wanted.attrs
        return first

    def go(self) -> Surveyed:
        """The next part."""
        done = self.surveyor.survey(pickle.loads(pickle.dumps(self.left.pop())))
        if done.left is not None:
            self.left.append(done.left)
        return done

    def finish(self) -> list[Piece]:
        """All parts."""
        while self.left:
            self.go()
        self.surveyor.rest()
        return pickle.loads(pickle.dumps(self.pieces))  # type: ignore[no-any-return]


def names_of(pieces: list[Piece]) -> set[bytes | None]:
    return {row[3] for piece in pieces for row in (*piece.rows, *piece.read, *piece.files)}


def told_problems(pieces: list[Piece]) -> list[tuple[bytes, int, str]]:
    return [problem for piece in pieces for problem in piece.problems]


def unsound(pieces: list[Piece]) -> set[int]:
    return {seq for piece in pieces for seq in piece.unsound}


def settled(tree: Path) -> None:
    """Nothing in the tree is of just now."""
    for path in (tree, *tree.rglob("*")):
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    time.sleep(2.6)


@pytest.mark.parametrize("became", ["nothing", "link", "file", "another"])
def test_a_directory_that_changes_before_somebody_goes_there(
    became: str,
    workspace: Path,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    (workspace / "outside").mkdir()
    (workspace / "outside" / "secret").write_text("x")
    for name in ("a", "b"):
        (tree / name).mkdir()
        (tree / name / f"in-{name}").write_text(name)
    if became == "another":
        settled(tree)  # it is told by its age
    else:
        request.getfixturevalue("never_young")
    parts = Parts(tree, monkeypatch)
    assert parts.go().left, "the root alone is enough for one part"
    (tree / "b" / "in-b").unlink()
    (tree / "b").rmdir()
    if became == "link":
        (tree / "b").symlink_to(workspace / "outside")
    elif became == "file":
        (tree / "b").write_text("x")
    elif became == "another":
        (tree / "b").mkdir()
        (tree / "b" / "new").write_text("x")
    pieces = parts.finish()
    expected = {None, b"a", b"in-a"} | ({b"b", b"new"} if became == "another" else set())
    assert names_of(pieces) == expected
    assert unsound(pieces) == {1}, "what the root's fingerprint says of b is not so any more"


def test_a_directory_of_just_now_makes_the_one_above_unsure(
    workspace: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever goes into it is not the one who has listed the one above, nor need he be later."""
    for number in range(30):
        (tree / "top" / f"d{number}" / "e").mkdir(parents=True)
    settled(tree)
    (tree / "top" / "d13" / "new").write_text("x")
    small(monkeypatch, 1)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree, "--name", "s")
    found = fingerprints(snapfs)
    assert found[b"/top/d13"][1] == State.RACY
    assert {path for path, (mark, _) in found.items() if mark is None} == {b"/top", b"/top/d13"}


@pytest.mark.usefixtures("never_young")
@pytest.mark.parametrize("became", ["nothing", "link", "another"])
def test_a_way_that_changes_before_somebody_goes_there(
    became: str, workspace: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory above the ones to go to is another by then: nobody is led astray."""
    (workspace / "outside" / "d").mkdir(parents=True)
    (workspace / "outside" / "d" / "secret").write_text("x")
    (tree / "way" / "d" / "e").mkdir(parents=True)
    parts = Parts(tree, monkeypatch)
    parts.go()
    parts.go()
    assert [part.parts for part in parts.left] == [(b"way",)]
    (tree / "way").rename(workspace / "gone")
    if became == "link":
        (tree / "way").symlink_to(workspace / "outside")
    elif became == "another":
        (tree / "way" / "d").mkdir(parents=True)
    ((level,),) = [part.levels for part in parts.left]
    pieces = parts.finish()
    assert names_of(pieces) == {None, b"way"}
    assert [seq for piece in pieces for seq in piece.unread] == [level.seq]
    assert told_problems(pieces) == [(b"way", 0, MOVED)]


@pytest.mark.usefixtures("never_young")
def test_a_part_goes_on_where_the_walk_was(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of one way down come back together; what is gone costs only what is below it."""
    at = tree
    for number in range(6):
        for name in ("a", "deeper", "z"):
            (at / name).mkdir()
            (at / name / f"in-{name}-{number}").touch()
        at /= "deeper"
    parts = Parts(tree, monkeypatch)
    while len(parts.left[0].levels) < 3:
        parts.go()
    ((*_, deepest),) = [part.levels for part in parts.left]
    middle = tree.joinpath(*map(os.fsdecode, parts.left[0].parts[: deepest.depth - 1]))
    middle.rename(tree / "elsewhere")
    pieces = parts.finish()
    gone = os.fsencode(middle.relative_to(tree))
    assert told_problems(pieces) == [(gone, 0, MOVED)]
    unread = {seq for piece in pieces for seq in piece.unread}
    assert len(unread) == 2 and deepest.seq in unread
    assert {b"in-a-0", b"in-z-0"} <= names_of(pieces)
    assert b"in-z-5" not in names_of(pieces)


def test_a_change_within_the_tick_in_which_a_file_is_read_is_suspected(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the run began long ago: its stat may say the same before and after that change."""
    (tree / "old").write_text("x")
    settled(tree)
    (tree / "new").write_text("x")
    pieces = Parts(tree, monkeypatch).finish()
    states = {row[3]: row[10] for piece in pieces for row in piece.read}
    assert states == {b"old": State.OK, b"new": State.RACY}
    comparison = Comparison(ScanOptions(), 0)
    time.sleep(2.6)
    (tree / "later").write_text("x")
    assert comparison.racy(int(Kind.DIR), (tree / "later").lstat()), "by its ctime alone"


@pytest.mark.usefixtures("never_young")
def test_a_file_that_changes_between_look_and_reading_is_left_for_later(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        (tree / name).write_text(name)
    os.link(tree / "d", tree / "e")
    (tree / "zeros").write_bytes(bytes(5000))
    (tree / "large").write_bytes(os.urandom(300_000))
    os.setxattr(tree / "c", "user.x", b"1")
    reading = FileReader.look

    def meanwhile(reader: FileReader, dir_fd: int, path: bytes, *seen: Any) -> object:
        if path == b"b":
            (tree / "b").write_text("longer")
        return reading(reader, dir_fd, path, *seen)

    monkeypatch.setattr(FileReader, "look", meanwhile)
    pieces = Parts(tree, monkeypatch).finish()
    read = {row[3]: row for piece in pieces for row in piece.read}
    left = {row[3] for piece in pieces for row in piece.files}
    assert set(read) == {b"a", b"c"}
    assert left == {b"b", b"d", b"e", b"zeros", b"large"}
    attrs = dict(pair for piece in pieces for pair in piece.attrs)
    assert attrs[read[b"a"][5]][3:] == (0, b"")
    assert b"user.x" in attrs[read[b"c"][5]][4]
    assert [path for piece in pieces for path in piece.paths] == [(-1, b"")]
    assert all(row[22] is None for piece in pieces for row in piece.rows), "not all is known of it"


def test_rules_come_along(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a part is told of rules makes the same of them as the walk from the top."""
    (tree / "a" / "b" / "c").mkdir(parents=True)
    (tree / "a" / ".snapfsignore").write_text("/b/no\n*.o\n")
    (tree / "a" / "b" / ".snapfsignore").write_text("!keep.o\n")
    for name in ("a/b/no", "a/b/c/x.o", "a/b/c/keep.o", "a/b/c/x.log", "a/b/c/y"):
        (tree / name).write_text("x")
    rules = Rules(patterns=(RuleLine(b"*.log", "--exclude"), RuleLine(b"*.none", "--exclude")))
    parts = Parts(tree, monkeypatch, rules=rules)
    pieces = parts.finish()
    assert names_of(pieces) == {None, b"a", b"b", b"c", b".snapfsignore", b"keep.o", b"y"}
    met = parts.surveyor.matcher.met()
    assert set(met.found) == {b"a", b"a/b"}
    assert met.matched == {0}


def test_numbers_of_a_directory_are_in_one_run(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the numbers in hand do not do for all of its names."""
    monkeypatch.setattr("snapfs.capture.surveyor._NUMBERS", 10)
    for name, count in (("a", 7), ("b", 7), ("c", 25), ("d", 2)):
        (tree / name).mkdir()
        for number in range(count):
            (tree / name / f"{number:02}").write_text("x")
    pieces = Parts(tree, monkeypatch).finish()
    by_parent: dict[int, list[int]] = {}
    for piece in pieces:
        seqs = [row[0] for row in piece.read]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs))) if seqs else True
        for row in piece.read:
            by_parent.setdefault(row[2], []).append(row[0])
    assert sorted(map(len, by_parent.values())) == [2, 7, 7, 25]
    for piece in pieces:
        for row in piece.rows:
            if row[0] > 1:
                assert (row[10], row[11]) == (min(by_parent[-row[0]]), max(by_parent[-row[0]]))
