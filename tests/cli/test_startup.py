"""What starting costs, counted in modules that are loaded, not in time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

HEAVY = {
    "sqlalchemy", "rich", "typer", "click", "pydantic", "blake3", "pyfastcdc", "pathspec", "tomllib",
    "multiprocessing", "difflib", "concurrent", "asyncio", "logging", "shutil", "tempfile", "socket",
}  # fmt: skip


def loaded(shell: Shell, *words: str) -> set[str]:
    """Modules that a process has loaded once the command ended."""
    code = (
        "import sys\n"
        "from snapfs.cli.main import main\n"
        "code = main()\n"
        "sys.stderr.write('\\n' + ' '.join(sys.modules))\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        cwd=shell.tree,
        capture_output=True,
        check=True,
    )
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ["--help"], ["--version"], ["list"], ["list", "--json"], ["ls"], ["ls", "-l", "s1:sub"],
        ["ls", "-R", "--json"], [], ["info"], ["runs"], ["roots"], ["list", "--help"],
        ["__complete", "zsh", "ls", "s1:"], ["__complete", "bash", "snapfs l", "l"],
    ],
)  # fmt: skip
def test_reading_loads_nothing_heavy(past: Shell, words: list[str]) -> None:
    modules = loaded(past, *words)
    assert not {name.split(".")[0] for name in modules} & HEAVY
    assert not {name for name in modules if name.startswith("snapfs.blocks")}


def test_help_loads_no_command(past: Shell) -> None:
    modules = loaded(past, "--help")
    ours = {name for name in modules if name.startswith("snapfs.")}
    assert len(ours) < 15, ours
    assert "sqlite3" not in modules
    assert "dataclasses" not in modules


def test_a_key_press_loads_no_more_than_it_needs(past: Shell) -> None:
    commands_only = loaded(past, "__complete", "bash", "snapfs l", "l")
    assert not {"sqlite3", "snapfs.cli.frame.invocation"} & commands_only
    assert not {
        name for name in commands_only if name.startswith(("snapfs.repository", "snapfs.fs"))
    }
    names = loaded(past, "__complete", "zsh", "ls", "s")
    assert "snapfs.repository.opened" in names
    assert not {"snapfs.tree.listing", "snapfs.fs.matching"} & names


def test_a_command_loads_no_other(past: Shell) -> None:
    folder = Path(sys.modules["snapfs.cli"].__path__[0])
    names = {f"snapfs.cli.{path.stem}" for path in folder.glob("*.py")}
    assert names & loaded(past, "list") == {
        "snapfs.cli.early",
        "snapfs.cli.list",
        "snapfs.cli.main",
    }
