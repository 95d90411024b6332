"""The name of what was purged in what people wrote: rules, messages, command lines, tags, names of snapshots."""

from __future__ import annotations

from pathlib import Path

from tests.harness.inprocess import InProcess
from tests.purge.traces import traces

NAME = "zecret-name-xyz"
FORMS = (
    f"/{NAME}", f"{NAME}/", f"*/{NAME}", f"dir/{NAME}", f"!{NAME}", f"pre-{NAME}*", "/dir/odd\\ [x]",
    "dir/kept", "/kept", "*.tmp",
)  # fmt: skip


def _grow(tree: Path) -> None:
    (tree / "dir").mkdir()
    for name in (NAME, f"dir/{NAME}", "dir/odd [x]", "kept", "dir/kept", "x"):
        (tree / name).write_bytes(b"s")


def test_rules_messages_and_command_lines(run: InProcess, tree: Path) -> None:
    """A distinctive name goes as a part of words as well, a short one and one that others have do not."""
    _grow(tree)
    run("create", tree, "--name", "a", "-m", f"{NAME}!", cwd=tree)
    words = [f"--exclude={form}" for form in FORMS]
    message = f"{NAME}-old rotated, (pre-{NAME}) x ax"
    run("create", "--name", "b", "-m", message, *words, cwd=tree)
    run("tag", "a", "x-tag", cwd=tree)
    run("purge", NAME, f"dir/{NAME}", "dir/odd [x]", "dir/kept", "x", "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()
    assert "PURGED!" in run("show", "a", cwd=tree).out.decode()
    rules = run("show", "b", cwd=tree).out.decode()
    assert "PURGED-old rotated, (pre-PURGED) PURGED ax" in rules
    for form in (
        "/PURGED", "PURGED/", "*/PURGED", "!PURGED", "pre-PURGED*", "/kept", "*.tmp",
    ):  # fmt: skip
        assert f"--exclude: {form}" in rules, form
    assert "odd" not in rules
    assert "dir/kept" not in rules
    command = next(one for one in run("runs").out.decode().splitlines() if "rotated" in one)
    assert "--exclude=/PURGED" in command
    run("verify", "--data")


def test_tags_and_names_of_snapshots_are_told(run: InProcess, tree: Path) -> None:
    """They are not changed behind one's back; once they are, --deleted drops what is left of them."""
    _grow(tree)
    run("create", tree, "--name", "a", cwd=tree)
    run("create", "--name", f"pre-{NAME}", cwd=tree)
    run("tag", "a", f"{NAME}-tag", cwd=tree)
    plan = run("purge", NAME, f"dir/{NAME}", "-n", "--json", cwd=tree).json()
    done = run("purge", NAME, f"dir/{NAME}", "--yes", "--json", cwd=tree, ok=(3,)).json()
    assert plan["remaining"] == done["remaining"]
    assert f"`snapfs untag tree@a {NAME}-tag`" in done["remaining"][0]
    assert f"`snapfs rename tree@pre-{NAME} NEW`" in done["remaining"][1]
    run("untag", "tree@a", f"{NAME}-tag", cwd=tree)
    run("rename", f"tree@pre-{NAME}", "b", cwd=tree)
    assert traces(run.repository, NAME.encode())
    run("purge", "--deleted", NAME, "--yes", cwd=tree)
    assert traces(run.repository, NAME.encode()) == set()
    run("verify", "--data")
