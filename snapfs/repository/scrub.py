"""Texts of the catalog that have a name in them which is to be found nowhere any more.

Command lines and summaries of runs, messages and rules of snapshots, and problems. A name that something
else still has is left in them, as it is in the repository anyway; the paths themselves are not.

Rules go on to decide as they did: what they left out may lie in the live directory still, and restoring
a snapshot must neither delete nor capture it. So a pattern gets a digest for its name (`patterns.hide`),
and one with wildcards stays as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.fs.patterns import PURGED, hide, is_hidden
from snapfs.fs.rules import IGNORE_FILE, RuleLine, Rules, to_bytes, to_text
from snapfs.model.path import join, within
from snapfs.repository.takeout import Texts

_SEPARATORS = r"/:@=,;\s'\"`()"
_BETWEEN = re.compile(f"[{_SEPARATORS}]+")
_LETTER = r"[^\W\d_]"
_MOST_PARTS = 6
"""Parts of a text, as separators make them, that are looked up together: names may have blanks."""
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_ESCAPED_RULE = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"([\\*?\[\]#! ])")
_RULE = re.compile(r"!?(.*?)/?", re.DOTALL)
_LARGE = "--exclude-larger-than"
_OPTION = re.compile(r"--[a-z][a-z-]*(?==|\Z)")
_AT_ONCE = 1000
_SHORT = 4
"""A name of fewer letters is replaced between separators only: as a part it may be of any word."""
_LONG = 12
"""A name of letters alone, and of fewer than these, may be a part of an ordinary word ("data")."""

Scrub = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Scrubber:
    """What takes names out of texts."""

    names: Scrub
    """replaces names that nothing has any more"""
    all: Scrub
    """replaces the purged paths as well"""
    asked: Scrub
    """replaces these paths and their own names: what went along may be very much"""


def scrubber(catalog: Catalog, root_path: bytes | None, paths: Sequence[bytes]) -> Scrubber:
    """For the names that were taken out (inside the write that did it) and for these paths from the root."""
    vanished = _vanished(catalog, paths)
    asked = {path.rpartition(b"/")[2] for path in paths}
    return Scrubber(
        names=_scrub(vanished, (), None),
        all=_scrub(vanished, paths, root_path),
        asked=_scrub([name for name in vanished if name in asked], paths, root_path),
    )


def texts_without(
    catalog: Catalog, root_id: int, paths: Sequence[bytes], scrubs: Scrubber
) -> Texts:
    """What is to change, after the names were taken out (inside the write that did it).

    ``paths`` are those that are purged, from the root.
    """
    scrub = scrubs.all
    runs = []
    for id_, command, summary in catalog.execute(sql.CUT_RUNS):
        changed = (id_, _command(command, scrub), scrub(summary))
        if changed != (id_, command, summary):
            runs.append(changed)
    snapshots = []
    for row in rows.roots(catalog):
        for snapshot in rows.snapshot_rows(catalog, row.root.id):
            here = paths if row.root.id == root_id else ()
            rules = _rules_without(snapshot.rules, here, scrubs.names)
            found = (snapshot.id, scrub(snapshot.message), rules)
            if found[1:] != (snapshot.message, snapshot.rules):
                snapshots.append(found)
    problems = [
        (snapshot, seq)
        for snapshot, seq, path in catalog.execute(sql.CUT_PROBLEMS, {"root": root_id})
        if _is_in(path, paths)
    ]
    return Texts(runs, snapshots, problems)


def _is_in(path: bytes, paths: Iterable[bytes]) -> bool:
    return any(within(path, top) for top in paths)


def _rules_without(text: str, paths: Sequence[bytes], scrub: Scrub) -> str:
    """Rules that tell of no directory or file among the paths, and of no name; others are left as they are.

    The texts of .snapfsignore files stay: the snapshot has these files.
    """
    try:
        rules = Rules.from_text(text)
    except DamageError:
        return text  # verify names it
    standing = rules.standing
    if standing is not None:
        standing = tuple(
            (above, lines)
            for above, lines in standing
            if not _is_in(join(above, IGNORE_FILE), paths)
        )
    marked = tuple(
        (above, kept)
        for above, names in rules.marked
        if (kept := tuple(name for name in names if not _is_in(join(above, name), paths)))
    )
    large = tuple(path for path in rules.large if not _is_in(path, paths))
    # What was left out for its size stays left out, like anything else.
    hidden = [
        RuleLine(line, _LARGE)
        for path in rules.large
        if path not in large and (line := hide(to_bytes(escaped(to_text(b"/" + path))))) is not None
    ]
    left = replace(
        rules,
        patterns=(*(_rule_without(line, paths, scrub) for line in rules.patterns), *hidden),
        standing=standing,
        marked=marked,
        large=large,
    )
    return text if left == rules else left.to_text()


def _rule_without(line: RuleLine, paths: Sequence[bytes], scrub: Scrub) -> RuleLine:
    """A pattern without names, unless it has wildcards."""
    source = scrub(line.source)
    if has_name(line.text, paths, scrub):
        return RuleLine(hide(line.text) or line.text, source)
    return RuleLine(line.text, source)


def has_name(pattern: bytes, paths: Sequence[bytes], scrub: Scrub) -> bool:
    """Whether a pattern tells one of the paths, or a name."""
    if is_hidden(pattern):
        return False
    text = to_text(pattern)
    found = _RULE.fullmatch(text)
    assert found is not None
    place = to_bytes(_ESCAPED_RULE.sub(r"\1", found[1]))
    # A pattern without a slash in it means this name anywhere, also where it still is.
    if b"/" in place and _is_in(place.removeprefix(b"/"), paths):
        return True
    return scrub(text) != text


# --- names in texts -------------------------------------------------------------------------------


def _vanished(catalog: Catalog, paths: Sequence[bytes]) -> list[bytes]:
    """Names that were taken out, that nothing else has, and that some text may have in it."""
    catalog.execute(sql.CLEAR_CUT_WORD)
    texts = set(_texts(catalog))
    words: set[bytes] = set()
    for text in texts:
        words.update(_parts(text))
        if len(words) >= _AT_ONCE:
            catalog.executemany(sql.CUT_PUT_WORD, [(word,) for word in words])
            words.clear()
    inside = _Inside(texts)
    words.update(name for (name,) in catalog.execute(sql.CUT_NAMES) if inside.has(name))
    catalog.executemany(sql.CUT_PUT_WORD, [(word,) for word in words])
    vanished = [row[0] for row in catalog.execute(sql.CUT_WORDS)]
    # Of what deleted snapshots left the catalog has no name: those that are asked for are known.
    return vanished + [
        name
        for name in sorted({path.rpartition(b"/")[2] for path in paths} - set(vanished))
        if nothing_has(catalog, name)
    ]


def nothing_has(catalog: Catalog, name: bytes) -> bool:
    """Whether no directory has an entry of this name, in any snapshot."""
    return catalog.one(sql.CUT_NAMED, {"name": name}) is None


class _Inside:
    """Which names occur within texts, also as a part of longer words; there may be very many names.

    Nearly all are told by their first letters, so that hardly any is searched for in all texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\0".join(texts)
        ends = range(_SHORT, len(self._text) + 1)
        self._starts = {self._text[end - _SHORT : end] for end in ends}

    def has(self, name: bytes) -> bool:
        return any(
            form[:_SHORT] in self._starts and form in self._text
            for form in _as_written(name)
            if _is_distinctive(form)
        )


def _is_distinctive(name: str) -> bool:
    """Whether a name means itself wherever it stands: not a short one, and no number."""
    return len(name) >= _SHORT and not name.isdigit()


def _is_word(name: str) -> bool:
    """Whether a distinctive name is replaced only where no letter stands beside it."""
    return name.isalpha() and len(name) < _LONG


def _texts(catalog: Catalog) -> Iterator[str]:
    for _, command, summary in catalog.execute(sql.CUT_RUNS).fetchall():
        yield from _words(command)
        yield summary
    for row in rows.roots(catalog):
        for snapshot in rows.snapshots(catalog, row.root.id):
            yield from (snapshot.name, snapshot.message, *snapshot.tags)
        for kept in rows.snapshot_rows(catalog, row.root.id):
            yield from _texts_of_rules(kept.rules)


def _texts_of_rules(text: str) -> Iterator[str]:
    try:
        rules = Rules.from_text(text)
    except DamageError:
        return
    for line in rules.patterns:
        yield line.source
        yield to_text(line.text)
        yield _ESCAPED_RULE.sub(r"\1", to_text(line.text))
    yield from map(to_text, rules.if_present)


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


def _scrub(names: Sequence[bytes], paths: Sequence[bytes], root_path: bytes | None) -> Scrub:
    """What replaces names, and paths unless they are the end of longer ones."""
    below_root = [] if root_path is None else [join(root_path, path) for path in paths]
    anywhere = {form for name in names for form in _as_written(name)}
    distinctive = set(filter(_is_distinctive, anywhere))
    words = set(filter(_is_word, distinctive))
    whole = {form for path in (*below_root, *paths) for form in _as_written(path)}
    choices = []
    if whole:
        above = f"(?:(?<![^{_SEPARATORS}])(?<!/)|(?<=(?<!\\.)\\./))"
        choices.append(f"{above}(?:{_any_of(whole)})(?![^{_SEPARATORS}])")
    if distinctive - words:
        choices.append(f"(?:{_any_of(distinctive - words)})")
    if words:
        choices.append(f"(?<!{_LETTER})(?:{_any_of(words)})(?!{_LETTER})")
    if anywhere - distinctive:
        short = _any_of(anywhere - distinctive)
        choices.append(f"(?<![^{_SEPARATORS}])(?:{short})(?![^{_SEPARATORS}])")
    if not choices:
        return lambda text: text
    pattern = re.compile("|".join(choices))
    return lambda text: pattern.sub(PURGED, text)


def _as_written(name: bytes) -> set[str]:
    """How a name may stand in texts: bytes that are no text in two ways, and escaped in patterns."""
    plain = {name.decode("utf-8", "backslashreplace"), to_text(name)}
    return plain | {escaped(form) for form in plain}


def escaped(name: str) -> str:
    """A name as a pattern that means it alone."""
    return _SPECIAL.sub(r"\\\1", name)


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _command(command: str, scrub: Scrub) -> str:
    words = _words(command)
    changed = [_word(word, scrub) for word in words]
    return command if changed == words else shlex.join(changed)


def _word(word: str, scrub: Scrub) -> str:
    """A word of a command line; the name of an option is no name of a file."""
    option = _OPTION.match(word)
    end = option.end() if option else 0
    return word[:end] + scrub(word[end:])
