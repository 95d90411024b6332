"""Case 51: several commands at once. Locks are the kernel's: none is ever stale."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from snapfs.materialize import naming
from snapfs.model.units import format_size
from tests.harness.history import History
from tests.harness.inprocess import InProcess
from tests.harness.program import PROGRAM
from tests.harness.trees import assert_same, survey, unlock_and_remove

WAIT = ("--lock-wait", "2min")


def stopped_at(past: History, point: str, *words: str | Path) -> subprocess.Popen[bytes]:
    """A command that stands still at ``point``, with its locks."""
    process = past.snapfs.start(*words, cwd=past.tree, env={"SNAPFS_CRASH_AT": f"stop@{point}"})
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"{point} was not reached"
    return process


def go_on(past: History, process: subprocess.Popen[bytes], *, ok: tuple[int, ...] = (0,)) -> str:
    process.send_signal(signal.SIGCONT)
    return past.snapfs.finish(process, ok=ok).errors


def test_case_51_two_creates_of_one_root(past: History) -> None:
    state = past.change()
    both = [
        past.snapfs.start("create", past.tree, "--name", name, *WAIT, cwd=past.tree)
        for name in ("one", "two")
    ]
    for process in both:
        past.snapfs.finish(process)
    listed = past.listed()
    assert sorted(listed[3:]) == ["one", "two"]
    past.states |= {"one": state, "two": state}
    past.check(*listed)


def test_case_51_the_same_name_twice(past: History) -> None:
    state = past.change()
    both = [
        past.snapfs.start("create", past.tree, "--name", "same", *WAIT, cwd=past.tree)
        for _ in range(2)
    ]
    codes = sorted(past.snapfs.finish(process, ok=(0, 1, 2)).code for process in both)
    assert codes[0] == 0
    assert codes[1] in (1, 2)
    past.states["same"] = state
    past.check("s0", "s1", "s2", "same")


def test_case_51_creates_of_several_roots_at_once(past: History, workspace: Path) -> None:
    """Different roots run side by side, share blocks, and take no chain apart."""
    roots = []
    for number in range(4):
        root = workspace / f"root{number}"
        root.mkdir()
        (root / "common").write_bytes(b"the same in all" * 50_000)
        (root / "own").write_bytes(os.urandom(200_000))
        roots.append(root)
    for turn in range(2):
        processes = [past.snapfs.start("create", root, "--name", f"t{turn}") for root in roots]
        for process in processes:
            past.snapfs.finish(process)
    for root in roots:
        target = workspace / f"back-{root.name}"
        past.snapfs.restore(f"{root.name}@t1", target)
        assert_same(survey(root), survey(target))
    past.snapfs.verify()


def test_first_creates_make_one_repository(past: History, workspace: Path) -> None:
    fresh = type(past.snapfs)(repository=workspace / "new" / "repository", home=past.snapfs.home)
    roots = []
    for number in range(3):
        root = workspace / f"first{number}"
        root.mkdir()
        (root / "f").write_bytes(b"%d" % number)
        roots.append(root)
    processes = [fresh.start("create", root, "--name", "s") for root in roots]
    for process in processes:
        fresh.finish(process)
    assert len(fresh("roots", "list", "--json").json_lines()) == 3
    fresh.verify()


@pytest.mark.parametrize("left", ["catalog.db", "catalog.db-journal", "catalog.db-wal"])
def test_a_half_made_repository_is_made(left: str, workspace: Path, tree: Path) -> None:
    """Whoever began it is dead, or at work just now: what it left is no stranger's."""
    run = InProcess(workspace / "new")
    (tree / "f").write_bytes(b"x")
    run.repository.mkdir()
    for name in {"catalog.db", left}:
        (run.repository / name).write_bytes(b"")
    run("create", tree, "--name", "s")
    run("verify", "--data")
    (workspace / "used").mkdir()
    (workspace / "used" / "letter").write_bytes(b"x")
    refused = InProcess(workspace / "used")("create", tree, ok=(1,))
    assert "is not empty and no repository" in refused.errors


def test_a_held_lock(past: History, workspace: Path) -> None:
    """While a create stands still: readers work, a second writer waits or exits 11, other roots go on."""
    other = workspace / "other"
    other.mkdir()
    (other / "f").write_bytes(b"x")
    past.snapfs.create(other, "o0")
    past.states["held"] = past.change()
    process = stopped_at(past, "create.walked", "create", past.tree, "--name", "held")
    try:
        begin = time.monotonic()
        refused = past.snapfs("create", past.tree, "--lock-wait", "1s", cwd=past.tree, ok=(11,))
        assert 0.9 < time.monotonic() - begin < 10
        assert "lock" in refused.errors.lower()
        past.snapfs("delete", "s0", "--yes", "--lock-wait", "0s", cwd=past.tree, ok=(11,))
        assert past.listed() == ["s0", "s1", "s2"]
        past.snapfs("ls", "s1:", cwd=past.tree)
        past.check_one("s1")
        past.snapfs.create(other, "o1")
        past.snapfs("delete", f"{other}@o0", "--yes", "--lock-wait", "1s")
        past.snapfs("create", past.tree, cwd=past.tree, ok=(11,))
        waiting = past.snapfs.start("create", past.tree, "--name", "waiting", *WAIT, cwd=past.tree)
        time.sleep(0.7)
        assert waiting.poll() is None
    finally:
        go_on(past, process)
    past.snapfs.finish(waiting)
    past.states["waiting"] = past.states["held"]
    past.check("s0", "s1", "s2", "held", "waiting")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_lock_dies_with_its_process(how: signal.Signals, past: History) -> None:
    process = stopped_at(past, "create.packs-durable", "create", past.tree, "--name", "dead")
    process.send_signal(how)
    process.send_signal(signal.SIGCONT)
    process.communicate()
    past.change()
    past.snapfs("create", past.tree, "--name", "at-once", "--lock-wait", "0s", cwd=past.tree)


def test_readers_during_create_and_delete(past: History) -> None:
    """list, ls, diff and restore give right answers while snapshots come and go."""
    for number in range(6):
        past.take(f"w{number}")
    enough = past.scratch / "enough"
    script = (
        'set -e; i=0; until [ -e "$ENOUGH" ]; do i=$((i + 1)); '
        '"$@" create "$TREE" --name c$i >/dev/null; "$@" delete c$i --yes >/dev/null; '
        'if [ $i -lt 5 ]; then "$@" delete w$i --yes >/dev/null; fi; done'
    )
    writer = subprocess.Popen(
        ["bash", "-c", script, "bash", *PROGRAM],
        cwd=past.tree,
        env=past.snapfs.environment({"TREE": str(past.tree), "ENOUGH": str(enough)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    steady = past.snapfs("ls", "s1:", "--recursive", "--json", cwd=past.tree).out
    change = past.snapfs("diff", "s0", "s1", "--json", cwd=past.tree).out
    for _ in range(4):
        assert writer.poll() is None
        assert past.snapfs("ls", "s1:", "--recursive", "--json", cwd=past.tree).out == steady
        assert past.snapfs("diff", "s0", "s1", "--json", cwd=past.tree).out == change
        listed = past.listed()
        assert listed[:3] == ["s0", "s1", "s2"]
        target = past.scratch / "reading"
        past.snapfs.restore("s2", target, cwd=past.tree)
        assert_same(past.states["s2"], survey(target))
        unlock_and_remove(target)
    enough.touch()
    _, errors = writer.communicate()
    assert writer.returncode == 0, errors
    past.snapfs.verify(cwd=past.tree)


def test_delete_never_waits_for_a_reader(past: History) -> None:
    """While somebody decodes blocks, delete folds, says that bytes are pending, and the next run frees them."""
    target = past.scratch / "slow"
    past.snapfs.restore_in_place("s2", "--delete", cwd=past.tree)
    only = past.tree / "only here"
    only.write_bytes(os.urandom(100_000))
    past.snapfs.create(past.tree, "big")
    only.unlink()
    process = stopped_at(past, "restore.planned", "restore", "s2", "--to", target)
    try:
        begin = time.monotonic()
        done = past.snapfs("delete", "s0", "s1", "big", "--yes", cwd=past.tree)
        assert time.monotonic() - begin < 5
        assert "pending" in done.text + done.errors
        assert past.listed() == ["s2"]
    finally:
        go_on(past, process)
    assert_same(past.states["s2"], survey(target))
    packs = past.snapfs.repository / "packs"
    before = {path.name: path.stat().st_size for path in packs.iterdir()}
    taken = past.snapfs("create", past.tree, "--name", "next", "-v")
    after = {path.name: path.stat().st_size for path in packs.iterdir()}
    gone = sum(size for name, size in before.items() if name not in after)
    assert gone > 100_000
    assert f"freed {format_size(gone)} of packs that nothing needs any more" in taken.errors
    past.states["next"] = survey(past.tree)
    past.check("s2", "next")


@pytest.mark.parametrize("command", ["ls s0: --recursive", "list", "cat s0:changing", "diff s0 s2"])
def test_a_pipe_that_closes_early_leaves_nothing(command: str, past: History) -> None:
    program = " ".join(PROGRAM)
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} {command} | head -c 1"],
        cwd=past.tree,
        env=past.snapfs.environment(),
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    past.snapfs("delete", "s0", "--yes", "--lock-wait", "0s", cwd=past.tree)
    past.snapfs("create", past.tree, "--lock-wait", "0s", cwd=past.tree)


def test_what_changes_after_the_safety_snapshot_is_left_alone(past: History) -> None:
    """Between the walk of the safety snapshot and the writing: such a state is in no snapshot."""
    tree = past.tree
    for name in ("kept/x", "kept/y", "gone/z", "f", "was-file"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("then")
    os.link(tree / "f", tree / "linked")
    past.snapfs.create(tree, "then")
    for name in ("kept/x", "kept/y", "f"):
        (tree / name).write_text("now")
    (tree / "extra").write_text("now")
    (tree / "was-file").unlink()
    (tree / "was-file").mkdir()
    process = stopped_at(
        past, "restore.safety-taken", "restore", "then", "--in-place", "--delete", "--yes"
    )
    try:
        (tree / "kept/x").write_text("meanwhile")
        (tree / "new").write_text("meanwhile")
        (tree / "gone/nd").mkdir()
        (tree / "gone/nd/z").write_text("meanwhile")
        (tree / "was-file/new").write_text("meanwhile")
    finally:
        errors = go_on(past, process, ok=(3,))
    for name in ("kept/x", "new", "gone/nd/z", "was-file/new"):
        assert (tree / name).read_text() == "meanwhile", name
    # Of a directory that changed with them, the times are not those of the snapshot either.
    told = (".", "kept/x", "new", "gone", "gone/nd", "was-file")
    for name in told:
        assert f"! {name}: came or changed since the safety snapshot" in errors
    assert errors.count("since the safety snapshot") == len(told)
    for name in ("kept/y", "gone/z", "f", "linked"):
        assert (tree / name).read_text() == "then", name
    assert (tree / "f").stat().st_ino == (tree / "linked").stat().st_ino
    assert not (tree / "extra").exists()


def test_what_changed_while_the_safety_snapshot_read_it_is_left_alone(past: History) -> None:
    """What was captured of it may be of no single moment, even if it is quiet by now."""
    (past.tree / "log").write_text("then")
    past.snapfs.create(past.tree, "then")
    (past.tree / "log").write_text("now, at length")
    process = stopped_at(past, "restore.safety-taken", "restore", "then", "--in-place", "--yes")
    try:
        with closing(sqlite3.connect(past.snapfs.repository / "catalog.db")) as catalog:
            last = "(SELECT max(id) FROM snapshot)"
            row = f"INSERT INTO problem VALUES ({last}, 1, ?, 0, 'changed while read')"
            catalog.execute(row, (b"log",))
            catalog.commit()
    finally:
        errors = go_on(past, process, ok=(3,))
    assert "! log: came or changed since the safety snapshot" in errors
    assert (past.tree / "log").read_text() == "now, at length"


@pytest.mark.parametrize("killed", ["create", "delete"])
@pytest.mark.parametrize("first", [False, True])
def test_a_record_left_by_another_run_does_not_touch_what_is_staged(
    killed: str, first: bool, past: History, workspace: Path
) -> None:
    """Whoever commits next finishes it, and has a filled stage already."""
    other = workspace / "other"
    other.mkdir()
    (other / "kept").write_text("kept")
    if not first:
        past.snapfs.create(other, "before")
    (other / "new").write_text("new")
    state = survey(other)
    process = stopped_at(past, "create.walked", "create", other, "--name", "meant")
    try:
        past.change()
        words = ("create", past.tree) if killed == "create" else ("delete", "s1", "--yes")
        crash = {"SNAPFS_CRASH_AT": f"{killed}.journal-durable"}
        done = past.snapfs(*words, cwd=past.tree, env=crash, ok=None)
        assert done.code == -signal.SIGKILL
    finally:
        go_on(past, process)
    past.snapfs.restore("other@meant", workspace / "back")
    assert_same(state, survey(workspace / "back"))
    if not first:
        past.snapfs.restore("other@before", workspace / "older")
        assert sorted(os.listdir(workspace / "older")) == ["kept"]
    assert len(past.listed()) == (4 if killed == "create" else 2)
    past.snapfs.verify("--data")
    past.snapfs("rebuild-catalog", "--yes")
    past.snapfs.restore("other@meant", workspace / "again")
    assert_same(state, survey(workspace / "again"))


def test_what_changes_unseen_after_the_safety_snapshot_is_left_alone(past: History) -> None:
    """Bytes of equal size and time under two names, modes of a file and of a directory."""
    tree = past.tree
    (tree / "f").write_text("then")
    os.link(tree / "f", tree / "g")
    (tree / "mode-of-file").write_text("")
    (tree / "mode-of-dir").mkdir()
    (tree / "calm").mkdir()
    (tree / "attributed").mkdir()
    past.snapfs.create(tree, "then")
    (tree / "f").write_text("work")
    os.utime(tree / "f", (1, 1))
    for name in ("mode-of-file", "mode-of-dir", "calm", "attributed"):
        (tree / name).chmod(0o700)
    process = stopped_at(past, "restore.safety-taken", "restore", "then", "--in-place", "--yes")
    try:
        (tree / "f").write_text("mine")
        os.utime(tree / "f", (1, 1))
        (tree / "mode-of-file").chmod(0o600)
        (tree / "mode-of-dir").chmod(0o711)
        os.setxattr(tree / "attributed", "user.x", b"mine")
    finally:
        errors = go_on(past, process, ok=(3,))
    assert (tree / "f").read_text() == (tree / "g").read_text() == "mine"
    assert stat.S_IMODE((tree / "mode-of-file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tree / "mode-of-dir").stat().st_mode) == 0o711
    assert stat.S_IMODE((tree / "calm").stat().st_mode) == 0o755
    assert os.getxattr(tree / "attributed", "user.x") == b"mine"
    for name in ("f", "g", "mode-of-file", "mode-of-dir", "attributed"):
        assert f"! {name}: came or changed since the safety snapshot" in errors
    assert errors.count("since the safety snapshot") == 5


@pytest.mark.parametrize("module", ["filewriter", "largefile", "links", "nodes"])
def test_what_changes_until_it_is_replaced_is_left_alone(
    module: str, run: InProcess, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are written a good while after the walk looked at what they replace, links at the very end."""
    victim = tree / "victim"
    other = tree / "another"
    other.write_text("then")
    if module == "links":
        os.link(other, victim)
    elif module == "nodes":
        victim.symlink_to("then")
    else:
        victim.write_text("then")
    (tree / "zz").write_text("then")
    run("create", tree, "--name", "then")
    for path in (other, victim, tree / "zz"):
        path.unlink()
        path.write_text("now")
    if module == "largefile":
        for name in ("files", "largefile"):
            monkeypatch.setattr(f"snapfs.materialize.{name}.LARGE_BYTES", 1)
    give = naming.give_name

    def late(working_name: bytes, name: bytes, dir_fd: int, **options: Any) -> None:
        if name == b"victim":
            victim.write_text("precious")
        give(working_name, name, dir_fd, **options)

    monkeypatch.setattr(f"snapfs.materialize.{module}.give_name", late)
    done = run("restore", "then", "--in-place", "--yes", cwd=tree, ok=(3,))
    assert victim.read_text() == "precious"
    assert f"! victim: {naming.CHANGED}" in done.errors
    assert "3 overwritten, 1 left alone" in done.errors
    assert other.read_text() == (tree / "zz").read_text() == "then"
    assert sorted(os.listdir(tree)) == ["another", "victim", "zz"]


def test_if_newer_holds_until_a_file_is_replaced(
    run: InProcess, tree: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "victim").write_text("then")
    run("create", tree, "--name", "then")
    target = workspace / "target"
    target.mkdir()
    (target / "victim").write_text("older")
    os.utime(target / "victim", (1, 1))
    give = naming.give_name

    def late(working_name: bytes, name: bytes, dir_fd: int, **options: Any) -> None:
        (target / "victim").write_text("newer")
        give(working_name, name, dir_fd, **options)

    monkeypatch.setattr("snapfs.materialize.filewriter.give_name", late)
    words = ("restore", f"{tree.name}@then", "--to", target, "--overwrite", "if-newer")
    done = run(*words, ok=(3,))
    assert (target / "victim").read_text() == "newer"
    assert f"! victim: {naming.CHANGED}" in done.errors


def test_directories_that_came_or_changed_meanwhile_are_not_deleted(past: History) -> None:
    """Empty ones as well: what they are is in no snapshot."""
    tree = past.tree
    (tree / "file").write_text("then")
    past.snapfs.create(tree, "then")
    for name in ("calm/in", "changed/in", "deep/changed"):
        (tree / name).mkdir(parents=True)
    (tree / "file").unlink()
    (tree / "file").mkdir()
    words = ("restore", "then", "--in-place", "--delete", "--yes")
    process = stopped_at(past, "restore.safety-taken", *words)
    try:
        (tree / "came").mkdir()
        os.setxattr(tree / "came", "user.x", b"mine")
        for name in ("changed", "deep/changed", "file"):
            (tree / name).chmod(0o2770)
    finally:
        errors = go_on(past, process, ok=(3,))
    assert not (tree / "calm").exists()
    for name in (".", "came", "changed", "deep/changed", "file"):
        assert (tree / name).is_dir()
        assert f"! {name}: came or changed since the safety snapshot" in errors
    assert errors.count("since the safety snapshot") == 5


def test_directories_that_change_before_they_get_their_attributes_are_left_alone(
    past: History,
) -> None:
    """That is done last of all, a good while after the walk has been there."""
    tree = past.tree
    for name in ("changed", "untouched", "beside"):
        (tree / name).mkdir()
        (tree / name / "f").write_text("then")
    past.snapfs.create(tree, "then")
    for name in ("changed", "untouched"):
        (tree / name / "f").write_text("now")
        (tree / name).chmod(0o711)
    (tree / "beside" / "other").write_text("")
    words = ("restore", "then", "--in-place", "--yes")
    process = stopped_at(past, "restore.files-done", *words)
    try:
        (tree / "changed").chmod(0o2750)
        (tree / "beside").chmod(0o1777)
    finally:
        errors = go_on(past, process, ok=(3,))
    assert stat.S_IMODE((tree / "changed").stat().st_mode) == 0o2750
    assert stat.S_IMODE((tree / "untouched").stat().st_mode) == 0o755
    assert f"! changed: {naming.CHANGED}" in errors
    assert "! untouched" not in errors
    assert (tree / "changed" / "f").read_text() == "then"
