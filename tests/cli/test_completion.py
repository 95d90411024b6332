"""What is offered for a word, and what bash, zsh and fish make of it on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapfs.cli.frame import declare, declared
from tests.cli.conftest import Shell
from tests.harness.require import need_tools

_PATIENCE_S = 60


def test_the_table_of_words_is_current() -> None:
    assert Path(declared.__file__).read_text() == declare.source(), (
        "run python -m snapfs.cli.frame.declare"
    )


def test_scripts(shell: Shell) -> None:
    for name in ("bash", "zsh", "fish"):
        assert "snapfs __complete" in shell("completion", name).out
        assert shell("completion", name, "--json").objects[0]["shell"] == name
    assert "bash, zsh, fish" in shell("completion", "csh", code=2).err
    assert "COMP_WORDBREAKS" not in shell("completion", "bash").out


@pytest.mark.parametrize(
    ("words", "files", "expected"),
    [
        (["li"], "", ["list"]),
        (["--lo"], "", ["--lock-wait"]),
        (["--root", "p"], "dirnames", ["photos"]),
        (["--root=p"], "dirnames", ["--root=photos"]),
        (["-r", ""], "dirnames", []),
        (["-q", "re"], "", ["restore", "revert", "rename", "repair", "rebuild-catalog"]),
        (["ls", ""], "", ["latest", "s3", "s2", "s1", "photos@"]),
        (["ls", "photos@s"], "", ["photos@s3", "photos@s2", "photos@s1"]),
        (["ls", "s1:"], "", ["s1:a", "s1:link", "s1:sub/"]),
        (["ls", "s1:sub/"], "", ["s1:sub/two words"]),
        (["ls", "s1", ""], "", []),
        (["cat", ":li"], "", [":link"]),
        (["cat", "s"], "", ["s3:", "s2:", "s1:"]),
        (["ls", "photos@2026-06-01T13:00:s"], "", ["photos@2026-06-01T13:00:sub/"]),
        (["ls", "--rec"], "", ["--recursive"]),
        (["show", "s1:"], "", []),
        (["restore", "s1", "--overwrite", "if"], "", ["if-changed", "if-newer"]),
        (["restore", "s1", "--overwrite=n"], "", ["--overwrite=never"]),
        (["restore", "s1", "--to", ""], "dirnames", []),
        (["restore", "s1", "--to="], "dirnames", []),
        (["restore", "s1", "a"], "default", ["a"]),
        (["restore", "s1", "s"], "default", ["sub/"]),
        (["restore", "s1", "--to", "x", "a", "./sub/t"], "default", ["./sub/two words"]),
        (["restore", "s1:sub", "t"], "default", []),
        (["restore", "nope", "s"], "default", []),
        (["restore", "s1", "--", "-"], "default", []),
        (["roots", "re"], "", ["rename", "remove"]),
        (["roots", "rename", "ph"], "dirnames", ["photos"]),
        (["list", "p"], "dirnames", ["photos"]),
        (["create", "p"], "plusdirs", ["photos"]),
        (["create", "--exclude-from", "p"], "default", []),
        (["diff", "s1", "s"], "default", ["s3", "s2", "s1"]),
        (["diff", "s1.."], "default", ["s1..latest", "s1..s3", "s1..s2", "s1..s1"]),
        (["diff", "photos@s1..s2"], "default", ["photos@s1..s2"]),
        (["delete", "s1..photos@l"], "", ["s1..photos@latest"]),
        (["delete", "photos@s1..l"], "", ["photos@s1..latest"]),
        (["show", "s1.."], "", []),
        (["nope", ""], "", []),
        (["ls", "nope@"], "", []),
        (["completion", "b"], "", ["bash"]),
        (["--bad", "ls", ""], "", []),
    ],
)
def test_what_is_offered(past: Shell, words: list[str], files: str, expected: list[str]) -> None:
    assert past("__complete", "zsh", *words).lines == [files, *expected]
    assert past("__complete", "fish", *words).err == ""


def test_what_bash_is_told(past: Shell) -> None:
    def told(line: str, part: str) -> list[str]:
        return past("__complete", "bash", line, part).lines

    assert told("snapfs ls photos@la", "la") == ["", "latest"]
    assert told("snapfs ls photos@la", "@la") == ["", "@latest"]
    assert told("snapfs ls s1:sub/", "sub/") == ["", "sub/two\\ words"]
    assert told("snapfs ls 's1:sub/", "s1:sub/") == ["", "s1:sub/two words"]
    assert told("snapfs list --root=ph", "ph") == ["dirnames", "photos"]
    assert told("snapfs ls s1:su", "su") == ["nospace", "sub/"]


def test_nothing_is_offered_without_a_repository(shell: Shell) -> None:
    done = shell("__complete", "zsh", "ls", "")
    assert (done.out, done.err) == ("\n", "")


class Editor:
    """An interactive shell on a terminal; ``tab`` says what a Tab key makes of a line."""

    def __init__(
        self, folder: Path, argv: list[str], setup: str, environment: dict[str, str]
    ) -> None:
        self._line = folder / "line"
        self._fd, follower = pty.openpty()
        self._shown = b""
        self.process = subprocess.Popen(
            argv, stdin=follower, stdout=follower, stderr=follower, cwd=folder,
            env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(follower)
        (folder / "setup").write_text(setup)
        self._type(". ./setup; echo re''ady\n")
        self._wait(lambda: b"ready" in self._shown)

    def _type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def _wait(self, done: object) -> None:
        assert callable(done)
        end = time.monotonic() + _PATIENCE_S
        while not done():
            assert time.monotonic() < end, self._shown[-2000:]
            if select.select([self._fd], [], [], 0.01)[0]:
                self._shown += os.read(self._fd, 65536)

    def tab(self, text: str) -> str:
        self._line.unlink(missing_ok=True)
        self._type(f"{text}\t\x07")
        self._wait(self._line.exists)
        return self._line.read_text()

    def close(self) -> None:
        os.close(self._fd)
        self.process.wait(_PATIENCE_S)


@pytest.fixture
def place(past: Shell) -> Path:
    """A directory with a program called snapfs, directories, and a repository with more names."""
    folder = past.home
    (folder / "bin").mkdir()
    program = folder / "bin/snapfs"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m snapfs "$@"\n')
    program.chmod(0o755)
    for name in ("a:b", "it's", "pay$"):
        (past.tree / "sub" / name).write_text("x")
    past("create", "--name", "t1")
    (folder / "two dirs").mkdir()
    return folder


def variables(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ.get('PATH', os.defpath)}"
    return {
        "PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", "TERM": "xterm",
        "HISTFILE": "", "PS1": "$ ",
    }  # fmt: skip


_BASH = r"""
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
bind -x '"\C-g": printf %s "$READLINE_LINE" > line.new; mv line.new line; READLINE_LINE='
eval "$(snapfs completion bash)"
"""


@pytest.fixture(
    params=["", "COMP_WORDBREAKS=${COMP_WORDBREAKS//[@:]/}", "shopt -u hostcomplete"],
    ids=["breaks", "no-breaks", "no-hosts"],
)
def bash(place: Path, request: pytest.FixtureRequest) -> Iterator[Editor]:
    editor = Editor(
        place, ["bash", "--norc", "--noprofile", "-i"], _BASH + request.param, variables(place)
    )
    yield editor
    editor.close()


def test_bash(bash: Editor) -> None:
    for typed, expected in (
        ("snapfs li", "snapfs list "),
        ("snapfs ls ph", "snapfs ls photos@"),
        ("snapfs ls photos@", "snapfs ls photos@"),
        ("snapfs ls photos@t", "snapfs ls photos@t1 "),
        ("snapfs ls photos@t1:", "snapfs ls photos@t1:"),
        ("snapfs ls photos@t1:su", "snapfs ls photos@t1:sub/"),
        ("snapfs ls photos@t1:sub/i", "snapfs ls photos@t1:sub/it\\'s "),
        ("snapfs ls photos@t1:sub/a:", "snapfs ls photos@t1:sub/a:b "),
        ("snapfs ls photos@t1:sub/p", "snapfs ls photos@t1:sub/pay\\$ "),
        ("snapfs ls photos@s1:sub/t", "snapfs ls photos@s1:sub/two\\ words "),
        ("snapfs ls photos@s1:sub/two\\", "snapfs ls photos@s1:sub/two\\ words "),
        ("snapfs ls photos@s1:sub/two\\ w", "snapfs ls photos@s1:sub/two\\ words "),
        ("snapfs ls 'photos@t1:sub/i", "snapfs ls 'photos@t1:sub/it'\\''s' "),
        ('snapfs ls "photos@t1:sub/p', 'snapfs ls "photos@t1:sub/pay\\$" '),
        ("snapfs ls 'ph", "snapfs ls 'photos@"),
        ("snapfs ls 'photos@'t", "snapfs ls photos@t1 "),
        ("snapfs cat photos@t", "snapfs cat photos@t1:"),
        ("snapfs diff photos@s1..l", "snapfs diff photos@s1..latest "),
        ("snapfs diff photos@s1..photos@t", "snapfs diff photos@s1..photos@t1 "),
        ("snapfs diff photos@s1 bi", "snapfs diff photos@s1 bin/"),
        ("snapfs create ph", "snapfs create photos "),
        ("snapfs create tw", "snapfs create two\\ dirs/"),
        ("snapfs restore photos@s1 --to tw", "snapfs restore photos@s1 --to two\\ dirs/"),
        ("snapfs restore photos@s1 --to=tw", "snapfs restore photos@s1 --to=two\\ dirs/"),
        ("snapfs list --root=ph", "snapfs list --root=photos "),
        ("snapfs ls photos@s1:bi", "snapfs ls photos@s1:bi"),
    ):  # fmt: skip
        assert bash.tab(typed) == expected, typed


_ZSH = """
autoload -U compinit; compinit -u -D
dump() { print -rn -- "$BUFFER" > line.new; mv line.new line; zle kill-whole-line }
zle -N dump; bindkey '^G' dump
source <(snapfs completion zsh)
"""


def test_zsh(place: Path) -> None:
    need_tools("zsh")
    zsh = Editor(place, ["zsh", "-f", "-i"], _ZSH, variables(place))
    for typed, expected in (
        ("snapfs ls ph", "snapfs ls photos@"),
        ("snapfs ls photos@t", "snapfs ls photos@t1 "),
        ("snapfs ls photos@t1:su", "snapfs ls photos@t1:sub/"),
        ("snapfs ls photos@s1:sub/t", "snapfs ls photos@s1:sub/two\\ words "),
        ("snapfs ls 'photos@s1:sub/t", "snapfs ls 'photos@s1:sub/two words' "),
        ("snapfs create tw", "snapfs create two\\ dirs/"),
        ("snapfs create ph", "snapfs create photos "),
        ("snapfs restore photos@s1 --to=tw", "snapfs restore photos@s1 --to=two\\ dirs/"),
        ("snapfs diff photos@s1..l", "snapfs diff photos@s1..latest "),
        ("snapfs ls tw", "snapfs ls tw"),
    ):
        assert zsh.tab(typed) == expected, typed
    zsh.close()


def test_fish(place: Path) -> None:
    need_tools("fish")

    def offered(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "--no-config", "-c", "snapfs completion fish | source; complete -C $argv[1]", "--", line],
            env=variables(place), cwd=place, capture_output=True, check=True,
        )  # fmt: skip
        return [found.split("\t")[0] for found in done.stdout.decode().splitlines()]

    assert offered("snapfs ls ph") == ["photos@"]
    assert offered("snapfs ls photos@t1:sub/i") == ["photos@t1:sub/it's"]
    assert offered("snapfs ls 'photos@s1:sub/t") == ["photos@s1:sub/two words"]
    assert offered("snapfs ls photos@s1:sub/two\\ ") == ["photos@s1:sub/two words"]
    assert offered("snapfs create tw") == ["two dirs/"]
    assert offered("snapfs create ph") == ["photos"]
    assert offered("snapfs ls tw") == []
