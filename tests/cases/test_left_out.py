"""What no snapshot holds, because it was left out or could not be read, is neither lost nor misreported."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program
from tests.harness.trees import State, assert_same, survey
from tests.harness.user import User

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"

LEFT_OUT = {
    "marker": ("--exclude-if-present", ".mark"),
    "cache": ("--exclude-caches",),
    "size": ("--exclude-larger-than", "1K"),
}


def _leave_out(way: str, folder: Path) -> None:
    """Make the directory so that the rule leaves out ``mine``."""
    folder.mkdir()
    (folder / "mine").write_text("precious" if way != "size" else "x" * 5000)
    if way == "marker":
        (folder / ".mark").touch()
    elif way == "cache":
        (folder / "CACHEDIR.TAG").write_text(TAG)


def _reason_goes(way: str, folder: Path) -> None:
    """Undo what made the rule leave out ``mine``."""
    if way == "marker":
        (folder / ".mark").unlink()
    elif way == "cache":
        (folder / "CACHEDIR.TAG").unlink()
    else:
        (folder / "mine").write_text("precious")


@pytest.mark.parametrize("way", LEFT_OUT)
def test_what_was_left_out_then_is_never_deleted(way: str, run: InProcess, tree: Path) -> None:
    """Whatever became of the marker, or of the size, since."""
    for place in (tree / "build", tree / "deep" / "er"):
        place.parent.mkdir(exist_ok=True)
        _leave_out(way, place)
    run("create", tree, "--name", "then", *LEFT_OUT[way])
    for place in (tree / "build", tree / "deep" / "er"):
        _reason_goes(way, place)
        (place / "gone" if way == "size" else place / "other").write_text("new")
    told = run("diff", "--json", cwd=tree).json_lines()
    assert not [line["path"] for line in told if line.get("path", "").endswith("mine")]
    back = run("restore", "then", "--in-place", "--delete", "--yes", "--no-safety", cwd=tree)
    for place in (tree / "build", tree / "deep" / "er"):
        assert (place / "mine").read_text() == "precious"
        # In a marked directory all was left out; a new file that is small was not.
        assert (place / "other").exists() == (way != "size")
        assert not (place / "gone").exists()
    assert "left alone" in back.errors
    assert run("diff", "--exit-code", cwd=tree).out == b""


@pytest.mark.parametrize("way", LEFT_OUT)
def test_what_was_left_out_then_stays_in_another_target(
    way: str, run: InProcess, tree: Path, workspace: Path
) -> None:
    _leave_out(way, tree / "build")
    run("create", tree, "--name", "then", *LEFT_OUT[way])
    target = workspace / "target"
    for of, to in (("then", target), ("then:build", target / "build")):
        (target / "build").mkdir(parents=True, exist_ok=True)
        (target / "build" / "mine").write_text("precious")
        run("restore", of, "--to", to, "--overwrite", "always", "--delete", "--yes", cwd=tree)
        assert (target / "build" / "mine").read_text() == "precious"


@pytest.mark.parametrize("way", ["marker", "cache"])
def test_the_way_back_keeps_what_a_marker_kept(way: str, run: InProcess, tree: Path) -> None:
    """A file beside a marker that came after the snapshot: left alone, by the restore and by its undo."""
    (tree / "d").mkdir()
    (tree / "d" / "f").write_text("1")
    run("create", tree, "--name", "then", *LEFT_OUT[way])
    marker = tree / "d" / (".mark" if way == "marker" else "CACHEDIR.TAG")
    marker.write_text(TAG)
    (tree / "d" / "mine").write_text("precious")
    before = survey(tree)
    run("restore", "then", "--in-place", "--delete", "--yes", cwd=tree)
    assert not marker.exists()
    assert (tree / "d" / "mine").read_text() == "precious"
    run("restore", "latest", "--in-place", "--delete", "--yes", "--no-safety", cwd=tree)
    assert_same(before, survey(tree))


@pytest.mark.parametrize("way", LEFT_OUT)
def test_a_file_that_a_rule_would_leave_out_only_now_is_compared(
    way: str, run: InProcess, tree: Path
) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "f").write_text("1")
    run("create", tree, "--name", "then", *LEFT_OUT[way])
    (tree / "d" / "f").write_text("2" * 5000)
    if way != "size":
        (tree / "d" / (".mark" if way == "marker" else "CACHEDIR.TAG")).write_text(TAG)
    lines = {line["path"]: line for line in run("diff", "--json", cwd=tree).json_lines()}
    assert lines["d/f"]["letter"] == "M"
    assert "content" in lines["d/f"]["what"]


def test_too_many_large_files_are_told(
    run: InProcess, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snapfs.fs.matching.MOST_LARGE", 3)
    for number in range(5):
        (tree / f"large-{number}").write_text("x" * 5000)
    done = run("create", tree, "--exclude-larger-than", "1K")
    assert "files are left out for their size" in done.errors


# --- what cannot be read ----------------------------------------------------------------------------


@pytest.fixture
def own(workspace: Path, user: User) -> Path:
    tree = workspace / "own" / "tree"
    for name in ("f", "d/f", "d/g"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("old")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, user.uid, user.gid)
    return tree


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("closed", ["f", "d", "new", "new directory"])
def test_nothing_is_restored_over_what_the_safety_snapshot_cannot_read(
    closed: str, newest: bool, as_user: Program, user: User, own: Path
) -> None:
    """Whether or not the snapshot that is restored is the newest."""
    as_user.create(own, "then")
    if not newest:
        as_user.create(own, "later")
    precious = own / closed
    if closed == "d":
        precious = own / "d" / "f"
    elif closed == "new directory":
        (own / closed).mkdir()
        os.chown(own / closed, user.uid, user.gid)
        precious = own / closed / "f"
    precious.write_text("precious")
    os.chown(precious, user.uid, user.gid)
    (own / closed).chmod(0)
    listed = names(as_user("list", "tree", "--json"))
    words = ("restore", "then", "--in-place", "--delete", "--yes")
    done = as_user(*words, cwd=own, ok=(1,))
    shown = f"'{closed}'" if " " in closed else closed
    assert f"would not be complete ({shown}: " in done.errors
    assert "nothing was restored" in done.errors
    assert precious.read_text() == "precious"
    # No snapshot is left that would be the newest, and hold what is there now.
    assert names(as_user("list", "tree", "--json")) == listed
    (own / closed).chmod(0o700 if (own / closed).is_dir() else 0o600)
    back = as_user(*words, cwd=own)
    assert precious.exists() == (closed in ("f", "d"))
    undo = back.text.splitlines()[-1].split()[1:]
    as_user(*undo, "--yes", "--no-safety", cwd=own)
    assert precious.read_text() == "precious"


def test_what_a_restore_does_not_touch_need_not_be_readable(
    as_user: Program, user: User, own: Path
) -> None:
    as_user.create(own, "then")
    (own / "f").write_text("changed")
    (own / "d" / "f").chmod(0)
    words = ("restore", "then", "--in-place", "--delete", "--yes")
    as_user(*words, cwd=own, ok=(1,))
    assert (own / "f").read_text() == "changed"
    for more in (["--exclude", "d/f"], ["--exclude", "d/"], ["--include", "/f"], ["f"]):
        (own / "f").write_text("changed")
        flags = words[2:] if "--include" not in more else ("--in-place", "--yes")
        as_user("restore", "then", *more, *flags, cwd=own, ok=(0, 3))
        assert (own / "f").read_text() == "old", more
    assert (own / "d" / "f").stat().st_mode & 0o7777 == 0


def test_what_the_snapshot_could_not_read_is_left_alone(
    as_user: Program, user: User, own: Path
) -> None:
    """An unread directory keeps the children that it had before: they are not written over what is there."""
    as_user.create(own, "then")
    (own / "d").chmod(0)
    as_user.create(own, "unread", ok=(3,))
    (own / "d").chmod(0o700)
    (own / "d" / "f").write_text("precious")
    (own / "d" / "g").unlink()
    for mode in (0, 0o311, 0o700):
        (own / "d").chmod(mode)
        for words in (["unread"], ["unread", "d/f"], ["unread:d"], ["unread", "--delete"]):
            done = as_user("restore", *words, "--in-place", "--yes", cwd=own, ok=(3,))
            assert "! d: could not be read" in done.errors
            (own / "d").chmod(0o700)
            assert (own / "d" / "f").read_text() == "precious"
            assert not (own / "d" / "g").exists()
            (own / "d").chmod(mode)
    (own / "d").chmod(0o700)
    for child in (own / "d").iterdir():
        child.unlink()
    (own / "d").rmdir()
    (own / "d").write_text("precious")
    os.chown(own / "d", user.uid, user.gid)
    (own / "d").chmod(0)
    for words in (["unread"], ["unread", "--delete"]):
        as_user("restore", *words, "--in-place", "--yes", cwd=own, ok=(3,))
        assert (own / "d").read_text() == "precious"
    # Where nothing is, what was known of it comes back.
    (own / "d").unlink()
    as_user("restore", "unread", "--in-place", "--yes", cwd=own, ok=(3,))
    (own / "d").chmod(0o700)
    assert (own / "d" / "f").read_text() == "old"


def test_a_hard_linked_file_that_cannot_be_read_has_all_its_names(
    as_user: Program, user: User, own: Path
) -> None:
    """The problem is told of the first name, and another is at stake."""
    as_user.create(own, "then")
    (own / "f").write_text("precious")
    os.link(own / "f", own / "a")
    (own / "f").chmod(0)
    for more in ([], ["f"], ["--include", "f"]):
        done = as_user("restore", "then", *more, "--in-place", "--yes", cwd=own, ok=(1,))
        assert "would not be complete (a: " in done.errors
        assert (own / "f").read_text() == "precious"
    as_user("restore", "then", "d", "--in-place", "--yes", cwd=own)


def test_a_problem_of_a_closed_directory_has_its_name(
    as_user: Program, user: User, own: Path
) -> None:
    os.setxattr(own / "d", "user.a", b"1")
    (own / "d").chmod(0)
    done = as_user.create(own, "then", ok=(3,))
    assert "! .:" not in done.errors
    assert "! d: attributes cannot be read" in done.errors
    (own / "f").write_text("changed")
    as_user("restore", "then", "--in-place", "--yes", cwd=own, ok=(3,))
    assert (own / "f").read_text() == "old"


def test_an_undo_takes_away_what_a_rule_leaves_out(run: InProcess, tree: Path) -> None:
    """The restore brought it into a directory that had got a marker; and it may be brought again."""
    (tree / "d").mkdir()
    (tree / "d" / "x").write_text("then")
    run("create", tree, "--name", "then", "--exclude-if-present", ".mark")
    (tree / "d" / "x").unlink()
    (tree / "d" / ".mark").touch()
    (tree / "d" / "mine").write_text("never captured")
    before = survey(tree)
    _there_and_back(run, tree, before, ["restore", "then", "--in-place", "--delete", "--yes"])


def test_an_undo_takes_away_what_is_too_large_for_its_rules(run: InProcess, tree: Path) -> None:
    (tree / "x").write_text("1")
    run("create", tree, "--name", "small", "--exclude-larger-than", "5")
    (tree / "x").write_text("12345678")
    run("restore", "small", "--in-place", "--delete", "--yes", cwd=tree)
    (tree / "x").unlink()
    safety = names(run("list", "--json", cwd=tree))[1]
    before = survey(tree)
    _there_and_back(run, tree, before, ["restore", safety, "--in-place", "--delete", "--yes"])


def _there_and_back(run: InProcess, tree: Path, before: State, words: list[str]) -> None:
    done = run(*words, cwd=tree)
    after = survey(tree)
    assert (tree / "x").exists() or (tree / "d" / "x").exists()
    for state in (before, after, before):
        undo = shlex.split(done.text.splitlines()[-1])
        done = run(*undo[3:], "--yes", cwd=tree)
        assert_same(state, survey(tree))


def test_rules_that_do_not_count_are_a_problem(run: InProcess, tree: Path) -> None:
    """More is captured than was meant: a scheduled run has to notice."""
    (tree / ".snapfsignore").write_text("secret*\n" + "#" * (1 << 20))
    (tree / "secret").write_text("")
    done = run("create", tree, ok=(3,))
    assert "! .snapfsignore: ignore file cannot be read: File too large" in done.errors
    assert "1 problem" in done.errors
    assert "incomplete" not in done.errors
