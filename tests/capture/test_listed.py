"""``create --changed-from``: what is listed is as it is now, all else as it was, and nothing stays unseen."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from snapfs.capture.listed import Cursor, Listed, prefix
from snapfs.catalog import spill
from snapfs.catalog.database import Catalog
from snapfs.catalog.spill import Spill
from snapfs.fs.rules import Rules
from tests.harness.inprocess import InProcess
from tests.harness.program import Program, Result
from tests.harness.require import need_root
from tests.harness.trees import State, assert_same, survey
from tests.property.edits import EDITS, apply


def look_at(run: InProcess, tree: Path, listed: Iterable[bytes | str], *more: str) -> Result:
    """Take a snapshot that looks at these paths alone."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(os.fsencode(path) + b"\0" for path in listed))
        file.flush()
        return run("create", tree, "--changed-from", file.name, *more)


def restored(run: InProcess, base: Path) -> State:
    """What the newest snapshot holds."""
    target = Path(tempfile.mkdtemp(dir=base))
    run("restore", "tree@latest", "--to", target)
    found = survey(target, flags=False)
    shutil.rmtree(target)
    return found


def letters(run: InProcess, *words: str) -> list[str]:
    """The lines of a diff: letter and path."""
    return [" ".join(line.split("\t")[:2]) for line in run("diff", *words).lines]


def mixed(before: State, live: State, listed: set[bytes]) -> State:
    """What such a snapshot has to hold: the model."""

    def above(path: bytes) -> list[bytes]:
        parts = path.split(b"/")
        return [b"/".join(parts[:end]) for end in range(1, len(parts))]

    def is_dir(path: bytes) -> bool:
        return live.facts.get(path, {}).get("type") == "dir"

    tops = listed | {way for path in listed for way in above(path) if not is_dir(way)}
    ways = {b""} | {way for path in tops for way in above(path)}
    facts = {}
    for path in live.facts.keys() | before.facts.keys():
        now = path in ways or any(place in tops for place in [b"", *above(path), path])
        source = live if now else before
        if path in source.facts:
            facts[path] = source.facts[path]
    return State(facts, {}, 0)


SINGLE = sorted(EDITS.keys() - {"hard_link", "break_link"})
STEPS = st.lists(
    st.tuples(
        st.sampled_from(SINGLE), st.integers(0, 99), st.integers(0, 99), st.sampled_from("abcd")
    ),
    min_size=1,
    max_size=10,
)


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(begin=STEPS, rounds=st.lists(st.tuples(STEPS, st.integers()), min_size=1, max_size=2))
def test_any_list_over_any_history(
    begin: list[tuple[str, int, int, str]],
    rounds: list[tuple[list[tuple[str, int, int, str]], int]],
    never_young: None,
) -> None:
    base = Path(tempfile.mkdtemp(prefix="snapfs-listed-"))
    try:
        tree, run = base / "tree", InProcess(base / "repository")
        (tree / "d" / "e").mkdir(parents=True)
        for step in begin * 2:
            apply(tree, *step)
        run("create", tree)
        known = survey(tree, flags=False)
        for steps, seed in rounds:
            for step in steps:
                apply(tree, *step)
            live = survey(tree, flags=False)
            paths = sorted((known.facts.keys() | live.facts.keys()) - {b""})
            chance = random.Random(seed)
            listed = {path for path in paths if chance.random() < 0.3}
            look_at(run, tree, listed)
            known = mixed(known, live, listed)
            assert_same(known, restored(run, base), ignore=["links"])
        run("create", tree)
        assert_same(survey(tree, flags=False), restored(run, base))
        run("verify")
    finally:
        shutil.rmtree(base)


# --- the cost follows the list ------------------------------------------------------------------


def test_the_cost_follows_the_list(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many calls and statements in a tree that is many times as large."""
    counts: dict[str, int] = {}

    def count(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def counted(*args: object, **options: object) -> object:
            counts[name] = counts.get(name, 0) + 1
            return real(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    for owner, names in (
        (os, ("lstat", "open", "listdir", "scandir", "fstat")),
        (Catalog, ("execute", "executemany")),
    ):
        for name in names:
            count(owner, name)
    found = []
    for size in (10, 60):
        tree = workspace / f"of-{size:03d}" / "tree"
        run = InProcess(tree.parent / "repository")
        for number in range(size):
            below = tree / f"d{number}" / "below"
            below.mkdir(parents=True)
            for leaf in range(3 + size // 10):
                (below / f"f{leaf}").write_text("x")
        run("create", tree)
        (tree / "d7" / "below" / "f1").write_text("changed")
        (tree / "d9" / "below" / "new").write_text("new")
        (tree / "d9" / "below" / "f2").unlink()
        counts.clear()
        look_at(run, tree, ["d7/below/f1", "d9/below/new", "d9/below/f2"])
        found.append(dict(counts))
        assert letters(run, "tree@latest~1", "tree@latest") == [
            "M d7/below/f1",
            "- d9/below/f2",
            "+ d9/below/new",
        ]
    assert found[0] == found[1]
    assert found[0].get("scandir", 0) == 0, "no directory is listed"


def test_a_list_of_many_is_not_held(
    run: InProcess, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same through the temporary database, and over more names than one query takes."""
    monkeypatch.setattr(spill, "HELD", 50)
    for number in range(400):
        path = tree / f"d{number % 3}" / f"{number:03d}"
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    run("create", tree)
    for path in tree.glob("*/*"):
        path.write_text("other")
    listed = [f"d{number % 3}/{number:03d}" for number in range(400) if number % 4]
    look_at(run, tree, random.Random(1).sample(listed, len(listed)))
    assert letters(run, "tree@latest~1", "tree@latest") == [f"M {path}" for path in sorted(listed)]


def test_a_cursor_goes_down_and_past_what_is_left() -> None:
    listed = Listed(Spill(), Rules())
    for path in (b"a/x", b"b", b"b/below", b"a-", b"c/d/e", b"c/d/f", b"z"):
        listed.add(path)
    assert listed.covers(b"b/below/deeper")
    assert not listed.covers(b"a")
    cursor = Cursor(listed.keys())
    assert cursor.names(b"", 9) == ([b"a"], True)
    assert cursor.names(prefix([b"a"]), 9) == ([b"x"], False)
    assert cursor.names(prefix([b"a"]), 9) == ([], False)
    assert cursor.names(b"", 9) == ([b"a-", b"b", b"c"], True)
    cursor.skip(prefix([b"c"]))
    assert cursor.names(b"", 9) == ([b"z"], False)


# --- what is listed -----------------------------------------------------------------------------


def test_renames_and_new_parents(run: InProcess, tree: Path) -> None:
    (tree / "old" / "deep").mkdir(parents=True)
    (tree / "old" / "deep" / "f").write_text("f" * 50)
    (tree / "one").write_text("one")
    (tree / "gone").mkdir()
    (tree / "gone" / "f").write_text("x")
    run("create", tree)
    (tree / "old").rename(tree / "new")
    (tree / "one").rename(tree / "two")
    shutil.rmtree(tree / "gone")
    (tree / "p" / "q").mkdir(parents=True)
    (tree / "p" / "q" / "r").write_text("r")
    (tree / "p" / "unlisted").write_text("u")
    look_at(run, tree, ["old", "new", "one", "two", "gone/f/there", "p/q/r"])
    assert letters(run, "tree@latest~1", "tree@latest") == [
        "- gone", "- gone/f", "R old -> new", "+ p", "+ p/q", "+ p/q/r", "R one -> two",
    ]  # fmt: skip
    assert letters(run, "tree@latest", "tree@.") == ["+ p/unlisted"]


def test_a_file_with_several_names_is_looked_at_whole(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "a").write_text("first")
    os.link(tree / "a", tree / "d" / "b")
    os.link(tree / "a", tree / "c")
    (tree / "alone").write_text("alone")
    run("create", tree)
    with (tree / "a").open("a") as file:
        file.write("second")
    look_at(run, tree, ["a"])
    assert letters(run, "tree@latest~1", "tree@latest") == ["M a", "M c", "M d/b"]
    assert survey(tree, flags=False).groups == restored(run, tree.parent).groups
    # A name that moves, one that becomes another file, and one more of a file that had one.
    (tree / "c").rename(tree / "d" / "moved")
    os.link(tree / "alone", tree / "company")
    look_at(run, tree, ["c", "d/moved", "company"])
    assert restored(run, tree.parent).groups[b"a"] == {b"a", b"d/b", b"d/moved"}
    run("create", tree)
    assert_same(survey(tree, flags=False), restored(run, tree.parent))
    (tree / "d" / "b").unlink()
    (tree / "d" / "b").write_text("another file")
    look_at(run, tree, ["d/b"])
    run("verify")
    run("create", tree)
    assert_same(survey(tree, flags=False), restored(run, tree.parent))


def test_symlinks_on_the_way_are_not_followed(run: InProcess, tree: Path, workspace: Path) -> None:
    (workspace / "outside").mkdir()
    (workspace / "outside" / "secret").write_text("secret")
    for name in ("was", "link"):
        (tree / name).mkdir()
        (tree / name / "secret").write_text("mine")
    run("create", tree)
    shutil.rmtree(tree / "was")
    (tree / "was").symlink_to(workspace / "outside")
    done = look_at(run, tree, ["was/secret", "was/more"])
    assert "was is no directory by now" in done.errors
    assert letters(run, "tree@latest~1", "tree@latest") == ["M was", "- was/secret"]
    assert b"secret" not in run("ls", "tree@latest:was").out


def test_how_paths_may_be_written(run: InProcess, tree: Path, workspace: Path) -> None:
    (tree / "sub").mkdir()
    for name in ("a", "sub/b", "sub/c\nd", "e"):
        (tree / name).write_text("1")
    (workspace / "way").symlink_to(tree)
    run("create", tree)
    for name in ("a", "sub/b", "sub/c\nd", "e"):
        (tree / name).write_text("22")
    listed = workspace / "list"
    listed.write_text(f"./a\n\n{workspace}/way/sub//b\nsub/../e\nno/such/path\n")
    # The working directory does not count.
    run("create", tree, "--changed-from", listed, cwd=tree / "sub")
    assert letters(run, "tree@latest~1", "tree@latest") == ["M a", "M e", "M sub/b"]
    look_at(run, tree, ["sub/c\nd"])
    assert len(letters(run, "tree@latest~1", "tree@latest")) == 1
    before = run("list", "--json").out
    for outside in ("../x", f"{workspace}/treetop", "/", "sub/../../tree/a"):
        listed.write_text(f"a\n{outside}\n")
        done = run("create", tree, "--changed-from", listed, ok=(2,))
        assert f"{outside} is listed and not in tree" in done.errors
    for words in (("no-such-list",), (str(tree),)):
        run("create", tree, "--changed-from", *words, ok=(2,))
    run("create", tree, workspace, "--changed-from", listed, ok=(2,))
    assert run("list", "--json").out == before


def test_the_list_from_standard_input(snapfs: Program, tree: Path) -> None:
    (tree / "a").write_text("1")
    snapfs.create(tree)
    (tree / "a").write_text("22")
    (tree / "b").write_text("new")
    snapfs("create", tree, "--changed-from", "-", stdin=b"a")
    assert snapfs("diff", "tree@latest", "tree@.").lines == ["+\tb"]
    done = snapfs("create", tree, "--changed-from", "-", "--skip-if-unchanged", "--json", stdin=b"")
    assert (done.json()["reference"], done.json()["whole"]) == (None, False)


# --- rules --------------------------------------------------------------------------------------


def test_rules_hold_and_are_kept(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "e").mkdir()
    (tree / "d" / ".snapfsignore").write_text("*.o\n")
    (tree / "e" / ".snapfsignore").write_text("*.tmp\n")
    for name in ("d/x.o", "d/x", "e/x.tmp", "e/x", "large"):
        (tree / name).write_text("x" * 200)
    words = ("--exclude", "*.log", "--exclude-larger-than", "100")
    (tree / "e" / "x").write_text("x")
    (tree / "d" / "x").write_text("x")
    run("create", tree, *words)
    for name in ("d/y.o", "d/y", "d/z.log", "e/x", "grown"):
        (tree / name).write_text("y")
    (tree / "grown").write_text("y" * 200)
    look_at(run, tree, ["d/y.o", "d/y", "d/z.log", "grown"], *words)
    assert letters(run, "tree@latest~1", "tree@latest") == ["+ d/y"]
    # What was left out then, in directories nobody looked at, is known still.
    (tree / "large").write_text("small by now")
    run("restore", "tree@latest", "--in-place", "--delete", "--yes")
    for name in ("d/x.o", "e/x.tmp", "large", "grown"):
        assert (tree / name).exists(), name
    assert (tree / "e" / "x").read_text() == "x"


def test_a_listed_ignore_file_stands_for_its_directory(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    for name in ("d/x.o", "d/x", "y.o"):
        (tree / name).write_text("x")
    run("create", tree)
    (tree / "d" / ".snapfsignore").write_text("*.o\n")
    look_at(run, tree, ["d/.snapfsignore"])
    assert letters(run, "tree@latest~1", "tree@latest") == ["+ d/.snapfsignore", "- d/x.o"]


def test_everything_is_looked_at_where_the_rest_is_unknown(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("1")
    (tree / "b").write_text("1")
    done = look_at(run, tree, ["a"])
    assert "no snapshot yet" in done.errors
    assert run("ls", "tree@latest:").lines == ["a", "b"]
    (tree / "b").write_text("22")
    done = look_at(run, tree, ["a"], "--exclude", "*.o")
    assert "other rules" in done.errors
    assert letters(run, "tree@latest~1", "tree@latest") == ["M b"]
    (tree / "b").write_text("333")
    look_at(run, tree, ["."], "--exclude", "*.o")
    assert letters(run, "tree@latest~1", "tree@latest") == ["M b"]


def test_the_repository_is_left_out(tree: Path) -> None:
    run = InProcess(tree / "store")
    (tree / "a").write_text("1")
    run("create", tree)
    done = look_at(run, tree, [tree / "store" / "catalog.db", "a"])
    assert "lies inside and is left out" in done.errors
    assert run("ls", "tree@latest:").lines == ["a"]


def test_what_cannot_be_read_is_told_once(as_user: Program) -> None:
    need_root()
    tree = as_user.repository.parent / "tree"
    assert as_user.user is not None
    for name in ("shut/f", "open/g"):
        (tree / name).parent.mkdir()
        (tree / name).write_text("x")
    os.link(tree / "open" / "g", tree / "other")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, as_user.user.uid, as_user.user.gid)
    as_user.create(tree)
    (tree / "shut").chmod(0)
    (tree / "other").write_text("changed")
    done = as_user("create", tree, "--changed-from", "-", ok=(3,), stdin=b"shut/f\nother")
    assert done.errors.count("shut") == 1, str(done)
    assert as_user("ls", "tree@latest:shut", ok=None).lines == ["f"]


def test_after_a_restore_the_list_counts_still(run: InProcess, tree: Path) -> None:
    """The newest snapshot is a safety snapshot; without rules it has nothing that any leave out."""
    for name in ("a", "b"):
        (tree / name).write_text("one")
    run("create", tree, "--name", "one", cwd=tree)
    (tree / "a").write_text("two")
    run("restore", "one:a", "--in-place", "--overwrite", "always", "--yes", cwd=tree)
    for name in ("a", "b"):
        (tree / name).write_text("three")
    (tree / "list").write_bytes(b"a\0" + b"n" * 300 + b"\0" + b"a/" * 3000 + b"b\0")
    done = run("create", "--changed-from", tree / "list", "--name", "two", cwd=tree)
    assert "is looked at" not in done.errors
    assert run("diff", "one", "two", cwd=tree).lines == ["M\ta\tcontent,mtime"]
