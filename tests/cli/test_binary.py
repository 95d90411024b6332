"""Commands as processes: bare environments, pipes that close, questions on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import ARGV, Binary
from tests.harness.terminal import read_to_end

BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "UTC"}
NAMES = [
    b"plain",
    b"two words",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"line\nbreak",
    b"\x1b[2J",
    b"-l",
    b"a'b",
]


@pytest.fixture
def binary(tmp_path: Path) -> Binary:
    """A program with a home, and a tree of odd names beside it."""
    (tmp_path / "home").mkdir()
    tree = os.fsencode(tmp_path) + b"/tree"
    os.mkdir(tree)
    for name in NAMES:
        with open(tree + b"/" + name, "wb") as file:
            file.write(name)
    return Binary(tmp_path / "home")


def test_every_command_in_a_bare_environment(binary: Binary, tmp_path: Path) -> None:
    repository, tree = tmp_path / "repo", tmp_path / "tree"
    binary.variables = {**BARE, "SNAPFS_REPO": str(repository)}

    def run(*words: str | bytes | Path, code: int = 0) -> bytes:
        return binary(*words, code=code, cwd=Path("/")).stdout

    assert run("create", tree, "--name", "s1", "-m", "caf\u00e9".encode()) == b"tree@s1\n"
    assert b"caf\xc3\xa9" in run("list")
    assert b"caf\xc3\xa9" in run("show")
    assert len(run("ls").splitlines()) == len(NAMES)
    assert sorted(run("ls", "-0").split(b"\0")[:-1]) == sorted(NAMES)
    for name in NAMES:
        assert run("cat", b"s1:" + name) == name
        assert run("ls", b"s1:" + name, "-0") == name + b"\0"
    os.unlink(os.fsencode(tree) + b"/\xff\xfe")
    assert run("diff") == b"-\t''$'\\377\\376'\n"
    assert run("diff", "--", os.fsencode(tree) + b"/\xff\xfe") == b"-\t''$'\\377\\376'\n"
    run("restore", b"s1:\xff\xfe", "--to", os.fsencode(tmp_path) + b"/\xfd")
    assert os.listdir(os.fsencode(tmp_path) + b"/\xfd") == [b"\xff\xfe"]
    run("restore", "s1", "--in-place", code=2)
    undo = run("restore", "s1", "--in-place", "--yes").splitlines()[-1]
    assert undo.startswith(b"snapfs -r ")
    assert b"/repo restore tree@" in undo
    for words in (
        ["rename", "s1", "one"], ["tag", "one", "t"], ["untag", "one", "t"], ["pin", "one"],
        ["unpin", "one"], ["verify", "--data"], ["roots"], ["runs"], ["info"], ["completion", "bash"],
        ["delete", "latest", "--yes"], ["rebuild-catalog"], [],
    ):  # fmt: skip
        run(*words)
        for line in run(*words[:1], "--json", "--help").splitlines():
            assert b"\x1b" not in line
    assert os.listdir(binary.folder) == []


def test_nothing_a_terminal_would_act_on(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    binary("create", tree, "--name", "s1", "-m", "\x1b]0;title\x07\nnext")
    for words in (
        ["list"], ["show"], ["ls"], ["ls", "-l"], ["ls", "-R"], ["ls", "nope\x1b[2J"], ["diff"],
        ["restore", "s1", "--to", tmp_path / "x"], ["runs"], [], ["ls", "--json"], ["\x1b[31m"],
    ):  # fmt: skip
        done = binary(*words, code=None, cwd=tree)
        for stream in (done.stdout, done.stderr):
            text = stream.decode("utf-8").replace("\n", "").replace("\t", "")
            assert text.isprintable(), (words, text)


def test_a_pipe_that_closes_leaves_no_lock(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for number in range(3000):
        (tree / f"file-with-a-long-name-{number:06}").touch()
    binary("create", tree, "--name", "s1")
    line = 'set -o pipefail; "$@" ls s1 -l | head -1'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *ARGV],
        env=binary.variables, cwd=tree, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, b"")
    assert done.stdout.count(b"\n") == 1
    binary("create", "--name", "s2", cwd=tree)
    binary("delete", "s1", "--yes", cwd=tree)


def asked(
    binary: Binary, answer: bytes, *words: str | Path, progress: bool = False
) -> tuple[int, str, str]:
    """Run on a terminal, answer the question; exit code, what the terminal showed, stdout.

    The program's controlling terminal is that one, so that an answer of ^C interrupts it.
    """
    leader, follower = pty.openpty()
    # The terminal goes with its first process, and what nobody has read from it: that is not ours.
    leads = 'trap : INT; "$@"; code=$?; sleep 0.2; exit $code'
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", "bash", "-c", leads, "bash", *ARGV, *words,
         *([] if progress else ["--no-progress"])],
        env=binary.variables, cwd=binary.folder, stdin=follower, stdout=subprocess.PIPE, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    if answer == b"\x03":
        while b"[y/N]" not in shown:  # before that there is nothing to interrupt
            shown += os.read(leader, 65536)
    os.write(leader, answer)
    shown += read_to_end(leader)
    assert process.stdout is not None
    with process.stdout as stdout:
        out = stdout.read()
    process.wait(60)
    os.close(leader)
    return process.returncode, shown.decode(), out.decode()


def test_questions(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("s1", "s2"):
        binary("create", tree, "--name", name)
    for answer in (b"\n", b"n\n", b"\x04", b"yes please\n"):
        code, shown, out = asked(binary, answer, "delete", "s1..s2")
        assert (code, out) == (2, "")
        assert "tree@s1" in shown
        assert "tree@s2" in shown
        assert "Delete 2 snapshots? [y/N]" in shown
        assert "nothing was done" in shown
    (tree / "plain").write_bytes(b"changed")
    code, shown, out = asked(binary, b"n\n", "restore", "s1", "--in-place")
    assert (code, out) == (2, "")
    assert f"Restore tree@s1 into {tree}:" in shown
    # Files younger than a minute are read to see that they are the same.
    assert f"create 0, overwrite 1, delete 0, leave alone {len(NAMES)};" in shown
    assert (tree / "plain").read_bytes() == b"changed"
    code, shown, out = asked(binary, b"y\n", "restore", "s1", "--in-place")
    assert code == 0
    assert out.splitlines()[-1].startswith("snapfs restore tree@")
    assert (tree / "plain").read_bytes() == b"plain"
    listed = binary("list", "tree").stdout
    code, shown, out = asked(binary, b"n\n", "restore", "s1", "--in-place")
    assert (code, out) == (0, "")
    assert "[y/N]" not in shown
    assert "nothing to do: everything is there as it was" in shown
    assert binary("list", "tree").stdout == listed  # no safety snapshot of nothing
    (tree / "plain").write_bytes(b"changed")
    code, shown, out = asked(binary, b"y\n", "delete", "s1", "--json")
    assert code == 2
    assert "add --yes" in shown
    for words in (["delete", "s1"], ["restore", "s1", "--in-place"], ["roots", "remove", "tree"]):
        code, shown, out = asked(binary, b"\x03", *words)
        assert (code, out) == (130, "")
        assert shown.endswith("[y/N] ^C\r\nsnapfs: interrupted; nothing was done\r\n")
    code, shown, out = asked(binary, b"YES\n", "roots", "remove", "tree")
    assert (code, out) == (0, "tree\n")


def test_a_restore_beside_asks_before_it_deletes(binary: Binary, tmp_path: Path) -> None:
    binary("create", tmp_path / "tree", "--name", "s1")
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious").write_text("x")
    words = ("restore", "tree@s1", "--to", target, "--overwrite", "always", "--delete")
    for answer, code, there in ((b"\n", 2, True), (b"\x03", 130, True), (b"y\n", 0, False)):
        ended, shown, _ = asked(binary, answer, *words)
        assert ended == code
        assert f"create {len(NAMES)}, overwrite 1, delete 1," in shown
        assert (target / "precious").exists() == there
    ended, shown, _ = asked(binary, b"", *words)
    assert (ended, "[y/N]" in shown) == (0, False)


def test_nothing_is_said_to_be_restored_before_the_question(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    binary("create", tree, "--name", "s1")
    (tree / "plain").write_bytes(b"changed")
    code, shown, _ = asked(binary, b"y\n", "restore", "s1", "--in-place", progress=True)
    assert code == 0
    before, after = shown.split("[y/N]")
    assert "comparing" in before
    assert "restoring" not in before
    assert "1 overwritten" in after


def test_progress_on_a_terminal_only(binary: Binary, tmp_path: Path) -> None:
    done = binary("create", tmp_path / "tree", "--name", "s1")
    assert b"\r" not in done.stderr
    assert done.stderr.endswith(b" s\n") or b"To get a file back" in done.stderr


def test_a_table_on_a_terminal(binary: Binary, tmp_path: Path) -> None:
    binary("create", tmp_path / "tree", "--name", "s1", "-m", "[bold]note[/bold] :smile:")
    leader, follower = pty.openpty()
    for words in (["list"], ["roots"], ["runs"], ["ls", "-l"]):
        subprocess.run(
            [*ARGV, *words], env={**binary.variables, "COLUMNS": "200"},
            cwd=tmp_path / "tree", stdin=follower, stdout=follower, check=True,
        )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 65536)
        except OSError:
            break
    os.close(leader)
    assert b"[bold]note[/bold] :smile:" in shown
    assert b"snapshots" in shown


def test_errors_are_json_for_programs(binary: Binary, tmp_path: Path) -> None:
    binary("create", tmp_path / "tree", "--name", "s1")
    for words in (
        ["ls", "nope"],
        ["nope"],
        ["list", "--nope"],
        ["delete", "s1"],
        ["cat", "s1:\xff"],
    ):
        done = binary(*words, "--json", code=None)
        assert done.returncode in {1, 2}
        assert done.stdout == b""
        assert json.loads(done.stderr)["exit"] == done.returncode


def test_a_second_writer_is_told_at_once_or_waits(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    binary("create", tree, "--name", "s1")
    first = subprocess.Popen(
        [*ARGV, "create", tree, "--name", "s2"],
        env={**binary.variables, "SNAPFS_CRASH_AT": "stop@create.locked"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.waitpid(first.pid, os.WUNTRACED)
    try:
        told = binary("create", tree, "--name", "s3", code=11).stderr
        assert b"--lock-wait" in told
        binary("create", tree, "--name", "s3", "--lock-wait", "1s", code=11)
        assert binary("list", "-n1", cwd=tree).stdout.count(b"s1") == 1
        done = json.loads(binary("delete", "s1", "-y", "--json", code=11, cwd=tree).stderr)
        assert (done["kind"], done["exit"]) == ("locked", 11)
        waiting = subprocess.Popen(
            [*ARGV, "create", tree, "--name", "s4", "--lock-wait=1min"],
            env=binary.variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(60) == 0
    out, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (0, b"tree@s4\n")


def test_a_directory_inside_or_around_a_root(binary: Binary, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir()
    (tmp_path / "elsewhere").mkdir()
    binary("create", tree, "--name", "s1")
    for folder in (tree / "inner", tmp_path):
        assert b"--nested" in binary("create", folder, code=2).stderr
    assert binary("create", tree / "inner", "--nested", "--name", "i1").stdout == b"inner@i1\n"
    # What create refuses, a move does not bring about.
    elsewhere = tmp_path / "elsewhere"
    binary("create", elsewhere, "--name", "e1")
    for folder in (tree / "other", tmp_path):
        folder.mkdir(exist_ok=True)
        for more in ([], ["--dry-run"]):
            refused = binary("roots", "move", "elsewhere", folder, *more, code=2)
            assert b"--nested" in refused.stderr
            assert refused.stdout == b""
    assert str(elsewhere).encode() in binary("roots").stdout
    binary("roots", "move", "elsewhere", tree / "other", "--nested")
    binary("roots", "move", "elsewhere", tree / "other")  # where it is already
    binary("roots", "move", "elsewhere", elsewhere)
    (tmp_path / "other/tree").mkdir(parents=True)
    assert binary("create", tmp_path / "other/tree", "--name", "o1").stdout == b"tree-2@o1\n"
