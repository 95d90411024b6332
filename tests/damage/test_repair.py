"""`repair` over the whole matrix of damage: after it nothing is wrong, and what it does not name is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage.conftest import Stored
from tests.damage.damaging import DAMAGES
from tests.harness.inprocess import InProcess
from tests.harness.trees import assert_same, survey, unlock_and_remove

PLACES = (
    ("config", 0.5),
    ("catalog.db", 0.02),
    ("catalog.db", 0.6),
    ("journal", 0.1),
    ("journal", 0.99),
    ("pack", 0.0),
    ("pack", 0.4),
    ("pack", 0.999999),
)


def victim(stored: Stored, what: str) -> Path:
    repository = stored.snapfs.repository
    if what == "pack":
        return stored.packs[1]
    return max((repository / what).iterdir()) if what == "journal" else repository / what


@pytest.mark.parametrize(
    ("what", "at", "how"),
    [
        (what, at, how)
        for number, (what, at) in enumerate(PLACES)
        for how in DAMAGES
        # What is gone is gone everywhere.
        if how != "remove" or what not in dict(PLACES[:number])
    ],
)
def test_matrix(what: str, at: float, how: str, stored: Stored) -> None:
    """Without the directory, so that what only the pack had is lost."""
    run = InProcess(stored.snapfs.repository)
    run("roots", "move", "tree", stored.scratch)
    DAMAGES[how](victim(stored, what), at)
    done = run("repair", "--yes", ok=(0, 3))
    run("verify", "--data")
    named = {line.split()[2] for line in done.lines if line.startswith("lost: ")}
    assert (done.code == 3) == bool(named)
    everything = set(stored.added[1]) if what == "pack" else set()
    if how == "remove" or (how == "truncate" and at == 0.0):
        assert named == everything
    elif at == 0.4:
        assert named < everything
        assert named
    else:
        assert not named, "header and index of a pack are in the way of nothing"
    for number, state in enumerate(stored.states):
        target = stored.scratch / "restored"
        lost = {name.encode() for name in named} if number else set()
        run("restore", f"tree@s{number}", "--to", target, ok=(3,) if lost else (0,))
        assert_same(state.without(lost), survey(target))
        unlock_and_remove(target)


@pytest.mark.parametrize("at", [0, 8, 10, 30, 47])
def test_file_header_of_the_journal(at: int, stored: Stored) -> None:
    """Whatever byte of it is wrong, with a damaged pack beside it: both are mended."""
    journal = victim(stored, "journal")
    data = bytearray(journal.read_bytes())
    data[at] ^= 0xEE
    journal.write_bytes(data)
    begins_the_journal_anew(stored, journal)


@pytest.mark.parametrize("size", [0, 20, 47])
def test_journal_that_is_cut_inside_its_header(size: int, stored: Stored) -> None:
    journal = victim(stored, "journal")
    with journal.open("r+b") as file:
        file.truncate(size)
    begins_the_journal_anew(stored, journal)


def begins_the_journal_anew(stored: Stored, journal: Path) -> None:
    run = InProcess(stored.snapfs.repository)
    DAMAGES["flip"](stored.packs[1], 0.4)
    damaged = journal.read_bytes()
    refused = run("create", ".", cwd=stored.tree, ok=(1,)).errors
    assert refused.rstrip().endswith("repair, which makes the journal sound again")
    planned = run("repair", "--dry-run", "--json", cwd=stored.tree).json()
    done = run("repair", "--yes", "--json", cwd=stored.tree).json()
    for result in (planned, done):
        assert (result["catalog"], result["journal"], result["lost_blocks"]) == (False, True, 0)
        assert result["packs"] == [stored.packs[1].name]
    kept = stored.snapfs.repository / "quarantine" / journal.name
    assert kept.read_bytes() == damaged
    run("verify", "--data")
    run("rebuild-catalog")
    for number, state in enumerate(stored.states):
        target = stored.scratch / "restored"
        run("restore", f"s{number}", "--to", target, cwd=stored.tree)
        assert_same(state, survey(target))
        unlock_and_remove(target)


def test_changes_behind_a_damaged_file_header_count(stored: Stored) -> None:
    """An older catalog beside such a journal: what only the journal knows is not lost."""
    run = InProcess(stored.snapfs.repository)
    catalog = stored.snapfs.repository / "catalog.db"
    older = catalog.read_bytes()
    run("tag", "s1", "kept", cwd=stored.tree)
    run("tag", "s1", "kept-too", cwd=stored.tree)
    catalog.write_bytes(older)
    journal = victim(stored, "journal")
    journal.write_bytes(b"\xee" + journal.read_bytes()[1:])
    done = run("repair", "--yes", "--json", cwd=stored.tree).json()
    assert done["catalog"]
    run("verify", "--data")
    assert b"kept-too" in run("show", "s1", cwd=stored.tree).out


@pytest.mark.parametrize("how", DAMAGES)
def test_pack_and_catalog_with_the_directory_at_hand(how: str, stored: Stored) -> None:
    """Both at once: nothing is lost, since the files are where they were."""
    run = InProcess(stored.snapfs.repository)
    DAMAGES[how](victim(stored, "pack"), 0.4)
    DAMAGES[how](victim(stored, "catalog.db"), 0.5)
    planned = run("repair", "--dry-run", "--json", cwd=stored.tree).json()
    done = run("repair", "--yes", "--json", cwd=stored.tree).json()
    for result in (planned, done):
        assert (result["catalog"], result["packs"], result["lost_blocks"]) == (
            True, [stored.packs[1].name], 0,
        )  # fmt: skip
    run("verify", "--data")
    for number, state in enumerate(stored.states):
        target = stored.scratch / "restored"
        run("restore", f"s{number}", "--to", target, cwd=stored.tree)
        assert_same(state, survey(target))
        unlock_and_remove(target)
