"""SIGKILL of the parent process at each named point, then at once the next command.

Killed at any instant, the repository holds exactly the snapshots it announced; between the journal
record and the commit, the next writer either finishes the record or takes it back.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from snapfs.faults import POINTS
from tests.damage.damaging import flip
from tests.harness.history import History
from tests.harness.program import Argument
from tests.harness.trees import assert_same, survey


def points(*prefixes: str) -> list[str]:
    """The points of these commands."""
    return [name for name in POINTS if name.split(".")[0] in prefixes]


def kill_at(past: History, point: str, *words: Argument) -> None:
    """Run a command that dies at ``point``; only it dies, its workers must find out."""
    done = past.snapfs(*words, env={"SNAPFS_CRASH_AT": point}, cwd=past.tree, ok=None)
    assert done.code == -signal.SIGKILL, f"{point} was not reached\n{done}"


@pytest.mark.parametrize("point", points("create", "pack", "journal"))
def test_create_is_killed(point: str, past: History) -> None:
    past.states["killed"] = past.change()
    kill_at(past, point, "create", past.tree, "--name", "killed")
    visible = past.listed()
    assert visible in (["s0", "s1", "s2"], ["s0", "s1", "s2", "killed"])
    if point == "create.committed":
        assert "killed" in visible
    past.check_one("s1")
    past.take("next")
    after = [name for name in past.listed() if name != "killed"]
    assert after == ["s0", "s1", "s2", "next"]
    past.check(*past.listed())
    past.check_no_leftovers()


@pytest.mark.parametrize("point", points("create", "pack", "journal"))
def test_first_create_is_killed(point: str, past: History, workspace: Path) -> None:
    """The repository is new: what is left of it must do for the next command as well."""
    fresh = History(
        type(past.snapfs)(repository=workspace / "fresh" / "repository", home=past.snapfs.home),
        past.tree,
        workspace,
    )
    fresh.turn = 10
    fresh.states["killed"] = survey(past.tree)
    kill_at(fresh, point, "create", past.tree, "--name", "killed")
    packs = fresh.snapfs.repository / "packs"
    before = sum(path.stat().st_size for path in packs.iterdir()) if packs.is_dir() else 0
    fresh.snapfs.create(past.tree, "next")
    fresh.states["next"] = survey(past.tree)
    assert [name for name in fresh.listed() if name != "killed"] == ["next"]
    fresh.check(*fresh.listed())
    fresh.check_no_leftovers()
    if point == "create.packs-durable":
        grown = sum(path.stat().st_size for path in packs.iterdir())
        assert grown < before + 100_000, "complete packs are adopted, not written again"


@pytest.mark.parametrize(
    ("point", "victims"),
    [
        *((point, ("s1",)) for point in points("delete") if point != "delete.pack-removed"),
        ("delete.committing", ("s0",)),
        ("delete.journal-durable", ("s2",)),
        ("delete.committed", ("s1", "s2")),
        ("delete.pack-removed", ("s0", "s1", "s2")),
        ("delete.pack-removed:2", ("s0", "s1", "s2")),
    ],
)
def test_delete_is_killed(point: str, victims: tuple[str, ...], past: History) -> None:
    others = [name for name in ("s0", "s1", "s2") if name not in victims]
    kill_at(past, point, "delete", *victims, "--yes")
    visible = past.listed()
    assert visible in (others, ["s0", "s1", "s2"])
    if point.partition(":")[0] in (
        "delete.committed",
        "delete.rows-collected",
        "delete.pack-removed",
    ):
        assert visible == others
    for name in visible:
        past.check_one(name)
    if visible != others:
        # The next writer may finish what was recorded before it comes to this.
        past.snapfs("delete", *victims, "--yes", cwd=past.tree, ok=(0, 1))
    past.take("next")
    past.check(*others, "next")
    # Whatever the killed run had not freed, a later one does.
    for other in others:
        past.snapfs("delete", other, "--yes", cwd=past.tree)
    past.check("next")
    past.check_no_leftovers()


@pytest.mark.parametrize("point", points("restore"))
def test_restore_in_place_is_killed(point: str, past: History) -> None:
    past.states["live"] = past.change()
    (past.tree / "not-in-s0").write_bytes(b"x")
    kill_at(past, point, "restore", "s0", "--in-place", "--delete", "--yes")
    # The safety snapshot was taken first, so the tree as it was is not lost.
    past.check_one("s2")
    past.snapfs.restore_in_place("s0", "--delete", cwd=past.tree)
    assert_same(past.states["s0"], survey(past.tree))
    past.take("next")
    assert past.listed()[:3] == ["s0", "s1", "s2"]
    past.check_one("next")
    past.snapfs.verify(cwd=past.tree)


@pytest.mark.parametrize(
    "point", [name for name in points("restore") if name != "restore.safety-taken"]
)
def test_restore_elsewhere_is_killed(point: str, past: History, workspace: Path) -> None:
    target = workspace / "target"
    target.mkdir()
    (target / "changing").write_bytes(b"an older one, to be overwritten")
    kill_at(past, point, "restore", "s1", "--to", target, "--overwrite", "if-changed")
    past.snapfs("restore", "s1", "--to", target, "--overwrite", "if-changed", cwd=past.tree)
    assert_same(past.states["s1"], survey(target))


@pytest.mark.parametrize("point", [*points("revert"), "restore.file-written", "restore.files-done"])
def test_revert_is_killed(point: str, past: History) -> None:
    """The safety snapshot brings everything back; from there the same revert does it all."""
    (past.tree / "mine").write_bytes(b"mine")
    live = survey(past.tree)
    kill_at(past, point, "revert", "s0..s2", "--yes")
    safety = past.listed()[-1]
    past.referee("restore", safety, "--in-place", "--delete", "--yes", cwd=past.tree)
    assert_same(live, survey(past.tree))
    past.referee("revert", "s0..s2", "--yes", cwd=past.tree)
    assert_same(past.states["s0"].without([b""]), survey(past.tree).without([b"mine", b""]))
    past.snapfs.verify(cwd=past.tree)


@pytest.mark.parametrize("point", points("rebuild"))
def test_rebuild_is_killed(point: str, past: History) -> None:
    (past.snapfs.repository / "catalog.db").unlink()
    if point in ("rebuild.journal-begun", "rebuild.packs-moved"):
        (journal,) = (past.snapfs.repository / "journal").iterdir()
        journal.write_bytes(b"\xee" + journal.read_bytes()[1:])
    kill_at(past, point, "rebuild-catalog", "--yes")
    past.snapfs("rebuild-catalog", "--yes", cwd=past.tree)
    past.check("s0", "s1", "s2")
    past.take("next")
    past.check("s0", "s1", "s2", "next")


@pytest.mark.parametrize("point", points("repair"))
def test_repair_is_killed(point: str, past: History) -> None:
    """What the old pack had that is sound is never between two places; a second repair finishes."""
    pack = max((past.snapfs.repository / "packs").iterdir(), key=lambda path: path.stat().st_size)
    flip(pack, 0.5)
    kill_at(past, point, "repair", "--yes")
    past.referee("repair", "--yes", cwd=past.tree, ok=(0, 3))
    past.referee("verify", "--data")
    assert pack.name in os.listdir(past.snapfs.repository / "quarantine")
    lost = {line.split()[-1] for line in past.referee("show", "s0").lines if "lost: " in line}
    assert lost == set()
    past.take("next")
    past.check("s0", "s1", "s2", "next")
    past.check_no_leftovers()


@pytest.mark.parametrize("point", points("repair"))
def test_what_a_killed_repair_gave_up_was_told(point: str, past: History) -> None:
    """By it or by the next: one that ends with 0 says that nothing is lost."""
    pack = max((past.snapfs.repository / "packs").iterdir(), key=lambda path: path.stat().st_size)
    flip(pack, 0.5)
    shutil.rmtree(past.tree)  # where the bytes could be had again
    past.tree.mkdir()
    asked = past.referee("repair", "--dry-run", ok=(3,)).lines
    lost = {line for line in asked if line.startswith("lost: ")}
    assert lost
    killed = past.snapfs(
        "repair", "--yes", env={"SNAPFS_CRASH_AT": point}, cwd=past.tree, ok=(-signal.SIGKILL,)
    )
    again = past.referee("repair", "--yes", ok=(0, 3))
    assert lost <= {*killed.lines, *again.lines}
    assert again.code == 3 or lost <= set(killed.lines)
