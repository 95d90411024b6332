"""Cases 13 to 16: holes, sizes, repetition."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.program import Program
from tests.harness.trees import assert_same, survey


def packs_bytes(snapfs: Program) -> int:
    """Bytes of all pack files."""
    return sum(path.stat().st_size for path in (snapfs.repository / "packs").iterdir())


def repository_bytes(snapfs: Program) -> int:
    """Allocated bytes of the whole repository but for its reserve."""
    total = 0
    for path in snapfs.repository.rglob("*"):
        if path.name != "reserve" and path.is_file():
            total += path.stat().st_blocks * 512
    return total


def test_case_13_holes(snapfs: Program, workspace: Path, round_trip: Callable[..., Path]) -> None:
    source = round_trip("sparse")
    for path in sorted(source.iterdir()):
        restored = workspace / "restored" / source.name / path.name
        assert restored.stat().st_blocks <= path.stat().st_blocks, path
    # Zeros that are stored on disk stay so, unless --sparse asks for holes.
    zeros = workspace / "zeros"
    zeros.mkdir()
    (zeros / "z").write_bytes(bytes(1 << 20))
    subprocess.run(["sync", zeros / "z"], check=True)
    snapfs.create(zeros, "z")
    snapfs.restore(f"{zeros}@z", workspace / "plain")
    snapfs.restore(f"{zeros}@z", workspace / "thin", "--sparse")
    assert (
        (workspace / "thin" / "z").read_bytes()
        == (workspace / "plain" / "z").read_bytes()
        == bytes(1 << 20)
    )
    assert (workspace / "thin" / "z").stat().st_blocks == 0
    assert (workspace / "plain" / "z").stat().st_blocks >= 2048


def test_case_14_sparse_beyond_4_gib(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    begin = time.monotonic()
    source = round_trip("sparse-4g")
    assert time.monotonic() - begin < 20, "time follows the data, not the size"
    restored = workspace / "restored" / source.name / "big"
    assert restored.stat().st_size == 4 * (1 << 30) + 12345
    assert restored.stat().st_blocks * 512 < 1 << 20
    assert packs_bytes(snapfs) < 64 << 10
    (workspace / "terabyte").mkdir()
    with (workspace / "terabyte" / "t").open("wb") as file:
        file.truncate(1 << 40)
        file.seek((1 << 39) + 17)
        file.write(b"here")
    begin = time.monotonic()
    snapfs.create(workspace / "terabyte", "t0")
    snapfs.restore(f"{workspace}/terabyte@t0", workspace / "back")
    assert time.monotonic() - begin < 10
    assert_same(survey(workspace / "terabyte"), survey(workspace / "back"))


def test_case_15_sizes_around_every_border(round_trip: Callable[..., Path]) -> None:
    round_trip("sizes")


def test_case_16_uniform_and_repeating_contents(
    snapfs: Program, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("content")
    total = sum(path.stat().st_size for path in source.iterdir())
    assert packs_bytes(snapfs) < total * 0.45, "repetition is used"
    before = packs_bytes(snapfs)
    (source / "random-too").write_bytes((source / "random").read_bytes())
    snapfs.create(source.parent, "s1")
    assert packs_bytes(snapfs) == before, "bytes that are known are not stored again"
