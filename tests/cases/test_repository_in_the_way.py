"""A restore never writes into the repository that it reads from, nor deletes in it, whatever stands there in the snapshot."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.filesystems import bound, unmount
from tests.harness.inprocess import InProcess
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey


@pytest.fixture
def moved(workspace: Path, tree: Path) -> InProcess:
    """A snapshot of a tree with a directory where the repository stands by now."""
    run = InProcess(workspace / "repository")
    for name in ("packs", "journal", "locks", "mine"):
        (tree / "sub" / "store" / name).mkdir(parents=True)
    for name in ("config", "catalog.db", "packs/x", "notes"):
        (tree / "sub" / "store" / name).write_text("of the tree")
    (tree / "thesis").write_text("then")
    run("create", tree, "--name", "then")
    shutil.rmtree(tree / "sub" / "store")
    shutil.move(workspace / "repository", tree / "sub" / "store")
    (tree / "thesis").write_text("now")
    return InProcess(tree / "sub" / "store")


def kept(repository: Path) -> dict[str, bytes]:
    """What no command changes that deletes no snapshot."""
    found = [repository / "config", *(repository / "packs").iterdir()]
    return {path.name: path.read_bytes() for path in found}


TERMS = {
    "over": ("--overwrite", "always"),
    "over and delete": ("--overwrite", "if-changed", "--delete"),
    "in place": ("--in-place", "--no-safety", "--yes"),
    "in place and delete": ("--in-place", "--no-safety", "--delete", "--yes"),
    "with a safety snapshot": ("--in-place", "--delete", "--yes"),
}


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_it_stands_where_a_directory_is_wanted(
    terms: tuple[str, ...], moved: InProcess, tree: Path, workspace: Path
) -> None:
    to = () if "--in-place" in terms else ("--to", tree)
    before = kept(moved.repository)
    done = moved("restore", f"{tree.name}@then", *to, *terms, ok=(3,))
    assert "! sub/store: the repository has its place: left alone" in done.errors
    assert (tree / "thesis").read_text() == "then"
    assert os.listdir(tree / "sub") == ["store"]
    after = kept(moved.repository)
    assert {name: after.get(name) for name in before} == before
    moved("verify", "--data")
    moved("restore", f"{tree.name}@then", "--to", workspace / "all")
    assert (workspace / "all" / "sub" / "store" / "notes").read_text() == "of the tree"


def test_it_stands_where_a_file_is_wanted(workspace: Path, tree: Path) -> None:
    run = InProcess(workspace / "repository")
    (tree / "store").write_text("a file then")
    run("create", tree, "--name", "then")
    (tree / "store").unlink()
    shutil.move(workspace / "repository", tree / "store")
    run = InProcess(tree / "store")
    words = ("restore", "then", "--in-place", "--no-safety", "--delete", "--yes")
    done = run(*words, cwd=tree, ok=(3,))
    assert "! store: what has its place is not part of the snapshot" in done.errors
    run("verify", "--data")


def test_another_way_leads_to_it(workspace: Path, tree: Path) -> None:
    """A bind mount of the repository, or of its packs, has a path of its own."""
    need_root()
    run = InProcess(workspace / "repository")
    (tree / "f").write_text("then")
    (tree / "packs").mkdir()
    run("create", tree, "--name", "then")
    before = survey(run.repository / "packs")
    for folder in (run.repository, run.repository / "packs"):
        (workspace / "seen").mkdir(exist_ok=True)
        with bound(folder, workspace / "seen") as seen:
            words = ("restore", f"{tree.name}@then", "--to", seen, "--overwrite", "always")
            done = run(*words, "--delete", ok=(2,))
            assert "lies in the repository" in done.errors
        with bound(folder, tree / "packs"):
            words = ("restore", "then", "--in-place", "--no-safety", "--delete", "--yes")
            done = run(*words, cwd=tree, ok=(3,))
            assert "! packs: the repository has its place" in done.errors
    assert_same(before, survey(run.repository / "packs"))
    run("verify", "--data")


def test_a_stacked_filesystem_shows_it_under_other_numbers(workspace: Path, tree: Path) -> None:
    need_root()
    upper, work, seen = (workspace / name for name in ("upper", "work", "seen"))
    for folder in (upper, work, seen, tree / "store" / "packs"):
        folder.mkdir(parents=True)
    for name in ("config", "catalog.db", "packs/x"):
        (tree / "store" / name).write_text("of the tree")
    run = InProcess(upper / "store")
    run("create", tree, "--name", "then")
    before = kept(run.repository)
    options = f"lowerdir={tree},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, seen], check=True)
    try:
        words = ("restore", f"{tree.name}@then", "--to", seen, "--overwrite", "always", "--delete")
        done = run(*words, "--yes", ok=(3,))
    finally:
        unmount(seen)
    assert "! store: the repository has its place: left alone" in done.errors
    assert kept(run.repository) == before
    run("verify", "--data")


def test_the_way_back_does_not_lead_through_what_was_restored(workspace: Path, tree: Path) -> None:
    (tree / "f").write_text("then")
    InProcess(workspace / "repository")("create", tree, "--name", "then")
    (tree / "link").symlink_to(workspace / "repository")
    run = InProcess(tree / "link")
    done = run("restore", "then", "--in-place", "--delete", "--yes", cwd=tree)
    assert not (tree / "link").is_symlink()
    assert f"-r {workspace / 'repository'} " in done.text


def test_what_only_looks_like_it_is_restored(
    filesystem: Callable[[str], Path],
) -> None:
    """A hard link to its config, and a snapshot of the filesystem that it is on."""
    volume = filesystem("btrfs") / "volume"
    subprocess.run(["btrfs", "-q", "subvolume", "create", volume], check=True)
    other = volume.parent / "other"
    try:
        _looks_alike(volume, other)
    finally:
        for one in (volume, other):
            subprocess.run(["btrfs", "-q", "subvolume", "delete", one], check=False)


def _looks_alike(volume: Path, other: Path) -> None:
    (volume / "work").mkdir()
    (volume / "work" / "f").write_text("then")
    run = InProcess(volume / "repository")
    run("create", volume, "--name", "one")
    os.link(run.repository / "config", volume / "work" / "config")
    run("create", volume, "--name", "then")
    (volume / "work" / "f").write_text("now")
    run("restore", "then", "--in-place", "--delete", "--yes", cwd=volume)
    assert (volume / "work" / "f").read_text() == "then"
    subprocess.run(["btrfs", "-q", "subvolume", "snapshot", volume, other], check=True)
    words = (
        "restore",
        f"{volume.name}@then",
        "--to",
        other / "repository",
        "--overwrite",
        "always",
    )
    run(*words)
    assert (other / "repository" / "work" / "f").read_text() == "then"
