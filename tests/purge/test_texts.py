"""The name of what was purged in what people wrote: rules, messages, command lines, tags, names of snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.trees import assert_same, survey
from tests.purge.traces import traces

NAME = "zecret-name-xyz"
LITERAL = (
    f"/{NAME}",
    f"{NAME}/",
    f"dir/{NAME}",
    f"!{NAME}",
    f"{NAME}.bak",
    "/dir/odd\\ \\[x]",
    "dir/kept",
)
LEFT = ("/kept", "*.tmp")
WILD = (f"*/{NAME}", f"pre-{NAME}*")


def _grow(tree: Path) -> None:
    (tree / "dir").mkdir()
    for name in (NAME, f"dir/{NAME}", "dir/odd [x]", "kept", "dir/kept", "x", "zdata"):
        (tree / name).write_bytes(b"s")


def test_rules_messages_and_command_lines(run: InProcess, tree: Path) -> None:
    """A distinctive name goes as a part of words as well, a short one and one that others have do not."""
    _grow(tree)
    run("create", tree, "--name", "a", "-m", f"{NAME}!", cwd=tree)
    words = [f"--exclude={form}" for form in (*LITERAL, *LEFT)]
    message = f"{NAME}-old rotated, (pre-{NAME}) x ax, zdatabase zdata_2"
    run("create", "--name", "b", "-m", message, *words, cwd=tree)
    run("tag", "a", "x-tag", cwd=tree)
    run("purge", NAME, f"dir/{NAME}", "dir/odd [x]", "dir/kept", "x", "zdata", "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()
    assert "PURGED!" in run("show", "a", cwd=tree).out.decode()
    shown = run("show", "b", cwd=tree).out.decode()
    assert "PURGED-old rotated, (pre-PURGED) PURGED ax, zdatabase PURGED_2" in shown
    rules = [
        line.partition("--exclude: ")[2] for line in shown.splitlines() if "--exclude: " in line
    ]
    assert rules == [
        "/PURGED", "PURGED/", "/PURGED", "!PURGED", "PURGED", "/PURGED", "/PURGED", *LEFT,
    ]  # fmt: skip
    command = next(one for one in run("runs").out.decode().splitlines() if "rotated" in one)
    assert "--exclude=/PURGED" in command
    run("verify", "--data")


def test_rules_with_wildcards_are_told_and_stay(run: InProcess, tree: Path) -> None:
    _grow(tree)
    run("create", tree, "--name", "a", cwd=tree)
    for name in ("b", "c"):
        run("create", "--name", name, *(f"--exclude={form}" for form in WILD), cwd=tree)
    done = run("purge", NAME, f"dir/{NAME}", "--yes", "--json", cwd=tree, ok=(3,)).json()
    assert [line.partition(" has the name")[0] for line in done["remaining"]] == [
        f"the rule {form} of 2 snapshots of tree (b to c)" for form in WILD
    ]
    (tree / f"pre-{NAME}1").write_bytes(b"live")
    run("restore", "c", "--in-place", "--delete", "--yes", cwd=tree)
    assert (tree / f"pre-{NAME}1").read_bytes() == b"live"
    run("delete", "b", "c", "--yes", cwd=tree)
    safety = run("list", "--json", cwd=tree).json_lines()[-1]["name"]
    run("delete", safety, "--yes", cwd=tree)
    run("purge", "--deleted", NAME, f"dir/{NAME}", "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        (("--exclude", "secret"), "secret"),
        (("--exclude", "/dir/deep/"), "dir/deep"),
        (("--exclude", "/*", "--exclude", "!/dir", "--exclude", "!/kept"), "secret"),
        (("--exclude-larger-than", "5k"), "dir/large"),
    ],
)
def test_what_a_rule_left_out_is_neither_deleted_nor_captured(
    rules: tuple[str, ...], path: str, run: InProcess, tree: Path
) -> None:
    """The name is in no rule any more; restoring spares it all the same, and so does its undo."""
    (tree / "dir" / "deep").mkdir(parents=True)
    for name, size in (("secret", 10), ("kept", 10), ("dir/deep/x", 10), ("dir/large", 9000)):
        (tree / name).write_bytes(b"qZruleZq" * (size // 8))
    run("create", tree, "--name", "a", cwd=tree)
    run("create", "--name", "b", *rules, cwd=tree)
    run("purge", path, "--yes", cwd=tree)
    before = survey(tree)
    (tree / "dir" / "new").write_bytes(b"n")
    run("restore", "b", "--in-place", "--delete", "--yes", cwd=tree)
    assert_same(before, survey(tree), ignore=("mtime",))
    safety = run("list", "--json", cwd=tree).json_lines()[-1]["name"]
    assert path not in run("ls", "-R", safety, cwd=tree).lines
    run("restore", safety, "--in-place", "--delete", "--yes", cwd=tree)
    assert (tree / "dir" / "new").exists()
    assert (tree / path).exists()
    # Also once it is smaller than it was.
    if (tree / path).is_file():
        (tree / path).write_bytes(b"small")
        run("restore", "b", "--in-place", "--delete", "--yes", cwd=tree)
        assert (tree / path).read_bytes() == b"small"


def test_symbolic_links_are_told(run: InProcess, tree: Path) -> None:
    _grow(tree)
    (tree / "dir" / "link").symlink_to(f"../{NAME}")
    (tree / "other").symlink_to("kept")
    run("create", tree, "--name", "a", cwd=tree)
    words = ("purge", NAME, f"dir/{NAME}", "--yes", "--json")
    remaining = run(*words, cwd=tree, ok=(3,)).json()["remaining"]
    assert remaining == ["the symbolic link dir/link of tree leads to it: purge it as well"]
    run("purge", "dir/link", "--yes", cwd=tree)
    run("purge", "--deleted", NAME, "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()


def test_tags_and_names_of_snapshots_are_told(run: InProcess, tree: Path) -> None:
    """They are not changed behind one's back; once they are, --deleted drops what is left of them."""
    _grow(tree)
    run("create", tree, "--name", "a", cwd=tree)
    run("create", "--name", f"pre-{NAME}", cwd=tree)
    run("tag", "a", f"{NAME}-tag", cwd=tree)
    plan = run("purge", NAME, f"dir/{NAME}", "-n", "--json", cwd=tree).json()
    done = run("purge", NAME, f"dir/{NAME}", "--yes", "--json", cwd=tree, ok=(3,)).json()
    assert plan["remaining"] == done["remaining"]
    assert f"`snapfs untag tree@a {NAME}-tag`" in done["remaining"][0]
    assert f"`snapfs rename tree@pre-{NAME} NEW`" in done["remaining"][1]
    run("untag", "tree@a", f"{NAME}-tag", cwd=tree)
    run("rename", f"tree@pre-{NAME}", "b", cwd=tree)
    assert traces(run.repository, NAME.encode())
    run("purge", "--deleted", NAME, "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()
    run("verify", "--data")
