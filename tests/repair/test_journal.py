"""A journal file whose header is damaged: the catalog is sound, so nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapfs.errors import RepositoryError
from snapfs.repository import changes
from tests.harness.inprocess import InProcess
from tests.harness.output import names


@pytest.mark.parametrize("at", [0, 8, 10, 30, 47, "cut", "emptied"])
def test_a_damaged_header(at: int | str, run: InProcess, tree: Path) -> None:
    for name in ("one", "two"):
        (tree / "a").write_text(name)
        run("create", tree, "--name", name)
    (file,) = (run.repository / "journal").iterdir()
    data = bytearray(file.read_bytes())
    if isinstance(at, int):
        data[at] ^= 0x55
    file.write_bytes(data if isinstance(at, int) else data[: 20 * (at == "cut")])
    assert "the journal" in run("repair", "--dry-run", cwd=tree).errors
    run("repair", "--yes", cwd=tree)
    run("verify", "--data", cwd=tree)
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]
    (run.repository / "catalog.db").unlink()
    run("rebuild-catalog")
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]


def test_a_header_that_is_damaged_and_a_catalog_that_is_old(run: InProcess, tree: Path) -> None:
    """What the journal knows beyond the catalog is not thrown away with it."""
    run("create", tree, "--name", "one")
    old = (run.repository / "catalog.db").read_bytes()
    (tree / "a").write_text("two")
    run("create", tree, "--name", "two")
    (run.repository / "catalog.db").write_bytes(old)
    (file,) = (run.repository / "journal").iterdir()
    data = bytearray(file.read_bytes())
    data[30] ^= 0x55
    file.write_bytes(data)
    assert "repair, which" in run("create", tree, ok=(1,)).errors, "it stops every other writer"
    run("repair", "--yes", cwd=tree, ok=(0, 3))
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]


@pytest.mark.parametrize("emptied", [False, True])
def test_a_damaged_header_and_a_first_change_that_was_killed(
    emptied: bool, run: InProcess, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog knows nothing of the journal yet; the change is finished if it can still be read."""

    def killed(*_: object) -> None:
        raise RepositoryError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(changes, "set_tail", killed)
        patch.setattr(changes, "_take_back", killed)
        run("create", tree, "--name", "one", ok=(1,))
    (file,) = (run.repository / "journal").iterdir()
    data = bytearray(file.read_bytes())
    data[30] ^= 0x55
    file.write_bytes(b"" if emptied else data)
    run("repair", "--yes", cwd=tree)
    run("verify", "--data")
    roots = run("roots", "list", "--json").json_lines()
    assert (str(tree) in str(roots)) != emptied
    run("create", tree, "--name", "two")
    run("verify", "--data")


@pytest.mark.parametrize("what", ["journal", "config"])
@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_something_else_in_its_place(what: str, kind: str, run: InProcess, tree: Path) -> None:
    """The other two are sound, so nothing is lost; what was in the way is kept."""
    run("create", tree, "--name", "one")
    place = run.repository / what
    if what == "journal":
        (place,) = place.iterdir()
    place.unlink()
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    planned = run("repair", "--dry-run", "--json", cwd=tree).json()
    done = run("repair", "--yes", "--json", cwd=tree).json()
    for result in (planned, done):
        assert result[what]
        assert not result["catalog"]
    assert (run.repository / "quarantine" / place.name).exists()
    run("verify", "--data", cwd=tree)
    assert run("repair", "--json", cwd=tree).json()["findings"] == []
    run("create", tree, "--name", "two")
    assert names(run("list", "--json", cwd=tree)) == ["one", "two"]
