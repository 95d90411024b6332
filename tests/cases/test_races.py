"""Cases 43 to 48: what happens to the source while it is read, and what is left out of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.filesystems import bound, mounted, unmount
from tests.harness.inprocess import InProcess
from tests.harness.output import entries
from tests.harness.program import Program
from tests.harness.require import need, need_root, need_tools
from tests.harness.trees import assert_same, survey
from tests.harness.user import User

MIB = 1 << 20


@contextlib.contextmanager
def busy(change: Callable[[int], None]) -> Iterator[None]:
    """``change(turn)`` over and over in another thread while the context lasts."""
    stop = threading.Event()

    def run() -> None:
        turn = 0
        while not stop.is_set():
            change(turn)
            turn += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("how", ["grows", "shrinks", "rewritten"])
def test_case_43_file_changes_while_it_is_read(
    how: str, snapfs: Program, workspace: Path, tree: Path
) -> None:
    busy_file = tree / "busy"
    busy_file.write_bytes(os.urandom(64 * MIB))
    (tree / "quiet").write_bytes(b"quiet")
    fd = os.open(busy_file, os.O_WRONLY)

    def change(turn: int) -> None:
        if how == "grows":
            os.pwrite(fd, b"more" * 1024, os.fstat(fd).st_size)
        elif how == "shrinks":
            os.ftruncate(fd, max(os.fstat(fd).st_size - 20_000, 4096))
        else:
            os.pwrite(fd, os.urandom(4096), turn * 4096 * 7 % (64 * MIB))

    try:
        with busy(change):
            taken = snapfs.process.create(tree, "s0", ok=(3,))
    finally:
        os.close(fd)
    assert "busy" in taken.errors
    assert "changed while read" in taken.errors
    assert "incomplete" not in taken.errors  # all of it is there, if of no single moment
    size = entries(snapfs("ls", "s0:", "--json"))[b"busy"]["size"]
    snapfs.restore("s0", workspace / "r0", ok=(0, 3))
    assert (workspace / "r0" / "busy").stat().st_size == size
    assert (workspace / "r0" / "quiet").read_bytes() == b"quiet"
    state = survey(tree)
    snapfs.create(tree, "s1")
    snapfs.restore("s1", workspace / "r1")
    assert_same(state, survey(workspace / "r1"))
    snapfs.verify()


@pytest.mark.parametrize("delay_s", [0.0, 0.15, 0.3, 0.45])
def test_case_44_entries_vanish_during_the_walk(
    delay_s: float, snapfs: Program, workspace: Path, tree: Path
) -> None:
    for folder in range(6):
        (tree / f"d{folder}").mkdir()
        for number in range(500):
            (tree / f"d{folder}" / f"f{number}").write_bytes(b"%d %d" % (folder, number))
    (tree / "z-stays").write_bytes(b"stays")
    process = snapfs.start("create", tree, "--name", "s0")
    time.sleep(delay_s)
    for folder in (0, 3, 5):
        shutil.rmtree(tree / f"d{folder}")
    done = snapfs.finish(process, ok=(0, 3))
    assert len(done.errors.splitlines()) < 40, "one summary rather than thousands of lines"
    target = workspace / "target"
    snapfs.restore("s0", target)
    assert (target / "z-stays").read_bytes() == b"stays"
    for path in target.rglob("f*"):
        assert path.read_bytes() == b"%s %s" % (
            path.parent.name[1:].encode(),
            path.name[1:].encode(),
        )
    for folder in (1, 2, 4):
        assert len(os.listdir(target / f"d{folder}")) == 500
    snapfs.verify()


def test_case_45_read_error(snapfs: Program, workspace: Path) -> None:
    """A btrfs image with one flipped byte: reading that file gives EIO."""
    need_root()
    need_tools("mkfs.btrfs")
    with mounted("btrfs", workspace / "disk", size=256 * MIB) as place:
        tree = place / "tree"
        tree.mkdir()
        marker = os.urandom(4096)
        (tree / "broken").write_bytes(os.urandom(65536) + marker + os.urandom(65536))
        (tree / "sound").write_bytes(b"sound")
        os.sync()
        unmount(place)
        image = workspace / "disk" / "image"
        with image.open("r+b") as file:
            at = file.read().find(marker)
            assert at > 0
            file.seek(at + 100)
            file.write(bytes([marker[100] ^ 1]))
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        with pytest.raises(OSError, match="Input/output error"):
            (tree / "broken").read_bytes()
        taken = snapfs.create(tree, "s0", ok=(3,))
        assert "broken" in taken.errors
        assert "s0" in taken.text, "an incomplete snapshot is a snapshot"
        assert "! broken" in snapfs("diff", "s0", ".", cwd=tree, ok=(0, 3)).text.replace("\t", " ")
        target = workspace / "target"
        done = snapfs.restore("s0", target, ok=(3,))
        assert "broken" in done.errors
        assert not (target / "broken").exists(), "never a silent short file"
        assert (target / "sound").read_bytes() == b"sound"
        # What could not be read is never deleted by a restore.
        snapfs.restore_in_place("s0", "--delete", cwd=tree, ok=(3,))
        assert (tree / "broken").exists()


def test_case_45_a_directory_that_may_be_listed_and_not_entered(as_user: Program) -> None:
    """Its names are there, and nothing else is known of them: none is taken for removed."""
    tree = as_user.home.parent / "tree"
    (tree / "d" / "sub").mkdir(parents=True)
    for path in ("d/in", "d/sub/below", "x"):
        (tree / path).write_text(path)
    (tree / "d" / "link").symlink_to("in")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, 51234, 51234, follow_symlinks=False) if os.geteuid() == 0 else None
    as_user.create(tree, "s0")
    before = survey(tree)
    (tree / "d").chmod(0o400)
    named = {"!\td/in", "!\td/link", "!\td/sub", "M\td"}
    for words in (("diff", "s0", "."), ("create", tree, "--name", "s1"), ("diff", "s0", "s1")):
        done = as_user(*words, cwd=tree, ok=(0, 3))
        if words[0] == "create":
            assert done.code == 3
            assert done.errors.count("d/in: cannot be examined") == 1
        else:
            assert {"\t".join(line.split("\t")[:2]) for line in done.lines} == named
    listed = as_user("ls", "s1:", "--recursive", cwd=tree, ok=(0, 3)).lines
    assert {"d/in", "d/link", "d/sub", "d/sub/below"} <= {line.split(" (")[0] for line in listed}
    told = as_user("restore", "s1", "--to", tree.parent / "back", cwd=tree, ok=(3,)).errors
    assert "d/in" in told and "d/link" in told and "d/sub" in told
    as_user("verify", "--data")
    # Whoever may enter again finds everything as it was, also after a restore of what was not seen.
    (tree / "d").chmod(0o700)
    as_user.restore_in_place("s1", "--delete", "--no-safety", cwd=tree, ok=(3,))
    (tree / "d").chmod(before.facts[b"d"]["mode"] & 0o7777)
    assert_same(before, survey(tree), ignore=("mtime",))
    as_user.create(tree, "s2")
    (tree / "d").chmod(0o400)
    (tree / "x").write_text("other")
    as_user.create(tree, "s3", ok=(3,))
    as_user.restore_in_place("s3", "--delete", cwd=tree, ok=(3,))
    as_user("restore", "s2", "--in-place", "--delete", "--yes", cwd=tree, ok=(1,))
    (tree / "d").chmod(0o755)
    as_user.restore_in_place("s2", "--delete", cwd=tree)
    assert_same(before, survey(tree), ignore=("mtime",))


@pytest.mark.parametrize("large", [False, True])
def test_case_45_a_new_directory_that_may_be_listed_and_not_entered(
    large: bool, as_user: Program
) -> None:
    """The first snapshot of it, by one walk or by workers."""
    tree = as_user.home.parent / "tree"
    (tree / "d" / "sub").mkdir(parents=True)
    (tree / "d" / "in").write_text("x")
    for number in range(4100 if large else 1):
        (tree / f"f{number}").touch()
    for path in (tree, *tree.rglob("*")):
        os.chown(path, 51234, 51234) if os.geteuid() == 0 else None
    (tree / "d").chmod(0o600)
    done = as_user.create(tree, "s0", ok=(3,))
    assert "d/in: cannot be examined" in done.errors
    (tree / "d").chmod(0o700)
    before = survey(tree)
    as_user.restore_in_place("s0", "--delete", "--no-safety", cwd=tree, ok=(3,))
    (tree / "d").chmod(0o700)
    assert_same(before, survey(tree), ignore=("mtime",))
    as_user("verify", "--data")
    as_user.create(tree, "s1")
    as_user("verify", "--data")


def owned(tree: Path) -> None:
    """Everything is the ordinary user's."""
    if os.geteuid() == 0:
        for path in (tree, *tree.rglob("*")):
            os.chown(path, 51234, 51234, follow_symlinks=False)


def test_case_45_a_hard_linked_name_that_may_not_be_examined(as_user: Program) -> None:
    """It is unread and left alone, whatever becomes of the file by its other names; then they meet again."""
    tree = as_user.home.parent / "tree"
    (tree / "d").mkdir()
    for name in ("v", "w"):
        (tree / name).write_text("old")
        os.link(tree / name, tree / "d" / f"of-{name}")
    owned(tree)
    as_user.create(tree, "s0")
    (tree / "d").chmod(0o400)
    (tree / "v").write_text("NEW")
    (tree / "w").unlink()
    as_user.create(tree, "s1", ok=(3,))
    changed = as_user("diff", "s0", "s1", cwd=tree, ok=(0, 3)).lines
    assert {"!\td/of-v", "!\td/of-w", "M\tv", "-\tw"} <= {
        "\t".join(line.split("\t")[:2]) for line in changed
    }
    (tree / "d").chmod(0o755)
    before = survey(tree)
    done = as_user.restore_in_place("s1", "--delete", cwd=tree, ok=(3,))
    assert "d/of-v" in done.errors and "d/of-w" in done.errors
    (tree / "d").chmod(0o755)
    assert_same(before, survey(tree), ignore=("mtime",))
    as_user.create(tree, "s2")
    as_user.verify()
    as_user("restore", "s2", "--to", tree.parent / "back", cwd=tree)
    assert_same(survey(tree), survey(tree.parent / "back"))
    assert as_user("diff", "s2", cwd=tree).lines == []


def test_case_45_a_directory_that_moves_where_nobody_can_look(as_user: Program) -> None:
    """Nothing is made up of it: its old name is gone, its new one unread."""
    tree = as_user.home.parent / "tree"
    (tree / "a" / "sub").mkdir(parents=True)
    (tree / "a" / "sub" / "f").write_text("x")
    owned(tree)
    as_user.create(tree, "s0")
    (tree / "a" / "sub").rename(tree / "a" / "sub2")
    (tree / "a").chmod(0o400)
    as_user.create(tree, "s1", ok=(3,))
    told = as_user("diff", "s0", "s1", cwd=tree, ok=(0, 3)).lines
    assert {"-\ta/sub", "!\ta/sub2"} <= {"\t".join(line.split("\t")[:2]) for line in told}
    (tree / "a").chmod(0o755)
    before = survey(tree)
    as_user.restore_in_place("s1", "--delete", cwd=tree, ok=(3,))
    (tree / "a").chmod(0o755)
    assert_same(before, survey(tree), ignore=("mtime",))
    as_user.create(tree, "s2")
    as_user.verify()


def test_case_45_what_a_rule_leaves_out_need_not_be_examined(run: InProcess, tree: Path) -> None:
    need_root()
    (tree / "file").write_text("x")
    rules = ("--exclude", "/dead/", "--exclude", "*.o")
    with dead_mount(tree / "dead"):
        run("create", tree, "--name", "s0", *rules)
        (tree / "file").write_text("y")
        run("create", tree, "--name", "s1", *rules)
        assert run("diff", "s1", cwd=tree).lines == []
        run("restore", "s0", "--in-place", "--delete", "--yes", cwd=tree)
        assert (tree / "file").read_text() == "x"


def test_case_45_a_mount_whose_server_is_gone(run: InProcess, tree: Path) -> None:
    """Nobody can look at it, not even root: the rest is captured, and it is left alone."""
    need_root()
    (tree / "dead").mkdir()
    (tree / "dead" / "below").write_text("x")
    (tree / "goes").write_text("x")
    run("create", tree, "--name", "s0")
    with dead_mount(tree / "dead"), dead_mount(tree / "new"):
        (tree / "goes").unlink()
        done = run("create", tree, "--name", "s1", ok=(3,))
        assert (
            "dead: cannot be examined" in done.errors and "new: cannot be examined" in done.errors
        )
        changes = run("diff", "s0", "s1", cwd=tree, ok=(0, 3)).lines
        assert sorted(line.split("\t")[:2] for line in changes) == [
            ["!", "dead"], ["!", "new"], ["-", "goes"],
        ]  # fmt: skip
        run("restore", "s1", "--in-place", "--delete", "--yes", cwd=tree, ok=(3,))
        assert sorted(os.listdir(tree)) == ["dead", "new"]
    run("verify", "--data")
    assert "dead/below" in run("ls", "s1:", "--recursive", cwd=tree, ok=(0, 3)).text
    assert (tree / "dead" / "below").read_text() == "x"


@contextlib.contextmanager
def dead_mount(point: Path) -> Iterator[None]:
    """A FUSE filesystem that nobody serves any more."""
    point.mkdir(exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    done = libc.mount(b"snapfs-test", os.fsencode(point), b"fuse", 0, options)
    os.close(fd)
    need(done == 0, f"mounting: {os.strerror(ctypes.get_errno())}")
    try:
        with pytest.raises(OSError, match="not connected"):
            point.stat()
        yield
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


def test_case_45_unreadable_entries(as_user: Program, user: User) -> None:
    own = as_user.home.parent
    tree = own / "tree"
    (tree / "closed").mkdir()
    (tree / "closed" / "inside").write_bytes(b"x")
    (tree / "closed" / "more").mkdir()
    (tree / "file").write_bytes(b"secret")
    (tree / "open").write_bytes(b"open")
    for path in tree.rglob("*"):
        os.chown(path, user.uid, user.gid)
    first = as_user.create(tree, "before", ok=(0,))
    assert first.code == 0
    (tree / "file").chmod(0)
    (tree / "closed").chmod(0)
    taken = as_user.create(tree, "s0", ok=(3,))
    for line in ("! file: cannot be read", "! closed: directory cannot be opened"):
        assert f"{line}: Permission denied\n" in taken.errors
    shown = as_user("show", "s0", cwd=tree).text
    assert "file: cannot be read: Permission denied" in shown
    assert "closed: directory cannot be opened: Permission denied" in shown
    told = as_user("diff", "before", "s0", cwd=tree, ok=(0, 3))
    assert not any(line.startswith("-") for line in told.lines), "unread is not removed"
    assert {"!\tfile", "!\tclosed"} <= {"\t".join(line.split("\t")[:2]) for line in told.lines}
    assert "incomplete" in (as_user("list", cwd=tree).text + as_user("show", "s0", cwd=tree).text)
    target = own / "target"
    as_user.restore("s0", target, ok=(3,))
    assert (target / "open").read_bytes() == b"open"
    as_user.restore_in_place("s0", "--delete", cwd=tree, ok=(3,))
    assert (tree / "closed" / "inside").exists()
    # Readable again: nothing was forgotten of what was there.
    (tree / "file").chmod(0o600)
    (tree / "closed").chmod(0o755)
    as_user.create(tree, "s1")
    as_user.restore("s1", own / "again")
    assert (own / "again" / "closed" / "inside").read_bytes() == b"x"
    assert (own / "again" / "file").read_bytes() == b"secret"
    as_user.verify(cwd=tree)


def test_case_46_the_repository_lies_inside_the_source(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    inside = Program(repository=tree / "d" / "repository", home=snapfs.home)
    (tree / "d").mkdir()
    (tree / "d" / "mine").write_bytes(b"x" * 5000)
    first = inside.create(tree, "s0")
    assert "repository" in first.errors, "leaving itself out is said"
    size = sum(path.stat().st_size for path in (tree / "d" / "repository" / "packs").iterdir())
    for name in ("s1", "s2"):
        inside.create(tree, name)
    assert size == sum(
        path.stat().st_size for path in (tree / "d" / "repository" / "packs").iterdir()
    )
    assert set(entries(inside("ls", "s2:", "--recursive", "--json"))) == {b"d", b"d/mine"}
    inside.restore_in_place("s0", "--delete", cwd=tree)
    assert (tree / "d" / "repository" / "catalog.db").exists()
    assert inside("diff", "s0", ".", cwd=tree).out == b""


@pytest.mark.parametrize("below", ["", "packs"])
def test_the_repository_is_no_root(snapfs: Program, tree: Path, below: str) -> None:
    """Nor is anything in it, by whatever path."""
    snapfs.create(tree, "s0")
    elsewhere = tree.parent / "elsewhere"
    elsewhere.symlink_to(snapfs.repository)
    for path in (snapfs.repository / below, elsewhere / below):
        done = snapfs("create", path, "--nested", ok=(2,))
        assert "repository" in done.errors
    assert len(snapfs("roots", "list", "--json").json_lines()) == 1


def test_case_47_one_file_system(
    snapfs: Program, workspace: Path, filesystem: Callable[[str], Path]
) -> None:
    need_root()
    place = filesystem("btrfs")
    tree = place / "tree"
    for name in ("tmp", "bind", "plain"):
        (tree / name).mkdir(parents=True)
    (tree / "plain" / "f").write_bytes(b"plain")
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "g").write_bytes(b"bound")
    subprocess.run(
        ["btrfs", "subvolume", "create", tree / "subvolume"], check=True, capture_output=True
    )
    (tree / "subvolume" / "h").write_bytes(b"in a subvolume")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", tree / "tmp"], check=True)
    try:
        (tree / "tmp" / "t").write_bytes(b"temporary")
        with bound(place / "elsewhere", tree / "bind"):
            snapfs.create(tree, "one", "--one-file-system")
            snapfs.create(tree, "all")
            one = set(entries(snapfs("ls", "one:", "--recursive", "--json", cwd=tree)))
            everything = set(entries(snapfs("ls", "all:", "--recursive", "--json", cwd=tree)))
            assert everything == one | {b"tmp/t", b"bind/g", b"subvolume/h"}
            assert {b"tmp", b"bind", b"plain", b"plain/f", b"subvolume"} <= one
            assert b"tmp/t" not in one
            # What lies on another filesystem was left out on purpose: no difference, and never deleted.
            assert snapfs("diff", "one", ".", cwd=tree).out == b""
            snapfs.restore_in_place("one", "--delete", cwd=tree)
            assert (tree / "tmp" / "t").exists()
        snapfs.restore("one", workspace / "target", cwd=tree)
        assert (workspace / "target" / "tmp").is_dir()
        assert os.listdir(workspace / "target" / "tmp") == []
    finally:
        unmount(tree / "tmp")
        subprocess.run(
            ["btrfs", "subvolume", "delete", tree / "subvolume"], check=True, capture_output=True
        )


NAMES = (
    "a/b/c/f", "a/f", "a/x.o", "b/a/f", "build/out", "src/build/out", "src/build.py", "keep.o", "deep/a/b/keep.o",
    "star*name", "[ab]", "a#b", "#hash", "!bang", " lead", "trail ", "logs/debug.log", "logs/keep/debug.log", "f",
)  # fmt: skip

RULES: list[tuple[str, list[str], set[str]]] = [
    ("plain name anywhere", ["f"], {"a/b/c/f", "a/f", "b/a/f", "f"}),
    ("trailing slash: directories only", ["build/"], {"build", "build/out", "src/build", "src/build/out"}),
    ("trailing slash on a file", ["f/"], set()),
    ("leading slash: from the root", ["/build"], {"build", "build/out"}),
    ("slash inside: from the root", ["a/f"], {"a/f"}),
    ("two stars between", ["a/**/f"], {"a/f", "a/b/c/f"}),
    ("two stars before", ["**/a/f"], {"a/f", "b/a/f"}),
    ("two stars after", ["logs/**"], {"logs/debug.log", "logs/keep", "logs/keep/debug.log"}),
    ("one star stays in a name", ["a/*.o"], {"a/x.o"}),
    ("negation", ["*.o", "!keep.o"], {"a/x.o"}),
    ("negation below an excluded directory", ["logs/", "!logs/keep/debug.log"], {"logs", "logs/debug.log", "logs/keep", "logs/keep/debug.log"}),
    ("the root itself is never excluded", ["/", ".", "./"], set()),
    ("escaped star", ["star\\*name"], {"star*name"}),
    ("escaped bracket", ["\\[ab\\]"], {"[ab]"}),
    ("escaped hash and bang", ["\\#hash", "\\!bang"], {"#hash", "!bang"}),
    ("comment and blank lines", ["# f", "", "keep.o"], {"keep.o", "deep/a/b/keep.o"}),
    ("blank at the end is no part, unless escaped", ["trail\\ ", "f "], {"trail ", "a/b/c/f", "a/f", "b/a/f", "f"}),
    ("carriage returns of another system", ["keep.o\r", "build/\r"], {"keep.o", "deep/a/b/keep.o", "build", "build/out", "src/build", "src/build/out"}),
]  # fmt: skip


@pytest.fixture
def named_tree(tree: Path) -> Path:
    """Files of every name in NAMES."""
    for name in NAMES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b"x")
    return tree


def listed_names(snapfs: Program | InProcess, reference: str) -> set[bytes]:
    return set(entries(snapfs("ls", reference, "--recursive", "--json")))


@pytest.mark.parametrize("place", ["flag", "file", "standing"])
def test_case_48_exclude_patterns(place: str, workspace: Path, named_tree: Path) -> None:
    snapfs = InProcess(workspace / "repository")
    snapfs("create", named_tree, "--name", "everything")
    everything = listed_names(snapfs, "everything:")
    for number, (what, patterns, excluded) in enumerate(RULES):
        arguments: list[str] = []
        if place == "flag":
            if any(line.startswith("#") or not line or line.endswith("\r") for line in patterns):
                continue
            arguments = [word for line in patterns for word in ("--exclude", line)]
        elif place == "file":
            (workspace / "patterns").write_text("\n".join(patterns) + "\n", newline="")
            arguments = ["--exclude-from", str(workspace / "patterns")]
        else:
            (named_tree / ".snapfsignore").write_text("\n".join(patterns) + "\n", newline="")
        snapfs("create", named_tree, "--name", f"n{number}", *arguments)
        found = listed_names(snapfs, f"n{number}:") - {b".snapfsignore"}
        assert everything - found == {name.encode() for name in excluded}, what
        if place != "standing":
            assert snapfs("diff", f"n{number}", ".", cwd=named_tree).out == b"", what


def test_case_48_names_in_any_bytes(snapfs: Program, workspace: Path, tree: Path) -> None:
    for name in (b"caf\xe9", b"caf\xc3\xa9", b"\xff", b"\xfe", b"one\ntwo"):
        with open(os.path.join(os.fsencode(tree), name), "wb"):
            pass
    (workspace / "patterns").write_bytes(b"caf\xe9\n\xff\n")
    snapfs.create(tree, "s0", "--exclude-from", workspace / "patterns")
    assert listed_names(snapfs, "s0:") == {b"caf\xc3\xa9", b"\xfe", b"one\ntwo"}
    snapfs.create(tree, "s1", "--exclude", b"\xfe", "--exclude", "one\ntwo")
    assert listed_names(snapfs, "s1:") == {b"caf\xe9", b"caf\xc3\xa9", b"\xff"}


def test_case_48_a_pattern_that_matched_nothing_is_shown(snapfs: Program, named_tree: Path) -> None:
    done = snapfs.create(
        named_tree, "s0", "--exclude", "no-such-thing", "--exclude", "keep.o", "-v"
    )
    said = done.text + done.errors
    assert "no-such-thing" in said
    why = snapfs(
        "create", named_tree, "--dry-run", "--exclude", "*.o", "--explain", named_tree / "keep.o"
    )
    assert "*.o" in why.text + why.errors


def test_other_exclusions(snapfs: Program, tree: Path) -> None:
    signature = b"Signature: 8a477f597d28d172789f06886806bc55\n# a cache\n"
    for name, tag, content in (
        ("cache", "CACHEDIR.TAG", signature),
        ("no-cache", "CACHEDIR.TAG", b"something else"),
        ("marked", ".nobackup", b""),
    ):
        (tree / name).mkdir()
        (tree / name / tag).write_bytes(content)
        (tree / name / "f").write_bytes(b"x")
    (tree / "large").write_bytes(bytes(5000))
    (tree / "sub").mkdir()
    (tree / "sub" / ".snapfsignore").write_text("/only-here\n")
    (tree / "sub" / "only-here").write_bytes(b"x")
    (tree / "only-here").write_bytes(b"x")
    arguments = (
        "--exclude-caches",
        "--exclude-if-present",
        ".nobackup",
        "--exclude-larger-than",
        "4K",
    )
    snapfs.create(tree, "s0", *arguments)
    found = listed_names(snapfs, "s0:")
    assert b"no-cache/f" in found
    assert b"cache/f" not in found
    assert b"marked/f" not in found
    assert b"large" not in found
    assert b"only-here" in found
    assert b"sub/only-here" not in found
    assert snapfs("diff", "s0", ".", cwd=tree).out == b""
    snapfs.restore_in_place("s0", "--delete", cwd=tree)
    for name in ("cache/f", "marked/f", "large", "sub/only-here"):
        assert (tree / name).exists()
