"""Which records each JSON schema consists of: the contract that snapfs-json(5) is made from.

Nothing imports this at run time but what makes the manual and the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from snapfs.cli.cat import Chunk, Place
from snapfs.cli.completion import Script
from snapfs.cli.frame.failure import Failure
from snapfs.cli.frame.version import Version
from snapfs.cli.render.around import Surrounded
from snapfs.cli.render.changes import Difference, DiffSummary, DiffText
from snapfs.cli.render.entries import Attributes
from snapfs.cli.render.live import LiveDifference
from snapfs.cli.render.progress import Note, Trouble
from snapfs.cli.render.restored import Undo
from snapfs.cli.render.reverted import Reverted
from snapfs.cli.render.roots import RootState
from snapfs.cli.render.text import Called, Mode, Named
from snapfs.cli.render.versions import Hit, Range, Step
from snapfs.cli.start import Standing
from snapfs.create import CreateResult
from snapfs.delete import DeleteResult
from snapfs.diff import LiveResult, ShowResult
from snapfs.model.snapshot import Root, Snapshot
from snapfs.purge import PurgeResult
from snapfs.query import View
from snapfs.repair import LostFile, RepairResult
from snapfs.repository.info import InfoResult
from snapfs.repository.rebuild import RebuildResult
from snapfs.repository.runs import Run
from snapfs.restore import RestorePlan, RestoreResult
from snapfs.revert import Left, RevertPlan, RevertResult, Undone
from snapfs.usage import PathUsage, SetUsage, SnapshotUsage
from snapfs.verify import VerifyResult


@dataclass(frozen=True, slots=True)
class Schema:
    """One kind of JSON object: its name with its number, what it is, the records it has the fields of."""

    name: str
    about: str
    parts: tuple[type[Any], ...]
    on_stderr: bool = False


SCHEMAS = (
    Schema("create/1", "each snapshot that was taken", (Called, CreateResult, Mode)),
    Schema("list/1", "each snapshot", (Named, Snapshot)),
    Schema("roots/1", "each root", (Root, RootState)),
    Schema("root/1", "a root that was renamed or moved", (Root, Mode)),
    Schema("show/1", "one snapshot in full", (Called, ShowResult)),
    Schema("ls/1", "each entry", (Named, Attributes)),
    Schema("cat/1", "the file piece by piece", (Place, Chunk)),
    Schema("diff/1", "each difference", (Difference,)),
    Schema("diff-text/1", "each file's text, with --content", (DiffText,)),
    Schema("diff-stat/1", "the counts, with --stat", (DiffSummary,)),
    Schema("find/1", "each version that was found", (Range, Attributes, Hit)),
    Schema("log/1", "each version", (Range, Step)),
    Schema("restore/1", "what was done", (Named, RestoreResult, Undo)),
    Schema("restore-plan/1", "what would be done, with --dry-run", (Named, RestorePlan, Mode)),
    Schema("revert/1", "what was undone", (Reverted, RevertResult, Undo)),
    Schema("revert-plan/1", "what would be undone, with --dry-run", (Reverted, RevertPlan, Mode)),
    Schema("revert-step/1", "each path that would be undone, with --dry-run", (Undone,)),
    Schema("revert-conflict/1", "each path that is left as it is", (Left,)),
    Schema(
        "snapshot/1",
        "each snapshot as it is now, with --dry-run as it would be",
        (Named, Snapshot, Mode),
    ),
    Schema("delete/1", "what was deleted", (DeleteResult, Mode)),
    Schema("purge/1", "what was purged", (PurgeResult, Mode)),
    Schema("usage/1", "each snapshot", (Named, SnapshotUsage)),
    Schema("usage-set/1", "what deleting the given snapshots would do", (SetUsage,)),
    Schema("usage-path/1", "each path, with --by-path", (PathUsage,)),
    Schema("verify/1", "what was checked and found", (VerifyResult,)),
    Schema("sql/1", "each row of the query, with a key for each of its columns", ()),
    Schema("sql-view/1", "each view, without a query", (View,)),
    Schema("verify-live/1", "each entry that differs, with --against-live", (LiveDifference,)),
    Schema("verify-live-sum/1", "the counts, with --against-live", (Called, LiveResult)),
    Schema("repair-lost/1", "each file that is lost", (LostFile, Mode)),
    Schema("repair/1", "what was damaged and mended", (RepairResult, Mode)),
    Schema("runs/1", "each run", (Run,)),
    Schema("info/1", "the repository in numbers", (InfoResult,)),
    Schema("completion/1", "the script", (Script,)),
    Schema("rebuild-catalog/1", "what was found", (RebuildResult,)),
    Schema("version/1", "which snapfs this is, from snapfs --version", (Version,)),
    Schema("start/1", "where I stand, from snapfs alone", (Standing,)),
    Schema(
        "around/1", "a command between two snapshots", (Surrounded, DiffSummary), on_stderr=True
    ),
    Schema("error/1", "why the exit code is not 0", (Failure,), on_stderr=True),
    Schema("note/1", "what the user should know", (Note,), on_stderr=True),
    Schema("problem/1", "each entry that made trouble", (Trouble,), on_stderr=True),
)
