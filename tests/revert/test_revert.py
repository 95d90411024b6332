"""What a revert does to a tree that went on since: applied, kept, told."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.filesystems import bound
from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program, Result
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey

Take = Callable[..., None]


@pytest.fixture
def take(run: InProcess, tree: Path) -> Take:
    """``take("one")`` is a snapshot of the tree."""
    return lambda name, *words: run("create", tree, "--name", name, *words)


def told(result: Result) -> list[str]:
    """The conflicts."""
    return [line for line in result.lines if line.startswith("C\t")]


def undo(run: InProcess, result: Result, tree: Path) -> None:
    """Do what the last line says."""
    words = shlex.split(result.lines[-1])
    run(*words[words.index("restore") :], "--yes", cwd=tree)


def listed(tree: Path) -> list[str]:
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))


def test_everything_is_undone_and_later_edits_stay(run: InProcess, tree: Path, take: Take) -> None:
    for path in ("gone/deep/x", "moved/x", "type/x", "same"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(path)
    for name in ("edited", "mode", "attribute", "later"):
        (tree / name).write_text("one")
    (tree / "link").symlink_to("one")
    os.link(tree / "edited", tree / "edited-too")
    before = survey(tree)
    take("one")
    shutil.rmtree(tree / "gone")
    shutil.rmtree(tree / "type")
    (tree / "type").write_text("a file")
    (tree / "moved").rename(tree / "went")
    (tree / "edited").write_text("two")
    (tree / "mode").chmod(0o600)
    os.setxattr(tree / "attribute", "user.two", b"2")
    (tree / "link").unlink()
    (tree / "link").symlink_to("two")
    (tree / "came" / "deep").mkdir(parents=True)
    (tree / "came" / "deep" / "x").write_text("x")
    take("two")
    (tree / "later").write_text("later")
    (tree / "mine").mkdir()
    (tree / "mine" / "x").write_text("mine")
    live = survey(tree)

    plan = run("revert", "one..two", "-n", cwd=tree)
    assert plan.lines == [
        "M\tattribute\txattr", "-\tcame", "M\tedited\tcontent,mtime", "M\tedited-too\tcontent,mtime",
        "+\tgone", "+\tgone/deep", "+\tgone/deep/x", "M\tlink\ttarget,mtime", "M\tmode\tmode",
        "+\tmoved", "+\tmoved/x", "M\ttype\ttype", "+\ttype/x", "-\twent",
    ]  # fmt: skip
    assert_same(live, survey(tree))
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]
    done = run("revert", "one..two", "--yes", cwd=tree)
    after = survey(tree)
    assert (tree / "later").read_text() == "later"
    assert_same(before.without([b"later", b""]), after.without([b"later", b"mine", b""]))
    assert after.facts[b""]["mtime"] == live.facts[b""]["mtime"]  # it holds something else now
    assert "nothing to do" in run("revert", "one..two", "--yes", cwd=tree).errors
    safety = names(run("list", "--json", cwd=tree))[2:]
    assert len(safety) == 1
    assert done.lines == [
        f"snapfs -r {run.repository} restore tree@{safety[0]} --in-place --delete"
    ]

    run("revert", "two..one", "--yes", cwd=tree)  # does it again
    assert_same(live, survey(tree))
    run("revert", "one..two", "--yes", cwd=tree)
    undo(run, done, tree)
    assert_same(live, survey(tree))


def test_conflicts_stay_as_they_are(run: InProcess, tree: Path, take: Take) -> None:
    for name in ("edited", "removed", "again", "mode", "typed", "moved", "odd\n\x1b"):
        (tree / name).write_text("one")
    take("one")
    for name in ("edited", "removed", "mode", "typed", "odd\n\x1b"):
        (tree / name).write_text("two")
    (tree / "again").unlink()
    (tree / "moved").rename(tree / "went")
    (tree / "fine").write_text("two")
    take("two")
    (tree / "edited").write_text("three")
    (tree / "odd\n\x1b").write_text("three")
    (tree / "removed").unlink()
    (tree / "again").write_text("again")
    (tree / "mode").chmod(0o600)
    (tree / "typed").unlink()
    (tree / "typed").mkdir()
    (tree / "went").write_text("and edited")
    state = survey(tree)
    expected = [
        "C\tagain\tcame since two",
        "C\tedited\tcontent,mtime changed since two",
        "C\tmode\tmode changed since two",
        "C\tmoved\tmoved, and its other end went is not as in two",
        "C\t'odd'$'\\n\\033'\tcontent,mtime changed since two",
        "C\tremoved\tgone since two",
        "C\ttyped\ttype changed since two",
        "C\twent\tcontent,mtime changed since two",
    ]
    nothing = run("revert", "one..two", "--all-or-nothing", "--yes", cwd=tree, ok=(5,))
    assert nothing.lines == expected
    assert "nothing done; 8 conflicts" in nothing.errors
    assert_same(state, survey(tree))
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert done.lines[:-1] == expected
    assert not (tree / "fine").exists()
    assert_same(state.without([b"fine", b""]), survey(tree).without([b""]))
    assert "1 deleted" in done.errors
    assert run("revert", "one..two", "--yes", cwd=tree, ok=(5,)).lines == expected
    undo(run, done, tree)
    assert_same(state, survey(tree))


def test_directories_with_something_of_mine(run: InProcess, tree: Path, take: Take) -> None:
    """They stay, with that alone; what was in a directory that moved goes back all the same."""
    (tree / "old").mkdir()
    (tree / "was-file").write_text("x")
    for name in ("a", "b"):
        (tree / "old" / name).write_text(name)
    take("one")
    (tree / "old").rename(tree / "renamed")
    (tree / "was-file").unlink()
    for name in ("new/inner", "was-file"):
        (tree / name).mkdir(parents=True)
        (tree / name / "theirs").write_text("x")
    take("two")
    for name in ("renamed", "new/inner", "was-file"):
        (tree / name / "mine").write_text("mine")
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == [
        "C\tnew\tholds new/inner, which stays",
        "C\tnew/inner\tholds new/inner/mine, which stays",
        "C\trenamed\tholds renamed/mine, which stays",
        "C\twas-file\tholds was-file/mine, which stays",
    ]
    assert listed(tree) == [
        "new", "new/inner", "new/inner/mine", "old", "old/a", "old/b", "renamed", "renamed/mine",
        "was-file", "was-file/mine",
    ]  # fmt: skip


def test_a_name_that_was_taken_keeps_what_moved_from_it(
    run: InProcess, tree: Path, take: Take
) -> None:
    (tree / "d" / "e").mkdir(parents=True)
    (tree / "d" / "e" / "x").write_text("x")
    (tree / "d" / "y").write_text("y")
    take("one")
    (tree / "d").rename(tree / "went")
    take("two")
    (tree / "d").write_text("something else")
    state = survey(tree)
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    # One line for each of the two directories, none for what is in them.
    assert told(done) == [
        "C\td\tcame since two",
        "C\twent\tmoved, and its other end d is not as in two",
    ]
    assert_same(state, survey(tree))
    (tree / "d").unlink()
    (tree / "went").rename(tree / "again")
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == ["C\td\tmoved, and its other end went is not as in two"]
    assert listed(tree) == ["again", "again/e", "again/e/x", "again/y"]


@pytest.mark.parametrize(
    "there", ["x -> h, t", "b -> h, t", "d/x -> e/x, t", "x -> h, t, u", "d/x -> q, d/t"]
)
def test_a_name_of_several_that_was_renamed(
    there: str, run: InProcess, tree: Path, take: Take
) -> None:
    """Whatever names the others have, before or after it in order; nothing of it stays where it went."""
    old, _, rest = there.partition(" -> ")
    new, *others = rest.split(", ")
    (tree / "d").mkdir()
    (tree / old).write_text("hi")
    for other in others:
        os.link(tree / old, tree / other)
    before = survey(tree)
    take("one")
    (tree / old.partition("/")[0] if "e/" in new else tree / old).rename(
        tree / new.partition("/")[0] if "e/" in new else tree / new
    )
    take("two")
    planned = run("revert", "one..two", "--dry-run", "--json", cwd=tree).json_lines()[-1]
    done = run("revert", "one..two", "--yes", "--json", cwd=tree).json_lines()[-1]
    assert_same(before, survey(tree))
    assert (planned["create"], planned["delete"]) == (done["created"], done["deleted"])
    run("revert", "one..two", "--yes", cwd=tree)
    assert_same(before, survey(tree))


def test_links(run: InProcess, tree: Path, take: Take) -> None:
    for name in ("b", "pair"):
        (tree / name).write_text(name)
        os.link(tree / name, tree / f"{name}2")
    os.link(tree / "b", tree / "a")
    for name in ("one", "other"):
        (tree / name).write_text("alike")
        os.utime(tree / name, (5, 5))
    before = survey(tree)
    take("one")
    (tree / "a").unlink()
    shutil.copy2(tree / "pair", tree / "copy")
    (tree / "copy").rename(tree / "pair")
    (tree / "other").unlink()
    os.link(tree / "one", tree / "other")
    take("two")
    os.link(tree / "b", tree / "mine")
    run("revert", "one..two", "--yes", cwd=tree)
    after = survey(tree)
    # A link that was made later stays one.
    assert after.groups[b"a"] == {b"a", b"b", b"b2", b"mine"}
    assert_same(before.without([b""]), after.without([b"mine", b""]))
    assert "nothing to do" in run("revert", "one..two", "--yes", cwd=tree).errors

    run("revert", "two..one", "--yes", cwd=tree)
    (tree / "pair2").chmod(0o600)
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == [
        "C\tpair\tits links go together with pair2, which stays",
        "C\tpair2\tmode changed since two",
    ]
    run("revert", "two..one", "--yes", cwd=tree, ok=(5,))
    done = run("revert", "one..two", "other", "--yes", cwd=tree, ok=(5,))
    assert told(done) == ["C\tother\tits links go together with one, which stays"]


def test_paths(run: InProcess, tree: Path, take: Take) -> None:
    """Only what lies there, with the other ends of moves and the directories that these need."""
    (tree / "d" / "inner").mkdir(parents=True)
    for name in ("one", "two", "inner/x"):
        (tree / "d" / name).write_text(name)
    (tree / "other").write_text("one")
    take("one")
    (tree / "d").rename(tree / "e")
    (tree / "other").write_text("two")
    (tree / "plain").write_text("two")
    take("two")
    live = survey(tree)
    done = run("revert", "one..two", "e/inner/x", "--yes", cwd=tree)
    assert listed(tree) == [
        "d", "d/inner", "d/inner/x", "e", "e/inner", "e/one", "e/two", "other", "plain",
    ]  # fmt: skip
    assert (tree / "other").read_text() == "two"
    (tree / "later").write_text("is not the undo's business")
    undo(run, done, tree)
    (tree / "later").unlink()
    assert_same(live.without([b""]), survey(tree).without([b""]))
    os.link(tree / "e" / "one", tree / "beside")
    run("create", tree, "--name", "linked")
    shutil.copy2(tree / "beside", tree / "copy")
    (tree / "copy").rename(tree / "beside")
    run("create", tree, "--name", "parted")
    parted = survey(tree)
    done = run("revert", "linked..parted", "beside", "--yes", cwd=tree)
    assert survey(tree).groups[b"beside"] == {b"beside", b"e/one"}
    undo(run, done, tree)
    assert_same(parted, survey(tree))
    (tree / "beside").unlink()
    run("revert", "one..two", "plain", "d", "--yes", cwd=tree)
    assert listed(tree) == ["d", "d/inner", "d/inner/x", "d/one", "d/two", "other"]
    missing = run("revert", "one..two", "dd", cwd=tree, ok=(1,))
    assert "neither one nor two has dd" in missing.errors


def test_what_was_left_out_is_neither_made_nor_deleted(
    run: InProcess, tree: Path, take: Take
) -> None:
    (tree / "x.o").write_text("o")
    (tree / "x.c").write_text("one")
    take("one", "--exclude", "*.o")
    (tree / "x.c").write_text("two")
    (tree / "new").mkdir()
    (tree / "new" / "y.c").write_text("y")
    take("two", "--exclude", "*.o")
    (tree / "new" / "y.o").write_text("y")
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == ["C\tnew\tholds new/y.o, which stays"]
    assert listed(tree) == ["new", "new/y.o", "x.c", "x.o"]
    assert (tree / "x.c").read_text() == "one"

    take("all")  # has objects that only were not looked at before
    plan = run("revert", "one..all", "--json", "-n", cwd=tree, ok=(5,)).json_lines()
    assert plan[-1]["left_out"] == 2
    assert plan[-1]["delete"] == 0
    assert [line["path"] for line in plan[:-1]] == ["new"]


def test_what_could_not_be_read(as_user: Program, workspace: Path) -> None:
    tree = workspace / "own" / "tree"
    for name in ("then", "now"):
        (tree / name).write_text("one")
        (tree / f"{name}-d").mkdir()
        (tree / f"{name}-d" / "x").write_text("one")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, as_user.user.uid, as_user.user.gid)  # type: ignore[union-attr]
    as_user("create", tree, "--name", "one")
    for path in (tree / "then", tree / "then-d"):
        path.chmod(0)
    for path in (tree / "now", tree / "now-d" / "x"):
        path.write_text("two")
    as_user("create", tree, "--name", "two", ok=(3,))
    for path in (tree / "now", tree / "now-d"):
        path.chmod(0)
    done = as_user("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == [
        "C\tnow\tcannot be read",
        "C\tnow-d/x\tcannot be read",
        "C\tthen\tcould not be read when two was taken",
        "C\tthen-d\tcould not be read when two was taken",
    ]
    assert (tree / "now").read_text() == "two"
    assert (tree / "now-d" / "x").read_text() == "two"


def test_nothing_is_deleted_on_another_mount(
    run: InProcess, workspace: Path, tree: Path, take: Take
) -> None:
    need_root()
    outside = workspace / "outside"
    outside.mkdir()
    (tree / "point").mkdir()
    with bound(outside, tree / "point"):
        take("one")
        (outside / "precious").write_text("x")
        take("two")
        done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
        assert told(done) == ["C\tpoint/precious\ton another filesystem, where nothing is deleted"]
    assert (outside / "precious").exists()


def test_an_edit_between_look_and_replacement_stays(
    run: InProcess, tree: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tree / name).write_text("one")
    take("one")
    for name in ("a", "b", "new"):
        (tree / name).write_text("two")
    (tree / "dir").mkdir()
    (tree / "c").write_text("two")
    take("two")
    (tree / "c").write_text("three")

    def edit(point: str) -> None:
        if point == "revert.planned":
            (tree / "a").write_text("while it ran")
            (tree / "new").write_text("while it ran")
            (tree / "dir" / "mine").write_text("while it ran")

    monkeypatch.setattr("snapfs.revert.operation.faults.point", edit)
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(3,))
    for name in ("a", "new", "dir/mine"):
        assert (tree / name).read_text() == "while it ran"
        assert f"! {name.partition('/')[0]}: came or changed since" in done.errors
    assert (tree / "b").read_text() == "one"
    assert told(done) == ["C\tc\tcontent,mtime changed since two"], (
        "3 wins: not all else was undone"
    )
    assert run("runs", "--json").json_lines()[-1]["exit"] == 3


def test_the_root_itself(run: InProcess, tree: Path, take: Take) -> None:
    tree.chmod(0o750)
    before = survey(tree)
    take("one")
    tree.chmod(0o700)
    take("two")
    run("revert", "one..two", "--yes", cwd=tree)
    assert_same(before, survey(tree))
    tree.chmod(0o711)
    done = run("revert", "two..one", "--yes", cwd=tree, ok=(5,))
    assert told(done) == ["C\t.\tmode changed since one"]


def test_nothing_is_brought_from_a_damaged_catalog(run: InProcess, tree: Path, take: Take) -> None:
    (tree / "d").mkdir()
    for name in ("a", "d/b", "d/gone"):
        (tree / name).write_text("one")
    take("one")
    for name in ("a", "d/b"):
        (tree / name).write_text("two")
    (tree / "d" / "gone").unlink()
    take("two")
    with closing(sqlite3.connect(run.repository / "catalog.db")) as catalog, catalog:
        changed = catalog.execute(
            "UPDATE inode_diff SET size = size + 1 WHERE kind = 1 AND inode_id ="
            " (SELECT inode_id FROM dirent WHERE name = CAST('b' AS BLOB))"
        )
        assert changed.rowcount == 1  # fmt: skip
    done = run("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    assert told(done) == [
        f"C\td/{name}\tthe catalog is damaged here: run snapfs verify" for name in ("b", "gone")
    ]
    assert (tree / "a").read_text() == "one"
    assert (tree / "d" / "b").read_text() == "two"


def test_counts_are_of_what_is_listed(run: InProcess, tree: Path, take: Take) -> None:
    """A directory of which only the time moved is in no line: it has a count of its own."""
    for name in ("kept", "twice", "alone"):
        (tree / name / "below").mkdir(parents=True)
        (tree / name / "x").write_text("one")
        os.utime(tree / name, ns=(5, 10**18))
    os.utime(tree, ns=(5, 10**18))
    take("one")
    (tree / "kept" / "new").write_text("two")
    (tree / "twice" / "x").unlink()
    (tree / "twice" / "y").write_text("two")
    os.utime(tree / "alone", ns=(5, 10**18 + 5))
    (tree / "kept" / "x").chmod(0o600)
    (tree / "kept" / "below").chmod(0o700)
    (tree / "new").mkdir()
    (tree / "new" / "deep").write_text("two")
    take("two")
    planned = run("revert", "one..two", "-n", cwd=tree)
    plan = run("revert", "one..two", "-n", "--json", cwd=tree).json_lines()[-1]
    letters = [line[0] for line in planned.lines]
    assert letters.count("+") == plan["create"] == 1
    assert letters.count("M") == plan["overwrite"] == 2
    assert letters.count("-") == 3
    assert plan["delete"] == 4, "a directory stands for all in it"
    assert plan["times"] == 4
    assert "create 1, overwrite 2, delete 4, set back 4 directory times;" in planned.errors
    done = run("revert", "one..two", "--yes", "--json", cwd=tree).json()
    assert [done[name] for name in ("created", "overwritten", "deleted", "times")] == [1, 2, 4, 4]
    assert (tree / "alone").stat().st_mtime_ns == 10**18
    assert "nothing to do" in run("revert", "one..two", "--yes", cwd=tree).errors
    os.utime(tree / "alone", ns=(5, 10**18 + 5))
    only = run("revert", "one..two", "--yes", "--json", cwd=tree).json()
    assert (only["applied"], only["overwritten"], only["times"]) == (True, 0, 1)
