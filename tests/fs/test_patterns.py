"""The pattern language, against a table and against git itself."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapfs.fs.patterns import PatternSet, hide, parse_pattern, parse_patterns, split_lines
from tests.harness.require import need_tools


def excluded(patterns: list[bytes], path: bytes) -> bool:
    """What a walk would come to: ``path`` ends with a slash if it is a directory."""
    matcher = PatternSet(parse_patterns((line, "test") for line in patterns))
    is_dir = path.endswith(b"/")
    parts = path.rstrip(b"/").split(b"/")
    for index, name in enumerate(parts):
        prefix = b"".join(part + b"/" for part in parts[:index])
        decided = matcher.decide(name, prefix, is_dir or index < len(parts) - 1)
        if decided is not None and not decided.negated:
            return True
    return False


@pytest.mark.parametrize(
    ("patterns", "out", "kept"),
    [
        ([b"foo"], [b"foo", b"foo/", b"a/foo", b"a/foo/x"], [b"food", b"a/xfoo"]),
        ([b"foo/"], [b"foo/", b"a/foo/", b"foo/x"], [b"foo", b"a/foo"]),
        ([b"/foo"], [b"foo", b"foo/x"], [b"a/foo"]),
        ([b"a/b"], [b"a/b", b"a/b/c"], [b"x/a/b"]),
        ([b"a/**/b"], [b"a/b", b"a/x/b", b"a/x/y/b/"], [b"a/bb", b"ab"]),
        ([rb"**\/b"], [b"x/b", b"x/y/b/"], [b"b", b"xb"]),
        ([b"**/b"], [b"b", b"x/b", b"x/y/b/"], [b"xb"]),
        ([b"a/**"], [b"a/x", b"a/x/", b"a/x/y"], [b"a", b"a/"]),
        ([b"*", b"!*/", b"!*.txt"], [b"a", b"d/x"], [b"d/", b"d/x.txt", b"x.txt"]),
        ([b"/a/*", b"!/a/b"], [b"a/c", b"a/c/"], [b"a/", b"a/b", b"a/b/x"]),
        ([b"d/", b"!d/keep"], [b"d/keep", b"d/"], [b"keep"]),
        ([b"*.o"], [b".o", b"x.o", b"d/x.o"], [b"x.oo", b"x.O"]),
        ([b"?x"], [b"ax"], [b"x", b"abx", b"\xc3\xa9x"]),
        ([b"[!a]x"], [b"bx", b"\xffx"], [b"ax"]),
        ([b"[[:digit:]-]"], [b"7", b"-"], [b"a"]),
        ([rb"\#x", rb"\!y", b"z\\ "], [b"#x", b"!y", b"z "], [b"x", b"y", b"z"]),
        ([b"[", b"[[:no:]]", b"x\\"], [], [b"[", b"x\\", b"x", b"n"]),
        ([b"#x", b"", b"   ", b"/"], [], [b"#x", b" ", b"x", b"d/"]),
        ([b"\xff*"], [b"\xffx", b"a/\xff"], [b"\xfe", b"\xc3\xbf"]),
        ([b"a*c"], [b"a\nc", b"ac", b"abc"], [b"a/c"]),
        ([b"a.b"], [b"a.b"], [b"axb"]),
    ],
)
def test_table(patterns: list[bytes], out: list[bytes], kept: list[bytes]) -> None:
    assert [path for path in out if not excluded(patterns, path)] == []
    assert [path for path in kept if excluded(patterns, path)] == []


def test_lines_may_end_as_in_windows_and_begin_with_a_mark() -> None:
    assert split_lines(b"\xef\xbb\xbfa\r\nb\nc\r") == [b"a", b"b", b"c"]


def test_a_pattern_knows_where_it_comes_from() -> None:
    pattern = parse_pattern(b"!d/ ", "file")
    assert pattern is not None
    assert (pattern.text, pattern.source) == (b"!d/", "file")
    assert (pattern.negated, pattern.dirs_only, pattern.by_name) == (True, True, True)


def test_what_matched_is_remembered() -> None:
    matcher = PatternSet(parse_patterns([(b"a", ""), (b"b", ""), (b"b*", "")]))
    matcher.decide(b"b", b"", False)
    assert matcher.matched == {1, 2}


NAMES = [b"ab", b"a.c", b"-", b"]", b"[", b"!", b"\\", b" ", b"7", b"A", b"#", b"x"]
DIRS = [b"a/", b"b/", b"d/", b"a/b/", b"a/b/ab/"]
PATHS = [*DIRS, *(folder + name for folder in (b"", b"a/", b"d/", b"a/b/") for name in NAMES)]
PATHS.remove(b"a/b/ab")
PATHS += [b"a/b/ab/a", b"a/b/ab/a.c", b"d/a", b"d/b"]
ALPHABET = "ab.c/*?[]!^-\\ 7A:#"
PATTERN = st.one_of(
    st.text(ALPHABET, min_size=1, max_size=7),
    st.lists(
        st.sampled_from(
            ["**", "*", "a", "b", "/", "?", "!", "[ab]", "[!a]", "[a-c]", "[^b-]", "[]]", "ab",
             "[[:alpha:]]", "[[:punct:]", "\\", ".c", " ", "[]-a]", "[\\]]", "***", "a/**", "**/"]
        ),
        min_size=1,
        max_size=5,
    ).map("".join),
)  # fmt: skip


@pytest.fixture(scope="module")
def worktree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_tools("git")
    path = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", path], check=True, capture_output=True)
    for name in PATHS:
        entry = path / os.fsdecode(name)
        if name.endswith(b"/"):
            entry.mkdir()
        else:
            entry.touch()
    return path


@settings(
    deadline=None,
    max_examples=int(os.environ.get("SNAPFS_EXAMPLES", "150")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(patterns=st.lists(PATTERN, min_size=1, max_size=3))
def test_git_agrees(worktree: Path, patterns: list[str]) -> None:
    lines = [pattern.encode() for pattern in patterns]
    (worktree / ".gitignore").write_bytes(b"\n".join(lines) + b"\n")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/"}
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=worktree,
        env=environment,
        input=b"".join(path.rstrip(b"/") + b"\0" for path in PATHS),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    theirs = set(done.stdout.split(b"\0")) - {b""}
    ours = {path.rstrip(b"/") for path in PATHS if excluded(lines, path)}
    assert ours == theirs, lines


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a*a*a*a*a*b", b"a" * 250),
        (b"*" + b"?*" * 60 + b"b", b"a" * 250),
        (b"*[ab]*[!b]*a*a*?*a*b", b"a" * 250),
        (b"**/a/**/a/**/a/**/a/**/a/**/b", b"a/" * 1500 + b"a"),
        (b"x/**/*a*a*/**/*a*a*/**/*a*a*b", b"x/" + b"aaaaaaaa/" * 400 + b"a"),
        (b"**/a*a*/**", b"aab/" * 1000),
    ],
)
def test_no_pattern_takes_long(pattern: bytes, path: bytes) -> None:
    """Whoever may write one ignore file into a tree must not be able to stop its snapshots."""
    matcher = PatternSet(parse_patterns([(pattern, "test")]))
    above, _, name = path.rpartition(b"/")
    previous = signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a match hears no handler
    signal.alarm(60)
    try:
        found = matcher.decide(name, above + b"/" if above else b"", False)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert (found is not None) == pattern.endswith(b"**")


@pytest.mark.parametrize(
    ("line", "is_hidden"),
    [
        (b"foo", True), (b"/foo", True), (b"foo/", True), (b"a/foo/", True), (b"!foo", True),
        (rb"\#f\*o", True), (b"z\\ ", True), (b"#x", False), (b"", False), (b"/", False),
        (b"f*o", False), (b"f[o]", False), (b"f\\", False),
    ],
)  # fmt: skip
def test_a_hidden_line_decides_as_it_did(line: bytes, is_hidden: bool) -> None:
    hidden = hide(line)
    assert (hidden is not None) == is_hidden
    if hidden is None:
        return
    assert not any(name in hidden for name in (b"foo", b"#f*o", b"z "))
    assert hide(hidden) is None
    first, second = parse_pattern(line, "test"), parse_pattern(hidden, "test")
    assert first is not None
    assert second is not None
    for name in (b"foo", b"#f*o", b"z ", b"fo", b""):
        for prefix in (b"", b"a/", b"b/"):
            for is_dir in (False, True):
                ours = PatternSet([second]).decide(name, prefix, is_dir)
                theirs = PatternSet([first]).decide(name, prefix, is_dir)
                assert (ours is None) == (theirs is None), (name, prefix, is_dir)
    assert second.negated == first.negated
