"""One change of a repository: a journal record and a catalog transaction that stand or fall together.

Order: the statements run in a transaction that nobody sees, the record is made durable, the
transaction is committed. Killed before the record is durable, nothing happened; killed after it, the
next writer finds one record more than the catalog knows and finishes it (`heal`). The catalog stores
the journal's tail in the same transaction.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from snapfs import faults
from snapfs.catalog.commit import RowBlock, counters, require_counters
from snapfs.catalog.database import Catalog
from snapfs.errors import NONSENSE, CatalogBehindError, DamageError
from snapfs.repository.dump import dump_record
from snapfs.repository.journal import Ahead, Behind, Clean, Damaged, Journal, JournalTail, Torn
from snapfs.repository.opened import Repository
from snapfs.repository.replay import apply_record
from snapfs.stream.record import encode_record

TAIL = "journal"
DUMP_AFTER_BYTES = 64 * 1024 * 1024
"""A full dump is written once the records since the last are larger than it, and than this."""


class Change:
    """What is told to the journal of the change at hand."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self.blocks: Iterable[RowBlock] = ()

    def record(self, op: str, header: dict[str, Any], blocks: Iterable[RowBlock] = ()) -> None:
        """Say what was done; ``blocks`` are read before the transaction is committed."""
        self.header = {"op": op, **header}
        self.blocks = blocks


def journal(repository: Repository) -> Journal:
    """The journal of an open repository."""
    return Journal(repository.backend, repository.config.id)


def known_tail(repository: Repository) -> JournalTail | None:
    """The journal's end as the catalog has it."""
    return tail_of(repository.catalog)


def tail_of(catalog: Catalog) -> JournalTail | None:
    """The end of the journal's last record that this catalog contains, None before the first.

    Raises DamageError if what it says makes no sense.
    """
    text = catalog.meta(TAIL)
    if text is None:
        return None
    try:
        file, offset, seq, digest = json.loads(text)
        tail = JournalTail(str(file), int(offset), int(seq), bytes.fromhex(digest))
        if not (0 <= tail.offset < 1 << 63 and 0 <= tail.seq < 1 << 63):
            raise ValueError(text)
        return tail
    except NONSENSE as error:
        raise DamageError(
            f"{catalog.name} has lost its place in the journal",
            subject=catalog.name,
            hint="run snapfs rebuild-catalog",
        ) from error


def set_tail(catalog: Catalog, tail: JournalTail) -> None:
    """Remember the journal's end (inside the write whose change its last record tells)."""
    value = json.dumps([tail.file, tail.offset, tail.seq, tail.hash.hex()])
    catalog.set_meta(TAIL, value)


@contextmanager
def change(repository: Repository, *, command: str = "") -> Iterator[Change]:
    """Run the block's statements as one change; without `Change.record` nothing is written.

    ``command`` prefixes the fault points. Raises CatalogBehindError, StorageFullError.
    """
    made = Change()
    before: JournalTail | None = None
    appended = False
    try:
        with ExitStack() as stack:
            catalog = _begin(repository, stack)
            before = known_tail(repository)
            require_counters(catalog)
            yield made
            if made.header is None:
                return
            header = {
                **made.header,
                "time_ns": repository.clock.now_ns(),
                "counters": counters(catalog),
            }
            tail = journal(repository).append(before, encode_record(header, made.blocks))
            appended = True
            if command:
                faults.point(f"{command}.journal-durable")
            set_tail(repository.catalog, tail)
            if command:
                faults.point(f"{command}.committing")
    except BaseException:
        if appended:
            # The transaction did not commit after all (disk full): take the record back.
            with contextlib.suppress(Exception):
                _take_back(repository, before)
        raise


def _begin(repository: Repository, stack: ExitStack) -> Catalog:
    """Open a write in which catalog and journal agree: another process may have died just now."""
    while True:
        heal(repository)
        inner = ExitStack()
        catalog = inner.enter_context(repository.catalog.write())
        if isinstance(journal(repository).verify_tail(known_tail(repository)), Clean):
            stack.push(inner)
            return catalog
        inner.close()


def _take_back(repository: Repository, before: JournalTail | None) -> None:
    with repository.catalog.write():
        if known_tail(repository) != before:
            return
        if before is None:
            for name in journal(repository).files():
                repository.backend.remove(f"journal/{name}")
        else:
            journal(repository).truncate(before)


def heal(repository: Repository) -> None:
    """Bring journal and catalog together after a run that was killed.

    An unfinished record is cut off, one that is whole but not in the catalog is finished. A damaged
    journal is replaced by a dump of the sound catalog. Raises CatalogBehindError if the journal has
    more than one change that the catalog does not know: then an older catalog.db was put back.
    """
    log = journal(repository)
    if isinstance(log.verify_tail(known_tail(repository)), Clean):
        return
    fresh: JournalTail | None = None
    # Not our own connection: its stage may be filled, and applying a record empties it.
    with closing(repository.another_catalog()) as catalog, catalog.write():
        tail = tail_of(catalog)
        match log.verify_tail(tail):
            case Clean():
                return
            case Torn():
                assert tail is not None
                log.truncate(tail)
            case Ahead(records=(record,)):
                apply_record(catalog, repository.backend, log.read(record).pieces)
                set_tail(catalog, record)
                log.truncate(record)
            case Behind() if tail is None and only_first(log):
                first = log.last_tail()
                if first is None:
                    for name in log.files():
                        repository.backend.remove(f"journal/{name}")
                else:
                    apply_record(catalog, repository.backend, log.read(first).pieces)
                    set_tail(catalog, first)
            case Damaged() if tail is not None and log.is_of_another(tail):
                raise CatalogBehindError(
                    f"catalog.db and the journal of {repository.name} tell of different changes: one of "
                    "them is of a copy of the repository",
                    subject=repository.name,
                    hint="put the right one back, or run snapfs rebuild-catalog: the journal counts",
                )
            case Damaged() if tail is not None and not log.goes_beyond(tail):
                fresh = begin_journal(log, catalog, tail, repository.clock.now_ns())
            case Ahead() | Behind() | Damaged():
                raise CatalogBehindError(
                    f"the journal of {repository.name} knows changes that catalog.db does not: "
                    "an older catalog was put back",
                    subject=repository.name,
                    hint="run snapfs rebuild-catalog",
                )
    if fresh is not None:
        log.remove_older(fresh)


def begin_journal(
    log: Journal,
    catalog: Catalog,
    after: JournalTail | None,
    time_ns: int,
    lost: Mapping[str, Any] | None = None,
) -> JournalTail:
    """Go on in a new file with a dump of the catalog as it is now, whatever the journal said (inside a
    write); the end of it. ``lost`` as in `dump.dump_record`.
    """
    fresh = log.start_file(after, dump_record(catalog, time_ns, lost))
    set_tail(catalog, fresh)
    return fresh


def only_first(log: Journal) -> bool:
    """Whether the journal has no more than its very first record."""
    last = log.last_tail()
    return len(log.files()) == 1 and (last is None or last.seq <= 1)


def dump_if_due(repository: Repository) -> None:
    """Begin a new journal file with a full dump once the old one has grown beyond use."""
    tail = known_tail(repository)
    if tail is None:
        return
    sizes = journal(repository).sizes(tail)
    if sizes.delta_bytes > max(sizes.dump_bytes, DUMP_AFTER_BYTES):
        restart_journal(repository)


def restart_journal(repository: Repository) -> None:
    """Begin a new journal file with a full dump, and remove the older ones."""
    with ExitStack() as stack:
        _begin(repository, stack)
        tail = known_tail(repository)
        log = journal(repository)
        fresh = begin_journal(log, repository.catalog, tail, repository.clock.now_ns())
    log.remove_older(fresh)
