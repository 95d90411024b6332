"""Words that are not UTF-8: paths may be any bytes, text for people may not; and repositories of any name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.program import Program

LATIN = b"f\xfcr"


@pytest.mark.parametrize(
    "words",
    [["create", ".", "-m", LATIN], ["create", ".", "--host", LATIN], ["rename", "s0", "-m", LATIN],
     ["roots", "move", "tree", ".", "--host", LATIN]],
)  # fmt: skip
def test_text_is_utf8(snapfs: Program, tree: Path, words: list[str | bytes]) -> None:
    snapfs.create(tree, "s0")
    done = snapfs(*words, cwd=tree, ok=(2,))
    assert "is not UTF-8" in done.errors
    assert len(snapfs("list", "--json", cwd=tree).lines) == 1


def test_a_setting_is_utf8(snapfs: Program, tree: Path) -> None:
    done = snapfs("create", tree, env={"SNAPFS_HOST": "f\udcfcr"}, ok=(2,))
    assert "is not UTF-8" in done.errors
    assert not snapfs.repository.exists()


@pytest.mark.parametrize(
    "name", [b"jos\xc3\xa9", b"x\xff", b"a%20b?c#d&e", b"a b'c\"", b"\xe2\x82\xac\n"]
)
def test_a_repository_of_any_name(
    snapfs: Program, workspace: Path, tree: Path, name: bytes
) -> None:
    (tree / "f").write_text("x")
    place = bytes(workspace) + b"/" + name
    snapfs("-r", place, "create", tree, "--name", "s0")
    snapfs("-r", place, "create", tree, "--name", "s1")
    assert snapfs("-r", place, "cat", "s0:f", cwd=tree).out == b"x"
    for file in Path(workspace, place.decode("utf-8", "surrogateescape")).glob("catalog.db*"):
        file.unlink()
    snapfs("-r", place, "rebuild-catalog", "--yes", cwd=tree)
    snapfs("-r", place, "verify", "--data", cwd=tree)
