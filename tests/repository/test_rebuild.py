"""The catalog from journal and packs alone: exactly as it was, or as far as it can be made again."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from snapfs import faults
from snapfs.create import CreateOptions, create
from snapfs.delete import DeleteOptions, delete
from snapfs.errors import (
    CatalogBehindError,
    DamageError,
    LockedError,
    NoRepositoryError,
    RepositoryError,
)
from snapfs.model.snapshot import NewRoot
from snapfs.progress import RecordingProgress
from snapfs.repository import changes
from snapfs.repository.rebuild import RebuildResult, rebuild_catalog
from snapfs.repository.runs import runs
from snapfs.verify import VerifyOptions, verify
from tests.damage.damaging import flip
from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.verify.repositories import Store, random_history


@pytest.fixture
def store(workspace: Path) -> Store:
    """No repository yet."""
    return Store(workspace)


class Rebuilt:
    """One rebuild and what it said."""

    def __init__(self, store: Store) -> None:
        progress = RecordingProgress()
        self.result: RebuildResult = rebuild_catalog(store.key, lock_wait_s=0, progress=progress)
        self.notes = progress.notes

    def whole(self) -> None:
        """Nothing was lost."""
        assert self.result.problems == 0
        assert self.result.missing_blocks == 0
        assert self.notes == []


def some_files(tree: Path, seed: int = 0) -> None:
    rng = random.Random(seed)
    for number in range(5):
        (tree / f"f{seed}-{number}").write_bytes(rng.randbytes(20_000))


def log(store: Store) -> Path:
    """The newest file of the journal."""
    return max((store.path / "journal").glob("0*.log"))


# --- exactly as it was ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["missing", "flipped", "zeroed", "emptied", "older", "sound"])
@pytest.mark.parametrize("seed", range(2))
def test_everything_is_as_it_was(how: str, seed: int, store: Store) -> None:
    rng = random.Random(seed)
    random_history(store, rng, 12)
    catalog = store.path / "catalog.db"
    older = store.base / "older"
    shutil.copyfile(catalog, older)
    random_history(store, random.Random(seed + 100), 1)
    before = store.tables()
    views = store.views()
    match how:
        case "missing":
            store.lose_catalog()
        case "flipped":
            for _ in range(200):
                flip(catalog, rng.random())
        case "zeroed":
            with catalog.open("r+b") as file:
                file.write(bytes(8192))
        case "emptied":
            catalog.write_bytes(b"")
        case "older":
            store.lose_catalog()
            shutil.copyfile(older, catalog)
    rebuilt = Rebuilt(store)
    rebuilt.whole()
    assert store.tables() == before
    assert store.views() == views
    assert rebuilt.result.snapshots == len(before["SNAPSHOT"])
    assert rebuilt.result.roots == len(before["ROOT"])
    assert rebuilt.result.blocks == len(before["BLOCK"])
    store.clean()
    assert not list(store.path.glob("*tmp*"))
    assert not (store.path / "catalog.db.old").exists()


def test_history_goes_on(store: Store) -> None:
    """Ids go on where they were, also those that were given and are gone again."""
    some_files(store.tree())
    store.take("s0")
    store.take("s1")
    store.delete("s1")
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.take("s2").id == 3
    store.lose_catalog()
    before = store.base / "copy"
    shutil.copytree(store.path, before)
    Rebuilt(store).whole()
    store.clean()
    assert set(store.views()) == {"s0", "s2"}


def test_full_dump(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal whose newest file begins with a dump; the files before it may be missing."""
    monkeypatch.setattr(changes, "DUMP_AFTER_BYTES", 0)
    random_history(store, random.Random(5), 12)
    assert log(store).name != "0000000001.log"
    assert len(os.listdir(store.path / "journal")) == 1
    before = store.tables()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


def test_dump_that_was_not_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after a dump was written and before the catalog said so."""
    some_files(store.tree())
    store.take("s0")
    monkeypatch.setattr(changes, "DUMP_AFTER_BYTES", 0)
    with monkeypatch.context() as patch:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(changes, "set_tail", killed)
        with store.open() as repository, pytest.raises(KeyboardInterrupt):
            changes.dump_if_due(repository)
    before = store.tables()
    assert len(os.listdir(store.path / "journal")) == 2
    store.take("s1")
    store.delete("s1")
    after = store.tables()
    assert {name: after[name] for name in ("INODE", "BLOCK")} == {
        name: before[name] for name in ("INODE", "BLOCK")
    }
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == after


def test_adopted_pack(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that were taken in after a run was killed."""

    def killed(name: str) -> None:
        if name == "create.packs-durable":
            raise KeyboardInterrupt

    some_files(store.tree())
    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", killed)
        with pytest.raises(KeyboardInterrupt):
            store.take("killed")
    store.take("s0")
    before = store.tables()
    assert len(before["PACK"]) == 1
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


def test_bytes_that_were_pending(store: Store) -> None:
    """A delete while somebody reads: rows of dead blocks stay until the next one."""
    some_files(store.tree())
    store.take("s0")
    shutil.rmtree(store.tree())
    some_files(store.tree(), 1)
    store.take("s1")
    with store.open(write=False) as reader, reader.locks.hold_blocks(0):
        store.delete("s0")
    before = store.tables()
    assert before["ORPHAN"]
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before
    store.take("s2")
    store.delete("s2")
    assert not store.tables()["ORPHAN"]
    before = store.tables()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before
    store.clean()


def test_killed_while_packs_were_removed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack whose rows are gone and whose file is not: the next delete removes it, rebuilt or not."""
    some_files(store.tree())
    store.take("s0")
    shutil.rmtree(store.tree())
    some_files(store.tree(), 1)
    store.take("s1")

    def killed(name: str) -> None:
        if name == "delete.committed":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", killed)
        with pytest.raises(KeyboardInterrupt):
            store.delete("s0")
    before = store.tables()
    assert before["DOOMED_PACK"]
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before
    store.take("s2")
    store.delete("s2")
    assert len(store.packs()) == 1
    store.clean()


def test_runs_are_kept_where_they_can_be_read(store: Store) -> None:
    """No journal has them: they come from the old catalog."""
    some_files(store.tree())
    store.take("s0")
    Rebuilt(store).whole()
    with store.open(write=False) as repository:
        told = [run.command for run in runs(repository, root=None, failed=False, limit=None)]
    assert told == ["snapfs test", "rebuild-catalog"]
    store.lose_catalog()
    Rebuilt(store).whole()
    with store.open(write=False) as repository:
        assert len(runs(repository, root=None, failed=False, limit=None)) == 1


def test_old_wal_is_not_applied(store: Store) -> None:
    """What SQLite left beside the old file never meets the new one."""
    some_files(store.tree())
    store.take("s0")
    with store.open() as repository:
        with repository.catalog.write() as catalog:
            catalog.set_meta("something", "x" * 100_000)
        for suffix in ("", "-wal"):
            shutil.copyfile(store.path / f"catalog.db{suffix}", store.base / f"kept{suffix}")
    before = store.tables()
    store.lose_catalog()
    for suffix in ("", "-wal"):
        shutil.copyfile(store.base / f"kept{suffix}", store.path / f"catalog.db{suffix}")
    assert (store.path / "catalog.db-wal").stat().st_size
    Rebuilt(store).whole()
    after = store.tables()
    before["META"] = [row for row in before["META"] if row[0] != "something"]
    assert after == before


# --- identity ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["missing", "damaged", "other-id"])
def test_config_is_made_again(how: str, store: Store) -> None:
    some_files(store.tree())
    store.take("s0")
    config = store.path / "config"
    pristine = config.read_bytes()
    if how == "missing":
        config.unlink()
    elif how == "damaged":
        config.write_bytes(pristine[:40])
    else:
        config.write_text(json.dumps({**json.loads(pristine), "id": "0123456789abcdef" * 2}))
    with pytest.raises((RepositoryError, DamageError), match="config"):
        store.open()
    Rebuilt(store).whole()
    assert config.read_bytes() == pristine
    store.clean()


def test_packs_of_another_repository_do_not_decide(store: Store, workspace: Path) -> None:
    other = Store(workspace / "other")
    other.base.mkdir()
    for number in range(4):
        some_files(other.tree(), number)
        other.take(f"s{number}")
    some_files(store.tree(), 9)
    store.take("s0")
    for name in other.packs():
        shutil.copyfile(other.path / "packs" / name, store.path / "packs" / name)
    before = store.tables()
    (store.path / "config").unlink()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


def test_newer_features_are_refused(store: Store) -> None:
    some_files(store.tree())
    store.take("s0")
    config = store.path / "config"
    config.write_text(json.dumps({**json.loads(config.read_bytes()), "need_write": ["wings"]}))
    with pytest.raises(RepositoryError, match="wings"):
        Rebuilt(store)


def test_no_repository(workspace: Path) -> None:
    (workspace / "letters").mkdir()
    (workspace / "letters" / "letter").write_bytes(b"dear")
    with pytest.raises(NoRepositoryError, match="letters"):
        rebuild_catalog(
            os.fsencode(workspace / "letters"), lock_wait_s=0, progress=RecordingProgress()
        )
    assert os.listdir(workspace / "letters") == ["letter"]


def test_new_repository(store: Store) -> None:
    """Nothing was ever stored: an empty catalog is right."""
    store.open().close()
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    rebuilt.whole()
    assert rebuilt.result.snapshots == 0
    some_files(store.tree())
    store.take("s0")
    store.clean()


# --- what is lost -----------------------------------------------------------------------------------


def damage_record(store: Store, number: int) -> None:
    """Flip a bit in the middle of a record of the newest journal file."""
    with store.open(write=False) as repository:
        ends = [record.tail.offset for record in changes.journal(repository).records()]
    at = (ends[number - 1] + ends[number]) // 2 if number else ends[0] // 2
    path = log(store)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def four_snapshots(store: Store) -> None:
    """Records: the root, then s0 to s3."""
    for number in range(4):
        some_files(store.tree(), number)
        store.take(f"s{number}")


def test_damaged_record(store: Store) -> None:
    """As far as it is sound; what is lost is said, the damaged file kept, and work goes on."""
    four_snapshots(store)
    views = store.views()
    damage_record(store, 3)
    damaged = log(store).read_bytes()
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.problems == 1
    assert rebuilt.result.journal_records == 3
    lost = rebuilt.result.lost
    assert lost is not None
    assert (lost.records, lost.unreadable, lost.certain) == (2, 1, True)
    assert [one.name for one in lost.snapshots] == ["s3"]
    assert "journal/0000000001.log" in lost.what
    assert {name: views[name] for name in ("s0", "s1")} == store.views()
    kept = store.path / "quarantine" / "0000000001.log"
    assert kept.read_bytes() == damaged
    assert log(store).name == "0000000002.log"
    result = store.verify()
    assert result.findings == ()
    store.take("next")
    before = store.tables()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


def test_sound_catalog_beats_a_damaged_journal(store: Store) -> None:
    four_snapshots(store)
    damage_record(store, 2)
    before = store.tables()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.problems == 1
    assert "stays" in rebuilt.notes[0]
    after = store.tables()
    assert before.pop("META") != after.pop("META")
    assert after == before
    assert not (store.path / "catalog.db.old").exists()
    store.take("next")
    before = store.tables()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


def test_damaged_catalog_is_kept_beside_what_is_less(store: Store) -> None:
    four_snapshots(store)
    damage_record(store, 2)
    with (store.path / "catalog.db").open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(20_000))
    damaged = (store.path / "catalog.db").read_bytes()
    assert Rebuilt(store).result.problems == 1
    assert (store.path / "catalog.db.old").read_bytes() == damaged
    assert set(store.views()) == {"s0"}


@pytest.mark.parametrize("loss", ["lost-tail", "lost-file"])
def test_journal_that_ends_too_early(loss: str, store: Store) -> None:
    """A journal that lost its end, or all of it, beside a sound catalog."""
    four_snapshots(store)
    before = store.tables()
    if loss == "lost-file":
        log(store).unlink()
    else:
        os.truncate(log(store), log(store).stat().st_size - 500)
    assert Rebuilt(store).result.problems == 1
    after = store.tables()
    assert {**after, "META": []} == {**before, "META": []}
    store.lose_catalog()
    Rebuilt(store).whole()
    assert {**store.tables(), "META": []} == {**before, "META": []}


def test_torn_end_is_cut_off(store: Store) -> None:
    four_snapshots(store)
    before = store.tables()
    with log(store).open("ab") as file:
        file.write(b"\xf5snapREC and so on")
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.problems == 1
    lost = rebuilt.result.lost
    assert lost is not None
    assert "unfinished record" in lost.what
    assert (lost.records, lost.certain, lost.packs) == (1, False, ())
    assert {**store.tables(), "META": []} == {**before, "META": []}
    before = store.tables()
    store.clean()
    # A catalog that knows no more than the journal vouches for it.
    with log(store).open("ab") as file:
        file.write(b"\xf5snapREC and so on")
    Rebuilt(store).whole()
    assert store.tables() == before


@pytest.mark.parametrize("cut", [1, 10, 100, 300])
def test_a_cut_end_is_told(cut: int, store: Store) -> None:
    """An announced record that has lost its end looks like one of a killed run: both are told."""
    four_snapshots(store)
    os.truncate(log(store), log(store).stat().st_size - cut)
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.problems == 1
    lost = rebuilt.result.lost
    assert lost is not None
    assert [one.name for one in lost.snapshots] == ["s3"] * (cut <= 10), "as far as it can be read"
    assert len(lost.packs) == 1
    assert store.verify().findings == ()


def test_damaged_header_of_the_journal(store: Store) -> None:
    """The chain of records proves them without it."""
    four_snapshots(store)
    before = store.tables()
    data = bytearray(log(store).read_bytes())
    data[20] ^= 4
    log(store).write_bytes(data)
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.problems == 1
    assert "no change is lost" in rebuilt.notes[0]
    assert {**store.tables(), "META": []} == {**before, "META": []}
    store.take("next")
    assert store.verify().findings == ()


@pytest.mark.parametrize("what", ["first-record", "file"])
def test_nothing_left(what: str, store: Store) -> None:
    """No journal and no catalog: never an empty new one, and nothing is touched."""
    four_snapshots(store)
    if what == "file":
        log(store).unlink()
    else:
        damage_record(store, 0)
    store.lose_catalog()
    before = sorted(store.path.rglob("*"))
    with pytest.raises(RepositoryError, match="journal"):
        Rebuilt(store)
    assert sorted(store.path.rglob("*")) == before


def test_old_catalog_and_damaged_journal_are_not_mixed(store: Store) -> None:
    """A journal that is damaged and goes beyond the catalog is never replaced by the catalog's dump."""
    four_snapshots(store)
    shutil.copyfile(store.path / "catalog.db", store.base / "older")
    for number in (4, 5):
        some_files(store.tree(), number)
        store.take(f"s{number}")
    damage_record(store, 5)
    shutil.copyfile(store.base / "older", store.path / "catalog.db")
    before = log(store).read_bytes()
    with pytest.raises(CatalogBehindError):
        store.take("s6")
    assert log(store).read_bytes() == before
    rebuilt = Rebuilt(store)
    lost = rebuilt.result.lost
    assert lost is not None
    assert (lost.records, lost.unreadable, lost.certain) == (2, 1, True)
    assert set(store.views()) == {"s0", "s1", "s2", "s3"}
    store.take("s6")


def test_what_follows_an_old_catalog_behind_damage(store: Store) -> None:
    """The journal cannot be replayed from its beginning, but from where the old catalog stands."""
    four_snapshots(store)
    shutil.copyfile(store.path / "catalog.db", store.base / "older")
    for number in (4, 5):
        some_files(store.tree(), number)
        store.take(f"s{number}")
    before = store.tables()
    damage_record(store, 2)
    store.lose_catalog()
    shutil.copyfile(store.base / "older", store.path / "catalog.db")
    rebuilt = Rebuilt(store)
    assert rebuilt.result.lost is None
    assert {**store.tables(), "META": []} == {**before, "META": []}
    assert store.verify().findings == ()


# --- packs ------------------------------------------------------------------------------------------


def pack_of(store: Store, snapshot: int) -> Path:
    return store.path / "packs" / sorted(store.tables()["PACK"])[snapshot][1]


@pytest.mark.parametrize("dumped", [True, False])
def test_missing_pack(dumped: bool, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told, and the rest is as it was; bytes that are still there are stored again."""
    if dumped:
        monkeypatch.setattr(changes, "DUMP_AFTER_BYTES", 0)
    four_snapshots(store)
    views = store.views()
    pack = pack_of(store, 1)
    pack.rename(store.base / "kept")
    store.lose_catalog()
    monkeypatch.undo()
    rebuilt = Rebuilt(store)
    assert rebuilt.result.missing_blocks == 5
    assert rebuilt.result.problems == 1
    assert rebuilt.notes == [f"pack {pack.name} is missing, and with it 5 blocks"]
    assert store.views()["s0"] == views["s0"]
    result = store.verify()
    assert {finding.where for finding in result.findings} == {f"packs/{pack.name}"}
    assert [file.path for file in result.damaged] == [b"f1-%d" % n for n in range(5)]
    assert {file.snapshots for file in result.damaged} == {("s1", "s2", "s3")}
    for number in range(5):
        # Touched, so that they are read again.
        os.utime(store.tree() / f"f1-{number}", (1, 1))
    packs = store.packs()
    store.take("healed")
    assert len(store.packs()) == len(packs) + 1
    assert "healed" not in {name for file in store.verify().damaged for name in file.snapshots}
    before = store.tables()
    store.lose_catalog()
    assert Rebuilt(store).result.missing_blocks == 5
    after = store.tables()
    assert {**after, "META": []} == {**before, "META": []}


@pytest.mark.parametrize("dumped", [True, False])
def test_pack_that_comes_back(dumped: bool, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if dumped:
        monkeypatch.setattr(changes, "DUMP_AFTER_BYTES", 0)
    four_snapshots(store)
    before = store.tables()
    monkeypatch.undo()
    pack = pack_of(store, 1)
    pack.rename(store.base / "kept")
    store.lose_catalog()
    assert Rebuilt(store).result.missing_blocks == 5
    (store.base / "kept").rename(pack)
    Rebuilt(store).whole()
    assert {**store.tables(), "META": []} == {**before, "META": []}
    store.clean()


def test_damaged_segment_shifts_no_block(store: Store) -> None:
    """Blocks are found by the place of their segment, not by counting through the pack."""
    (store.tree() / "big").write_bytes(random.Random(1).randbytes(5_000_000))
    some_files(store.tree())
    store.take("s0")
    before = store.tables()
    first = sorted(before["SEGMENT"])[0]
    pack = store.path / "packs" / before["PACK"][0][1]
    with pack.open("r+b") as file:
        file.seek(first[2])
        file.write(b"\0" * 600)
    store.lose_catalog()
    rebuilt = Rebuilt(store)
    lost = [row for row in before["BLOCK"] if row[2] == first[0]]
    assert rebuilt.result.missing_blocks == len(lost)
    assert "is damaged" in rebuilt.notes[0]
    after = {row[0]: row for row in store.tables()["BLOCK"]}
    for row in before["BLOCK"]:
        expected = (row[0], None, *row[2:]) if row in lost else row
        assert after[row[0]] == expected


def test_packs_of_deleted_snapshots_are_not_missed(store: Store) -> None:
    four_snapshots(store)
    for number in range(5):
        (store.tree() / f"f1-{number}").unlink()
    store.take("s4")
    store.delete("s1", "s2", "s3")
    assert len(store.packs()) < 4
    before = store.tables()
    store.lose_catalog()
    Rebuilt(store).whole()
    assert store.tables() == before


# --- others at work ---------------------------------------------------------------------------------


def test_nobody_else_is_at_work(store: Store) -> None:
    some_files(store.tree())
    store.take("s0")
    with store.open(), pytest.raises(LockedError):
        Rebuilt(store)
    with (
        store.open(write=False) as reader,
        reader.locks.hold_blocks(0),
        pytest.raises(LockedError),
    ):
        Rebuilt(store)

    class Meddling(RecordingProgress):
        def phase(
            self, name: str, *, entries: int | None = None, total_bytes: int | None = None
        ) -> None:
            self.notes.append(name)
            with pytest.raises(LockedError):
                store.open()
            assert set(store.views()) == {"s0"}, "readers see the old one to the end"

    progress = Meddling()
    rebuild_catalog(store.key, lock_wait_s=0, progress=progress)
    assert progress.notes
    store.clean()


@pytest.mark.parametrize("point", ["rebuild.replayed", "rebuild.replaced"])
def test_stopped_rebuild(point: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    four_snapshots(store)
    before = store.tables()

    def reached(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", reached)
        with pytest.raises(KeyboardInterrupt):
            Rebuilt(store)
    assert store.tables() == before
    assert not list(store.path.glob("tmp-*"))
    Rebuilt(store).whole()
    assert store.tables() == before


def test_leftovers_of_a_killed_rebuild(store: Store) -> None:
    four_snapshots(store)
    before = store.tables()
    for suffix in ("", "-wal", "-shm"):
        (store.path / f"tmp-catalog.db{suffix}").write_bytes(b"left over")
    told = RecordingProgress()
    with store.open(write=False) as repository:
        verify(repository, VerifyOptions(), progress=told)
    assert told.notes == ["tmp-catalog.db is unfinished"]
    Rebuilt(store).whole()
    assert store.tables() == before
    assert not list(store.path.glob("tmp-*"))
    (store.path / "tmp-catalog.db").write_bytes(b"left over")
    store.take("next")
    assert not list(store.path.glob("tmp-*"))


def test_verify_tells_what_a_rebuild_will_say(store: Store) -> None:
    """An older catalog: verify names it, every writer stops, a rebuild mends it."""
    some_files(store.tree())
    store.take("s0")
    shutil.copyfile(store.path / "catalog.db", store.base / "older")
    store.take("s1")
    store.take("s2")
    before = store.tables()
    store.lose_catalog()
    shutil.copyfile(store.base / "older", store.path / "catalog.db")
    with store.open(write=False) as repository:
        found = verify(repository, VerifyOptions(), progress=RecordingProgress())
    assert any("rebuild-catalog" in finding.what for finding in found.findings)
    with store.open() as repository:
        snapshots = store.snapshots(repository)
        with pytest.raises(CatalogBehindError):
            delete(repository, snapshots, DeleteOptions(), progress=RecordingProgress())
        with pytest.raises(CatalogBehindError):
            create(
                repository,
                NewRoot(os.fsencode(store.tree("new")), "host"),
                CreateOptions(),
                progress=RecordingProgress(),
            )
    Rebuilt(store).whole()
    assert store.tables() == before


@pytest.mark.parametrize("put", ["catalog", "journal"])
def test_catalog_and_journal_of_two_copies(put: str, workspace: Path, tree: Path) -> None:
    """Both are sound and equally long, and tell of different changes: neither is thrown away."""
    here, there = InProcess(workspace / "here"), InProcess(workspace / "there")
    here("create", tree, "--name", "both")
    shutil.copytree(here.repository, there.repository)
    for run, name in ((here, "here"), (there, "there")):
        (tree / "changed").write_text(name)
        run("create", tree, "--name", name)
    for pack in (there.repository / "packs").iterdir():
        shutil.copy(pack, here.repository / "packs")
    for part in here.repository.glob("catalog.db-*"):
        part.unlink()
    journal = "journal/0000000001.log"
    shutil.copyfile(*(
        one.repository / ("catalog.db" if put == "catalog" else journal) for one in (there, here)
    ))  # fmt: skip
    before = (here.repository / journal).read_bytes()
    for words in (("create", tree), ("tag", "both", "t"), ("delete", "both", "--yes")):
        done = here(*words, cwd=tree, ok=(1,))
        assert "tell of different changes" in done.errors, words
        assert "rebuild-catalog" in done.errors
    assert [path.name for path in (here.repository / "journal").iterdir()] == [Path(journal).name]
    assert (here.repository / journal).read_bytes() == before
    assert "it is kept as catalog.db.old" in here("rebuild-catalog").errors
    assert (here.repository / "catalog.db.old").exists()
    kept = "here" if put == "catalog" else "there"
    assert names(here("list", "tree", "--json")) == ["both", kept]
    here("restore", kept, "--to", workspace / "to", cwd=tree)
    assert (workspace / "to" / "changed").read_text() == kept


def test_a_damaged_journal_is_made_anew_although_somebody_was_killed_doing_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file is there, the catalog does not know of it: what it says is what the catalog says."""
    for name in ("one", "two"):
        store.take(name)
    before = store.tables()
    (log,) = (store.path / "journal").iterdir()
    data = bytearray(log.read_bytes())
    data[-20] ^= 0xFF
    log.write_bytes(data)

    def killed(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patching, store.open() as repository:
        patching.setattr(changes, "set_tail", killed)
        with pytest.raises(KeyboardInterrupt):
            changes.heal(repository)
    assert len(list((store.path / "journal").iterdir())) == 2
    with store.open() as repository:
        changes.heal(repository)
    assert len(list((store.path / "journal").iterdir())) == 1
    after = store.tables()
    for name in before:
        assert name == "META" or after[name] == before[name]
    store.take("three")
    Rebuilt(store).whole()
