"""Cases 1 to 6: names in any bytes, paths of any length and depth."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.inprocess import InProcess
from tests.harness.output import assert_terminal_safe, changes, entries
from tests.harness.program import Program
from tests.harness.trees import assert_same, build, mutate, survey


def names_below(root: Path) -> set[bytes]:
    """Paths relative to ``root`` of all that is below it."""
    found = set()
    for folder, directories, files in os.walk(os.fsencode(root)):
        for name in directories + files:
            found.add(os.path.relpath(os.path.join(folder, name), os.fsencode(root)))
    return found


def typed_back(words: str) -> list[bytes]:
    """What a shell makes of lines that are pasted into it, one word a line.

    Quoting is that of GNU ls, which leaves braces alone: brace expansion is off.
    """
    done = subprocess.run(
        ["bash", "+B", "-c", "printf '%s\\0' " + " ".join(words.splitlines())],
        capture_output=True,
        check=True,
    )
    return done.stdout.split(b"\0")[:-1]


def test_case_01_names_that_are_not_utf8(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("names-bytes")
    names = names_below(source)

    listing = snapfs("ls", "s0:names-bytes", "--recursive")
    assert_terminal_safe(listing)
    assert len(listing.lines) == len(names)
    assert {os.path.basename(path) for path in typed_back(listing.text)} == {
        os.path.basename(n) for n in names
    }
    raw = snapfs("ls", "s0:names-bytes", "--recursive", "-0")
    assert {os.path.basename(path) for path in raw.fields} == {os.path.basename(n) for n in names}
    listed = entries(snapfs("ls", "s0:", "--recursive", "--json"))
    assert {b"names-bytes/" + name for name in names} <= listed.keys()

    for name in (b"\xff", b"\xfe", b"dir-\xa0/in", b"surrogate-\xed\xa0\x80"):
        wanted = (Path(os.fsdecode(os.fsencode(source) + b"/" + name))).read_bytes()
        assert snapfs("cat", b"s0:names-bytes/" + name).out == wanted
    os.unlink(os.fsencode(source) + b"/\xff")
    gone = snapfs("diff", "s0", ".", cwd=source, ok=(0,))
    assert_terminal_safe(gone)
    assert gone.lines == ["-\t" + gone.lines[0].split("\t")[1]]
    assert typed_back(gone.lines[0].split("\t")[1]) == [b"names-bytes/\xff"]
    snapfs(
        "restore",
        "s0",
        "--to",
        workspace / "some",
        "--",
        os.fsencode(source) + b"/\xfe",
        cwd=source,
    )
    assert names_below(workspace / "some") & {b"\xfe", b"names-bytes/\xfe"}


def test_case_02_control_characters_reach_no_terminal(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("names-shell")
    names = names_below(source)
    for command in (
        ("ls", "s0:names-shell", "--recursive"),
        ("ls", "s0:names-shell", "--recursive", "-l"),
        ("diff", "s0", "."),
    ):
        listing = snapfs(*command, cwd=source)
        assert_terminal_safe(listing)
        if command[0] == "ls":
            assert len(listing.lines) == len(names), str(listing)
    listed = entries(snapfs("ls", "s0:", "--recursive", "--json"))
    assert {b"names-shell/" + name for name in names} <= listed.keys()
    for name in (b"-rf", b"--help", b"-", b"one\ntwo", b"$(id)", b"a:b", b" "):
        assert snapfs("cat", b"s0:names-shell/" + name).out == name
    snapfs("restore", "s0", "--to", workspace / "dashes", "--", b"./-rf", b"./--help", cwd=source)
    assert names_below(workspace / "dashes") >= {b"names-shell/-rf", b"names-shell/--help"}
    for name in names:
        path = os.path.join(os.fsencode(source), name)
        if not os.path.isdir(path):
            os.unlink(path)
    removed = snapfs("diff", "s0", ".", cwd=source)
    assert_terminal_safe(removed)
    quoted = "\n".join(line.split("\t")[1] for line in removed.lines if line.startswith("-"))
    assert (
        {b"names-shell/" + name for name in names}
        >= set(typed_back(quoted))
        >= {b"names-shell/tail\n"}
    )


def test_case_03_names_of_255_bytes(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("names-long")
    state = survey(source.parent)
    long_name = source / ("n" * 254 + "a")
    long_name.write_bytes(b"something else, longer than before")
    (source / ("d" * 255) / ("f" * 255)).write_bytes(b"changed")
    snapfs.restore_in_place("s0", "--delete", cwd=source)
    assert_same(state, survey(source.parent))


def test_case_04_names_that_differ_by_case_or_normal_form(
    snapfs: Program, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("names-case")
    listed = entries(snapfs("ls", "s0:names-case", "--recursive", "--json"))
    assert len(listed) == len(names_below(source))
    for name in ("readme", "README", "ReadMe", "\u00e9t\u00e9", "e\u0301te\u0301", "K", "\u212a"):
        assert snapfs("cat", f"s0:names-case/{name}").out == name.encode()
    (source / "README").write_bytes(b"changed")
    changed = changes(snapfs("diff", "s0", ".", "--json", cwd=source))
    assert {path for _, path, _ in changed} == {b"names-case/README"}


def test_case_05_paths_beyond_path_max(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("path-long")
    listed = entries(snapfs("ls", "s0:", "--recursive", "--json"))
    end = max(listed, key=len)
    assert len(end) > 4700
    folder = end.rsplit(b"/", 1)[0]
    assert snapfs("cat", b"s0:" + folder + b"/end").out == b"far away"
    state = survey(source.parent)
    subprocess.run(["rm", "-rf", source], check=True)
    # The deepest files of a tree that is gone come back in place, and deleting reaches that far too.
    snapfs.restore_in_place("s0", "--delete", cwd=source.parent)
    assert_same(state, survey(source.parent))


def test_case_06_deeper_than_any_recursion_limit(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("deep")
    state = survey(source.parent)
    subprocess.run(["rm", "-rf", source / "d"], check=True)
    (source / "shallow").write_bytes(b"x")
    snapfs.create(source.parent, "s1")
    diff = snapfs("diff", "s0", "s1", cwd=source)
    assert len([line for line in diff.lines if line.startswith("-")]) == 1201
    snapfs.restore_in_place("s0", "--delete", cwd=source)
    assert_same(state, survey(source.parent))
    snapfs.restore_in_place("s1", "--delete", cwd=source)
    assert sorted(os.listdir(source)) == ["shallow"]
    snapfs("delete", "s0", "--yes", cwd=source)
    snapfs.verify(cwd=source)


def test_deep_tree_of_ten_thousand_levels(snapfs: Program, workspace: Path) -> None:
    """Beyond case 6: nothing costs the square of the depth."""
    tree = workspace / "tree"
    tree.mkdir()
    at = os.open(tree, os.O_RDONLY)
    for _ in range(10_000):
        os.mkdir(b"d", dir_fd=at)
        below = os.open(b"d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    with open(os.open(b"bottom", os.O_WRONLY | os.O_CREAT, dir_fd=at), "wb") as file:
        file.write(b"deep")
    os.close(at)
    begin = time.monotonic()
    snapfs.create(tree, "s0")
    snapfs.create(tree, "s1")
    snapfs.restore("s0", workspace / "target")
    assert time.monotonic() - begin < 60
    assert_same(survey(tree), survey(workspace / "target"))


def test_history_of_names(snapfs: Program, workspace: Path) -> None:
    """Names of every odd kind through removal and return, compared view by view."""
    tree = build(
        workspace / "tree", "names-bytes", "names-shell", "names-long", "names-case", "chg-case"
    )
    first = survey(tree)
    snapfs.create(tree, "s0")
    for case in ("names-bytes", "names-shell"):
        for name in os.listdir(os.fsencode(tree / case)):
            path = os.path.join(os.fsencode(tree / case), name)
            if os.path.isfile(path) and not os.path.islink(path):
                os.unlink(path)
    mutate(tree, 1)
    second = survey(tree)
    snapfs.create(tree, "s1")
    snapfs.restore("s0", workspace / "r0")
    snapfs.restore("s1", workspace / "r1")
    assert_same(first, survey(workspace / "r0"))
    assert_same(second, survey(workspace / "r1"))


def test_a_move_into_a_new_directory_stays_one_when_a_snapshot_between_is_deleted(
    run: InProcess, tree: Path
) -> None:
    (tree / "n0" / "moves").mkdir(parents=True)
    (tree / "n0" / "moves" / "f").write_text("x")
    (tree / "n1").write_text("a file")
    run("create", tree, "--name", "s0")
    (tree / "n1").unlink()
    (tree / "n1" / "deep").mkdir(parents=True)
    (tree / "new").mkdir()
    run("create", tree, "--name", "s1")
    (tree / "n0" / "moves").rename(tree / "n1" / "deep" / "d")
    run("create", tree, "--name", "s2")
    forth, back = run("diff", "s0", "s2", cwd=tree).lines, run("diff", "s2", "s0", cwd=tree).lines
    assert "R\tn0/moves -> n1/deep/d" in forth
    run("delete", "s1", "--yes", cwd=tree)
    assert run("diff", "s0", "s2", cwd=tree).lines == forth
    assert run("diff", "s2", "s0", cwd=tree).lines == back
