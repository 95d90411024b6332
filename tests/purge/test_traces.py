"""After a purge nothing of the path is found in any file of the repository, and all else is as it was."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.trees import State, assert_same, survey, unlock_and_remove
from tests.purge.traces import traces

MARKER = b"qZmarkerZq"
TEXT = MARKER.decode()


@dataclass
class Past:
    """Snapshots of a tree, and how it was in each."""

    run: InProcess
    tree: Path
    states: dict[str, State] = field(default_factory=dict)

    def take(self, name: str, *words: str) -> None:
        self.run("create", self.tree, "--name", name, *words, cwd=self.tree)
        self.states[name] = survey(self.tree)

    def check(self, target: Path, *without: bytes) -> None:
        """Every snapshot restores exactly but for these paths."""
        for name, state in self.states.items():
            self.run("restore", name, "--to", target, cwd=self.tree)
            assert_same(state.without(without), survey(target))
            unlock_and_remove(target)
        self.run("verify", "--data")


@pytest.fixture
def past(run: InProcess, tree: Path) -> Past:
    """The marker is in names, bytes, a target, an attribute, a message and in command lines."""
    past = Past(run, tree)
    vault = tree / "vault"
    (vault / f"d-{TEXT}").mkdir(parents=True)
    (vault / f"d-{TEXT}" / "inside").write_bytes(MARKER)
    (vault / "small").write_bytes(b"first " + MARKER)
    large = bytearray(os.urandom(900_000))
    large[450_000 : 450_000 + len(MARKER)] = MARKER
    (vault / "large").write_bytes(large)
    with (vault / "sparse").open("wb") as file:
        file.write(MARKER)
        file.seek(3_000_000)
        file.write(b"end")
    (vault / "link").symlink_to(f"to-{TEXT}")
    os.setxattr(vault / "small", "user.note", b"x" + MARKER)
    (vault / os.fsdecode(b"\xff \n'" + MARKER)).write_bytes(b"odd")
    (vault / ".snapfsignore").write_bytes(b"# " + MARKER + b"\nnever-*\n")
    (tree / "other").mkdir()
    (tree / "other" / "kept").write_bytes(b"kept " * 1000)
    os.link(tree / "other" / "kept", tree / "other" / "kept-too")
    past.take("s1", "-m", f"now with d-{TEXT}/inside")
    (vault / "small").write_bytes(b"second " + MARKER)
    (tree / "other" / "kept").write_bytes(b"kept again")
    past.take("s2")
    (vault / "small").write_bytes(b"third " + MARKER)
    (vault / "large").unlink()
    past.take("s3")
    vault.rename(tree / "aside")
    past.take("s4")
    (tree / "aside").rename(vault)
    (vault / "small").unlink()
    past.take("s5")
    return past


def test_nothing_of_it_is_left(past: Past, target: Path, workspace: Path) -> None:
    run = past.run
    for words in (
        ("restore", f"latest:vault/d-{TEXT}", "--to", workspace / "out"),
        ("tag", f"latest:vault/d-{TEXT}", "t"),
        ("delete", f"vault/d-{TEXT}", "--yes"),
        ("delete", "s2", "--yes"),
    ):
        run(*words, cwd=past.tree, ok=None)
    del past.states["s2"]
    before = traces(run.repository, MARKER)
    assert {name.partition("/")[0] for name in before} >= {"catalog.db", "journal", "packs"}
    plan = run("purge", "vault", "aside", "--dry-run", "--json", cwd=past.tree).json()
    assert traces(run.repository, MARKER) == before
    done = run("purge", "vault", "aside", "--yes", "--json", cwd=past.tree).json()
    assert traces(run.repository, MARKER) == set()
    for key in ("paths", "snapshots", "entries", "also_known", "shared_contents"):
        assert plan[key] == done[key], key
    assert done["snapshots"] == ["s1", "s3", "s4", "s5"]
    assert done["remaining"] == []
    assert done["also_known"] == []
    assert done["freed_bytes"] > 900_000
    past.check(target, b"vault", b"aside")
    assert run("runs").out.count(b"PURGED") >= 2
    assert b"now with PURGED/PURGED" in run("show", "s1", cwd=past.tree).out
    before_rebuild = run("list", "--json").out
    run("rebuild-catalog")
    assert run("list", "--json").out == before_rebuild
    past.check(target, b"vault", b"aside")


def test_what_has_another_name_stays_there(past: Past, target: Path) -> None:
    """The directory that was renamed for one snapshot keeps that name; a hard link keeps the file."""
    tree, run = past.tree, past.run
    done = run("purge", "vault", "other/kept", "--yes", "--json", cwd=tree).json()
    assert {one["path"] for one in done["also_known"]} == {"aside", "other/kept-too"}
    text = run("purge", "other/kept-too", "--dry-run", cwd=tree).errors
    assert "would purge 1 entry from 5 snapshots (s1 to s5)" in text
    past.check(target, b"vault", b"other/kept")
    assert traces(run.repository, MARKER)


def test_bytes_that_others_have_stay_for_these(run: InProcess, tree: Path, target: Path) -> None:
    past = Past(run, tree)
    shared = os.urandom(700_000)
    for name in ("secret", "copy"):
        (tree / name).write_bytes(shared)
    (tree / "like").write_bytes(shared[:400_000] + MARKER + shared[400_000:])
    past.take("s1")
    (tree / "secret").unlink()
    past.take("s2")
    done = run("purge", "secret", "--yes", "--json", cwd=tree).json()
    assert done["shared_contents"] == 1
    past.check(target, b"secret")
    run("purge", ":like", "--yes", cwd=tree)
    assert traces(run.repository, MARKER) == set()
    past.check(target, b"secret", b"like")


def test_what_deleted_snapshots_left(run: InProcess, tree: Path, target: Path) -> None:
    """No snapshot has the path: its bytes lie in a pack beside others, its name in the journal."""
    past = Past(run, tree)
    (tree / "kept").write_bytes(b"kept")
    past.take("s1")
    (tree / f"key-{TEXT}").write_bytes(MARKER)
    (tree / "kept-too").write_bytes(b"kept too")
    past.take("s2")
    (tree / f"key-{TEXT}").unlink()
    past.take("s3")
    run("delete", "s2", "--yes", cwd=tree)
    del past.states["s2"]
    assert any(name.startswith("packs/") for name in traces(run.repository, MARKER))
    refused = run("purge", f"key-{TEXT}", "--yes", cwd=tree, ok=(1,))
    assert "--deleted" in refused.errors
    run("purge", "--deleted", f"key-{TEXT}", "--yes", cwd=tree)
    assert traces(run.repository, MARKER) == set()
    past.check(target)
    run("purge", "--deleted", "--yes", cwd=tree)
    past.check(target)


def test_the_live_file_is_captured_again(past: Past) -> None:
    """The directory's fingerprint must not say that nothing is new; the line that is told keeps it out."""
    tree, run = past.tree, past.run
    said = run("purge", "vault", "aside", "--yes", cwd=tree).errors
    assert "the line /vault (then the next snapshot has the name in that file)" in said
    run("create", "--name", "s6", cwd=tree)
    assert b"vault" in run("ls", "s6", cwd=tree).out
    run("purge", "vault", "--yes", cwd=tree)
    (tree / ".snapfsignore").write_bytes(b"/vault\n")
    run("create", "--name", "s7", cwd=tree)
    assert b"vault" not in run("ls", "s7", cwd=tree).out
    assert traces(run.repository, MARKER) == set()
