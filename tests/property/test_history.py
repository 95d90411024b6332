"""Random histories against the naive model: every view, every diff, and the bytes that are freed."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.harness.inprocess import InProcess
from tests.harness.output import entries, name_of, names
from tests.harness.trees import State, assert_same, survey
from tests.property.naive import Packs, check_diff, contents_of

NAMES = st.sampled_from(["a", "b", "c", "d"])
PICK = st.integers(0, 10**6)
ROOTS = st.sampled_from(["one", "two"])
OLD_NS = 1_500_000_000 * 10**9


class Histories(RuleBasedStateMachine):
    """Two roots in one repository. ``taken`` are all snapshots that exist, by (root, name)."""

    @initialize()
    def begin(self) -> None:
        """An empty repository, two empty roots."""
        self.base = Path(tempfile.mkdtemp(prefix="snapfs-property-"))
        self.snapfs = InProcess(self.base / "repository")
        self.roots = {name: self.base / name for name in ("one", "two")}
        for path in self.roots.values():
            path.mkdir()
        self.taken: dict[tuple[str, str], State] = {}
        self.chains: dict[str, list[str]] = {"one": [], "two": []}
        self.packs = Packs()
        self.counter = 0

    # ---- edits of a live tree

    def _entries(self, root: str, only: Callable[[Path], bool] = lambda path: True) -> list[Path]:
        return sorted(path for path in self.roots[root].rglob("*") if only(path))

    def _directory(self, root: str, pick: int) -> Path:
        found = [
            self.roots[root],
            *self._entries(root, lambda p: p.is_dir() and not p.is_symlink()),
        ]
        return found[pick % len(found)]

    def _any(self, root: str, pick: int) -> Path | None:
        found = self._entries(root)
        return found[pick % len(found)] if found else None

    def _file(self, root: str, pick: int) -> Path | None:
        found = self._entries(root, lambda p: p.is_file() and not p.is_symlink())
        return found[pick % len(found)] if found else None

    def _fresh_bytes(self, size: int) -> bytes:
        self.counter += 1
        return (b"%d." % self.counter) * (size + 1)

    def _remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()

    @rule(root=ROOTS, where=PICK, name=NAMES, size=st.integers(0, 40))
    def write(self, root: str, where: int, name: str, size: int) -> None:
        """A new file, or another content of one (in place)."""
        path = self._directory(root, where) / name
        if path.is_dir() and not path.is_symlink():
            return
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.unlink()
        path.write_bytes(self._fresh_bytes(size) if size else b"")

    @rule(root=ROOTS, where=PICK)
    def replace_by_rename(self, root: str, where: int) -> None:
        """As editors save: another inode, times and size as before."""
        path = self._file(root, where)
        if path is None or not path.stat().st_size:
            return
        before = path.stat()
        new = path.with_name(".new")
        new.write_bytes(os.urandom(before.st_size))
        os.utime(new, ns=(before.st_mtime_ns, before.st_mtime_ns))
        new.rename(path)

    @rule(root=ROOTS, where=PICK, name=NAMES)
    def mkdir(self, root: str, where: int, name: str) -> None:
        """A directory, also in place of something else."""
        path = self._directory(root, where) / name
        if path.is_dir() and not path.is_symlink():
            return
        if len(path.relative_to(self.roots[root]).parts) > 4:
            return
        self._remove(path)
        path.mkdir()

    @rule(root=ROOTS, where=PICK, name=NAMES, target=NAMES)
    def symlink(self, root: str, where: int, name: str, target: str) -> None:
        """A symlink, also in place of something else."""
        path = self._directory(root, where) / name
        self._remove(path)
        path.symlink_to(target)

    @rule(root=ROOTS, where=PICK, name=NAMES)
    def fifo(self, root: str, where: int, name: str) -> None:
        """A pipe, also in place of something else."""
        path = self._directory(root, where) / name
        self._remove(path)
        os.mkfifo(path)

    @rule(root=ROOTS, what=PICK, where=PICK, name=NAMES)
    def move(self, root: str, what: int, where: int, name: str) -> None:
        """Anything moves anywhere, over what is there."""
        old = self._any(root, what)
        parent = self._directory(root, where)
        if old is None or old == parent or old in parent.parents:
            return
        new = parent / name
        if new == old or new in old.parents:
            return
        self._remove(new)
        old.rename(new)

    @rule(root=ROOTS, one=PICK, two=PICK)
    def swap(self, root: str, one: int, two: int) -> None:
        """Two names trade places."""
        a, b = self._any(root, one), self._any(root, two)
        if a is None or b is None or a == b or a in b.parents or b in a.parents:
            return
        aside = self.roots[root] / ".aside"
        a.rename(aside)
        b.rename(a)
        aside.rename(b)

    @rule(root=ROOTS, what=PICK, where=PICK, name=NAMES)
    def hard_link(self, root: str, what: int, where: int, name: str) -> None:
        """Another name of a file."""
        old, new = self._file(root, what), self._directory(root, where) / name
        if old is None or new == old or new in old.parents:
            return
        self._remove(new)
        os.link(old, new)

    @rule(root=ROOTS, what=PICK)
    def break_link(self, root: str, what: int) -> None:
        """A name gets an inode of its own, with the same bytes, mode and time."""
        path = self._file(root, what)
        if path is None:
            return
        copy = path.with_name(".copy")
        shutil.copy2(path, copy)
        copy.rename(path)

    @rule(root=ROOTS, what=PICK)
    def remove(self, root: str, what: int) -> None:
        """Anything goes away, with all below it."""
        path = self._any(root, what)
        if path is not None:
            self._remove(path)

    @rule(root=ROOTS, what=PICK, mode=st.sampled_from([0o600, 0o640, 0o755]))
    def chmod(self, root: str, what: int, mode: int) -> None:
        """Another mode, that alone."""
        path = self._any(root, what)
        if path is not None and not path.is_symlink():
            path.chmod(mode | (0o100 if path.is_dir() else 0))

    @rule(root=ROOTS, what=PICK, time_s=st.integers(0, 5))
    def utime(self, root: str, what: int, time_s: int) -> None:
        """An old time, so that the entry is not one that was just written."""
        path = self._any(root, what)
        if path is not None:
            os.utime(path, ns=(OLD_NS, OLD_NS + time_s), follow_symlinks=False)

    @rule(root=ROOTS)
    def settle(self, root: str) -> None:
        """Everything gets old, and time passes: fingerprints are stored and used."""
        for path in [*self._entries(root), self.roots[root]]:
            if path.lstat().st_mtime_ns > OLD_NS + 10**9:
                os.utime(path, ns=(OLD_NS, OLD_NS + 7), follow_symlinks=False)
        time.sleep(0.03)

    # ---- commands

    def _pack_sizes(self) -> dict[str, int]:
        folder = self.base / "repository" / "packs"
        return (
            {path.name: path.stat().st_size for path in folder.iterdir()} if folder.exists() else {}
        )

    def _live(self) -> set[str]:
        return {content for state in self.taken.values() for content in contents_of(state)}

    def _taken(self, pick: int) -> tuple[str, str]:
        found = sorted(self.taken)
        return found[pick % len(found)]

    @rule(root=ROOTS)
    def snapshot(self, root: str) -> None:
        """Take one."""
        self.counter += 1
        name = f"n{self.counter}"
        state = survey(self.roots[root], flags=False)
        before = self._pack_sizes()
        self.snapfs("create", self.roots[root], "--name", name)
        after = self._pack_sizes()
        assert before.items() <= after.items(), "create removes no pack"
        self.packs.added(set(after.keys() - before.keys()), contents_of(state), self._live())
        self.taken[root, name] = state
        self.chains[root].append(name)

    @precondition(lambda self: self.taken)
    @rule(picks=st.lists(PICK, min_size=1, max_size=3))
    def delete(self, picks: list[int]) -> None:
        """Delete any set; what is said to be freed is what the packs folder shrinks by."""
        victims = {self._taken(pick) for pick in picks}
        before = self._pack_sizes()
        done = self.snapfs(
            "delete", *(f"{root}@{name}" for root, name in sorted(victims)), "--yes", "--json"
        )
        after = self._pack_sizes()
        for root, name in victims:
            del self.taken[root, name]
            self.chains[root].remove(name)
        told = done.json()
        assert told["freed_bytes"] == sum(before.values()) - sum(after.values())
        assert told["pending_bytes"] == 0
        self.packs.removed(set(before.keys() - after.keys()))
        self.packs.check(set(after), self._live())

    @precondition(lambda self: self.taken)
    @rule(pick=PICK, delete=st.booleans())
    def restore_in_place(self, pick: int, delete: bool) -> None:
        """The live tree becomes what it was."""
        root, name = self._taken(pick)
        words = ("--delete",) if delete else ()
        self.snapfs("restore", f"{root}@{name}", "--in-place", "--no-safety", "--yes", *words)
        if delete:
            assert_same(self.taken[root, name], survey(self.roots[root], flags=False))

    @precondition(lambda self: self.taken)
    @rule(pick=PICK)
    def look_at_view(self, pick: int) -> None:
        """One view, by ls and by restore."""
        self._check_view(*self._taken(pick))

    def _check_view(self, root: str, name: str) -> None:
        state = self.taken[root, name]
        listed = entries(self.snapfs("ls", f"{root}@{name}:", "--recursive", "--json"))
        assert listed.keys() == state.facts.keys() - {b""}
        for path, line in listed.items():
            fact = state.facts[path]
            assert line["kind"] == fact["type"], path
            if fact["type"] != "symlink":
                assert int(line["mode"], 8) == fact["mode"], path
            if fact["type"] == "file":
                assert line["size"] == fact["size"], path
        target = self.base / "restored"
        self.snapfs("restore", f"{root}@{name}", "--to", target)
        assert_same(state, survey(target, flags=False))
        shutil.rmtree(target)

    @precondition(lambda self: any(len(chain) > 1 for chain in self.chains.values()))
    @rule(one=PICK, two=PICK)
    def look_at_diff(self, one: int, two: int) -> None:
        """The difference of any two snapshots of a root, in either direction."""
        root, a = self._taken(one)
        chain = self.chains[root]
        self._check_diff(root, a, chain[two % len(chain)])

    def _check_diff(self, root: str, a: str, b: str) -> None:
        told = self.snapfs("diff", f"{root}@{a}", f"{root}@{b}", "--all", "--json").json_lines()
        check_diff(
            [
                (
                    line["letter"],
                    name_of(line),
                    name_of(line, "old_path") if line["letter"] == "R" else None,
                    frozenset(line["what"]),
                )
                for line in told
            ],
            self.taken[root, a],
            self.taken[root, b],
        )

    @precondition(lambda self: self.taken)
    @rule()
    def rebuild(self) -> None:
        """The catalog is made again from the journal."""
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            (self.base / "repository" / name).unlink(missing_ok=True)
        self.snapfs("rebuild-catalog", "--yes")

    @invariant()
    def snapshots_are_listed(self) -> None:
        """In order of arrival, in each root that ever had one."""
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
            self._check_all()
        finally:
            shutil.rmtree(self.base)

    def _check_all(self) -> None:
        if not self.taken:
            return
        for root, name in self.taken:
            self._check_view(root, name)
        for root, chain in self.chains.items():
            for a, b in itertools.pairwise(chain):
                self._check_diff(root, a, b)
        self.snapfs("verify", "--data")
        self.snapfs("delete", *(f"{root}@{name}" for root, name in self.taken), "--yes")
        assert self._pack_sizes() == {}
        with closing(sqlite3.connect(self.base / "repository" / "catalog.db")) as database:
            for table in (
                "inode_diff",
                "dirent_diff",
                "snapshot",
                "content",
                "block",
                "segment",
                "pack",
            ):
                (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
                assert count == 0, f"{count} rows left in {table}"


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=int(os.environ.get("SNAPFS_HISTORIES", "25")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
