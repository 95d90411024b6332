"""Random histories against the naive model: every view, every diff, and the bytes that are freed."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.harness.inprocess import InProcess
from tests.harness.output import entries, name_of, names
from tests.harness.trees import State, assert_same, survey
from tests.property.edits import EDITS, apply
from tests.property.naive import Content, Packs, check_diff, contents_of

PICK = st.integers(0, 1000)
LEAF = st.sampled_from(["a", "b", "c", "d"])
ROOT = st.sampled_from(["one", "two"])
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(EDITS)), PICK, PICK, LEAF), min_size=1, max_size=8
)
EMPTIED = (
    "inode_diff",
    "dirent_diff",
    "snapshot",
    "content",
    "content_block",
    "block",
    "segment",
    "pack",
)


class Histories(RuleBasedStateMachine):
    """Two roots in one repository. ``taken`` are all snapshots that exist, by (root, name)."""

    @initialize(steps=STEPS)
    def begin(self, steps: list[tuple[str, int, int, str]]) -> None:
        """An empty repository, and two roots that begin alike."""
        self.base = Path(tempfile.mkdtemp(prefix="snapfs-property-"))
        self.snapfs = InProcess(self.base / "repository")
        self.roots = {name: self.base / name for name in ("one", "two")}
        self.taken: dict[tuple[str, str], State] = {}
        self.chains: dict[str, list[str]] = {"one": [], "two": []}
        self.packs = Packs()
        self.count = 0
        for root, path in self.roots.items():
            path.mkdir()
            self.edit(root, [*steps, *steps])

    @rule(root=ROOT, steps=STEPS)
    def edit(self, root: str, steps: list[tuple[str, int, int, str]]) -> None:
        """The live tree changes."""
        for step in steps:
            apply(self.roots[root], *step)

    @rule(root=ROOT, steps=STEPS)
    def edit_and_snapshot(self, root: str, steps: list[tuple[str, int, int, str]]) -> None:
        """The usual course of things."""
        self.edit(root, steps)
        self.snapshot(root)

    @rule(root=ROOT)
    def snapshot(self, root: str) -> None:
        """Take one."""
        self.count += 1
        name = f"n{self.count}"
        state = survey(self.roots[root], flags=False)
        before = self._pack_sizes()
        self.snapfs("create", self.roots[root], "--name", name)
        after = self._pack_sizes()
        assert before.items() <= after.items(), "create removes no pack"
        new = set(after.keys() - before.keys())
        self.packs.added(new, set(after), contents_of(state), self._live())
        self.taken[root, name] = state
        self.chains[root].append(name)

    @precondition(lambda self: self.taken)
    @rule(picks=st.lists(PICK, min_size=1, max_size=3))
    def delete(self, picks: list[int]) -> None:
        """Delete any set; what is said to be freed is what the packs folder shrinks by."""
        victims = {self._pick(pick) for pick in picks}
        references = [f"{root}@{name}" for root, name in sorted(victims)]
        before = self._pack_sizes()
        planned = self.snapfs("delete", *references, "--dry-run", "--json").json()
        assert self._pack_sizes() == before
        done = self.snapfs("delete", *references, "--yes", "--json").json()
        after = self._pack_sizes()
        for root, name in victims:
            del self.taken[root, name]
            self.chains[root].remove(name)
        shrunk = sum(before.values()) - sum(after.values())
        assert planned["freed_bytes"] == done["freed_bytes"] == shrunk
        assert planned["packs_removed"] == done["packs_removed"] == len(before) - len(after)
        assert done["pending_bytes"] == 0
        self.packs.removed(set(before.keys() - after.keys()))
        self.packs.check(set(after), self._live())

    @precondition(lambda self: self.taken)
    @rule(pick=PICK, delete=st.booleans())
    def restore_in_place(self, pick: int, delete: bool) -> None:
        """The live tree becomes what it was."""
        root, name = self._pick(pick)
        words = ("--in-place", "--no-safety", "--yes", *(("--delete",) if delete else ()))
        # Without --delete a directory that is not empty stays where something else should be.
        self.snapfs("restore", f"{root}@{name}", *words, ok=(0,) if delete else (0, 3))
        if delete:
            assert_same(self.taken[root, name], survey(self.roots[root], flags=False))

    @precondition(lambda self: self.taken)
    @rule(pick=PICK)
    def look_at_view(self, pick: int) -> None:
        """One view, by ls and by restore."""
        self._check_view(*self._pick(pick))

    @precondition(lambda self: self.taken)
    @rule(one=PICK, two=PICK)
    def look_at_diff(self, one: int, two: int) -> None:
        """The difference of any two snapshots of a root, in either direction."""
        root, name = self._pick(one)
        chain = self.chains[root]
        self._check_diff(root, name, chain[two % len(chain)])

    @precondition(lambda self: self.taken)
    @rule(pick=PICK)
    def look_at_diff_with_the_live_tree(self, pick: int) -> None:
        """The difference of a snapshot and the directory as it is now."""
        root, name = self._pick(pick)
        self._check_told(root, name, ".", survey(self.roots[root], flags=False))

    @precondition(lambda self: self.taken)
    @rule()
    def rebuild(self) -> None:
        """The catalog is made again from the journal."""
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            (self.base / "repository" / name).unlink(missing_ok=True)
        self.snapfs("rebuild-catalog", "--yes")

    @invariant()
    def snapshots_are_listed(self) -> None:
        """In order of arrival, for each root that ever had one."""
        if not (self.base / "repository").exists():
            return
        for root, chain in self.chains.items():
            listed = self.snapfs("list", root, "--json", ok=(0, 1))
            assert names(listed) == chain if listed.code == 0 else not chain

    def teardown(self) -> None:
        """Every view, neighbours' diffs, every byte; then everything is deleted and nothing is left."""
        if not hasattr(self, "base"):
            return
        try:
            if self.taken:
                self._check_all()
        finally:
            shutil.rmtree(self.base)

    def _pick(self, pick: int) -> tuple[str, str]:
        found = sorted(self.taken)
        return found[pick % len(found)]

    def _pack_sizes(self) -> dict[str, int]:
        folder = self.base / "repository" / "packs"
        return (
            {path.name: path.stat().st_size for path in folder.iterdir()} if folder.exists() else {}
        )

    def _live(self) -> set[Content]:
        return {content for state in self.taken.values() for content in contents_of(state)}

    def _check_view(self, root: str, name: str) -> None:
        state = self.taken[root, name]
        listed = entries(self.snapfs("ls", f"{root}@{name}:", "--recursive", "--json"))
        assert listed.keys() == state.facts.keys() - {b""}
        for path, line in listed.items():
            fact = state.facts[path]
            assert line["kind"] == fact["type"], path
            assert fact["type"] == "symlink" or int(line["mode"], 8) == fact["mode"], path
            assert fact["type"] != "file" or line["size"] == fact["size"], path
        target = self.base / "restored"
        self.snapfs("restore", f"{root}@{name}", "--to", target)
        assert_same(state, survey(target, flags=False))
        shutil.rmtree(target)

    def _check_diff(self, root: str, a: str, b: str) -> None:
        self._check_told(root, a, b, self.taken[root, b])

    def _check_told(self, root: str, a: str, b: str, after: State) -> None:
        told = self.snapfs("diff", f"{root}@{a}", f"{root}@{b}", "--all", "--json").json_lines()
        changes = [
            (
                line["letter"],
                name_of(line),
                name_of(line, "old_path") if line["letter"] == "R" else None,
                frozenset(line["what"]),
            )
            for line in told
        ]
        try:
            check_diff(changes, self.taken[root, a], after)
        except AssertionError as error:
            raise AssertionError(f"{a}..{b}: {error}\ntold: {changes}") from None

    def _check_all(self) -> None:
        for root, name in self.taken:
            self._check_view(root, name)
        for root, chain in self.chains.items():
            for a, b in itertools.pairwise(chain):
                self._check_diff(root, a, b)
        self.snapfs("verify", "--data")
        self.snapfs("delete", *(f"{root}@{name}" for root, name in self.taken), "--yes")
        assert self._pack_sizes() == {}
        with closing(sqlite3.connect(self.base / "repository" / "catalog.db")) as database:
            for table in EMPTIED:
                left = database.execute(f"SELECT * FROM {table}").fetchall()
                assert not left, f"rows left in {table}: {left}"


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=int(os.environ.get("SNAPFS_HISTORIES", "40")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    # Explaining costs more runs than it is worth where each takes a second.
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
