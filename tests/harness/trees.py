"""Facts of a tree, and what differs between two: torture.py's own survey, kept in memory.

A *state* is what one survey found. States of a source are taken when a snapshot is, and a restored
tree is compared with them later, so that no second copy of the source is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests import torture
from tests.harness.here import here
from tests.harness.user import User

TORTURE = Path(torture.__file__)
CHANGING = tuple(name for name, case in torture.CASES.items() if case.change)
STEPS = (1, 2, 3, 4, 5)
BOOKKEEPING = ("ctime", "blocks")
ALLOCATION = "ranges"
"""Where a file's data lies: part of its content for snapfs, but filesystems vary it a little."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class State:
    """``facts`` by path relative to the root (bytes; the root is empty), and the hard-link groups."""

    facts: dict[bytes, Facts]
    groups: dict[bytes, frozenset[bytes]]
    allocated: int

    def without(self, paths: Iterable[bytes]) -> State:
        """The same with ``paths`` and everything below them left out."""
        gone = set(paths)
        above = tuple(path + b"/" for path in gone)

        def kept(path: bytes) -> bool:
            return path not in gone and not path.startswith(above)

        facts = {path: facts for path, facts in self.facts.items() if kept(path)}
        groups = {
            path: frozenset(filter(kept, group))
            for path, group in self.groups.items()
            if kept(path)
        }
        return State(
            facts, {path: group for path, group in groups.items() if len(group) > 1}, self.allocated
        )


def survey(root: Path | bytes, *, flags: bool = True) -> State:
    """Look at every entry below ``root``; whatever cannot be read fails."""
    troubles: list[tuple[bytes, OSError]] = []
    facts, groups = torture.survey(os.fsencode(root), flags, troubles)
    assert not troubles, troubles[:5]
    allocated = sum(fact.get("blocks", 0) for fact in facts.values()) * 512
    for fact in facts.values():
        for name in BOOKKEEPING:
            fact.pop(name, None)
    return State(facts, groups, allocated)


def differences(one: State, two: State, *, ignore: Iterable[str] = ()) -> list[str]:
    """One line for each fact that differs; ``ignore`` names facts (mode, uid, mtime, ...)."""
    ignored = {ALLOCATION, *ignore}
    found: list[str] = []
    for path in sorted(one.facts.keys() | two.facts.keys()):
        a, b = one.facts.get(path), two.facts.get(path)
        if a is None or b is None:
            found.append(f"{path!r}: only in {'second' if a is None else 'first'}")
            continue
        found.extend(
            f"{path!r}: {key} {a.get(key)!r} {b.get(key)!r}"
            for key in sorted(a.keys() | b.keys())
            if key not in ignored and a.get(key) != b.get(key)
        )
    both = one.facts.keys() & two.facts.keys()
    if "links" not in ignored:
        for path in sorted((one.groups.keys() | two.groups.keys()) & both):
            x, y = (state.groups.get(path, frozenset([path])) & both for state in (one, two))
            if x != y:
                found.append(f"{path!r}: linked with {sorted(x)} {sorted(y)}")
    return found


def assert_same(one: State, two: State, *, ignore: Iterable[str] = ()) -> None:
    """Fail with the first differences."""
    found = differences(one, two, ignore=ignore)
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:40])


def torture_run(*args: str | Path, user: User | None = None, reach: Path | None = None) -> str:
    """Run torture.py; what it left out is returned."""
    if user is None:
        code, out, err = here(partial(_torture, args))
    else:
        done = subprocess.run(
            [*user.launcher(*([reach] if reach else [])), sys.executable, TORTURE, *args],
            check=False,
            capture_output=True,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    assert code == 0, os.fsdecode(out + err)
    return os.fsdecode(err)


def _torture(args: Sequence[str | Path]) -> int:
    before, sys.argv = sys.argv, [str(TORTURE), *map(os.fspath, args)]
    try:
        # It leaves some files to be closed when it ends.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            return torture.main()
    finally:
        sys.argv = before


def build(target: Path, *cases: str, scale: float = 0.05, user: User | None = None) -> Path:
    """Build the named cases (default: all) in ``target``; ``scale`` is that of big-dir."""
    only = ("--only", ",".join(cases)) if cases else ()
    torture_run("build", target, "--scale", str(scale), *only, user=user, reach=target.parent)
    return target


def mutate(target: Path, step: int, *, user: User | None = None) -> None:
    """Apply one change step (1..5, in order)."""
    torture_run("mutate", target, str(step), user=user, reach=target.parent)


def unlock_and_remove(target: Path) -> None:
    """Remove a tree whatever its modes, flags and depth."""
    if not os.path.lexists(target):
        return
    if os.geteuid() != 0:  # root needs no permission to look into a directory
        subprocess.run(["chmod", "-R", "u+rwX", "--", target], check=False)
    torture_run("unlock", target)
    subprocess.run(["rm", "-rf", "--one-file-system", "--", target], check=True)
