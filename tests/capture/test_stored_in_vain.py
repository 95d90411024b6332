"""What was stored and nothing came to use is freed: bytes of a reading that was thrown away, packs that were replaced."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from snapfs.blocks.chunker import WHOLE_MAX
from snapfs.capture.adopt import give_back
from snapfs.capture.reader import FileReader
from snapfs.create import CreateOptions, create
from snapfs.model.snapshot import NewRoot
from snapfs.progress import NullProgress
from snapfs.repository.locks import root_lock
from snapfs.repository.make import make_repository
from snapfs.repository.opened import Repository
from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.trees import assert_same, survey


def restless(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """The file gets other bytes each time it has been read, so often."""
    read = FileReader._content
    left = times

    def content(self: FileReader, *args: Any) -> Any:
        nonlocal left
        done = read(self, *args)
        if left:
            left -= 1
            path.write_bytes(os.urandom(3 * WHOLE_MAX))
        return done

    monkeypatch.setattr(FileReader, "_content", content)


def packs(run: InProcess) -> int:
    return sum(path.stat().st_size for path in (run.repository / "packs").iterdir())


@pytest.mark.parametrize("times", [1, 2, 10])
@pytest.mark.parametrize("rebuilt", [False, True])
def test_bytes_of_a_reading_that_was_thrown_away(
    times: int,
    rebuilt: bool,
    run: InProcess,
    tree: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tree / "other").write_bytes(os.urandom(2 * WHOLE_MAX))
    run("create", tree, "--name", "calm")
    (tree / "log").write_bytes(os.urandom(3 * WHOLE_MAX))
    with monkeypatch.context() as patching:
        restless(patching, tree / "log", times)
        run("create", tree, "--name", "restless", ok=(0, 3))
    if rebuilt:
        (run.repository / "catalog.db").unlink()
        run("rebuild-catalog")
    run("verify", "--data")
    (tree / "log").unlink()
    state = survey(tree)
    run("create", tree, "--name", "after")
    run("delete", "restless", "--yes", cwd=tree)
    assert packs(run) < 2 * WHOLE_MAX + 10_000
    run("restore", f"{tree.name}@after", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))
    run("delete", "calm", "after", "--yes", cwd=tree)
    assert packs(run) == 0
    assert names(run("list", "--json", cwd=tree)) == []


def test_a_damaged_pack_goes_when_all_of_it_is_stored_again(run: InProcess, tree: Path) -> None:
    (tree / "f").write_bytes(os.urandom(2 * WHOLE_MAX))
    run("create", tree)
    (pack,) = (run.repository / "packs").iterdir()
    _flip(pack, 5000)
    run("verify", "--data", ok=(3,))
    done = run("create", tree, "--checksum")
    assert "of packs that nothing needs any more" in done.errors
    assert not pack.exists()
    run("verify", "--data")


def test_damage_that_nothing_needs_is_a_note(run: InProcess, tree: Path) -> None:
    """A small file shares the pack, not the segment: the pack stays for it."""
    (tree / "f").write_bytes(os.urandom(2 * WHOLE_MAX))
    (tree / "small").write_text("small")
    run("create", tree)
    (pack,) = (run.repository / "packs").iterdir()
    _flip(pack, 5000)
    run("create", tree, "--checksum")
    assert pack.exists()
    done = run("verify", "--data")
    assert f"packs/{pack.name} segment" in done.errors
    assert "is damaged; nothing needs it any more" in done.errors
    assert "no damage found" in done.errors


def _flip(pack: Path, at: int) -> None:
    with pack.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes((byte ^ 0xFF,)))


def test_giving_back_leaves_alone_what_another_run_of_the_root_writes(
    workspace: Path, tree: Path
) -> None:
    """Between the end of a run that failed on a full disk and this, another may have begun."""
    place = os.fsencode(workspace / "repository")
    with make_repository(place) as failed, Repository(place, write=True) as other:
        made = create(
            failed, NewRoot(os.fsencode(tree), "host"), CreateOptions(), progress=NullProgress()
        )
        unfinished = workspace / "repository" / "packs" / f"tmp-root-{made.root.id}-0"
        with other.locks.hold(root_lock(made.root.id), exclusive=True, wait_s=0):
            unfinished.write_bytes(b"begun")
            give_back(failed, made.root.id)
            assert unfinished.exists()
        give_back(failed, made.root.id)
        assert not unfinished.exists()
