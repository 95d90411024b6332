"""Running snapfs as its users do: arguments, an exit code, two streams.

Most tests are about what a command does to files, and the start of an interpreter takes ten times as
long as that: such a command runs within the test's own process. It gets one of its own where a process
makes a difference: started in the background, killed, run as another user, given variables or a limit
of time, called from a thread, or asked for with ``snapfs.process(...)``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snapfs.cli.main import main
from tests.harness.here import here
from tests.harness.user import User

Argument = str | bytes | Path

PROGRAM: tuple[str, ...] = (sys.executable, "-P", "-m", "snapfs")
"""-P: a tree under test that holds a directory called snapfs must not be imported."""


@dataclass(frozen=True)
class Result:
    """How one command ended."""

    argv: tuple[Argument, ...]
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """stdout, names in any bytes."""
        return os.fsdecode(self.out)

    @property
    def errors(self) -> str:
        """stderr, names in any bytes."""
        return os.fsdecode(self.err)

    @property
    def lines(self) -> list[str]:
        """The lines of stdout; only a newline ends one."""
        return self.text.removesuffix("\n").split("\n") if self.out else []

    @property
    def fields(self) -> list[bytes]:
        """The NUL-ended fields of stdout (-0)."""
        assert self.out == b"" or self.out.endswith(b"\0"), self
        return self.out.split(b"\0")[:-1]

    def json(self) -> Any:
        """stdout as one JSON object."""
        return json.loads(self.out)

    def json_lines(self) -> list[Any]:
        """stdout as one JSON object per line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self) -> str:
        shown = " ".join(os.fsdecode(os.fspath(part)) for part in self.argv)
        return f"$ snapfs {shown!r}\nexit {self.code}\n--- stdout\n{self.text[-4000:]!s}\n--- stderr\n{self.errors[-4000:]}"


@dataclass(frozen=True)
class Program:
    """snapfs with one repository and one home; both live below a temporary directory."""

    repository: Path
    home: Path
    user: User | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False

    @property
    def process(self) -> Program:
        """The same with a process for every command."""
        return replace(self, apart=True)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Everything the program sees: nothing leaks in from the machine but where things are."""
        places = ("PYTHONPATH", "TMPDIR")
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            **{name: os.environ[name] for name in places if name in os.environ},
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SNAPFS_REPO": str(self.repository),
            **self.extra,
            **(more or {}),
        }

    def start(
        self,
        *args: Argument,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | None = subprocess.PIPE,
        program: Sequence[str] = PROGRAM,
        **popen: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a command and return at once."""
        argv: list[Argument] = [*program, *args]
        if self.user is not None:
            argv = [*self.user.launcher(self.repository.parent, self.home), *argv]
        return subprocess.Popen(
            argv,
            cwd=cwd or self.home,
            env=self.environment(env),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            **popen,
        )

    def __call__(
        self,
        *args: Argument,
        ok: Sequence[int] | None = (0,),
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float | None = None,
    ) -> Result:
        """Run a command to its end; its exit code must be one of ``ok`` (None: any).

        A traceback on stderr fails the test whatever the code is.
        """
        threaded = threading.current_thread() is not threading.main_thread()
        if self.apart or threaded or not (self.user is env is timeout_s is None):
            process = self.start(
                *args, cwd=cwd, env=env, stdin=subprocess.PIPE, start_new_session=True
            )
            return self.finish(process, args, ok=ok, stdin=stdin, timeout_s=timeout_s or 300)
        words = [os.fsdecode(os.fspath(word)) for word in args]
        found = here(
            lambda: main(words),
            cwd=cwd or self.home,
            environment=self.environment(),
            stdin=stdin,
        )
        return _checked(Result(tuple(args), *found), ok)

    def finish(
        self,
        process: subprocess.Popen[bytes],
        args: Sequence[Argument] = (),
        *,
        ok: Sequence[int] | None = (0,),
        stdin: bytes | None = None,
        timeout_s: float = 300,
    ) -> Result:
        """Wait for a started command and check how it ended."""
        try:
            out, err = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.kill()
            out, err = process.communicate()
            raise AssertionError(
                f"no end after {timeout_s} s: {Result(tuple(args), -1, out or b'', err or b'')}"
            ) from None
        return _checked(Result(tuple(args), process.returncode, out or b"", err or b""), ok)

    # The few commands that nearly every test needs, in one place.

    def create(
        self,
        root: Path,
        name: str | None = None,
        *args: Argument,
        ok: Sequence[int] | None = (0,),
        **more: Any,
    ) -> Result:
        """Take a snapshot of ``root``."""
        named: tuple[Argument, ...] = () if name is None else ("--name", name)
        return self("create", root, *named, *args, ok=ok, **more)

    def restore(
        self,
        reference: Argument,
        target: Path,
        *args: Argument,
        ok: Sequence[int] | None = (0,),
        **more: Any,
    ) -> Result:
        """Restore into an empty or absent directory."""
        return self("restore", reference, *args, "--to", target, ok=ok, **more)

    def restore_in_place(
        self, reference: Argument, *args: Argument, ok: Sequence[int] | None = (0,), **more: Any
    ) -> Result:
        """Restore over the live tree without a question and without a safety snapshot."""
        return self(
            "restore", reference, *args, "--in-place", "--no-safety", "--yes", ok=ok, **more
        )

    def verify(self, *args: Argument, ok: Sequence[int] | None = (0,), **more: Any) -> Result:
        """Check every byte of the repository."""
        return self("verify", "--data", *args, ok=ok, **more)


def _checked(result: Result, ok: Sequence[int] | None) -> Result:
    assert b"Traceback (most recent call last)" not in result.err, str(result)
    assert b"internal error" not in result.err, str(result)
    if ok is not None:
        assert result.code in ok, str(result)
    return result
