"""The journal and the config as verify sees them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from snapfs import faults
from tests.damage.damaging import DAMAGES
from tests.verify.repositories import Store

LOG = "0000000001.log"


def log_of(history: Store) -> Path:
    return history.path / "journal" / LOG


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("at", [0.0, 0.1, 0.6, 0.99])
def test_damage(how: str, at: float, history: Store) -> None:
    DAMAGES[how](log_of(history), at)
    result = history.verify()
    assert result.findings
    assert all(finding.where.startswith("journal") for finding in result.findings)
    assert any(LOG in finding.where + finding.what for finding in result.findings)
    assert result.damaged == ()
    assert at or how == "remove" or len(result.findings) == 1, "the header is told once"


def test_torn_end_is_a_note(history: Store) -> None:
    with log_of(history).open("ab") as file:
        file.write(b"\xf5snapREC and so on")
    assert history.verify().findings == ()
    assert any("never finished" in note for note in history.notes)
    history.take("next", history.tree("other"))
    history.clean()


class StoppedError(Exception):
    """Stands for SIGKILL."""


def stop_at(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(name: str) -> None:
        if name == point:
            raise StoppedError

    monkeypatch.setattr(faults, "point", reached)
    # Whoever is killed takes nothing back.
    monkeypatch.setattr("snapfs.repository.changes._take_back", lambda *_: None)


@pytest.mark.parametrize("first", [True, False])
def test_unfinished_change_is_a_note(
    first: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store.tree() / "f").write_bytes(b"x")
    if not first:
        store.take("s0")
    with monkeypatch.context() as patch:
        stop_at("create.journal-durable", patch)
        with pytest.raises(StoppedError):
            store.take("killed")
    result = store.verify()
    assert result.findings == ()
    assert any("will finish" in note for note in store.notes)
    store.take("next")
    store.clean()
    assert set(store.views()) >= {"killed", "next"}


def test_older_catalog(history: Store, workspace: Path) -> None:
    catalog = history.path / "catalog.db"
    shutil.copyfile(catalog, workspace / "older")
    for name in ("next", "more"):
        history.take(name, history.tree("other"))
    history.lose_catalog()
    shutil.copyfile(workspace / "older", catalog)
    result = history.verify()
    assert any(
        finding.where == "catalog.db" and "rebuild-catalog" in finding.what
        for finding in result.findings
    )


def test_strangers(history: Store) -> None:
    (history.path / "journal" / "tmp-journal-0").write_bytes(b"unfinished")
    (history.path / "journal" / "damaged-0000000001.log").write_bytes(b"kept")
    assert history.verify().findings == ()
    assert sorted(history.notes) == [
        "journal/damaged-0000000001.log is no part of the journal",
        "journal/tmp-journal-0 is unfinished",
    ]


def test_config_of_another_repository(history: Store) -> None:
    path = history.path / "config"
    config = json.loads(path.read_bytes())
    path.write_text(json.dumps({**config, "id": "0" * 32}))
    result = history.verify()
    assert any(finding.where == "config" for finding in result.findings)
