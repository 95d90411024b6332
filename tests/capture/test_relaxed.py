"""Options that compare less hold for one run: the next one sees what they passed over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import names


@pytest.mark.usefixtures("never_young")
@pytest.mark.parametrize("links", ["more", "fewer", "as many"])
@pytest.mark.parametrize("relaxed", [("--ignore-ctime",), ("--ignore-ctime", "--ignore-inode")])
def test_a_change_with_size_and_mtime_kept(
    links: str, relaxed: tuple[str, ...], run: InProcess, tree: Path
) -> None:
    (tree / "f").write_text("aaaa")
    if links == "fewer":
        os.link(tree / "f", tree / "g")
    os.utime(tree / "f", (1, 1))
    run("create", tree, "--name", "before")
    (tree / "f").write_text("bbbb")
    os.setxattr(tree / "f", "user.x", b"new")
    os.utime(tree / "f", (1, 1))
    if links == "more":
        os.link(tree / "f", tree / "g")
    elif links == "fewer":
        (tree / "g").unlink()
    run("create", tree, "--name", "relaxed", *relaxed)
    run("create", tree, "--name", "strict")
    assert run("cat", f"{tree.name}@strict:f").text == "bbbb"
    assert "content" not in run("diff", "--checksum", cwd=tree).text
    run("restore", "before", "--in-place", "--delete", "--yes", cwd=tree)
    assert (tree / "f").read_text() == "aaaa"


@pytest.mark.usefixtures("never_young")
@pytest.mark.parametrize("apart", [False, True])
def test_a_change_of_links_whose_snapshot_was_deleted(
    apart: bool, run: InProcess, tree: Path, workspace: Path
) -> None:
    """Nothing but the links of a file changed, and times were put back, as rsync and tar do."""
    folder = tree / "d"
    folder.mkdir()
    (folder / "a").write_text("data")
    if apart:
        os.link(folder / "a", folder / "b")
    else:
        shutil.copy2(folder / "a", folder / "b")
    for path in (folder / "a", folder / "b", folder, tree):
        os.utime(path, (1, 1))
    run("create", tree, "--name", "one")
    (folder / "b").unlink()
    if apart:
        shutil.copy2(folder / "a", folder / "b")
    else:
        os.link(folder / "a", folder / "b")
    for path in (folder, tree):
        os.utime(path, (1, 1))
    run("create", tree, "--name", "two")
    run("delete", "two", "--yes", cwd=tree)
    run("create", tree, "--name", "three")
    assert names(run("list", "--json", cwd=tree)) == ["one", "three"]
    for name, linked in (("one", apart), ("three", not apart)):
        back = workspace / name
        run("restore", f"{tree.name}@{name}", "--to", back)
        assert ((back / "d/a").stat().st_ino == (back / "d/b").stat().st_ino) == linked, name
    run("verify", "--data")
