"""Cases 17 to 24: modes, owners, times, extended attributes, ACLs, capabilities."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import torture
from tests.harness.filesystems import mounted
from tests.harness.inprocess import InProcess
from tests.harness.output import entries
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, survey
from tests.harness.user import User

SEC = 10**9


def test_case_17_all_permission_bits(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    need_root()
    source = round_trip("modes")
    state = survey(source.parent)
    # Over an existing tree whose modes are all wrong.
    for path in sorted((workspace / "restored").rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    snapfs("restore", "s0", "--to", workspace / "restored", "--overwrite", "always")
    assert_same(state, survey(workspace / "restored"))


def test_case_17_as_an_ordinary_user(as_user: Program, user: User) -> None:
    own = as_user.home.parent
    tree = own / "tree"
    readable = [0o400, 0o444, 0o500, 0o555, 0o600, 0o640, 0o777, 0o1755, 0o2755, 0o4755]
    for mode in readable:
        folder = tree / f"d{mode:04o}"
        folder.mkdir()
        (folder / "in").write_bytes(b"x")
        (folder / "in").chmod(mode)
        if mode & 0o500 == 0o500:
            folder.chmod(mode)
    for path in [*tree.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        os.chown(path, user.uid, user.gid)
        path.chmod(mode)
    state = survey(tree)
    as_user.create(tree, "s0")
    as_user.restore("s0", own / "target")
    assert_same(state, survey(own / "target"))
    for path in tree.rglob("in"):
        path.unlink()
    as_user.restore_in_place("s0", "--delete")
    assert_same(state, survey(tree))


def test_case_18_owners(snapfs: Program, workspace: Path, round_trip: Callable[..., Path]) -> None:
    need_root()
    source = round_trip("owners")
    state = survey(source.parent)
    for rule in ("id", "name"):
        snapfs.restore("s0", workspace / rule, "--owner", rule)
        # Names on this host are the same, numbers without a name stay numbers.
        assert_same(state, survey(workspace / rule))
    snapfs.restore("s0", workspace / "none", "--owner", "none")
    assert_same(state, survey(workspace / "none"), ignore=("uid", "gid"))
    owners = {(fact["uid"], fact["gid"]) for fact in survey(workspace / "none").facts.values()}
    assert owners == {(0, 0)}


def test_case_19_set_id_bits(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    need_root()
    source = round_trip("setid")
    state = survey(source.parent)
    for path in source.iterdir():
        if path.is_file():
            path.write_bytes(b"overwritten, so the kernel takes the bits")
            os.chown(path, 7, 7)
    snapfs.restore_in_place("s0", cwd=source)
    assert_same(state, survey(source.parent))


def test_case_20_times(snapfs: Program, workspace: Path, round_trip: Callable[..., Path]) -> None:
    source = round_trip("times")
    listed = entries(snapfs("ls", "s0:", "--recursive", "--json"))
    assert len(listed) > 60
    assert len(snapfs("ls", "s0:times", "-l").lines) == len(os.listdir(source))
    snapfs("list", "--json")
    snapfs("show", "s0")
    os.utime(source / "f-epoch1ns", ns=(0, 0))
    assert snapfs("diff", "s0", ".", cwd=source).lines == ["M\ttimes/f-epoch1ns\tmtime"]


def test_case_21_directory_times(
    snapfs: Program, workspace: Path, tree: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("dir-times")
    (workspace / "restored" / "dir-times" / "a" / "b" / "new").write_bytes(b"x")
    os.utime(source.parent, ns=(11 * SEC + 1, 11 * SEC + 1))
    state = survey(source.parent)
    snapfs.create(source.parent, "s1")
    snapfs(
        "restore",
        "s1",
        "--to",
        workspace / "restored",
        "--overwrite",
        "if-changed",
        "--delete",
        "--yes",
    )
    assert_same(state, survey(workspace / "restored"))


def test_case_22_extended_attributes(round_trip: Callable[..., Path]) -> None:
    round_trip("xattrs")


def test_case_22_a_target_that_refuses_some(
    snapfs: Program, filesystem: Callable[[str], Path], small_filesystem: Callable[..., Path]
) -> None:
    """XFS keeps values that a small ext4 block has no room for: named, counted, and the rest is set."""
    tree = filesystem("xfs") / "tree"
    tree.mkdir()
    for name in ("a-first", "large", "z-last"):
        (tree / name).write_bytes(name.encode())
        os.setxattr(tree / name, "user.small", b"small")
    os.setxattr(tree / "large", "user.large", bytes(range(1, 251)) * 200)
    snapfs.create(tree, "s0")
    target = small_filesystem("ext4", 64 << 20) / "target"
    done = snapfs.restore("s0", target, ok=(3,))
    assert done.errors.count("large") >= 1
    assert "user.large" in done.errors
    for name in ("a-first", "large", "z-last"):
        assert os.getxattr(target / name, "user.small") == b"small"
        assert (target / name).read_bytes() == name.encode()
    assert os.listxattr(target / "large") == ["user.small"]


def test_case_23_acls(snapfs: Program, workspace: Path, round_trip: Callable[..., Path]) -> None:
    source = round_trip("acl")
    state = survey(source.parent)
    # A target with a default ACL of its own: nothing restored inherits it.
    (workspace / "inheriting").mkdir()
    default = torture.acl(
        ("u", 7, None), ("user", 7, 4242), ("g", 7, None), ("mask", 7, None), ("o", 7, None)
    )
    os.setxattr(workspace / "inheriting", "system.posix_acl_default", default)
    snapfs.restore("s0", workspace / "inheriting" / "target")
    assert_same(state, survey(workspace / "inheriting" / "target"))
    # ACLs that the snapshot has not are taken off in place.
    for path in (source, source / "deep" / "er" / "f", source / "deep" / "plain"):
        os.setxattr(path, "system.posix_acl_access", default)
    snapfs.restore_in_place("s0", cwd=source)
    assert_same(state, survey(source.parent))


def test_case_24_capabilities(snapfs: Program, round_trip: Callable[..., Path]) -> None:
    need_root()
    source = round_trip("caps")
    state = survey(source.parent)
    for path in source.glob("net-*"):
        os.chown(path, 9, 9)
    snapfs.restore_in_place("s0", cwd=source)
    assert_same(state, survey(source.parent))


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_inode_flags(kind: str, snapfs: Program, filesystem: Callable[[str], Path]) -> None:
    """Immutable and append-only entries are restored, also in place over such ones."""
    place = filesystem(kind)
    tree = place / "tree"
    (tree / "locked").mkdir(parents=True)
    (tree / "locked" / "f").write_bytes(b"x")
    for name in ("append", "immutable", "nodump", "plain"):
        (tree / name).write_bytes(name.encode())
    for flag, name in (
        ("a", "append"),
        ("i", "immutable"),
        ("d", "nodump"),
        ("A", "plain"),
        ("i", "locked"),
    ):
        subprocess.run(["chattr", f"+{flag}", tree / name], check=True)
    state = survey(tree)
    try:
        snapfs.create(tree, "s0")
        snapfs.restore("s0", place / "target")
        assert_same(state, survey(place / "target"))
        subprocess.run(["chattr", "-i", tree / "locked", tree / "immutable"], check=True)
        (tree / "locked" / "f").write_bytes(b"changed")
        (tree / "locked" / "g").write_bytes(b"new")
        (tree / "immutable").write_bytes(b"changed")
        subprocess.run(["chattr", "+i", tree / "locked", tree / "immutable"], check=True)
        snapfs.restore_in_place("s0", "--delete", cwd=place)
        assert_same(state, survey(tree))
    finally:
        subprocess.run(["chattr", "-R", "-i", "-a", place], check=False, capture_output=True)


def test_times_of_both_ends_on_xfs(snapfs: Program, filesystem: Callable[[str], Path]) -> None:
    """Far past and far future, as far as the filesystem goes."""
    place = filesystem("xfs")
    tree = build(place / "tree", "times")
    for name, second in (
        ("f-min", -(2**31)),
        ("f-max", 16_299_260_424),
        ("f-max-ns", 16_299_260_424),
    ):
        (tree / name).write_bytes(b"x")
        os.utime(tree / name, ns=(second * SEC + (1 if name.endswith("ns") else 0),) * 2)
    state = survey(tree)
    snapfs.create(tree, "s0")
    snapfs.restore("s0", place / "target")
    assert_same(state, survey(place / "target"))
    snapfs("ls", "s0:", "-l")


def test_times_that_the_target_cannot_store_are_told_at_once(
    run: InProcess, workspace: Path
) -> None:
    """Files, symlinks and directories, in a new place: some filesystems clamp them without a word."""
    with (
        mounted("tmpfs", workspace / "source") as source,
        mounted("ext4", workspace / "t") as target,
    ):
        for name, second in (("future", 100_000_000_000), ("past", -9_000_000_000), ("usual", 1)):
            (source / name).write_text("x")
            os.utime(source / name, ns=(0, second * 10**9))
        (source / "link").symlink_to("x")
        os.utime(source / "link", ns=(0, 10**20), follow_symlinks=False)
        run("create", source, "--name", "one", "--nested")
        done = run("restore", "at@one", "--to", target / "new", ok=(3,))
        told = [line for line in done.errors.splitlines() if "beyond what the filesystem" in line]
        assert [line.split(":")[0] for line in sorted(told)] == ["! future", "! link", "! past"]
        assert (target / "new" / "usual").stat().st_mtime == 1
