"""Catalog and journal are both damaged: what only the journal knew is lost, and nobody is left to think otherwise."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from snapfs import faults
from snapfs.errors import RepositoryError
from snapfs.repository import changes
from snapfs.repository.opened import Repository
from tests.harness.inprocess import InProcess
from tests.harness.trees import State, assert_same, survey, unlock_and_remove


@dataclass(frozen=True)
class Lossy:
    """Snapshots one, two and three of ``tree``, then ``other`` and its snapshot; each has a pack of its own."""

    run: InProcess
    tree: Path
    states: dict[str, State]
    packs: dict[str, str]
    ends: list[int]
    """where the records of the journal end: root, one, two, three, root, four"""

    @property
    def path(self) -> Path:
        return self.run.repository

    def lose(self, *, damage: int) -> bytes:
        """Remove the catalog and damage a record, by its number; what the journal is then."""
        for file in self.path.glob("catalog.db*"):
            file.unlink()
        (file,) = (self.path / "journal").iterdir()
        data = bytearray(file.read_bytes())
        data[sum(self.ends[damage - 2 : damage]) // 2] ^= 0x10
        file.write_bytes(data)
        return bytes(data)

    def quarantine(self) -> set[str]:
        folder = self.path / "quarantine"
        return set(os.listdir(folder)) if folder.exists() else set()

    def is_whole(self, *names: str) -> None:
        """Nothing is wrong, and these snapshots are the only ones, and as they were."""
        self.run("verify", "--data")
        listed = self.run("list", "--all", "--json").json_lines()
        assert [one["name"] for one in listed] == list(names)
        target = self.tree.parent / "restored"
        for name in names:
            self.run("restore", f"tree@{name}", "--to", target)
            assert_same(self.states[name], survey(target))
            unlock_and_remove(target)
        again = self.run("repair", "--yes", "--json").json()
        assert (again["findings"], again["lost_changes"]) == ([], None)


@pytest.fixture
def lossy(run: InProcess, tree: Path) -> Lossy:
    other = tree.parent / "other"
    other.mkdir()
    states, packs = {}, {}
    for name, top in (("one", tree), ("two", tree), ("three", tree), ("four", other)):
        (top / name).write_bytes(os.urandom(50_000))
        run("create", top, "--name", name)
        states[name] = survey(top)
        (packs[name],) = set(os.listdir(run.repository / "packs")) - set(packs.values())
    with Repository(os.fsencode(run.repository), write=False) as repository:
        ends = [record.tail.offset for record in changes.journal(repository).records()]
    return Lossy(run, tree, states, packs, ends)


def told(result: dict[str, Any]) -> tuple[object, ...]:
    lost = result["lost_changes"]
    return (
        lost["records"], lost["unreadable"], [one["name"] for one in lost["snapshots"]],
        lost["roots"], lost["certain"],
    )  # fmt: skip


@pytest.mark.parametrize("command", ["repair", "rebuild-catalog"])
def test_it_is_said_and_kept(command: str, lossy: Lossy) -> None:
    run = lossy.run
    damaged = lossy.lose(damage=3)
    shutil.copytree(lossy.path, lossy.path.with_name("copy"))
    planned = run("repair", "--dry-run", "--json", ok=(3,)).json()
    assert told(planned) == (4, 1, ["three", "four"], ["other"], True)
    gone = {lossy.packs[name] for name in ("two", "three", "four")}
    assert set(planned["lost_changes"]["packs"]) == gone
    assert {"journal/0000000001.log", *(f"packs/{name}" for name in gone)} == set(
        planned["set_aside"]
    )
    assert lossy.quarantine() == set()
    out = run(command, "--yes", "-q", ok=(3,)).lines
    assert any("4 changes" in line and "journal/0000000001.log" in line for line in out)
    assert [line.split(" of ")[0] for line in out if line.startswith("lost: snapshot")] == [
        "lost: snapshot tree@three", "lost: snapshot other@four",
    ]  # fmt: skip
    assert "lost: root other" in out
    assert lossy.quarantine() == {"0000000001.log", *gone}
    assert (lossy.path / "quarantine" / "0000000001.log").read_bytes() == damaged
    lossy.is_whole("one")
    run("create", lossy.tree, "--name", "next")
    run("delete", "tree@next", "--yes")
    assert lossy.quarantine() == {"0000000001.log", *gone}, "nobody takes it in or frees it"
    lossy.is_whole("one")
    if command == "repair":
        done = InProcess(lossy.path.with_name("copy"))("repair", "--yes", "--json", ok=(3,)).json()
        assert done["lost_changes"] == planned["lost_changes"]
        assert {Path(one).name for one in done["set_aside"]} == lossy.quarantine()


@pytest.mark.parametrize(
    "point",
    [
        "journal.record-started",
        "rebuild.journal-begun",
        "rebuild.packs-moved",
        "rebuild.replayed",
        "rebuild.replaced",
    ],
)
def test_killed_before_it_was_said(
    point: str, lossy: Lossy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was done by then, the next one says it."""
    damaged = lossy.lose(damage=4)

    def reached(name: str) -> None:
        if name == point:
            raise RepositoryError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", reached)
        lossy.run("repair", "--yes", ok=(1,))
    done = lossy.run("repair", "--yes", "--json", ok=(3,)).json()
    assert told(done) == (3, 1, ["four"], ["other"], True)
    gone = {lossy.packs[name] for name in ("three", "four")}
    assert set(done["lost_changes"]["packs"]) == gone
    assert lossy.quarantine() >= {"0000000001.log", *gone}
    assert (lossy.path / "quarantine" / "0000000001.log").read_bytes() == damaged
    lossy.is_whole("one", "two")


def test_a_change_that_was_not_finished_is(lossy: Lossy) -> None:
    """Whoever only reads after a repair lacks nothing."""
    old = (lossy.path / "catalog.db").read_bytes()
    lossy.run("create", lossy.tree, "--name", "last")
    for file in lossy.path.glob("catalog.db*"):
        file.unlink()
    (lossy.path / "catalog.db").write_bytes(old)
    lossy.run("repair", "--yes")
    assert "last" in str(lossy.run("list", "--all", "--json").json_lines())


def test_what_only_a_lost_change_moved_is_found(lossy: Lossy) -> None:
    """A pack that was set aside may hold what the snapshots that are left need."""
    lossy.lose(damage=3)
    packs = lossy.path / "packs"
    (packs / lossy.packs["one"]).rename(packs / lossy.packs["two"])
    lossy.run("repair", "--yes", ok=(3,))
    lossy.run("verify", "--data")
    lossy.run("restore", "tree@one", "--to", lossy.tree.parent / "restored")


@pytest.mark.parametrize("other", ["pack", "catalog.db", "journal"])
def test_files_that_are_called_like_others(other: str, lossy: Lossy) -> None:
    """A rebuilt catalog has no digests for what is not in its place; the segment's checksum finds it."""
    packs = lossy.path / "packs"
    first, second = packs / lossy.packs["one"], packs / lossy.packs["two"]
    unlock_and_remove(lossy.tree)
    if other != "journal":
        for file in lossy.path.glob("catalog.db*"):
            file.unlink()
    if other == "journal":
        (second,) = (lossy.path / "journal").iterdir()
    if other != "catalog.db":
        aside = first.rename(lossy.path / "aside")
        second.rename(first)
        aside.rename(second)
    else:
        first.rename(lossy.path / "catalog.db")
    planned = lossy.run("repair", "--dry-run", "--json").json()
    done = lossy.run("repair", "--yes", "--json").json()
    assert planned["found_blocks"] == done["found_blocks"] > 0
    lossy.run("verify", "--data")
    for name in ("one", "two", "three"):
        target = lossy.tree.parent / "restored"
        lossy.run("restore", f"tree@{name}", "--to", target)
        assert_same(lossy.states[name], survey(target))
        unlock_and_remove(target)
