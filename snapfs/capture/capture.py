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
from snapfs.capture.head import known_root
from snapfs.capture.listed import Listed
from snapfs.capture.listedscan import scan_listed
from snapfs.capture.scan import Scanner
from snapfs.capture.seen import ScanOptions, ScanTotals
from snapfs.capture.store import BlockStore, Intake
from snapfs.capture.survey import Survey, is_large
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow
from snapfs.catalog.stage import Counts, Stage
from snapfs.fs.matching import RuleMatcher
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
    listed: Listed | None = None,
) -> Captured:
    """Compare the directory open as ``root_fd`` (taken over) with the head of ``root``; with ``listed`` only
    what is listed, if there is a head.

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
            if listed is not None and not stage.first:
                progress.phase("scanning")
                totals = scan_listed(
                    catalog, stage, root, root_fd, matcher, options, listed, ahead_ns,
                    progress=progress,
                )  # fmt: skip
            elif (
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
                _settle(stage, root, totals, options)
            else:
                expected = _entries_before(catalog, root) if progress.foretells else None
                progress.phase("scanning", entries=expected)
                scanner = Scanner(
                    catalog, stage, root_fd, matcher, options, ahead_ns, progress=progress
                )
                totals = scanner.run(root.inode_id, known_root(catalog, root))
                _settle(stage, root, totals, options)
            stage.list_gone(totals.next_seq)
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


def _settle(stage: Stage, root: RootRow, totals: ScanTotals, options: ScanOptions) -> None:
    stage.settle(
        root.root.id,
        old_dev=totals.old_root_dev,
        new_dev=totals.root_dev,
        read_all=options.checksum,
    )


def _entries_before(catalog: Catalog, root: RootRow) -> int | None:
    """How many entries the head has: about as many will be there now."""
    head = None if root.head_id is None else rows.snapshot_row(catalog, root.head_id)
    return None if head is None else head.files + head.dirs + head.others
