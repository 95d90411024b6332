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
