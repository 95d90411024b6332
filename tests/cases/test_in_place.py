"""Cases 38 to 42: restoring over what is there (case 37 is tests/fidelity/test_in_place_pairs.py)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from snapfs.fs.inodeflags import IMMUTABLE, get_flags, set_flags
from tests import torture
from tests.harness.filesystems import bound
from tests.harness.inprocess import InProcess
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, survey
from tests.harness.user import User


def test_case_38_a_pipe_stands_where_a_file_is_to_be_written(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    (tree / "f").write_bytes(b"a file")
    (tree / "d").mkdir()
    (tree / "d" / "g").write_bytes(b"another")
    state = survey(tree)
    snapfs.create(tree, "s0")
    for name in ("f", "d/g"):
        (tree / name).unlink()
        os.mkfifo(tree / name)
    snapfs.restore_in_place("s0", timeout_s=30)
    assert_same(state, survey(tree))
    target = workspace / "target"
    target.mkdir()
    os.mkfifo(target / "f")
    snapfs("restore", "s0", "--to", target, "--overwrite", "always", timeout_s=30)
    assert (target / "f").read_bytes() == b"a file"


@pytest.mark.parametrize("ordinary", [False, True], ids=["root", "owner"])
def test_case_39_running_program_and_read_only(
    ordinary: bool, snapfs: Program, as_user: Program, user: User
) -> None:
    program = as_user if ordinary else snapfs
    tree = as_user.home.parent / "tree"
    sleep = shutil.which("sleep")
    assert sleep is not None
    shutil.copy(sleep, tree / "program")
    (tree / "read-only").write_bytes(b"first")
    (tree / "closed").mkdir()
    (tree / "closed" / "f").write_bytes(b"first")
    for path in (tree / "program", tree / "read-only", tree / "closed", tree / "closed" / "f"):
        os.chown(path, user.uid, user.gid)
    (tree / "read-only").chmod(0o444)
    (tree / "closed").chmod(0o555)
    state = survey(tree)
    program.create(tree, "s0")

    with (tree / "program").open("ab") as file:
        file.write(b"changed")
    for name in ("read-only", "closed/f"):
        (tree / name).chmod(0o600)
        (tree / name).write_bytes(b"second")
        (tree / name).chmod(0o444)
    (tree / "closed").chmod(0o755)
    (tree / "closed" / "new").write_bytes(b"x")
    (tree / "closed").chmod(0o555)
    running = subprocess.Popen([tree / "program", "60"])
    try:
        program.restore_in_place("s0", "--delete")
        assert_same(state, survey(tree))
        assert running.poll() is None
    finally:
        running.kill()
        running.wait()


def test_case_40_deletion_stays_inside_what_was_selected(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    for name in ("a/b/kept", "a/c/sibling", "other/f", "a/b/cache/excluded"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())
    snapfs.create(tree, "s0", "--exclude", "cache/")
    for name in ("a/b/new", "a/c/new", "other/new", "new"):
        (tree / name).write_bytes(b"new")
    before = survey(tree)
    dry = snapfs("restore", "s0", "a/b", "--in-place", "--delete", "--dry-run", cwd=tree)
    assert_same(before, survey(tree))
    assert "a/b/new" in dry.text + dry.errors
    snapfs.restore_in_place("s0", "a/b", "--delete", cwd=tree)
    assert not (tree / "a/b/new").exists()
    for name in ("a/c/new", "other/new", "new", "a/b/cache/excluded"):
        assert (tree / name).exists(), name
    # The whole root: what was excluded when the snapshot was taken is still not touched.
    snapfs.restore_in_place("s0", "--delete", cwd=tree)
    assert (tree / "a/b/cache/excluded").read_bytes() == b"a/b/cache/excluded"
    assert not (tree / "new").exists()
    # Nor what the selection leaves out.
    (tree / "other" / "new").write_bytes(b"new")
    (tree / "a" / "c" / "new").write_bytes(b"new")
    snapfs.restore_in_place("s0", "--delete", "--exclude", "/other", cwd=tree)
    assert (tree / "other" / "new").exists()
    assert not (tree / "a" / "c" / "new").exists()
    # Siblings of the restored directory in a target stay.
    target = workspace / "target"
    (target / "sub").mkdir(parents=True)
    (target / "sibling").write_bytes(b"mine")
    (target / "sub" / "stale").write_bytes(b"stale")
    snapfs(
        "restore", "s0:a/b", "--to", target / "sub", "--overwrite", "always", "--delete", "--yes"
    )
    assert sorted(os.listdir(target / "sub")) == ["kept"]
    assert (target / "sibling").read_bytes() == b"mine"


def test_case_40_deletion_never_crosses_a_mount(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    need_root()
    (tree / "f").write_bytes(b"x")
    snapfs.create(tree, "s0")
    outside = workspace / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    (tree / "point").mkdir()
    with bound(outside, tree / "point"):
        snapfs.restore_in_place("s0", "--delete", ok=(0, 3))
        assert (outside / "precious").exists()
        assert (tree / "point").is_mount() or (tree / "point" / "precious").exists()


def test_case_41_restore_as_an_ordinary_user(snapfs: Program, as_user: Program, user: User) -> None:
    """root takes the snapshot into the user's repository, the user restores what is allowed."""
    own = as_user.home.parent
    as_user.create(own / "tree", "first")
    tree = build(own / "foreign", "setid", "owners", "special", "xattrs", "caps", "hardlinks")
    root = Program(repository=as_user.repository, home=snapfs.home)
    root.create(tree, "s0")
    strangers = [path for path in as_user.repository.rglob("*") if path.lstat().st_uid != user.uid]
    assert not strangers, "what root adds to another user's repository belongs to that user"

    target = own / "target"
    target.mkdir()
    os.chown(target, user.uid, user.gid)
    (target / "setid").mkdir()
    os.chown(target / "setid", user.uid, user.gid)
    (target / "setid" / "f4755-0-0").write_bytes(b"root's own, in a directory of the user")
    done = as_user("restore", f"{tree}@s0", "--to", target, "--overwrite", "always", ok=(3,))
    restored = survey(target)
    whole = survey(tree)
    devices = {
        path for path, fact in whole.facts.items() if fact["type"] in ("chardev", "blockdev")
    }
    assert whole.facts.keys() - restored.facts.keys() == devices
    for path, fact in restored.facts.items():
        assert fact["uid"] == user.uid, path
        if whole.facts[path]["uid"] != user.uid and fact["type"] == "file":
            assert not fact["mode"] & stat.S_ISUID, path
        if whole.facts[path]["gid"] != user.gid and fact["type"] == "file":
            assert not fact["mode"] & stat.S_ISGID, path
        if fact["type"] == "file":
            assert fact["content"] == whole.facts[path]["content"], path
    named = [line for line in done.errors.splitlines() if "special/null" in line]
    assert len(named) == 1, str(done)
    refused = [line for line in done.errors.splitlines() if ": not set: owner " in line]
    assert refused, str(done)
    assert all("Operation not permitted" in line for line in refused)
    assert done.errors.count("--owner none") == 1, "the way out is named once"
    without = as_user("restore", f"{tree}@s0:owners", "--to", own / "mine", "--owner", "none")
    assert without.errors.count("!") == 0


def test_case_42_parents_of_one_deep_file(snapfs: Program, workspace: Path, tree: Path) -> None:
    need_root()
    (tree / "pp" / "a" / "b").mkdir(parents=True)
    (tree / "pp" / "a" / "b" / "f").write_bytes(b"deep")
    (tree / "pp" / "a" / "b" / "not-wanted").write_bytes(b"x")
    os.chown(tree / "pp" / "a", 1000, 1000)
    (tree / "pp" / "a").chmod(0o2710)
    default = torture.acl(
        ("u", 7, None), ("user", 7, 4242), ("g", 7, None), ("mask", 7, None), ("o", 0, None)
    )
    os.setxattr(tree / "pp" / "a", "system.posix_acl_access", default)
    for name in ("pp/a/b", "pp/a", "pp"):
        os.utime(tree / name, ns=(10**18, 10**18))
    state = survey(tree)
    snapfs.create(tree, "s0")
    # In place, the parents are gone: made as they were.
    subprocess.run(["rm", "-rf", tree / "pp"], check=True)
    snapfs.restore_in_place("s0", "pp/a/b/f", cwd=tree)
    assert_same(state.without([b"", b"pp/a/b/not-wanted"]), survey(tree).without([b""]))
    # The parents are there, with another mode and time: not touched.
    (tree / "pp" / "a" / "b" / "f").unlink()
    (tree / "pp" / "a").chmod(0o755)
    os.utime(tree / "pp" / "a", ns=(5, 5))
    kept = (tree / "pp" / "a").stat()
    snapfs.restore_in_place("s0", "pp/a/b/f", cwd=tree)
    now = (tree / "pp" / "a").stat()
    assert (now.st_mode, now.st_mtime_ns) == (kept.st_mode, kept.st_mtime_ns)
    # Several paths into a new directory: each keeps its path, its parents are as in the snapshot.
    snapfs("restore", "s0", "pp/a/b/f", "pp/a/b/not-wanted", "--to", workspace / "target", cwd=tree)
    assert_same(state.without([b""]), survey(workspace / "target").without([b""]))


def test_in_place_is_undone_by_the_last_line(snapfs: Program, tree: Path) -> None:
    """A safety snapshot comes first, and the last line printed is the command that undoes it all."""
    (tree / "f").write_bytes(b"first")
    snapfs.create(tree, "s0")
    (tree / "f").write_bytes(b"second")
    (tree / "ignored").write_bytes(b"excluded, but overwritten or deleted")
    state = survey(tree)
    done = snapfs("restore", "s0", "--in-place", "--delete", "--yes", cwd=tree)
    assert (tree / "f").read_bytes() == b"first"
    undo = (done.lines or done.errors.splitlines())[-1]
    words = undo.split()
    assert "restore" in words, undo
    arguments = words[words.index("snapfs") + 1 :]
    snapfs(*arguments, *([] if "--yes" in arguments or "-y" in arguments else ["--yes"]), cwd=tree)
    assert_same(state, survey(tree))


def test_a_vanished_root_comes_back(snapfs: Program, tree: Path) -> None:
    (tree / "f").write_bytes(b"x")
    os.utime(tree, ns=(10**18, 10**18))
    state = survey(tree)
    snapfs.create(tree, "s0")
    shutil.rmtree(tree)
    snapfs("restore", f"{tree.name}@latest", "--in-place", "--yes")
    assert_same(state, survey(tree))


def test_an_interrupted_restore_is_resumed(snapfs: Program, workspace: Path) -> None:
    """--overwrite if-changed writes only what is not there yet."""
    tree = build(workspace / "tree", "sizes", "sparse", "hardlinks")
    state = survey(tree)
    snapfs.create(tree, "s0")
    target = workspace / "target"
    snapfs.restore("s0", target)
    kept = {path: (target / path).stat().st_ino for path in ("sizes/s1048576", "hardlinks/once")}
    (target / "sizes" / "s4194304").write_bytes(b"half")
    (target / "sizes" / "s0000513").unlink()
    # ftruncate makes a sparse file's size right before its data is there.
    with (target / "sparse" / "last-byte").open("r+b") as file:
        size = file.seek(0, 2)
        file.truncate(0)
        file.truncate(size)
    os.utime(target / "sparse" / "last-byte", ns=(5, 5))
    refused = snapfs("restore", "s0", "--to", target, ok=None)
    assert refused.code in (1, 2)
    assert "--overwrite" in refused.errors
    snapfs("restore", "s0", "--to", target, "--overwrite", "if-changed")
    assert_same(state, survey(target))
    assert kept == {path: (target / path).stat().st_ino for path in kept}
    begin = time.monotonic()
    snapfs("restore", "s0", "--to", target, "--overwrite", "never")
    assert time.monotonic() - begin < 20
    assert_same(state, survey(target))


def test_holes_are_brought_back_in_place(run: InProcess, tree: Path) -> None:
    """The same bytes with other holes are not as they were; nor is it undone if they stay."""
    zeros, hole, parts = tree / "zeros", tree / "hole", tree / "parts"
    zeros.write_bytes(bytes(1 << 20))
    with hole.open("wb") as file:
        file.truncate(1 << 20)
    parts.write_bytes(b"x" * 65536 + bytes(1 << 20) + b"y" * 65536)
    run("create", tree, "--name", "then")
    before = survey(tree)
    subprocess.run(["fallocate", "-p", "-o", "0", "-l", "1M", zeros], check=True)
    hole.write_bytes(bytes(1 << 20))
    subprocess.run(["fallocate", "-d", parts], check=True)
    after = survey(tree)
    assert run("diff", "--exit-code", cwd=tree, ok=(1,)).text.count("content") == 3
    done = run("restore", "then", "--in-place", "--delete", "--yes", cwd=tree)
    assert "3 overwritten" in done.errors
    assert_same(before, survey(tree))
    undo = done.text.splitlines()[-1].split()[1:]
    run(*undo[2:] if undo[0] == "-r" else undo, "--yes", "--no-safety", cwd=tree)
    assert_same(after, survey(tree))
    assert run("restore", "latest", "--in-place", "--dry-run", cwd=tree).text.count("overwrite 0")


@pytest.mark.parametrize("words", [(), ("--delete",)])
def test_a_file_that_keeps_another_name_keeps_its_flags(
    words: tuple[str, ...], run: InProcess, tree: Path, workspace: Path
) -> None:
    """One name of it is replaced or deleted, which its flags forbid; the other may lie beyond the root."""
    need_root()
    (tree / "w").write_text("then")
    run("create", tree, "--name", "then")
    (tree / "w").unlink()
    (workspace / "beyond").write_text("beyond")
    os.link(workspace / "beyond", tree / "w")
    if words:
        os.link(workspace / "beyond", tree / "goes")
    fd = os.open(workspace / "beyond", os.O_RDONLY)
    try:
        set_flags(fd, IMMUTABLE)
        run("restore", "then", "--in-place", "--yes", *words, cwd=tree)
        assert get_flags(fd) == IMMUTABLE
        assert os.fstat(fd).st_nlink == 1
    finally:
        set_flags(fd, 0)
        os.close(fd)
    assert (tree / "w").read_text() == "then"
    assert os.listdir(tree) == ["w"]


def test_directories_of_a_group_that_one_is_not_in(
    as_user: Program, user: User, workspace: Path
) -> None:
    """Opened up to change names in them they lose their set-group-id bit: nobody else changed them."""
    tree = workspace / "tree"
    for name in ("kept", "mended"):
        (tree / name).mkdir(parents=True)
        (tree / name / "f").write_text("then")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, user.uid, 0 if path.is_dir() and path != tree else user.gid)
    for name in ("kept", "mended"):
        (tree / name).chmod(0o2555)
    as_user.create(tree, "then")
    for name in ("kept", "mended"):
        (tree / name / "f").write_text("now, at length")
    os.utime(tree / "mended", (1, 1))
    done = as_user(
        "restore", "then", "kept/f", "mended", "--in-place", "--yes", cwd=tree, ok=(0, 3)
    )
    assert "while the restore ran" not in done.errors
    for name in ("kept", "mended"):
        assert (tree / name / "f").read_text() == "then"
        assert stat.S_IMODE((tree / name).stat().st_mode) & ~stat.S_ISGID == 0o555
