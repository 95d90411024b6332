"""Repositories of every released format, made once and never edited: each version opens them all."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.golden.make import manifest
from tests.harness.program import Program

HERE = Path(__file__).parent
FORMATS = sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


@pytest.fixture(params=FORMATS)
def golden(request: pytest.FixtureRequest, snapfs: Program) -> tuple[Program, dict[str, Any]]:
    """A copy of a golden repository and what is in it."""
    name: str = request.param
    place = snapfs.repository.parent
    place.mkdir()
    with tarfile.open(HERE / f"{name}.tar.xz") as packed:
        if hasattr(tarfile, "data_filter"):  # Debian 12 has Python 3.11.2, which does not know it
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(place)
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="ascii"))
    return Program(repository=place / name, home=snapfs.home), expected


def check(program: Program, expected: dict[str, Any], workspace: Path) -> None:
    """Every snapshot is listed as it was and restores to what it was; every byte is sound."""
    listed = program("list", "golden", "--json").json_lines()
    assert len(listed) == len(expected["list"])
    for now, then in zip(listed, expected["list"], strict=True):
        assert {key: now[key] for key in then} == then, "keys are added, never changed"
    for name, tree in expected["trees"].items():
        target = workspace / f"back-{name}"
        program.restore(f"golden@{name}", target, "--owner", "none")
        # The set-id bits of root's files are not for anybody else.
        bits = str.maketrans("", "") if os.geteuid() == 0 else str.maketrans("sS", "x-")
        found, wanted = (
            {path: [facts[0].translate(bits), *facts[1:]] for path, facts in one.items()}
            for one in (manifest(target), tree)
        )
        assert found == wanted
    program.verify()


def test_opened_as_it_is(golden: tuple[Program, dict[str, Any]], workspace: Path) -> None:
    """Read by this version without any change of format."""
    check(*golden, workspace)


def test_goes_on(golden: tuple[Program, dict[str, Any]], workspace: Path, tree: Path) -> None:
    """This version adds to it and deletes from it; what was there stays."""
    program, expected = golden
    (tree / "f").write_bytes(b"new")
    program.create(tree, "mine")
    program("delete", "tree@mine", "--yes")
    program.create(tree, "again")
    check(program, expected, workspace)


def test_rebuilt(golden: tuple[Program, dict[str, Any]], workspace: Path) -> None:
    """Its journal and packs still make its catalog."""
    program, expected = golden
    (program.repository / "catalog.db").unlink()
    program("rebuild-catalog")
    check(program, expected, workspace)
