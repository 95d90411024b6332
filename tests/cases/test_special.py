"""Cases 25 to 27: special files, emptiness, directories with very many names."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.output import entries
from tests.harness.program import Program
from tests.harness.trees import assert_same, build, survey


def test_case_25_pipes_sockets_devices(snapfs: Program, round_trip: Callable[..., Path]) -> None:
    source = round_trip("special")
    listed = entries(snapfs("ls", "s0:special", "--json"))
    kinds = {os.path.basename(path): line["kind"] for path, line in listed.items()}
    assert (kinds[b"pipe"], kinds[b"sock"]) == ("fifo", "socket")
    if os.geteuid() == 0:
        assert (kinds[b"null"], kinds[b"loop"]) == ("chardev", "blockdev")
    refused = snapfs("cat", "s0:special/pipe", ok=None, timeout_s=20)
    assert refused.code in (1, 2)
    assert snapfs("cat", "s0:special/after").out == (source / "after").read_bytes()


def test_case_26_emptiness(
    snapfs: Program, workspace: Path, tree: Path, round_trip: Callable[..., Path]
) -> None:
    round_trip("empty")
    os.utime(tree, ns=(10**18 + 1, 10**18 + 1))
    snapfs.create(tree, "nothing")
    snapfs.restore(f"{tree}@nothing", workspace / "nothing")
    assert_same(survey(tree), survey(workspace / "nothing"))
    assert snapfs("ls", f"{tree}@nothing:").out == b""
    # From nothing to something and back.
    (tree / "f").write_bytes(b"x")
    snapfs.create(tree, "something")
    snapfs.restore_in_place(f"{tree}@nothing", "--delete")
    assert os.listdir(tree) == []


def test_case_27_a_directory_with_very_many_names(snapfs: Program, workspace: Path) -> None:
    source = build(workspace / "source", "big-dir", scale=1.0)
    state = survey(source)
    snapfs.create(source, "s0")
    begin = time.monotonic()
    snapfs.create(source, "s1")
    unchanged_s = time.monotonic() - begin
    assert unchanged_s < 5, "a second run over 12,000 unchanged names takes about a second"
    snapfs.restore("s0", workspace / "restored")
    assert_same(state, survey(workspace / "restored"))
    assert snapfs("diff", "s0", "s1").out == b""
    assert len(snapfs("ls", "s0:big-dir/many").lines) == 12_000
