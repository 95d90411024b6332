"""From damaged blocks, contents and inodes to the files and snapshots in which the damage shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.tree.history import Places, Span, Wanted, chains, cut
from snapfs.verify.options import DamagedFile
from snapfs.verify.report import Touched

MOST_FILES = 10_000
"""Of more damaged files the rest is not looked up."""


def damaged_files(catalog: Catalog, touched: Touched) -> tuple[tuple[DamagedFile, ...], bool]:
    """The files in order of root and path, and whether there are more (inside one read)."""
    search = _Search(catalog)
    whole = search.look_up(touched)
    return search.result(), not whole


class _Search:
    """One look-up."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._chains = chains(catalog)
        self._places = Places(catalog, self._chains)
        self._found: dict[tuple[int, bytes], set[Span]] = {}

    def look_up(self, touched: Touched) -> bool:
        """Find all that is touched; False if there was too much of it."""
        for inode, at in touched.directories:
            self._add(inode, _row_of(at))
        for inode in touched.inodes:
            self._add(inode, _always)
        for content in touched.contents:
            self._add_content(content)
        for block in self._blocks(touched):
            self._add_content(block)
            for (content,) in self._rows(sql.TOUCHED_CONTENTS, block=block):
                self._add_content(content)
            if len(self._found) >= MOST_FILES:
                return False
        return True

    def result(self) -> tuple[DamagedFile, ...]:
        known: dict[tuple[int, frozenset[Span]], tuple[str, ...]] = {}
        files = []
        for (root_id, path), spans in self._found.items():
            chain = self._chains[root_id]
            key = (root_id, frozenset(spans))
            if key not in known:
                known[key] = chain.names(spans)
            files.append(DamagedFile(chain.root.root.label, path, known[key]))
        return tuple(sorted(files, key=lambda file: (file.root, file.path)))

    def _blocks(self, touched: Touched) -> Iterator[int]:
        yield from touched.blocks
        for pack in touched.packs:
            for segment, *_ in self._rows(sql.SEGMENTS_OF_PACK, pack=pack):
                for id_, *_ in self._rows(sql.VERIFY_BLOCKS, segment=segment):
                    yield id_

    def _add_content(self, content: int) -> None:
        for (inode,) in self._rows(sql.TOUCHED_INODES, content=content):
            self._add(inode, lambda _, value: value == content)

    def _add(self, inode: int, wanted: Wanted) -> None:
        """An inode is damaged as long as its value is the wanted one."""
        chain = self._places.chain(inode)
        if chain is None:
            return
        spans = chain.spans(self._rows(sql.INODE_VALUES, inode=inode), wanted)
        for place in self._places.of(chain, inode):
            for span in spans:
                both = cut(span, place.span)
                if both is not None:
                    self._found.setdefault((chain.root.root.id, place.path), set()).add(both)

    def _rows(self, statement: str, **params: object) -> list[Any]:
        return self._catalog.execute(statement, dict(params)).fetchall()


def _row_of(snapshot: int | None) -> Wanted:
    return lambda at, _: at == snapshot


def _always(_at: int | None, _value: int | None) -> bool:
    return True
