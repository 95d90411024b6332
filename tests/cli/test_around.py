"""``snapfs around``: a command between two snapshots, which notices nothing of it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import time
from dataclasses import fields
from pathlib import Path

import pytest

from snapfs.cli.render.around import Surrounded
from snapfs.cli.render.changes import DiffSummary
from tests.harness.inprocess import InProcess
from tests.harness.output import names, snapshots
from tests.harness.program import PROGRAM, Program
from tests.harness.terminal import read_to_end


@pytest.fixture
def known(run: InProcess, tree: Path) -> Path:
    """A root with one snapshot."""
    (tree / "a").write_text("1")
    run("create", tree, "--name", "first")
    return tree


def test_what_a_command_did_and_how_it_ended(run: InProcess, known: Path) -> None:
    script = "echo out; echo err >&2; echo 22 > a; echo b > b; exit 3"
    done = run("around", "--", "sh", "-c", script, cwd=known, ok=(3,))
    assert done.out == b"out\n", "standard output is the command's"
    before, after = names(run("list", "tree", "--json"))[1:]
    place = f"-r {shlex.quote(str(run.repository))} "
    assert done.errors.replace(place, "").splitlines() == [
        f"before: tree@{before}",
        "err",
        f"after: tree@{after}: 1 modified, 1 added; +4 B -0 B",
        f"to take that back: snapfs revert tree@{before}..{after}",
    ]
    called = shlex.join(["sh", "-c", script])
    messages = [found["message"] for found in snapshots(run("list", "tree", "--json"))]
    assert messages == ["", f"before: {called}", f"after: {called} (exit 3)"]
    done = run("around", "-m", "a try", "-q", "--", "rm", "b", cwd=known)
    assert (done.out, done.err) == (b"", b"")
    messages = [found["message"] for found in snapshots(run("list", "tree", "--json"))]
    assert messages[3:] == ["before: a try", "after: a try"]
    long = run("around", "--root", "tree", "--", "true", "x" * 500)
    assert "nothing has changed" in long.errors
    assert len(snapshots(run("list", "tree", "--json"))[-1]["message"]) < 220


def test_the_command_may_use_snapfs_itself(run: InProcess, known: Path) -> None:
    """Nothing is locked meanwhile, and what it captured itself is not captured again."""
    create = shlex.join([*PROGRAM, "-r", str(run.repository), "create", "-q", "--name", "own"])
    done = run("around", "--", "sh", "-c", f"echo 22 > a && {create}", cwd=known)
    assert done.out == b"tree@own\n"
    assert "after: tree@own: 1 modified" in done.errors
    assert names(run("list", "tree", "--json"))[2:] == ["own"]
    delete = shlex.join([*PROGRAM, "-r", str(run.repository), "delete", "latest", "-qy"])
    done = run("around", "--", "sh", "-c", delete, cwd=known, ok=(125,))
    assert "the command ended (exit 0)" in done.errors
    assert "was deleted meanwhile" in done.errors


@pytest.mark.parametrize("script", ["true", "rm key; echo 22 > a"])
def test_no_way_back_over_a_purge(run: InProcess, known: Path, script: str) -> None:
    """It would delete what is only missing in the snapshot before, and cannot bring back what is purged."""
    (known / "key").write_text("secret")
    purge = shlex.join([*PROGRAM, "-r", str(run.repository), "purge", "key", "-qy"])
    done = run("around", "--", "sh", "-c", f"{script}; {purge}", cwd=known)
    assert ": 1 modified" in done.errors or ": 1 added" in done.errors
    assert "snapfs revert" not in done.errors.replace(f" -r {run.repository}", "")
    assert "a purge meanwhile took something out of" in done.errors
    (known / "key").write_text("again")
    line = run("around", "--json", "--", "sh", "-c", f"{script}; {purge}", cwd=known).errors
    told = [json.loads(line) for line in line.splitlines()]
    assert [one["undo"] for one in told if one["schema"] == "around/1"] == [None]


def test_codes_of_what_cannot_be_run(run: InProcess, known: Path, workspace: Path) -> None:
    (known / "plain").write_text("echo ran\n")
    for code, words, says in (
        (127, ("around", "--", "no-such-command"), "no-such-command cannot be run: No such file"),
        (127, ("around", "--", "./none"), "./none cannot be run"),
        (126, ("around", "--", "./plain"), "./plain cannot be run: Permission denied"),
        (126, ("around", "--", str(known)), "cannot be run: Permission denied"),
        (125, ("around",), "no command is given"),
        (125, ("around", "true"), "put -- before the words of a command"),
        (125, ("around", "--no-such", "--", "true"), "no such option"),
        (125, ("around", "--root", "other", "--", "touch", "ran"), "other"),
        (125, ("around", "--exclude-from", "none", "--", "touch", "ran"), "cannot be read"),
    ):
        done = run(*words, cwd=known, ok=(code,))
        assert says in done.errors, str(done)
        assert done.errors.count("\n") == 1
    assert not (known / "ran").exists()
    assert names(run("list", "tree", "--json")) == ["first"], "nothing was captured for nothing"
    (known / "plain").chmod(0o755)
    assert run("around", "--", "./plain", cwd=known).out == b"ran\n", (
        "the shell takes it, as in a shell"
    )
    done = run("around", "-n", "--", "touch", "ran", cwd=known)
    assert "the command not run" in done.errors
    assert not (known / "ran").exists()
    nowhere = InProcess(workspace / "nowhere")
    nowhere("around", "--", "true", cwd=known, ok=(125,))
    assert not nowhere.repository.exists()
    nowhere("around", "--root", ".", "--", "true", cwd=known)
    assert len(names(nowhere("list", "--json", cwd=known))) == 1


def test_one_object_on_standard_error(run: InProcess, known: Path) -> None:
    done = run(
        "around", "--json", "--", "sh", "-c", "echo out; rm a; kill $$", cwd=known, ok=(143,)
    )
    assert done.out == b"out\n"
    told = json.loads(done.errors.splitlines()[-1])
    declared = [field.name for part in (Surrounded, DiffSummary) for field in fields(part)]
    assert list(told) == ["schema", *declared]
    assert (told["schema"], told["exit"], told["removed"]) == ("around/1", 143, 1)
    assert told["undo"].endswith(f"revert {told['before']}..{told['after'].partition('@')[2]}")
    done = run("around", "--json", "--", "true", cwd=known)
    told = json.loads(done.errors.splitlines()[-1])
    assert (told["after"], told["undo"], told["exit"]) == (None, None, 0)


LOOK = """
import os, signal
print(sorted(map(int, os.listdir("/proc/self/fd")))[:-1])
print([n for n in range(1, 32) if n not in (9, 19) and signal.getsignal(n) is not signal.SIG_DFL])
print(sorted(name for name in os.environ if name != "LC_CTYPE"), os.umask(0), os.getpgrp())
"""


def test_the_command_has_all_that_it_would_have_without(snapfs: Program, tree: Path) -> None:
    snapfs.create(tree)
    look = ["python3", "-c", LOOK]
    plain = snapfs.finish(snapfs.start(program=look, cwd=tree))
    done = snapfs.finish(snapfs.start("around", "--", *look, cwd=tree))
    assert done.text == plain.text


def test_a_terminal_stays_one(snapfs: Program, tree: Path) -> None:
    snapfs.create(tree)
    leader, follower = pty.openpty()
    words = ("around", "--", "sh", "-c", "[ -t 0 ] && [ -t 1 ] && echo yes")
    process = snapfs.start(*words, cwd=tree, stdin=follower, stdout=follower)
    os.close(follower)
    shown = read_to_end(leader)
    os.close(leader)
    snapfs.finish(process, words)
    assert shown == b"yes\r\n"


@pytest.mark.parametrize(
    ("which", "group", "script", "code", "how"),
    [
        (signal.SIGINT, True, "", 130, " (SIGINT)"),
        (signal.SIGINT, True, "trap 'exit 7' INT; ", 7, " (exit 7)"),
        (signal.SIGTERM, False, "", 143, " (SIGTERM)"),
        (signal.SIGHUP, False, "trap 'exit 0' HUP; ", 0, ""),
    ],
    ids=["ctrl-c", "ctrl-c-is-handled", "terminated", "hung-up"],
)
def test_signals_are_the_commands_and_the_second_snapshot_is_taken(
    which: signal.Signals,
    group: bool,
    script: str,
    code: int,
    how: str,
    snapfs: Program,
    tree: Path,
) -> None:
    snapfs.create(tree, "first")
    words = (
        "around",
        "-m",
        "x",
        "--",
        "bash",
        "-c",
        f"{script}echo > began; while :; do sleep 0.05; done",
    )
    process = snapfs.start(*words, cwd=tree, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (tree / "began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if group:  # as the terminal does it
        os.killpg(process.pid, which)
    else:
        process.send_signal(which)
    done = snapfs.finish(process, words, ok=(code,), timeout_s=60)
    assert "1 added" in done.errors
    run = InProcess(snapfs.repository)
    messages = [found["message"] for found in snapshots(run("list", "tree", "--json"))]
    assert messages == ["", "before: x", f"after: x{how}"]


def test_a_reader_that_goes_away_ends_the_command(snapfs: Program, tree: Path) -> None:
    snapfs.create(tree, "first")
    process = snapfs.start("around", "--", "yes", cwd=tree)
    assert process.stdout is not None
    assert process.stdout.read(2) == b"y\n"
    process.stdout.close()
    process.stdout = None
    done = snapfs.finish(process, ok=(141,), timeout_s=60)
    assert "nothing has changed" in done.errors
