"""Texts of the catalog that have a name in them which is to be found nowhere any more.

Command lines and summaries of runs, messages and rules of snapshots, and problems. A name that something
else still has is left in them, as it is in the repository anyway; the paths themselves are not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.fs.rules import IGNORE_FILE, Rules
from snapfs.model.path import join
from snapfs.repository.takeout import PURGED, Texts

_SEPARATORS = r"/:@=,;\s'\"`()"
_BETWEEN = re.compile(f"[{_SEPARATORS}]+")
_MOST_PARTS = 6
"""Parts of a text, as separators make them, that are looked up together: names may have blanks."""
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_AT_ONCE = 1000

Scrub = Callable[[str], str]


def texts_without(
    catalog: Catalog, root_id: int, root_path: bytes | None, paths: Sequence[bytes]
) -> Texts:
    """What is to change, after the names were taken out (inside the write that did it).

    ``paths`` are those that are purged, from the root.
    """
    vanished = _vanished(catalog)
    scrub = _scrubber(vanished, paths, root_path)
    runs = []
    for id_, command, summary in catalog.execute(sql.CUT_RUNS):
        changed = (id_, _command(command, scrub), scrub(summary))
        if changed != (id_, command, summary):
            runs.append(changed)
    snapshots = []
    for row in rows.roots(catalog):
        for snapshot in rows.snapshot_rows(catalog, row.root.id):
            rules = snapshot.rules
            if row.root.id == root_id:
                rules = _rules_without(rules, paths)
            found = (snapshot.id, scrub(snapshot.message), rules)
            if found[1:] != (snapshot.message, snapshot.rules):
                snapshots.append(found)
    problems = [
        (snapshot, seq)
        for snapshot, seq, path in catalog.execute(sql.CUT_PROBLEMS, {"root": root_id})
        if _is_below(path, paths)
    ]
    return Texts(runs, snapshots, problems)


def _is_below(path: bytes, paths: Iterable[bytes]) -> bool:
    """Whether a path is one of some, or lies below one."""
    return any(path == one or path.startswith(one + b"/") for one in paths)


def _rules_without(text: str, paths: Sequence[bytes]) -> str:
    """Rules that tell of no directory or file among the paths; other rules are left as they are."""
    try:
        rules = Rules.from_text(text)
    except DamageError:
        return text  # verify names it
    standing = rules.standing
    if standing is not None:
        standing = tuple(
            (above, lines)
            for above, lines in standing
            if not _is_below(join(above, IGNORE_FILE), paths)
        )
    marked = tuple(
        (above, kept)
        for above, names in rules.marked
        if (kept := tuple(name for name in names if not _is_below(join(above, name), paths)))
    )
    large = tuple(path for path in rules.large if not _is_below(path, paths))
    left = replace(rules, standing=standing, marked=marked, large=large)
    return text if left == rules else left.to_text()


# --- names in texts -------------------------------------------------------------------------------


def _vanished(catalog: Catalog) -> list[bytes]:
    """Names that were taken out, that nothing else has, and that some text may have in it."""
    catalog.execute(sql.CLEAR_CUT_WORD)
    words: set[bytes] = set()
    for text in _texts(catalog):
        words.update(_parts(text))
        if len(words) >= _AT_ONCE:
            catalog.executemany(sql.CUT_PUT_WORD, [(word,) for word in words])
            words.clear()
    catalog.executemany(sql.CUT_PUT_WORD, [(word,) for word in words])
    return [row[0] for row in catalog.execute(sql.CUT_WORDS)]


def _texts(catalog: Catalog) -> Iterator[str]:
    for _, command, summary in catalog.execute(sql.CUT_RUNS).fetchall():
        yield from _words(command)
        yield summary
    for row in rows.roots(catalog):
        for snapshot in rows.snapshot_rows(catalog, row.root.id):
            yield snapshot.message


def _parts(text: str) -> Iterator[bytes]:
    """Everything in a text that may be a name, as bytes."""
    edges = [0]
    for between in _BETWEEN.finditer(text):
        edges += [between.start(), between.end()]
    edges.append(len(text))
    starts, ends = edges[0::2], edges[1::2]
    for first, start in enumerate(starts):
        for end in ends[first : first + _MOST_PARTS]:
            if start < end:
                part = text[start:end].encode("utf-8", "surrogateescape")
                yield part
                if b"\\x" in part:  # a command line has bytes that are no text so
                    yield _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), part)


def _scrubber(names: Sequence[bytes], paths: Sequence[bytes], root_path: bytes | None) -> Scrub:
    """What replaces names between separators, and paths unless they are the end of longer ones."""
    below_root = [] if root_path is None else [join(root_path, path) for path in paths]
    anywhere = [_as_written(name) for name in names]
    whole = [_as_written(path) for path in (*below_root, *paths)]
    choices = []
    if anywhere:
        choices.append(f"(?<![^{_SEPARATORS}])(?:{_any_of(anywhere)})")
    if whole:
        choices.append(f"(?:(?<![^{_SEPARATORS}])(?<!/)|(?<=(?<!\\.)\\./))(?:{_any_of(whole)})")
    if not choices:
        return lambda text: text
    pattern = re.compile(f"(?:{'|'.join(choices)})(?![^{_SEPARATORS}])")
    return lambda text: pattern.sub(PURGED, text)


def _as_written(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _command(command: str, scrub: Scrub) -> str:
    words = _words(command)
    changed = list(map(scrub, words))
    return command if changed == words else shlex.join(changed)
