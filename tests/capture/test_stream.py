"""``create --stdin`` and ``--from-command``: a stream is one file without a directory."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from snapfs.blocks.chunker import WHOLE_MAX
from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program, Result
from tests.harness.trees import survey

NAMED = ("--stdin", "db.sql", "--label", "db")


def stream(
    run: InProcess,
    data: bytes,
    *more: str,
    named: Sequence[str] = NAMED,
    ok: Sequence[int] = (0,),
) -> Result:
    """Take a snapshot of these bytes."""
    kept = os.dup(0)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        os.dup2(file.fileno(), 0)
        try:
            return run("create", *named, *more, ok=ok)
        finally:
            os.dup2(kept, 0)
            os.close(kept)


NOISE = random.Random(1).randbytes(3_000_000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        NOISE[:WHOLE_MAX],
        NOISE[: WHOLE_MAX + 1],
        NOISE,
        bytes(5),
        bytes(3_000_000),
        NOISE[:400_000] + bytes(600_000) + NOISE[:400_000],
    ],
    ids=["empty", "byte", "whole", "longer", "long", "zeros", "many-zeros", "mixed"],
)
def test_the_bytes_come_back_and_are_those_of_a_file(
    data: bytes, run: InProcess, tree: Path, target: Path
) -> None:
    """A file of the same bytes is not stored again, and neither is a stream."""
    stream(run, data)
    run("restore", "db@latest", "--to", target)
    assert (target / "db.sql").read_bytes() == data
    st = (target / "db.sql").stat()
    assert (st.st_mode & 0o7777, st.st_uid, st.st_nlink) == (0o600, os.geteuid(), 1)
    (tree / "file").write_bytes(data)
    assert run("create", tree, "--json").json()["stored_bytes"] == 0
    assert stream(run, data + b"more", "--json").json()["stored_bytes"] < 600_000
    run("verify", "--data")


def test_one_stream_follows_another(run: InProcess, target: Path) -> None:
    stream(run, NOISE, "--name", "one", "--tag", "nightly", "-m", "the first")
    again = stream(run, NOISE, "--skip-if-unchanged", "--json").json()
    assert (again["reference"], again["unchanged"], again["stored_bytes"]) == (None, True, 0)
    stream(run, NOISE, "--name", "same")
    assert run("diff", "db@one", "db@same", "--all").out == b"", "it has not changed in anything"
    stream(run, b"other", "--name", "two", "--time", "2026-01-02T03:04")
    assert run("diff", "db@same", "db@two").text == "M\tdb.sql\tcontent,mtime\n"
    stream(run, b"other", "--name", "renamed", named=("--stdin", "new.sql", "--label", "db"))
    assert run("diff", "db@two", "db@renamed").text == "R\tdb.sql -> new.sql\n"
    stream(run, b"third", "--dry-run")
    assert names(run("list", "db", "--json")) == ["one", "same", "two", "renamed"]
    assert run("ls", "db@renamed:").text == "new.sql\n"
    assert run("cat", "db@one:db.sql").out == NOISE
    assert run("ls", "--root", "db", "latest:new.sql").text == "new.sql\n"
    assert run("diff", "--root", "db", "one", "two", "./db.sql").text.startswith("M\tdb.sql\t")
    run("delete", "db@same", "db@renamed", "--yes")
    assert run("cat", "db@two:db.sql").out == b"other"
    run("restore", "db@one", "--to", target)
    assert (target / "db.sql").read_bytes() == NOISE
    run("verify", "--data")


def test_the_catalog_is_made_again(run: InProcess, tree: Path) -> None:
    (tree / "f").write_text("x")
    run("create", tree)
    for number in range(3):
        stream(run, NOISE[: 400_000 * number], "--tag", f"t{number}", "-m", "x")
    looks = [("roots", "list"), ("list", "db"), ("show", "db@latest"), ("ls", "db@latest~1:", "-l")]
    before = [run(*words, "--json").out for words in looks]
    (run.repository / "catalog.db").unlink()
    run("rebuild-catalog", "--yes")
    assert [run(*words, "--json").out for words in looks] == before
    run("verify", "--data")
    stream(run, b"next")
    run("roots", "rename", "db", "base")
    stream(run, b"and one more", named=("--stdin", "db.sql", "--label", "base"))
    assert len(names(run("list", "base", "--json"))) == 5
    run("roots", "remove", "base", "--yes")
    assert b"base" not in run("roots", "list").out


def test_a_command_gives_the_bytes(run: InProcess, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("create", "--label", "db", "--from-command")
    run(*words, "printf one; echo told >&2")
    assert run("cat", "db@latest:db").out == b"one"
    run(*words, "printf 'two\\0'; sleep 0.1; printf three", "--stdin", "name")
    assert run("cat", "db@latest:name").out == b"two\0three"
    before = run("list", "db", "--json").out
    for command, how in (
        ("printf half; exit 3", "failed with exit code 3"),
        ("printf half; kill -KILL $$", "was killed by SIGKILL"),
        ("no-such-command", "failed with exit code 127"),
        # It closes its output first, and fails later.
        ("exec >&-; sleep 0.2; exit 4", "failed with exit code 4"),
    ):
        done = run(*words, command, ok=(1,))
        assert how in done.errors
        assert done.out == b""
    assert run("list", "db", "--json").out == before
    assert "exit code 3" in run("runs", "--failed").text


def test_a_first_stream_that_fails_leaves_no_root(run: InProcess) -> None:
    words = ("create", "--label", "db", "--from-command")
    run(*words, "printf half; exit 3", ok=(1,))
    assert run("roots", "list", "--json").out == b""
    assert "exit code 3" in run("runs", "--failed").text
    run(*words, "printf one", "--name", "one")
    run(*words, "printf half; exit 3", ok=(1,))
    assert names(run("list", "db", "--json")) == ["one"]
    run("rebuild-catalog")
    assert names(run("list", "db", "--json")) == ["one"]
    run("verify", "--data")


def test_what_to_type_for_a_root_without_snapshots(run: InProcess, tree: Path) -> None:
    """Each hint is a command line that works."""
    run("create", "--label", "db", "--from-command", "printf one")
    run("delete", "db@latest", "--yes")
    hint = "create --from-command COMMAND --label db` takes"
    for done in (
        run("list", "db"),
        run("usage", "--root", "db"),
        run("show", "db@latest", ok=(1,)),
    ):
        assert hint in done.errors
    assert hint.removesuffix("` takes") in run("--root", "db").text
    assert "create LABEL" not in run("create", cwd=tree, ok=(2,)).errors
    run("create", tree)
    run("delete", "tree@latest", "--yes")
    done = run("list", "--all").errors.replace(f" -r {run.repository}", "")
    assert "`snapfs create tree`, `snapfs create --from-command COMMAND --label db` take" in done
    assert "of a root: tree" in run("create", cwd=tree.parent, ok=(2,)).errors


def test_what_makes_no_sense_is_refused(run: InProcess, tree: Path) -> None:
    (tree / "f").write_text("x")
    run("create", tree)
    stream(run, b"x", "--name", "one")
    before = run("list", "--all-roots", "--json", ok=None).out
    for words, says in (
        (("create", "--stdin", "x"), "needs a label"),
        (("create", "--from-command", "true"), "needs a label"),
        (("create", "--label", "db"), "there is none"),
        (("create", "--stdin", "a/b", "--label", "db"), "cannot be the name"),
        (("create", "--stdin", "..", "--label", "db"), "cannot be the name"),
        (("create", "--stdin", "x" * 256, "--label", "db"), "cannot be the name"),
        (("create", "--stdin", "x", "--label", "../x"), "cannot be a name"),
        (("create", "--from-command", "", "--label", "db"), "is empty"),
        (("create", *NAMED, "--exclude", "x"), "--exclude speaks of a directory"),
        (("create", *NAMED, "--checksum"), "--checksum speaks of a directory"),
        (("create", *NAMED, "--changed-from", "x"), "--changed-from speaks of a directory"),
        (("create", *NAMED, str(tree)), "ROOT speaks of a directory"),
        (("create", *NAMED, "--root", "db"), "--root speaks of a directory"),
        (("create", "--stdin", "x", "--label", "tree"), "is the root of"),
        (("create", "db"), "is a stream"),
        (("diff", "db@one", "."), "has no directory|no directory as it is now"),
        (("diff", "db@one"), "no directory as it is now"),
        (("diff", "db@.", "db@one"), "no directory as it is now"),
        (("ls", "db@.:"), "no directory as it is now"),
        (("restore", "db@one", "--in-place", "--yes"), "without a directory"),
        (("roots", "move", "db", str(tree)), "has no directory"),
    ):
        done = run(*words, ok=(2,))
        assert any(part in done.errors for part in says.split("|")), str(done)
        assert done.errors.count("\n") == 1, str(done)
    assert run("list", "--all-roots", "--json", ok=None).out == before


def test_settings_of_directories_do_not_concern_a_stream(snapfs: Program) -> None:
    env = {"SNAPFS_EXCLUDE": "*.o", "SNAPFS_ROOT": "elsewhere"}
    snapfs("create", *NAMED, stdin=b"x", env=env)
    assert snapfs("cat", "db@latest:db.sql").out == b"x"


def test_no_input_is_no_empty_stream(snapfs: Program) -> None:
    ours, theirs = os.openpty()
    for fd in (theirs, None):
        words = ("create", *NAMED)
        before = (lambda: os.close(0)) if fd is None else None
        process = snapfs.start(*words, stdin=fd, preexec_fn=before)
        done = snapfs.finish(process, words, ok=(2,))
        assert ("a terminal" if fd else "closed") in done.errors
    os.close(ours)
    os.close(theirs)
    assert not snapfs.repository.exists()


def test_a_stream_that_does_not_end_is_interrupted(snapfs: Program, workspace: Path) -> None:
    """Nothing is recorded, the command ends, and what was stored serves the next run."""
    snapfs("create", *NAMED, "--name", "one", stdin=b"x")
    pid = workspace / "pid"
    words = ("create", "--label", "db", "--from-command", f"echo $$ > {pid}; echo x; exec sleep 99")
    process = snapfs.start(*words, start_new_session=True)
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)  # to snapfs alone
    done = snapfs.finish(process, words, ok=(130,), timeout_s=30)
    assert done.out == b""
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    assert names(snapfs("list", "db", "--json")) == ["one"]
    snapfs("create", *NAMED, "--name", "two", stdin=b"y")
    snapfs.verify()


@pytest.mark.parametrize("point", ["create.packs-durable", "create.journal-durable"])
def test_a_stream_is_killed(point: str, snapfs: Program) -> None:
    snapfs("create", *NAMED, "--name", "one", stdin=b"x")
    killed = snapfs(
        "create", *NAMED, "--name", "killed", stdin=NOISE, env={"SNAPFS_CRASH_AT": point}, ok=None
    )
    assert killed.code == -signal.SIGKILL
    run = InProcess(snapfs.repository)
    assert set(names(run("list", "db", "--json"))) <= {"one", "killed"}
    done = stream(run, NOISE, "--name", "two", "--json").json()
    assert done["stored_bytes"] == 0, "the complete pack is adopted"
    assert run("cat", "db@two:db.sql").out == NOISE
    run("verify", "--data")
    (snapfs.repository / "catalog.db").unlink()
    run("rebuild-catalog", "--yes")
    assert run("cat", "db@two:db.sql").out == NOISE


def test_the_root_of_a_stream_is_its_owners(as_user: Program, workspace: Path) -> None:
    assert as_user.user is not None
    as_user("create", *NAMED, stdin=b"secret")
    target = as_user.repository.parent / "out"
    as_user("restore", "db@latest", "--to", target)
    facts = survey(target).facts
    assert {(fact["uid"], fact["mode"]) for fact in facts.values()} == {
        (as_user.user.uid, 0o700),
        (as_user.user.uid, 0o600),
    }
