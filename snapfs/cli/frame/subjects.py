"""What ``create`` takes a snapshot of: a registered root, or a directory that becomes one."""

from __future__ import annotations

import os
import stat

from snapfs.cli.frame.failure import stands_nowhere, working_directory_gone
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.paths import ordinary_path
from snapfs.cli.frame.states import States
from snapfs.cli.render.text import create_line
from snapfs.errors import NotFoundError, UsageError
from snapfs.fs.machine import host_id
from snapfs.model.quote import quote, quote_text
from snapfs.model.reference import is_root_path
from snapfs.model.snapshot import NewRoot, Root


def subject_of_create(
    states: States, invocation: Invocation, word: str | None, *, host: str | None, nested: bool
) -> Root | NewRoot:
    """A label, a directory, or without a word the root I stand in."""
    word = word if word is not None else invocation.common.root
    if word is None:
        if not states.roots:
            return new_root(invocation, None, host=host, nested=nested)
        return _standing_in(states, host, nested=nested)
    labelled = next((root for root in states.roots if root.label == word), None)
    if labelled is None or is_root_path(word) or "/" in word:
        try:
            new = new_root(invocation, word, host=host, nested=nested, may_be_gone=_known(states))
        except NotFoundError as error:
            label = word.partition("@")[0]
            for root in states.roots:
                if root.label == label:
                    error.hint = f"`{create_line(root)}` takes a snapshot of root {label}"
            raise
        return _registered(states, new) or new
    if labelled.path is None:
        raise UsageError(
            f"{word} is a stream: what comes is to be said",
            subject=word,
            hint=f"`snapfs create --stdin NAME --label {word}` takes standard input, --from-command "
            "COMMAND what a command writes; ./ before it means a directory",
        )
    if os.path.isdir(word) and states.resolve(word) != labelled.path:
        raise UsageError(
            f"{word} is the label of {quote(labelled.path)} and a directory here",
            subject=word,
            hint=f"write ./{word} for the directory, {quote(labelled.path)} for the root",
        )
    if host is not None and host != labelled.host and "host" not in invocation.origins:
        raise UsageError(
            f"--host: {labelled.label} is the root of host {labelled.host}",
            subject="--host",
            hint="name the directory, and it becomes a root of that host as well",
        )
    return of_this_host(labelled, host)


def _standing_in(states: States, host: str | None, *, nested: bool) -> Root | NewRoot:
    """The root I stand in. Another one, be it the only one, is never taken by mistake."""
    found = states.standing_in(host)
    if found is not None:
        return found
    ours = states.standing_in()
    if ours is not None and ours.path is not None and host is not None:
        return NewRoot(ours.path, host, nested)
    if states.here is None or stands_nowhere():
        raise working_directory_gone()
    labels = ", ".join(root.label for root in states.roots if root.path is not None)
    raise UsageError(
        f"this directory is in no root of {quote(states.repository.path)}",
        subject=quote(states.here),
        hint=states.not_here()
        or "`snapfs create .` takes a snapshot of it"
        + (f", `snapfs create LABEL` of a root: {labels}" if labels else ""),
    )


def new_root(
    invocation: Invocation,
    word: str | None,
    *,
    host: str | None,
    nested: bool,
    may_be_gone: frozenset[bytes] = frozenset(),
) -> NewRoot:
    """The directory ``word`` as a root to be. Raises NotFoundError, or UsageError if it is none.

    A directory in ``may_be_gone`` is a root already, and what to do about it is for ``create``.
    """
    if word is None:
        raise UsageError(
            "which directory? there is no root yet", hint="`snapfs create .` takes this directory"
        )
    if word == "":
        raise UsageError("a directory is wanted, and the word is empty")
    path = os.path.realpath(invocation.environment.expand_home(word))
    if path not in may_be_gone:
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            raise NotFoundError(f"{quote_text(word)}: {error.strerror}", subject=word) from error
        if not stat.S_ISDIR(mode):
            raise UsageError(
                f"{quote_text(word)} is no directory",
                subject=word,
                hint="a root is a directory; take the one the file is in",
            )
    return NewRoot(path, host or host_id(), nested)


def path_below(states: States, subject: Root | NewRoot, word: str) -> bytes:
    """An ordinary path relative to the directory that a snapshot is taken of."""
    label = subject.label if isinstance(subject, Root) else None
    # No snapshot, no reference to a path in one: the root is one that has no number.
    return ordinary_path(
        states, word, Root(0, subject.host, subject.path, label or "the directory", 0)
    )


def _known(states: States) -> frozenset[bytes]:
    return frozenset(root.path for root in states.roots if root.path is not None)


def _registered(states: States, new: NewRoot) -> Root | None:
    for root in states.roots:
        if root.path == new.path and root.host == new.host:
            return root
    return None


def of_this_host(root: Root, host: str | None) -> Root:
    """The root, if its directory is on this host (or ``host``). Raises UsageError."""
    if root.host in {host, host_id()}:
        return root
    raise UsageError(
        f"{root.label} is a directory of another host ({root.host})",
        subject=root.label,
        hint=f"`snapfs roots move {root.label} DIR` makes it one of this host",
    )
