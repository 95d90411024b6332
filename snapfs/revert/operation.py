"""`revert`: undo on the live tree what changed from one snapshot to another, and keep what came after.

It is looked twice. First the live directory is staged and nothing stored: that tells whether there is
anything to do, and what is in the way. Then the safety snapshot is taken, and what is done follows from a
second plan, made of that snapshot: it is the state that all is compared with, it is kept, and every entry
is looked at once more, against it, at the moment in which it would be replaced or deleted. So what was
edited meanwhile is in the safety snapshot or still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from snapfs import faults
from snapfs.capture.live import stage_live
from snapfs.catalog import rows, streams
from snapfs.catalog.spill import Spill
from snapfs.errors import NotFoundError, SnapfsError
from snapfs.inplace.known import KnownFiles
from snapfs.inplace.protect import Protection
from snapfs.inplace.safety import spare_held, take_safety
from snapfs.inplace.saved import Saved
from snapfs.inplace.source import live_directory, open_live, refuse_repository, stored_source
from snapfs.materialize.apply import materialize
from snapfs.materialize.wanted import MaterializeOptions, MaterializeResult, Overwrite
from snapfs.model.path import join
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import NullProgress, Problem, Progress
from snapfs.repository.locks import restore_lock
from snapfs.repository.opened import Repository
from snapfs.repository.reserve import make_reserve
from snapfs.repository.runs import recorded
from snapfs.revert.options import Left, RevertOptions, RevertPlan, RevertResult, Undone
from snapfs.revert.planning import Ends, Plan
from snapfs.tree.state import StagedState, StoredState, spared

Tell = Callable[[Undone | Left], None]


def _say_nothing(_line: Undone | Left) -> None:
    return


def plan_revert(
    repository: Repository,
    root: Root,
    a: Snapshot,
    b: Snapshot,
    options: RevertOptions,
    *,
    progress: Progress,
    tell: Tell = _say_nothing,
) -> RevertPlan:
    """Say what `revert` would do, by doing it without writing; ``tell`` hears of each path.

    Raises as `revert`.
    """
    target = _target(repository, root)
    with _looked(repository, root, a, b, options, progress) as (ends, plan):
        done = _nothing_done()
        if plan.may_go_on:
            done = _write(repository, ends, plan, target, None, progress=progress)
            for step in plan.told():
                tell(step)
        for left in plan.left():
            tell(left)
        return RevertPlan(
            target, done.created, done.overwritten, done.deleted, plan.conflicts, plan.left_out,
            done.written_bytes, done.problems, done.retimed,
        )  # fmt: skip


def revert(
    repository: Repository,
    root: Root,
    a: Snapshot,
    b: Snapshot,
    options: RevertOptions,
    *,
    looked: bool = False,
    progress: Progress,
    tell: Tell = _say_nothing,
    on_safety: Callable[[Snapshot, tuple[bytes, ...]], None] = lambda _, __: None,
) -> RevertResult:
    """Undo what changed from ``a`` to ``b``; ``tell`` hears of each path that is left as it is.

    ``looked``: `plan_revert` has just found something to do, so that the safety snapshot comes at once.
    ``on_safety`` is told of the safety snapshot and of the paths that all lies in, before anything is
    written. Raises UsageError (no directory, or one that is elsewhere by now), NotFoundError (a snapshot or
    the directory is gone), StorageFullError, LockedError if a restore of this root is at work.
    """
    started_ns = repository.clock.now_ns()
    target = _target(repository, root)
    with recorded(repository, root.id) as note, ExitStack() as stack:
        stack.enter_context(
            repository.locks.hold(
                restore_lock(root.id), exclusive=True, wait_s=repository.lock_wait_s
            )
        )
        safety: Snapshot | None = None
        touched: tuple[bytes, ...] = ()
        done = _nothing_done()
        conflicts = left_out = 0
        goes_on = looked
        if not looked:
            with _looked(repository, root, a, b, options, progress) as (_, plan):
                conflicts, left_out, goes_on = plan.conflicts, plan.left_out, plan.may_go_on
                for left in () if goes_on else plan.left():
                    tell(left)
        note.silent = not goes_on
        if goes_on:
            note.begin()
            safety = _take_safety(repository, root, a, b, progress)
            faults.point("revert.safety-taken")
            with _saved(repository, root, a, b, options, safety) as (ends, plan):
                conflicts, left_out, touched = plan.conflicts, plan.left_out, plan.touched()
                if plan.may_go_on:
                    on_safety(safety, touched)
                    done = _write(repository, ends, plan, target, safety, progress=progress)
                for left in plan.left():
                    tell(left)
            make_reserve(repository.fd, repository.handed)  # a full disk may have cost it
        # 5 says that all but the conflicts was undone.
        note.exit = 3 if done.problems else 5 if conflicts else 0
        note.summary = (
            f"{a.name}..{b.name}: {done.created} created, {done.overwritten} overwritten, "
            f"{done.deleted} deleted, {conflicts} in conflict"
        )
        return RevertResult(
            target=target,
            applied=bool(done.created or done.overwritten or done.deleted or done.retimed),
            created=done.created,
            overwritten=done.overwritten,
            deleted=done.deleted,
            conflicts=conflicts,
            left_out=left_out,
            written_bytes=done.written_bytes,
            safety=safety,
            touched=touched,
            problems=done.problems,
            duration_ns=repository.clock.now_ns() - started_ns,
            times=done.retimed,
        )


def _take_safety(
    repository: Repository, root: Root, a: Snapshot, b: Snapshot, progress: Progress
) -> Snapshot:
    ends = Ends(repository.catalog, root, a, b)
    return take_safety(
        repository,
        root,
        ends.rules,
        ends.a,
        spare=spare_held(repository, root, ends.rules, ends.a, ends.b),
        message=f"before revert of {a.name}..{b.name}",
        progress=progress,
    )


def _target(repository: Repository, root: Root) -> bytes:
    target = live_directory(root)
    refuse_repository(repository, target)
    return target


def _nothing_done() -> MaterializeResult:
    return MaterializeResult(0, 0, 0, 0, 0, 0, 0, 0)


@contextmanager
def _looked(
    repository: Repository,
    root: Root,
    a: Snapshot,
    b: Snapshot,
    options: RevertOptions,
    progress: Progress,
) -> Iterator[tuple[Ends, Plan]]:
    """A plan for the directory as it is now, of which nothing is stored."""
    catalog = repository.catalog
    with ExitStack() as stack:
        stack.enter_context(repository.locks.hold_blocks(repository.lock_wait_s))
        seen = Ends(catalog, root, a, b)
        spare = spare_held(repository, root, seen.rules, seen.a, seen.b)
        stage_live(repository, seen.row, seen.rules, spare=spare, progress=progress)
        spill = Spill()
        stack.callback(spill.close)
        stack.enter_context(catalog.read())
        ends = Ends(catalog, root, a, b)
        if ends.row.head_id != seen.row.head_id:
            raise NotFoundError("the root got another snapshot meanwhile", hint="run it again")
        top_fd = stack.enter_context(open_live(root))
        yield ends, Plan(catalog, ends, StagedState(catalog), top_fd, options, spill)


@contextmanager
def _saved(
    repository: Repository,
    root: Root,
    a: Snapshot,
    b: Snapshot,
    options: RevertOptions,
    safety: Snapshot,
) -> Iterator[tuple[Ends, Plan]]:
    """A plan for the directory as the safety snapshot has it."""
    catalog = repository.catalog
    with ExitStack() as stack:
        stack.enter_context(repository.locks.hold_blocks(repository.lock_wait_s))
        spill = Spill()
        stack.callback(spill.close)
        stack.enter_context(catalog.read())
        ends = Ends(catalog, root, a, b)
        if rows.snapshot_row(catalog, safety.id) is None:
            raise SnapfsError(f"snapshot {safety.name} was deleted meanwhile, so nothing was done")
        top_fd = stack.enter_context(open_live(root))
        yield ends, Plan(catalog, ends, StoredState(catalog, safety.id), top_fd, options, spill)


def _write(
    repository: Repository,
    ends: Ends,
    plan: Plan,
    target: bytes,
    safety: Snapshot | None,
    *,
    progress: Progress,
) -> MaterializeResult:
    """Do what is planned; without a safety snapshot only count it. Directories that only get their time are not
    among the overwritten: nobody is told of their paths.
    """
    catalog = repository.catalog
    root = ends.row.root
    dry_run = safety is None
    rules = ends.rules
    untouched = repository.own_folders().has
    kept = Protection(rules, target, b"", untouched, spared(catalog, root.id, rules.spared))
    stayed = 0

    def protected(parts: tuple[bytes, ...], name: bytes, is_dir: bool) -> bool:
        nonlocal stayed
        if not kept(parts, name, is_dir):
            return False
        stayed += 1
        # The plan leaves directories with such entries alone: it came since.
        path = join(b"/".join(parts), name)
        progress.problem(Problem(path, 0, "came since, and is left out of snapshots: left alone"))
        return True

    progress.phase("comparing" if dry_run else "reverting")
    faults.point("revert.planned")
    done = materialize(
        target,
        plan.steps.directories(),
        stored_source(repository, streams.Linked(catalog, ends.a.id, everything=False)),
        MaterializeOptions(
            overwrite=Overwrite.IF_CHANGED,
            delete=True,
            spare_unread=True,
            dry_run=dry_run,
            # Or the next run would take what a killed one left for edits.
            recognisable=True,
            moved=plan.moved(),
            same=KnownFiles(repository, ends.a.id, in_place=True, sparse=False).same,
            protected=protected,
            untouched=untouched,
            saved=None if safety is None else Saved(catalog, root.id, safety.id),
        ),
        progress=NullProgress() if dry_run else progress,
    )
    overwritten = done.overwritten - done.retimed
    return replace(done, overwritten=overwritten, problems=done.problems + stayed)
