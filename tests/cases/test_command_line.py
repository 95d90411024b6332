"""Cases 55 to 57: JSON that stays JSON, the environment of cron, interrupts."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.harness.output import names
from tests.harness.program import PROGRAM, Argument, Program, Result
from tests.harness.trees import assert_same, build, survey

COMMANDS: list[tuple[Argument, ...]] = [
    ("create", "TREE", "--name", "j1"),
    ("create", "TREE", "--dry-run"),
    ("create", "TREE", "--skip-if-unchanged"),
    ("create", "/no/such/directory"),
    ("list",),
    ("list", "--all"),
    ("show", "s0"),
    ("show", "no-such"),
    ("ls", "s0:"),
    ("ls", "s0:names-bytes", "-l"),
    ("ls", "s0:", "--recursive"),
    ("ls", "s0:no/such"),
    ("diff", "s0", "."),
    ("diff", "s0", "s0"),
    ("diff", "s0", ".", "--stat"),
    ("diff", "s0", "no-such"),
    ("rename", "s0", "s0b"),
    ("rename", "s0b", "s0"),
    ("tag", "s0", "t1", "t2"),
    ("untag", "s0", "t2"),
    ("pin", "s0"),
    ("delete", "s0", "--yes"),
    ("unpin", "s0"),
    ("restore", "s0", "--to", "TARGET"),
    ("restore", "s0", "--to", "TARGET"),
    ("restore", "s0"),
    ("restore", "s0", "--in-place"),
    ("restore", "s0", "--in-place", "--dry-run"),
    ("verify",),
    ("verify", "--data"),
    ("roots", "list"),
    ("roots", "rename", "tree", "tree2"),
    ("roots", "rename", "tree2", "tree"),
    ("runs",),
    ("runs", "--failed"),
    ("info",),
    ("delete", "j1", "--dry-run"),
    ("delete", "j1", "--yes"),
    ("rebuild-catalog", "--yes"),
    ("list", "no-such-root"),
]


def assert_json(result: Result) -> None:
    """stdout is JSON to its end, every object says what schema it has; errors on stderr are JSON too."""
    for line in result.out.splitlines():
        value = json.loads(line)
        assert isinstance(value, dict), str(result)
        assert "schema" in value, str(result)
    if result.code not in (0, 3):
        last = json.loads(result.err.splitlines()[-1])
        assert "error" in last or "message" in last, str(result)


def test_case_55_json_stays_json(snapfs: Program, workspace: Path) -> None:
    tree = build(workspace / "tree", "names-bytes", "names-shell", "special", "symlinks")
    snapfs.create(tree, "s0")
    os.unlink(os.fsencode(tree) + b"/names-bytes/\xff")
    for command in COMMANDS:
        words = [
            {"TREE": tree, "TARGET": workspace / "target"}.get(str(word), word) for word in command
        ]
        result = snapfs(*words, "--json", cwd=tree, ok=None)
        assert result.code in (0, 1, 2, 3), str(result)
        assert_json(result)
    for broken in (("list",), ("ls", "s0:"), ("create", tree)):
        result = snapfs(*broken, "--json", "-r", "/proc/none/such", cwd=tree, ok=None)
        assert result.code in (1, 10)
        assert_json(result)


def test_case_55_without_home(snapfs: Program, tree: Path) -> None:
    result = snapfs.finish(
        subprocess.Popen(
            [*PROGRAM, "list", "--json"], env={"PATH": os.defpath}, cwd=tree, stdout=-1, stderr=-1
        ),
        ok=None,
    )
    assert result.code in (1, 10, 0)
    assert_json(result)


@pytest.mark.parametrize("mask", [0o077, 0o000])
def test_case_56_environment_of_cron(mask: int, snapfs: Program, workspace: Path) -> None:
    """No HOME, the C locale without Python's help, no stdin: everything works, nothing is guessed."""
    tree = build(workspace / "tree", "names-bytes", "names-shell")
    state = survey(tree)
    bare = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "SNAPFS_REPO": str(snapfs.repository),
    }
    before = set(os.listdir("/")) | set(os.listdir(os.path.expanduser("~")))

    def run(*words: Argument, ok: tuple[int, ...] = (0,)) -> Result:
        process = subprocess.Popen(
            [*PROGRAM, *words],
            env=bare,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=-1,
            umask=mask,
        )
        return snapfs.finish(process, words, ok=ok)

    run("create", tree, "--name", "s0")
    run("list")
    listing = run("ls", "s0:names-bytes", "--recursive")
    assert len(listing.lines) == len(os.listdir(os.fsencode(tree / "names-bytes"))) + 2
    run("ls", "s0:", "--recursive", "--json")
    assert run("cat", b"s0:names-bytes/\xff").out.endswith(b"\xff")
    run("diff", "s0", f"{tree}@s0")
    run("restore", "s0", "--to", workspace / "target")
    assert_same(state, survey(workspace / "target"))
    asked = run("restore", "s0", "--in-place", ok=(2,))
    assert "--yes" in asked.errors
    assert set(os.listdir("/")) | set(os.listdir(os.path.expanduser("~"))) == before
    for path in [snapfs.repository, *snapfs.repository.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_case_56_closed_streams(closed: str, snapfs: Program, workspace: Path, tree: Path) -> None:
    """A descriptor that is closed from the start is never mistaken for a file of the repository."""
    number = {"stdin": 0, "stdout": 1, "stderr": 2}[closed]
    (tree / "f").write_bytes(b"content")
    words = {0: "<&-", 1: ">&-", 2: "2>&-"}[number]
    for name in ("s0", "s1"):
        done = subprocess.run(
            ["bash", "-c", f'"$@" {words}', "bash", *PROGRAM, "create", tree, "--name", name],
            env=snapfs.environment(),
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in done.stderr
    snapfs.verify()
    listed = names(snapfs("list", "--json"))
    assert listed == ["s0", "s1"]
    snapfs.restore("s1", workspace / "target")
    assert_same(survey(tree), survey(workspace / "target"))


SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def wait_for_handlers(pid: int) -> None:
    """Wait until the program catches SIGTERM, which is before it imports anything of size.

    What the interpreter does with a signal while it starts up itself is not ours to say.
    """
    bit = 1 << (signal.SIGTERM - 1)
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = [
            int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt")
        ]
        if not caught or caught[0] & bit:
            return
        time.sleep(0.002)


@pytest.mark.parametrize("which", SIGNALS, ids=lambda which: which.name)
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_case_57_interrupt_and_terminate(
    which: signal.Signals, twice: bool, snapfs: Program, workspace: Path, tree: Path
) -> None:
    """At several moments of create and restore: prompt end, the usual code, nothing half-visible."""
    for number in range(40):
        (tree / f"f{number}").write_bytes(os.urandom(400_000))
    state = survey(tree)
    snapfs.create(tree, "base")
    announced, interrupted = {"base"}, set[str]()
    commands: list[tuple[Argument, ...]] = [
        ("create", tree, "--checksum"),
        ("restore", "base", "--to", workspace / "target", "--overwrite", "always"),
    ]
    for command in commands:
        for number, delay_s in enumerate((0.0, 0.05, 0.15, 0.25)):
            for path in tree.iterdir():
                os.utime(path)
            words = (*command, "--name", f"n{number}") if command[0] == "create" else command
            process = snapfs.start(*words, start_new_session=True)
            wait_for_handlers(process.pid)
            time.sleep(delay_s)
            begin = time.monotonic()
            os.killpg(process.pid, which)
            if twice:
                time.sleep(0.01)
                if process.poll() is None:
                    os.killpg(process.pid, which)
            done = snapfs.finish(process, words, ok=None, timeout_s=30)
            assert time.monotonic() - begin < 5, "a prompt end"
            # A second signal does not wait for the first one's cleaning up: a shell shows the same code.
            assert done.code in (0, SIGNALS[which], -which if twice else 0), str(done)
            if command[0] == "create":
                (announced if done.code == 0 else interrupted).add(f"n{number}")
            with pytest.raises(ProcessLookupError):
                deadline = time.monotonic() + 5
                while time.monotonic() < deadline:
                    os.killpg(process.pid, 0)
                    time.sleep(0.02)
    listed = set(names(snapfs("list", "--json")))
    # One that was interrupted in the instant between its commit and its announcement is there, and whole.
    assert announced <= listed <= announced | interrupted
    for name in listed - {"base"}:
        snapfs.restore(name, workspace / name)
        assert_same(state, survey(workspace / name), ignore=("mtime",))
    snapfs.create(tree, "after")
    snapfs.verify()
    snapfs.restore("base", workspace / "restored")
    assert_same(state, survey(workspace / "restored"), ignore=("mtime",))


@pytest.mark.parametrize("limit", range(16, 28, 2))
def test_no_snapshot_is_made_without_descriptors(limit: int, snapfs: Program, tree: Path) -> None:
    """What cannot be opened for want of descriptors is not "cannot be read": the run fails or is whole."""
    (tree / "a/b/c/d/e/f/g").mkdir(parents=True)
    (tree / "a/b/c/d/e/f/g/file").write_text("x")
    program = " ".join(map(shlex.quote, (*PROGRAM, "-r", os.fspath(snapfs.repository))))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n {limit}; exec {program} create {tree} --name one"],
        env=snapfs.environment(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert b"Traceback" not in done.stderr
    if done.returncode:
        assert b"Too many open files" in done.stderr
        assert done.stdout == b""
    else:
        snapfs("restore", "tree@one", "--to", tree / "../to")


def test_a_full_output_hides_no_snapshot(snapfs: Program, tree: Path) -> None:
    """The name could not be told; that there is a snapshot is."""
    with Path("/dev/full").open("wb") as full:
        process = snapfs.start("create", tree, "--name", "s0", stdout=full.fileno())
        done = snapfs.finish(process, ok=(1,))
    assert "standard output: No space left on device" in done.errors
    assert "first snapshot" in done.errors
    assert names(snapfs("list", "--json")) == ["s0"]
