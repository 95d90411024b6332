"""Fixtures shared by all tests: a workspace, a program with its repository, trees, filesystems, users."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import ramdisk
from tests.harness.filesystems import mounted
from tests.harness.history import History
from tests.harness.inprocess import InProcess
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import unlock_and_remove
from tests.harness.user import User

# Started in the background or by nohup, a shell has some of these ignored, and so would every program of
# the tests, which are about what happens when they come.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Once for the whole run: the workers inherit the place."""
    if not hasattr(config, "workerinput") and (place := ramdisk.use()):
        config.add_cleanup(lambda: ramdisk.leave(place))


@pytest.fixture
def workspace() -> Iterator[Path]:
    """An empty directory everyone may pass, removed afterwards whatever was built in it.

    pytest's tmp_path is removed by a recursive function, which trees of 1200 levels defeat.
    """
    path = Path(tempfile.mkdtemp(prefix="snapfs-test-"))
    path.chmod(0o755)
    yield path
    unlock_and_remove(path)


@pytest.fixture
def snapfs(workspace: Path) -> Program:
    """The program with a repository that does not exist yet and an empty home."""
    home = workspace / "home"
    home.mkdir()
    return Program(repository=workspace / "store" / "repository", home=home)


@pytest.fixture
def run(workspace: Path) -> InProcess:
    """The commands within this process, with a repository that does not exist yet."""
    return InProcess(workspace / "repository")


@pytest.fixture
def tree(workspace: Path) -> Path:
    """An empty directory to take snapshots of."""
    path = workspace / "tree"
    path.mkdir()
    return path


@pytest.fixture
def target(workspace: Path) -> Path:
    """A path that does not exist, to restore to."""
    return workspace / "target"


@pytest.fixture
def never_young(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within this process no file is read again only because its times are young."""
    for module in ("comparison", "newdirectory"):
        monkeypatch.setattr(f"snapfs.capture.{module}.RACY_CTIME_NS", 0)
        monkeypatch.setattr(f"snapfs.capture.{module}.RACY_MTIME_NS", 0)


@pytest.fixture
def user(workspace: Path) -> User:
    """An ordinary user without an account."""
    need_root()
    return User(uid=51_234, gid=51_234)


@pytest.fixture
def as_user(workspace: Path, user: User) -> Program:
    """The program run by the ordinary user, with a home, a repository and a ``tree`` of their own."""
    own = workspace / "own"
    for path in (own, own / "home", own / "tree"):
        path.mkdir()
        os.chown(path, user.uid, user.gid)
    return Program(repository=own / "repository", home=own / "home", user=user)


@pytest.fixture(scope="session")
def _mounts() -> Iterator[Callable[[str], Path]]:
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="snapfs-mounts-")))
        base.chmod(0o755)
        made: dict[str, Path] = {}

        def get(kind: str) -> Path:
            if kind not in made:
                made[kind] = stack.enter_context(mounted(kind, base / kind))
            return made[kind]

        yield get


@pytest.fixture
def filesystem(_mounts: Callable[[str], Path]) -> Iterator[Callable[[str], Path]]:
    """``filesystem("xfs")`` is an empty directory on such a filesystem, of 2 GiB at most."""
    used: list[Path] = []

    def get(kind: str) -> Path:
        path = Path(tempfile.mkdtemp(prefix="t-", dir=_mounts(kind)))
        path.chmod(0o755)
        used.append(path)
        return path

    yield get
    for path in used:
        unlock_and_remove(path)


@pytest.fixture
def small_filesystem(workspace: Path) -> Iterator[Callable[..., Path]]:
    """``small_filesystem("ext4", size)`` is the mount point of a fresh filesystem of so many bytes."""
    with contextlib.ExitStack() as stack:
        count = 0

        def get(kind: str, size: int, options: str = "") -> Path:
            nonlocal count
            count += 1
            folder = workspace / f"mount-{count}"
            return stack.enter_context(mounted(kind, folder, size=size, options=options))

        yield get


@pytest.fixture
def past(snapfs: Program, workspace: Path) -> History:
    """Three snapshots, s0 to s2, of a tree with some hundred files and 6 MB."""
    tree = workspace / "tree"
    for folder in ("small", "moving-0/below"):
        (tree / folder).mkdir(parents=True)
    for number in range(120):
        (tree / "small" / f"f{number:03d}").write_bytes(b"%d\n" % number * (number + 1))
    for number in range(12):
        (tree / "moving-0" / "below" / f"m{number}").write_bytes(os.urandom(400_000))
    (tree / "mode").write_bytes(b"x")
    os.link(tree / "mode", tree / "small" / "linked")
    history = History(snapfs, tree, workspace)
    for name in ("s0", "s1", "s2"):
        history.take(name)
    return history
