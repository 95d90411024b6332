"""Names as a shell reads them back, and nothing a terminal would act on."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from snapfs.model.quote import printable, quote, quote_text

PIECES = [
    b"a", b"'", b" ", b'"', b"\n", b"\x1b", b"#", b"~", b"{", b"}", b"\\", b"?", b"\xff", b"\xc3\xa9",
    b"=", b"%", b"^", b"-", b"\xe2\x80\xae", b"$", b"@", b"\t", b"\x7f", b"\xc2\x85", b"1", b"*", b",", b"..",
]  # fmt: skip
NAMES = [b"".join(parts) for size in (1, 2, 3) for parts in itertools.product(PIECES, repeat=size)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"plain-name_1.0+x", "plain-name_1.0+x"),
        (b"", "''"),
        (b"two words", "'two words'"),
        (b"it's", '"it\'s"'),
        (b"it's $5", "'it'\\''s $5'"),
        (b"a\nb", "'a'$'\\n''b'"),
        (b"\x1b[31m", "''$'\\033''[31m'"),
        (b"\xff\xfe", "''$'\\377\\376'"),
        (b"caf\xc3\xa9", "café"),
        (b"caf\xe9", "'caf'$'\\351'"),
        (b"txt.\xe2\x80\xaeexe", "'txt.'$'\\342\\200\\256''exe'"),
        (b"#x", "'#x'"),
        (b"x#", "x#"),
        (b"~", "'~'"),
        (b"{", "'{'"),
        (b"a{b", "a{b"),
        (b"{a,b}", "'{a,b}'"),
        (b"x{1..3}y", "'x{1..3}y'"),
        (b"{a}", "{a}"),
        (b"a,b", "a,b"),
        (b"-rf", "-rf"),
    ],
)
def test_table(name: bytes, text: str) -> None:
    assert quote(name) == text
    assert quote_text(name.decode("utf-8", "surrogateescape")) == text


def test_a_shell_reads_every_name_back() -> None:
    script = "printf '%s\\0' " + " ".join(quote(name) for name in NAMES)
    done = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == NAMES


def test_nothing_raw_reaches_the_terminal() -> None:
    for name in NAMES:
        assert quote(name).isprintable(), name


def test_same_as_ls(tmp_path: Path) -> None:
    """Where ls does not show invisible characters raw, and none of its own rare bugs shows."""
    names = [
        name
        for name in {*NAMES[:900], *NAMES[900::9]}
        if name not in {b".", b".."}
        and b"{" not in name
        and b"\xe2" not in name
        and not (b"'" in name and not name.decode("utf-8", "surrogateescape").isprintable())
    ]
    for name in names:
        (tmp_path / name.decode("utf-8", "surrogateescape")).touch()
    ls = shutil.which("ls")
    assert ls is not None

    def run(style: str, *options: str) -> bytes:
        command = [ls, f"--quoting-style={style}", "-AU1", *options, str(tmp_path)]
        return subprocess.run(
            command, env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True
        ).stdout

    raw = run("literal", "--zero").split(b"\0")[:-1]
    quoted = run("shell-escape").split(b"\n")[:-1]
    assert len(raw) == len(quoted) == len(names)
    assert {name: quote(name).encode() for name in raw} == dict(zip(raw, quoted, strict=True))


def test_free_text_stays_on_one_line() -> None:
    assert printable("plain text, it's fine") == "plain text, it's fine"
    assert printable("a\nb\x1b[2J\udcff\u202e") == "a\\nb\\x1b[2J\\xff\\xe2\\x80\\xae"
