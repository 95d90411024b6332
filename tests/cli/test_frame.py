"""Around every command: help, unknown words, errors, exit codes, signals, streams that are closed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from snapfs import __version__
from snapfs.cli.frame import commands
from snapfs.cli.frame.failure import answering, as_snapfs_error
from snapfs.cli.frame.overview import overview
from snapfs.cli.frame.signals import Interrupted, as_exceptions
from snapfs.cli.main import main
from snapfs.errors import (
    Exit,
    LockedError,
    NoRepositoryError,
    NotFoundError,
    SnapfsError,
    UsageError,
)
from tests.cli.program import ARGV, Binary


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capfd.readouterr()
    return code, out, err


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home and no settings."""
    for name in [name for name in os.environ if name.startswith(("SNAPFS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["-h"], ["help"], ["--json", "--help"], ["--help", "--json"], ["--json", "help"], ["help", "-q"]],
)  # fmt: skip
def test_help(capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    code, out, err = run(capfd, *words)
    assert (code, err) == (0, "")
    for listed in commands.COMMANDS:
        assert re.search(rf"^  {listed.name} +{listed.summary}$", out, re.MULTILINE)
    groups = [line[:-1] for line in out.splitlines() if line[:-1] in commands.GROUPS]
    assert groups == [group for group in commands.GROUPS if group in groups]
    assert all(len(line) <= 90 for line in out.splitlines())


@pytest.mark.parametrize("name", [listed.name for listed in commands.COMMANDS])
def test_help_of_each_command(capfd: pytest.CaptureFixture[str], name: str) -> None:
    results = [
        run(capfd, name, "--help"),
        run(capfd, "help", name),
        run(capfd, "-q", name, "-h", "--debug"),
        run(capfd, "--json", name, "--help"),
        run(capfd, "help", name, "--json"),
    ]
    assert all(result == results[0] for result in results)
    assert results[0][0] == 0
    assert results[0][1].startswith(f"Usage: snapfs {name}")


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--version"], ["-q", "--version"], ["list", "--version"], ["--version", "x"]):
        assert run(capfd, *words) == (0, f"snapfs {__version__}\n", "")
    for words in (
        ["--version", "--json"],
        ["--json", "--version"],
        ["list", "--json", "--version"],
    ):
        code, out, err = run(capfd, *words)
        assert (code, err) == (0, "")
        assert json.loads(out) == {"schema": "version/1", "version": __version__}
    code, _, err = run(capfd, "version")
    assert code == 2
    assert "`snapfs --version`" in err


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("lst", "`snapfs list`"), ("restor", "`snapfs restore`"), ("backup", "`snapfs create`"),
        ("snapshots", "`snapfs list`"), ("extract", "`snapfs restore`"), ("check", "`snapfs verify`"),
        ("dump", "`snapfs cat`"), ("rollback", "`snapfs restore SNAP --in-place`"),
        ("forget", "`snapfs delete`"), ("send", "no export"), ("receive", "no import"),
        ("prune", "`snapfs delete SNAP`"), ("init", "first `snapfs create DIR`"), ("qqqqq", "`snapfs --help`"), ("\x1b[2J", "`snapfs --help`"),
    ],
)  # fmt: skip
def test_unknown_words(capfd: pytest.CaptureFixture[str], word: str, expected: str) -> None:
    code, out, err = run(capfd, word, "x", "--nope")
    assert (code, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_every_foreign_word_leads_to_a_command() -> None:
    for word, ours in commands.FOREIGN.items():
        assert commands.find(word) is None
        assert commands.find(ours.split()[0]) is not None
    assert not set(commands.REMARKS) & set(commands.FOREIGN)


def test_errors_are_one_line_or_json(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "list")
    assert (code, out) == (10, "")
    assert err.startswith("snapfs: no repository at ")
    assert "snapfs create DIR" in err
    assert err.count("\n") == 1
    code, out, err = run(capfd, "list", "--json")
    assert (code, out) == (10, "")
    told = json.loads(err)
    assert told["schema"] == "error/1"
    assert (told["kind"], told["exit"]) == ("no-repository", 10)
    code, out, err = run(capfd, "--json", "nope")
    assert json.loads(err)["kind"] == "usage"
    code, out, err = run(capfd, "list", "--", "--json")
    assert err.startswith("snapfs: ")
    code, out, err = run(capfd, "list", "--debug")
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("snapfs: no repository")


def test_kinds_of_errors() -> None:
    assert as_snapfs_error(OSError(2, "No such file", "/x\n")).message == "'/x'$'\\n': No such file"
    assert as_snapfs_error(OSError(28, "No space left")).message == "No space left"
    assert as_snapfs_error(MemoryError()).message == "out of memory"
    assert "--debug" in str(as_snapfs_error(TypeError("x")))
    error = NotFoundError("gone")
    assert as_snapfs_error(error) is error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SnapfsError("x"), Exit.USAGE),
        (UsageError("x"), Exit.USAGE),
        (OSError(5, "x"), Exit.USAGE),
        (ValueError("x"), Exit.USAGE),
        (LockedError("x"), Exit.LOCKED),
        (NoRepositoryError("x"), Exit.NO_REPOSITORY),
    ],
)
def test_failures_where_one_is_an_answer(error: Exception, code: Exit) -> None:
    with pytest.raises(SnapfsError) as caught, answering():
        raise error
    assert caught.value.exit_code == code


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_unwind_the_stack(signum: signal.Signals) -> None:
    before = signal.getsignal(signum)
    cleaned = False
    with pytest.raises(Interrupted) as caught, as_exceptions(last=False):
        try:
            signal.raise_signal(signum)
        finally:
            signal.raise_signal(signum)  # a second one does not disturb the clean-up
            cleaned = True
    assert cleaned
    assert caught.value.exit_code == 128 + signum
    assert signal.getsignal(signum) is before


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_exceptions(last=False):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


ENTRY = "import sys\nfrom snapfs.cli.main import main\nsys.exit(main())\n"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("way", ["-m", "script"])
@pytest.mark.parametrize(
    ("module", "as_code"),
    [("snapfs.cli.frame.dispatch", True), ("snapfs.cli.frame", False), ("snapfs.cli.frame.signals", False)],
)  # fmt: skip
def test_signals_at_import_time(
    signum: signal.Signals, way: str, module: str, as_code: bool, tmp_path: Path
) -> None:
    """From our first lines on: by the signal itself at first, then with 128 + its number.

    What the interpreter does with a signal before that is not ours to say.
    """
    binary = Binary(tmp_path)
    hook = tmp_path / "sitecustomize.py"
    script = tmp_path / "bin/snapfs"
    script.parent.mkdir()
    script.write_text(ENTRY)
    # Stops the process at a module that is loaded before, or after, signals become exceptions.
    hook.write_text(
        "import os, signal, sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGSTOP)\n"
        "sys.meta_path.insert(0, Stop())\n"
    )
    process = subprocess.Popen(
        [ARGV[0], *(["-m", "snapfs"] if way == "-m" else [script]), "list"],
        env={**binary.variables, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signum)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=30)
    assert (out, err) == (b"", b"")
    assert process.returncode == (128 + signum if as_code else -signum)


def test_the_reader_of_our_output_goes_away(tmp_path: Path) -> None:
    binary = Binary(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [*ARGV, "--help"], env=binary.variables, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (141, b"")
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*ARGV, "--help"],
            env=binary.variables,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr == b"snapfs: standard output: No space left on device\n"


def redirected(binary: Binary, how: str, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", f'"$@" {how}', "bash", *ARGV, *words],
        env=binary.variables, capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    binary = Binary(tmp_path)
    for word, code in (("--help", int(">&-" in closed.split())), ("list", 10)):
        done = redirected(binary, closed, word)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


def test_what_cannot_be_printed_is_a_failure(tmp_path: Path) -> None:
    binary = Binary(tmp_path)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_text("x")
    said = b"standard output is closed"
    done = redirected(binary, ">&-", "create", tree, "--name", "s1")
    assert done.returncode == 1
    assert said in done.stderr
    lines: tuple[tuple[str | Path, ...], ...] = (
        ("list",), ("list", "--json"), ("ls",), ("show",), ("cat", "s1:a"), ("roots",), ("runs",),
        ("info",), ("verify", "--json"), (), ("--version",), ("--help",), ("list", "--help"),
        ("completion", "bash"), ("restore", "s1", "--to", tmp_path / "x", "--dry-run"),
        ("diff", "s1", ".", "--stat"), ("create", tree), ("tag", "s1", "t"),
    )  # fmt: skip
    for words in lines:
        done = redirected(binary, ">&-", *words)
        assert done.returncode == 1, words
        assert done.stderr.count(said) == 1, words
        if "--json" in words:
            assert json.loads(done.stderr)["subject"] == "standard output"
    # Nothing to print, nothing to fail.
    (tree / "a").write_text("y")
    binary("create", tree)
    for silent in (("diff",), ("list", "-n", "0"), ("restore", "s1", "--to", tmp_path / "y")):
        assert redirected(binary, ">&-", *silent).returncode == 0, silent


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "en_US.ISO-8859-1"},
    ],
)
def test_bare_environments(variables: dict[str, str], tmp_path: Path) -> None:
    binary = Binary(tmp_path)
    binary.variables = variables
    done = binary("list", code=10)
    assert b"which repository? there is no HOME to look in" in done.stderr
    repository = tmp_path / "caf\u00e9"
    done = binary("list", b"-r" + os.fsencode(repository) + b"\xff", code=10)
    assert "café".encode() in done.stderr
    assert b"$'\\377'" in done.stderr


def test_a_run_leaves_nothing_in_an_empty_home(tmp_path: Path) -> None:
    for words in (["list"], ["--help"], ["create", "/no/such/directory"], []):
        Binary(tmp_path)(*words, code=None)
    assert os.listdir(tmp_path) == []


def test_the_overview_names_every_common_option() -> None:
    from snapfs.cli.frame.options import Changing
    from snapfs.cli.frame.params import params_of

    text = overview()
    for param in params_of(Changing):
        assert param.name in text
    assert "--version" in text
