"""A symlink that goes away, or becomes something else, between the look at it and the reading of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import entries
from tests.harness.trees import assert_same, survey

BECOMES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "directory": lambda path: path.mkdir(),
    "file": lambda path: path.write_text("precious"),
    "another link": lambda path: path.symlink_to("elsewhere"),
}


def meddle(monkeypatch: pytest.MonkeyPatch, link: Path, what: Callable[[Path], object]) -> None:
    """As soon as somebody reads the link, once."""
    read = os.readlink
    done = False

    def reading(name: bytes, *, dir_fd: int | None = None) -> bytes:
        nonlocal done
        if os.fsencode(name) == bytes(link.name, "ascii") and not done:
            done = True
            link.unlink()
            what(link)
        return read(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", reading)


@pytest.mark.parametrize("known", ["new", "unchanged", "changed"])
@pytest.mark.parametrize("becomes", BECOMES)
def test_meanwhile(
    becomes: str, known: str, workspace: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tree / "link"
    run = InProcess(workspace / "repository")
    (tree / "file").write_text("x")
    if known != "new":
        link.symlink_to("before")
        run("create", tree, "--name", "s0")
    if known == "changed":
        link.unlink()
    if known != "unchanged":
        link.symlink_to("target")
    with monkeypatch.context() as patch:
        meddle(patch, link, BECOMES[becomes])
        done = run("create", tree, "--name", "s1", ok=(0, 3))
    meddled = not link.is_symlink() or os.readlink(link) == "elsewhere"
    if meddled and becomes == "nothing":
        assert done.code == 0
        assert entries(run("ls", "s1:", "--json", cwd=tree)).keys() == {b"file"}
    elif meddled and becomes in ("directory", "file"):
        assert done.code == 3
        assert "link: became something else while it was read" in done.errors
        assert not run("show", "s1", "--json", cwd=tree).json()["snapshot"]["complete"]
    run("verify", "--data", cwd=tree)
    if meddled and becomes == "file":
        # What stands there is in no snapshot: a restore keeps it.
        run("restore", "s1", "--in-place", "--delete", "--yes", cwd=tree, ok=(0, 3))
        assert link.read_text() == "precious"
    state = survey(tree)
    run("create", tree, "--name", "s2")
    run("restore", "s2", "--to", workspace / "back", cwd=tree)
    assert_same(state, survey(workspace / "back"))
    run("verify", "--data", cwd=tree)
