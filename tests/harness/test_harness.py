"""The harness itself: an ordinary user is one, filesystems are what they say, differences are seen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import ramdisk
from tests.harness.filesystems import KINDS
from tests.harness.here import here
from tests.harness.program import Program
from tests.harness.require import need, need_root
from tests.harness.trees import build, differences, survey
from tests.harness.user import PROJECT, User


def test_ordinary_user_reaches_the_program_and_nothing_private(workspace: Path, user: User) -> None:
    secret = workspace / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    code = (
        "import os, sys, snapfs; print(os.getuid(), os.getgid(), os.getgroups(), "
        "os.access(sys.argv[1], os.R_OK), open('/proc/self/status').read().split('CapEff:')[1].split()[0])"
    )
    done = subprocess.run(
        [*user.launcher(workspace), sys.executable, "-c", code, secret],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["51234", "51234", "[]", "False", "0" * 16], done.stderr


def test_a_command_leaves_the_test_as_it_was(
    snapfs: Program, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the test's process a command sees what it would see in one of its own, and nothing stays."""
    monkeypatch.setenv("SNAPFS_REPO", "/nowhere")
    (tree / "f").write_text("x")
    snapfs.create(tree, "s0")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", None)
        within = [snapfs("ls", "s0:", "--json", cwd=tree), snapfs("lss", ok=(2,)), snapfs("info")]
        with pytest.raises(TypeError):
            snapfs.process("info")
    apart = snapfs.process
    assert within == [apart("ls", "s0:", "--json", cwd=tree), apart("lss", ok=(2,)), apart("info")]
    here_now = os.getcwd(), dict(os.environ), sys.stdout, os.fstat(1).st_ino

    def program() -> int:
        print("written", flush=True)
        os.chdir("/")
        os.umask(0o777)
        raise ZeroDivisionError

    mask = os.umask(0o022)
    with pytest.raises(ZeroDivisionError):
        here(program, environment={}, stdin=b"")
    assert os.umask(mask) == 0o022
    assert (os.getcwd(), dict(os.environ), sys.stdout, os.fstat(1).st_ino) == here_now


def test_what_lies_in_memory_goes_with_the_run() -> None:
    """Also if it is killed; nobody outside of it sees a mount."""
    need_root()
    code = (
        "import os, subprocess, tempfile; from tests.harness import ramdisk; place = ramdisk.use()\n"
        "print(place, tempfile.gettempdir(), os.environ.get('TMPDIR'))\n"
        "print(subprocess.check_output(['stat', '-f', '-c', '%T', place or '/'], text=True), flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    environment = {name: os.environ[name] for name in os.environ if name != "TMPDIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    place, used, told, kind = done.stdout.split()
    need(place != "None", "memory and mounts")
    assert (used, told, kind) == (place, place, "ext2/ext3")
    assert place not in Path("/proc/mounts").read_text()
    with pytest.raises(OSError, match="not empty"):
        os.rmdir(place)
    ramdisk.leave(Path(place))
    assert not os.path.lexists(place)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_filesystems(kind: str, filesystem: Callable[[str], Path]) -> None:
    place = filesystem(kind)
    found = subprocess.run(
        ["stat", "-f", "-c", "%T", place], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert found == {"ext4-128": "ext2/ext3", "ext4": "ext2/ext3"}.get(kind, kind)


def test_differences_are_seen(workspace: Path) -> None:
    need_root()
    one = build(workspace / "one", "hardlinks", "chg-meta", "sparse")
    two = build(workspace / "two", "hardlinks", "chg-meta", "sparse")
    assert differences(survey(one), survey(two)) == []
    (two / "hardlinks" / "m" / "second").unlink()
    os.link(two / "hardlinks" / "m" / "copy", two / "hardlinks" / "m" / "second")
    (two / "chg-meta" / "f").chmod(0o600)
    found = "\n".join(differences(survey(one), survey(two)))
    assert "linked with" in found
    assert "b'chg-meta/f': mode 420 384" in found
