"""Timing whole processes, from start to end, children included."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class Timing:
    """One run: wall and CPU time in seconds (user and system of all its processes), the largest
    resident size of any single one of them in bytes.
    """

    wall_s: float
    cpu_s: float
    resident_bytes: int


class FailedError(Exception):
    """A measured command ended with a code it should not have."""


def run(
    command: Command,
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    ok: Sequence[int] = (0,),
) -> Timing:
    """Run to the end and measure; stdout goes nowhere, stderr to ``log``. Raises FailedError."""
    with log.open("ab") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ok:
        shown = " ".join(map(str, command))
        raise FailedError(f"exit {process.returncode}: {shown} (see {log})")
    return Timing(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def total(parts: Sequence[Timing]) -> Timing:
    """Several commands that together are one operation."""
    return Timing(
        sum(part.wall_s for part in parts),
        sum(part.cpu_s for part in parts),
        max(part.resident_bytes for part in parts),
    )


def output(command: Command, *, env: Mapping[str, str], cwd: Path) -> bytes:
    """What a command prints, not measured."""
    return subprocess.run(command, env=dict(env), cwd=cwd, check=True, capture_output=True).stdout
