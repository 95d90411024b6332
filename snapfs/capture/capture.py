"""Capturing a live tree against the head of its root: walk, settle, read, digest, compare.

The outcome is a filled stage. `create` commits it as the next snapshot; whoever only compares reads it
as an overlay over the head and drops it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from snapfs.blocks.treedigest import tree_digest
from snapfs.capture.digest import TreeDigests
from snapfs.capture.scan import Scanner
from snapfs.capture.seen import Known, ScanOptions, ScanTotals
from snapfs.capture.store import BlockStore, Intake
from snapfs.capture.survey import Survey, is_large
from snapfs.catalog import rows, view
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow
from snapfs.catalog.stage import Counts, Stage
from snapfs.errors import DamageError
from snapfs.fs.matching import RuleMatcher
from snapfs.model.entry import Entry
from snapfs.progress import Progress


@dataclass(frozen=True, slots=True)
class Captured:
    """A filled stage and what it took. Sizes in bytes."""

    stage: Stage
    totals: ScanTotals
    counts: Counts
    old_bytes: int
    root_digest: bytes | None
    """digest of the root and all below; None: nothing was staged, so it is the head's"""
    read_bytes: int
    stored_bytes: int
    wasted: bool
    """whether something was stored that nothing may come to use"""

    @property
    def unchanged(self) -> bool:
        """Whether nothing that a restore reproduces differs from the head."""
        return self.counts.changes == 0


def capture(
    catalog: Catalog,
    root: RootRow,
    root_fd: int,
    matcher: RuleMatcher,
    options: ScanOptions,
    store: BlockStore,
    *,
    now_ns: int,
    progress: Progress,
) -> Captured:
    """Compare the directory open as ``root_fd`` (taken over) with the head of ``root``.

    Trouble with entries goes to ``progress.problem`` and into the stage. Raises OSError if the root
    itself cannot be read, StorageFullError, WorkerDiedError.
    """
    stage = Stage(catalog, first=root.inode_id is None)
    reading_fd = os.dup(root_fd)
    ahead_ns = now_ns - time.time_ns()
    try:
        stem = f"root-{root.root.id}"
        digests = TreeDigests(stage, root.inode_id)
        intake = Intake(catalog, stage, reading_fd, store, stem, progress=progress)
        try:
            if (
                stage.first
                and store.workers
                and options.spare is None
                and is_large(root_fd, options.one_file_system)
            ):
                os.close(root_fd)
                progress.phase("scanning and storing")
                survey = Survey(stage, reading_fd, matcher, options, ahead_ns, progress=progress)
                intake.survey(survey)
                totals = survey.totals
            else:
                expected = _entries_before(catalog, root) if progress.foretells else None
                progress.phase("scanning", entries=expected)
                scanner = Scanner(
                    catalog, stage, root_fd, matcher, options, ahead_ns, progress=progress
                )
                totals = scanner.run(root.inode_id, _known_root(catalog, root))
            stage.settle(
                root.root.id,
                old_dev=totals.old_root_dev,
                new_dev=totals.root_dev,
                next_seq=totals.next_seq,
                read_all=options.checksum,
            )
            phase = "storing" if store.workers else "reading"
            progress.phase(phase, entries=totals.to_read, total_bytes=totals.to_read_bytes)
            intake.read_all()
            progress.phase("comparing")
            stage.finish_reading()
            stage.resolve()
            digests.finish()
            stage.compare()
            counts, old_bytes, top = stage.counts(), stage.old_bytes(), stage.root_row()
            intake.finish()  # the last packs were on their way to the disk meanwhile
        except BaseException:
            intake.abort()
            raise
    finally:
        os.close(reading_fd)
    return Captured(
        stage,
        totals,
        counts,
        old_bytes,
        None if top is None else tree_digest([(b"", *top[1:14])]),
        intake.read_bytes,
        intake.stored_bytes,
        intake.wasted,
    )


def _entries_before(catalog: Catalog, root: RootRow) -> int | None:
    """How many entries the head has: about as many will be there now."""
    head = None if root.head_id is None else rows.snapshot_row(catalog, root.head_id)
    return None if head is None else head.files + head.dirs + head.others


def _known_root(catalog: Catalog, root: RootRow) -> Known | None:
    if root.inode_id is None:
        return None
    entry = view.inode(catalog, root.inode_id, None)
    if entry is None:
        raise DamageError(
            f"the catalog has lost root {root.root.label}", hint="run snapfs rebuild-catalog"
        )
    return known(entry)


def known(entry: Entry) -> Known:
    """What a scan compares of an entry of the head."""
    return Known(
        entry.name, entry.inode, entry.kind, entry.mode, entry.uid, entry.gid, entry.size,
        entry.mtime_s, entry.mtime_nsec, entry.ctime_s, entry.ctime_nsec, entry.ino, entry.nlink,
        entry.rdev, entry.state, entry.content or None, entry.dev, entry.fingerprint,
        entry.tree_digest,
    )  # fmt: skip
