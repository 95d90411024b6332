"""What snapshots hold, the plain way: every view walked, its files' blocks kept in sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from snapfs.model.snapshot import StoredSide
from snapfs.repository.opened import Repository
from snapfs.tree.listing import list_tree

Key = tuple[str, str]
"""Label of a root and name of a snapshot."""


@dataclass
class Naive:
    """``views``: the blocks of each path of each snapshot. ``stored``: share and pack of each block."""

    views: dict[Key, dict[bytes, set[int]]] = field(default_factory=dict)
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)
    packs: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, repository: Repository) -> Naive:
        """Look at a repository."""
        naive = cls()
        rows = repository.catalog.execute
        naive.packs = dict(rows("SELECT id, size FROM pack").fetchall())
        query = (
            "SELECT b.id, b.offset, b.length, s.stored, s.raw, s.pack_id"
            " FROM block b JOIN segment s ON s.id = b.segment_id"
        )
        for id_, offset, length, stored, raw, pack in rows(query).fetchall():
            share = stored * (offset + length) // raw - stored * offset // raw
            naive.stored[id_] = share, pack
        parts = defaultdict(set)
        for content, block in rows("SELECT content_id, block_id FROM content_block").fetchall():
            parts[content].add(block)
        for root in repository.roots():
            for snapshot in repository.snapshots(root.id):
                view: dict[bytes, set[int]] = {}
                side = StoredSide(root, snapshot)
                for listed in list_tree(repository, side, b"", recursive=True):
                    content = listed.entry.content
                    blocks = {content} if content in naive.stored else parts[content]
                    if blocks:
                        view[listed.path] = blocks
                naive.views[root.label, snapshot.name] = view
        return naive

    def held(self, snapshots: Collection[Key]) -> set[int]:
        """Blocks that any of these uses."""
        return set().union(*(b for key in snapshots for b in self.views[key].values()))

    def sole(self, snapshots: Collection[Key]) -> set[int]:
        """Blocks that these use and no other snapshot does."""
        return self.held(snapshots) - self.held(self.views.keys() - set(snapshots))

    def bytes(self, blocks: Collection[int]) -> int:
        """Their stored size."""
        return sum(self.stored[block][0] for block in blocks)

    def gain(self, snapshots: Collection[Key]) -> tuple[int, int]:
        """Freed and reclaimable bytes, once all that no other snapshot uses is dead, left over or not."""
        others = self.held(self.views.keys() - set(snapshots))
        needed = {self.stored[block][1] for block in others}
        dead = self.stored.keys() - others
        freed = sum(size for pack, size in self.packs.items() if pack not in needed)
        return freed, sum(self.stored[b][0] for b in dead if self.stored[b][1] in needed)

    def paths(
        self, label: str, snapshots: Collection[Key], depth: int
    ) -> dict[bytes, tuple[int, int]]:
        """Stored and unique bytes by path of so many names; empty for all together."""
        below: dict[bytes, set[int]] = defaultdict(set)
        for key in snapshots:
            assert key[0] == label
            for path, blocks in self.views[key].items():
                below[b"/".join(path.split(b"/")[:depth])] |= blocks
        sole = self.sole(snapshots)
        found = {b"": (self.bytes(self.held(snapshots)), self.bytes(sole))}
        for path, blocks in below.items():
            elsewhere: set[int] = set().union(*(b for other, b in below.items() if other != path))
            found[path] = self.bytes(blocks), self.bytes((blocks & sole) - elsewhere)
        return found
