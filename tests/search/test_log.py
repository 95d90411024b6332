"""What `log` says of paths that were renamed, deleted, made again, linked, or are no text."""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness.inprocess import InProcess
from tests.harness.output import name_of

Line = tuple[str, str, str]


def told(run: InProcess, tree: Path, path: str, *options: str) -> list[Line]:
    """Each version: its snapshots, letter with the path (and the one before), what differs."""
    found = []
    for line in run("log", path, "--json", *options, cwd=tree).json_lines():
        if line["schema"] != "log/1":
            continue
        first, last = (line[key].partition("@")[2] for key in ("first", "last"))
        ends = first if first == last else f"{first}..{last}"
        old = f"{line['old_path']} -> " if line["old_path"] is not None else ""
        found.append((ends, f"{line['letter']} {old}{line['path']}", ",".join(line["what"])))
    return found


def take(run: InProcess, tree: Path, *names: str) -> None:
    for name in names:
        run("create", tree, "--name", name)


def test_a_file_that_changes_goes_and_comes_again(run: InProcess, tree: Path) -> None:
    (tree / "other").write_text("kept")
    take(run, tree, "s1")
    (tree / "a").write_text("one")
    take(run, tree, "s2", "s3")
    (tree / "a").chmod(0o600)
    take(run, tree, "s4")
    (tree / "a").unlink()
    take(run, tree, "s5", "s6")
    (tree / "a").write_text("again")
    take(run, tree, "s7")
    assert told(run, tree, "a") == [
        ("s2..s3", "+ a", ""), ("s4", "M a", "mode"), ("s5..s6", "- a", ""), ("s7", "+ a", ""),
    ]  # fmt: skip
    (tree / "a").unlink()
    take(run, tree, "s8")
    assert told(run, tree, "a")[-1] == ("s8", "- a", "")
    assert told(run, tree, "a", "-n", "2") == [("s7", "+ a", ""), ("s8", "- a", "")]
    gone = run("log", "b", cwd=tree, ok=(1,))
    assert "no snapshot of tree has b" in gone.err.decode()


def test_renamed_there_and_back(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    (tree / "a").rename(tree / "b")
    take(run, tree, "s2")
    (tree / "b").write_text("one, longer")
    take(run, tree, "s3")
    (tree / "b").rename(tree / "a")
    take(run, tree, "s4")
    there_and_back = [
        ("s1", "+ a", ""), ("s2", "R a -> b", ""), ("s3", "M b", "content,mtime"),
        ("s4", "R b -> a", ""),
    ]  # fmt: skip
    assert told(run, tree, "a") == there_and_back
    assert run("log", "a", "-n", "1", cwd=tree).lines[-1].endswith("R b -> a")
    assert told(run, tree, "b") == there_and_back, "it is the same file, whatever it is asked by"


def test_renamed_and_changed_in_one_step(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    (tree / "a").rename(tree / "b")
    (tree / "b").write_text("one, longer")
    take(run, tree, "s2")
    assert told(run, tree, "a") == [("s1", "+ a", ""), ("s2", "- a", "")]
    assert told(run, tree, "b") == [("s2", "+ b", "")], "as diff has it"
    (tree / "b").rename(tree / "c")
    (tree / "c").chmod(0o600)
    take(run, tree, "s3")
    assert told(run, tree, "c") == [("s2", "+ b", ""), ("s3", "R b -> c", "mode")]


def test_a_chain_of_renames_between_two_snapshots(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    (tree / "a").rename(tree / "b")
    (tree / "b").rename(tree / "c")
    take(run, tree, "s2")
    assert told(run, tree, "c") == [("s1", "+ a", ""), ("s2", "R a -> c", "")]
    assert told(run, tree, "a") == [("s1", "+ a", ""), ("s2", "R a -> c", "")]
    run("log", "b", cwd=tree, ok=(1,))


def test_two_names_that_trade_places(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    (tree / "b").write_text("two, longer")
    take(run, tree, "s1")
    (tree / "a").rename(tree / "c")
    (tree / "b").rename(tree / "a")
    (tree / "c").rename(tree / "b")
    take(run, tree, "s2")
    assert told(run, tree, "a") == [("s1", "+ a", ""), ("s2", "M a", "content,mtime")]
    assert told(run, tree, "b") == [("s1", "+ b", ""), ("s2", "M b", "content,mtime")]


def test_below_a_directory_that_moves_into_a_new_one(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "f").write_text("one")
    (tree / "d" / "g").write_text("g")
    take(run, tree, "s1")
    (tree / "new").mkdir()
    (tree / "d").rename(tree / "new" / "d")
    take(run, tree, "s2")
    (tree / "new" / "d" / "f").write_text("one, longer")
    (tree / "new").rename(tree / "newer")
    take(run, tree, "s3")
    assert told(run, tree, "newer/d/f") == [
        ("s1", "+ d/f", ""), ("s2", "R d/f -> new/d/f", ""),
        ("s3", "R new/d/f -> newer/d/f", "content,mtime"),
    ]  # fmt: skip
    assert told(run, tree, "d/f") == told(run, tree, "newer/d/f")
    assert told(run, tree, "newer/d") == [
        ("s1", "+ d", ""), ("s2", "R d -> new/d", ""), ("s3", "R new/d -> newer/d", "content"),
    ]  # fmt: skip


def test_a_name_that_is_used_again_after_a_rename(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    (tree / "a").rename(tree / "b")
    take(run, tree, "s2")
    (tree / "a").write_text("another")
    (tree / "b").write_text("one, longer")
    take(run, tree, "s3")
    assert told(run, tree, "a") == [("s1", "+ a", ""), ("s2", "R a -> b", ""), ("s3", "+ a", "")]
    assert told(run, tree, "b") == [
        ("s1", "+ a", ""), ("s2", "R a -> b", ""), ("s3", "M b", "content,mtime"),
    ]  # fmt: skip


def test_links_types_and_editors(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    os.link(tree / "a", tree / "b")
    take(run, tree, "s2")
    (tree / "a").unlink()
    take(run, tree, "s3")
    assert told(run, tree, "b") == [("s2..s3", "+ b", "")], "its other name was there still"
    assert told(run, tree, "a") == [("s1..s2", "+ a", ""), ("s3", "- a", "")]
    (tree / ".new").write_text("saved by rename")
    (tree / ".new").rename(tree / "b")
    take(run, tree, "s4")
    (tree / "b").unlink()
    (tree / "b").symlink_to("x")
    take(run, tree, "s5")
    assert told(run, tree, "b") == [
        ("s2..s3", "+ b", ""), ("s4", "M b", "content,mtime"), ("s5", "M b", "type"),
    ]  # fmt: skip


def test_renames_of_linked_files_are_those_of_diff(run: InProcess, tree: Path) -> None:
    (tree / "e").write_text("1")
    os.link(tree / "e", tree / "a")
    (tree / "d").mkdir()
    (tree / "d" / "e").write_text("2")
    os.link(tree / "d" / "e", tree / "d" / "q")
    (tree / "f").mkdir()
    (tree / "f" / "e").write_text("3")
    os.link(tree / "f" / "e", tree / "z")
    take(run, tree, "s1")
    (tree / "e").rename(tree / "b")
    (tree / "a").unlink()
    (tree / "a").mkdir()
    (tree / "d").rename(tree / "D")
    (tree / "D" / "e").unlink()
    (tree / "f").rename(tree / "F")
    (tree / "z").rename(tree / "F" / "z")
    take(run, tree, "s2")
    assert told(run, tree, ":b") == [("s2", "+ b", "")]
    assert told(run, tree, ":d/e") == [("s1", "+ d/e", ""), ("s2", "- d/e", "")]
    assert told(run, tree, ":D/q") == [("s1", "+ d/q", ""), ("s2", "R d/q -> D/q", "")]
    assert told(run, tree, ":F/z") == [("s1", "+ z", ""), ("s2", "R z -> F/z", "")]
    assert told(run, tree, ":F/e") == [("s1", "+ f/e", ""), ("s2", "R f/e -> F/e", "")]


def test_directories_and_the_root(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "f").write_text("one")
    take(run, tree, "s1")
    (tree / "d" / "f").write_text("two")
    os.utime(tree / "d" / "f", ns=(5, 5))
    take(run, tree, "s2")
    os.utime(tree / "d", ns=(7, 7))
    take(run, tree, "s3")
    assert told(run, tree, "d") == [("s1", "+ d", ""), ("s2..s3", "M d", "content")]
    assert told(run, tree, "d", "--all")[-1] == ("s3", "M d", "mtime")
    assert [line[1] for line in told(run, tree, ".")] == ["+ ", "M ", "M "]
    assert told(run, tree, ":d") == told(run, tree, "d") == told(run, tree, "tree@s2:d")


def test_deleted_snapshots_leave_no_gap(run: InProcess, tree: Path) -> None:
    for number in range(1, 7):
        (tree / "a").write_text("x" * (number // 2 + 1))
        take(run, tree, f"s{number}")
    run("delete", "s2", "s6", "--yes", cwd=tree)
    assert told(run, tree, "a", "--all") == [
        ("s1", "+ a", ""), ("s3", "M a", "content,mtime"), ("s4", "M a", "content,mtime"),
        ("s5", "M a", "mtime"),
    ]  # fmt: skip


def test_names_that_are_no_text_and_content(run: InProcess, tree: Path) -> None:
    name = b"x\xff\n\x1b[2J"
    path = os.fsencode(tree) + b"/" + name
    Path(os.fsdecode(path)).write_text("one\n")
    take(run, tree, "s1")
    Path(os.fsdecode(path)).write_text("one\ntwo\n")
    take(run, tree, "s2")
    (line, _) = run("log", os.fsdecode(name), "--json", cwd=tree).json_lines()
    assert name_of(line) == name
    shown = run("log", os.fsdecode(name), "--content", cwd=tree)
    assert b"\x1b" not in shown.out
    assert b"+two\n" in shown.out
    assert shown.out.index(b"+one\n") < shown.out.index(b"+two\n")


def test_an_unreadable_file_is_a_version(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("one")
    take(run, tree, "s1")
    if os.geteuid() == 0:
        # Root reads everything: the state is what a scan as an ordinary user would have recorded.
        import sqlite3

        with sqlite3.connect(run.repository / "catalog.db") as db:
            db.execute("UPDATE inode SET state = 1, content_id = NULL WHERE kind = 1")
        db.close()
    else:
        (tree / "a").chmod(0)
        run("create", tree, "--name", "s1b", ok=(3,))
    assert told(run, tree, "a")[-1][1] == "! a"
