"""What a purge takes out and what it leaves, before the question and after."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from snapfs.fs.rules import IGNORE_FILE
from snapfs.model.path import join
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_duration, format_size
from snapfs.purge import Alias, PurgeResult

_SPECIAL = re.compile(rb"([\\*?\[\]#! ])")


def question_lines(repository: bytes, plan: PurgeResult) -> list[str]:
    """What the question is about."""
    goes = "goes" if plan.entries == 1 else "go"
    lines = [
        f"In {quote(repository)}, from every snapshot of {plan.root.label}:",
        *(f"  {quote(path)}" for path in plan.paths),
        f"{_what(plan)} {goes} for ever from {_where(plan)}; {_gain(plan, about=True)}.",
    ]
    if plan.pinned:
        lines.append(f"Pinned snapshots lose it as well: {', '.join(plan.pinned)}.")
    lines += [f"{line[0].upper()}{line[1:]}." for line in stays(plan)]
    lines += [f"Not removed: {line}." for line in plan.remaining]
    return lines


def summary(result: PurgeResult, *, dry_run: bool) -> str:
    """One line at the end."""
    done = "would purge" if dry_run else "purged"
    return (
        f"{done} {_what(result)} from {_where(result)}; {_gain(result, about=dry_run)}; "
        f"{format_duration(result.duration_ns)}"
    )


def stays(result: PurgeResult) -> Iterator[str]:
    """What is still there under another name or in another root, and how to name that."""
    for alias in result.also_known:
        yield (
            f"it is also known as {quote(alias.path)} ({_range(alias)}) and stays there; "
            "name that path too if it is to go"
        )
    for other in result.also_in:
        if other.path:
            yield (
                f"root {other.label} has it as {quote(other.path)}: "
                f"`snapfs purge --root {other.label} {_from_root(other.path)}`"
            )
        else:
            yield f"root {other.label} lies in it and keeps its own snapshots"
    if result.shared_contents:
        count = format_count(result.shared_contents, "content")
        stay = "stays" if result.shared_contents == 1 else "stay"
        yield f"{count} of it {stay}, since other files have the same bytes"


def next_steps(result: PurgeResult, host: str) -> Iterator[str]:
    """What brings it back, and where snapfs has not looked."""
    live = [path for path in result.paths if _is_live(result, host, path)]
    if live:
        them = "it" if len(live) == 1 else "them"
        yield (
            f"{_listed(live)} still in the directory: the next snapshot captures {them} again, unless a "
            f"rule leaves {them} out; {quote(IGNORE_FILE)} at its top may have {_rules(live)} (then the next "
            "snapshot has the name in that file)"
        )
    yield "trees that were restored and copies of the repository are as they were"


def _is_live(result: PurgeResult, host: str, path: bytes) -> bool:
    root = result.root
    return root.path is not None and root.host == host and os.path.lexists(join(root.path, path))


def _listed(paths: Sequence[bytes]) -> str:
    return f"{', '.join(map(quote, paths))} {'is' if len(paths) == 1 else 'are'}"


def _rules(paths: Sequence[bytes]) -> str:
    lines = [b"/" + _SPECIAL.sub(rb"\\\1", path) for path in paths]
    if any(b"\n" in line or b"\r" in line for line in lines):
        return "a line"
    noun = "the line" if len(lines) == 1 else "the lines"
    return f"{noun} {', '.join(printable(os.fsdecode(line)) for line in lines)}"


def _what(result: PurgeResult) -> str:
    return format_count(result.entries, "entry", "entries")


def _where(result: PurgeResult) -> str:
    names = result.snapshots
    count = format_count(len(names), "snapshot")
    if not names:
        return count
    return f"{count} ({names[0]})" if len(names) == 1 else f"{count} ({names[0]} to {names[-1]})"


def _gain(result: PurgeResult, *, about: bool) -> str:
    packs = format_count(result.packs_rewritten, "pack")
    size = result.freed_bytes
    freed = f"{format_size(size)} freed" if size >= 0 else f"{format_size(-size)} more used"
    return f"{'about ' if about else ''}{freed}, {packs} written anew"


def _range(alias: Alias) -> str:
    return alias.first if alias.first == alias.last else f"{alias.first} to {alias.last}"


def _from_root(path: bytes) -> str:
    return quote(b":" + path)
