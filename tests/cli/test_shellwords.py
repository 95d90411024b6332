"""Lines split as a shell does, and words that readline puts in the right place."""

from __future__ import annotations

import subprocess

import pytest

from snapfs.cli.frame.shellwords import Line, escape, for_readline, split_line


@pytest.mark.parametrize(
    ("text", "words", "raw", "quote"),
    [
        ("snapfs ", ["snapfs", ""], "", ""),
        ("snapfs li", ["snapfs", "li"], "li", ""),
        ("snapfs  ls   latest:a", ["snapfs", "ls", "latest:a"], "latest:a", ""),
        ("snapfs ls latest:a\\ b", ["snapfs", "ls", "latest:a b"], "latest:a\\ b", ""),
        ("snapfs ls 'latest:a b", ["snapfs", "ls", "latest:a b"], "'latest:a b", "'"),
        ("snapfs ls 'latest:a'b", ["snapfs", "ls", "latest:ab"], "'latest:a'b", ""),
        ('snapfs ls "a\\"b" ', ["snapfs", "ls", 'a"b', ""], "", ""),
        ('snapfs ls "a\\b', ["snapfs", "ls", "a\\b"], '"a\\b', '"'),
        ("snapfs '' x", ["snapfs", "", "x"], "x", ""),
        ("snapfs a\\", ["snapfs", "a"], "a\\", ""),
        ("", [""], "", ""),
    ],
)
def test_lines(text: str, words: list[str], raw: str, quote: str) -> None:
    assert split_line(text) == Line(words, raw, quote)


@pytest.mark.parametrize(
    "word", ["a b", "it's", 'x"y', "a\\b", "$HOME", "a&b;c|d", "#x", "{a,b}", "é*?"]
)
def test_a_shell_reads_escaped_words_back(word: str) -> None:
    done = subprocess.run(
        ["bash"], input=f"printf %s {escape(word)}".encode(), capture_output=True, check=True
    )
    assert done.stdout.decode() == word


@pytest.mark.parametrize(
    ("candidate", "raw", "part", "expected"),
    [
        ("latest", "la", "la", "latest"),
        ("photos@latest", "photos@la", "photos@la", "photos@latest"),
        ("photos@latest", "photos@la", "@la", "@latest"),
        ("photos@latest", "photos@la", "la", "latest"),
        ("photos@latest", "photos@", "@", "@latest"),
        ("photos@latest", "photos@", "", "latest"),
        ("latest:src/", "latest:s", "s", "src/"),
        ("latest:src/", "latest:", "", "src/"),
        ("latest:a b", "latest:a", "a", "a\\ b"),
        ("latest:a b", "latest:a\\ ", "a\\ ", "a\\ b"),
        ("latest:a b", "'latest:a", "latest:a", "latest:a b"),
        ("latest:it's", "'latest:i", "latest:i", "latest:it'\\''s"),
        ("latest:$x", '"latest:', "latest:", "latest:\\$x"),
        ("latest:a!", '"latest:', "latest:", None),
        ("latest:a b", "'latest:'a", "'latest:'a", "latest:a\\ b"),
        ("latest:a b", "'latest:'a", "a", "a\\ b"),
        ("latest:a b", "latest:'a", "a", "a b"),
        ("--repo=/x", "--repo=", "", "/x"),
        ("list", "", "", "list"),
        ("latest:x", "la'test:", "other", None),
        ("latest:x", "first:x", "x", None),
    ],
)
def test_what_readline_inserts(candidate: str, raw: str, part: str, expected: str | None) -> None:
    assert for_readline(candidate, raw, part) == expected
