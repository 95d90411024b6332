"""Which repository: named on the command line, by a variable or a profile, else the user's own."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.settings import DEFAULT_PROFILE
from snapfs.errors import NoRepositoryError, RepositoryError, UsageError
from snapfs.fs.machine import user_name
from snapfs.model.quote import printable, quote
from snapfs.repository.opened import CATALOG, FOLDERS, Repository, repository_at
from snapfs.storage.path import absolute


@dataclass(frozen=True, slots=True)
class Chosen:
    """A repository's path; ``named`` if the user said so in this run, not only by default."""

    path: bytes
    named: bool


def choose(invocation: Invocation) -> Chosen:
    """The repository's path. Raises NoRepositoryError where no home directory says where it is."""
    repo = invocation.common.repo
    if repo is None:
        folder = invocation.environment.folder("XDG_DATA_HOME", b".local/share")
        if folder is None:
            raise NoRepositoryError(
                "which repository? there is no HOME to look in",
                hint="name it with -r PATH or SNAPFS_REPO",
            )
        return Chosen(os.path.join(folder, b"snapfs/repository"), named=False)
    if repo == "":
        raise UsageError("--repo: the path is empty", subject="--repo")
    path = invocation.environment.expand_home(repo)
    named = invocation.origins.get("repo") != DEFAULT_PROFILE
    return Chosen(absolute(path), named)


def standard_place(invocation: Invocation) -> bytes | None:
    """Where the repository is if nothing names another, made absolute."""
    folder = invocation.environment.folder("XDG_DATA_HOME", b".local/share")
    return None if folder is None else absolute(os.path.join(folder, b"snapfs/repository"))


def open_to_read(invocation: Invocation) -> Repository:
    """The repository, for commands that change nothing."""
    chosen = choose(invocation)
    refuse_missing(invocation, chosen)
    invocation.detail(f"repository: {quote(chosen.path)}")
    repository = Repository(chosen.path, write=False, lock_wait_s=invocation.lock_wait_s)
    if repository.config_damage is not None:
        invocation.say(
            f"{repository.config_damage.message}; what is read does not need it; "
            "run snapfs rebuild-catalog"
        )
    return repository


def open_to_write(invocation: Invocation, *, spend_reserve: bool = False) -> Repository:
    """The repository, for commands that change something; ``spend_reserve`` for those that a full disk
    must not keep from it.
    """
    chosen = choose(invocation)
    refuse_missing(invocation, chosen)
    refuse_foreign(chosen)
    refuse_read_only(chosen)
    invocation.detail(f"repository: {quote(chosen.path)}")
    return Repository(
        chosen.path,
        write=True,
        lock_wait_s=invocation.lock_wait_s,
        command_line=invocation.words,
        spend_reserve=spend_reserve,
    )


def refuse_read_only(chosen: Chosen) -> None:
    """Raises RepositoryError if nothing can be changed there."""
    path = quote(chosen.path)
    reading = "what only reads goes on working"
    if os.statvfs(chosen.path).f_flag & os.ST_RDONLY:
        raise RepositoryError(
            f"the repository {path} is on a filesystem that is mounted read-only",
            subject=path,
            hint=f"{reading}; mount it writable, or name another with -r PATH",
        )
    for name in (b"", CATALOG, *map(os.fsencode, FOLDERS)):
        at = os.path.join(chosen.path, name) if name else chosen.path
        if os.path.exists(at) and not os.access(at, os.W_OK):
            raise RepositoryError(
                f"the repository {path} is write-protected ({quote(at)})",
                subject=path,
                hint=f"{reading}; `chmod -R u+w {path}` lets its owner write again",
            )


def refuse_missing(invocation: Invocation, chosen: Chosen) -> None:
    """Raises NoRepositoryError with the way out if nothing is there."""
    try:
        os.stat(os.path.join(chosen.path, b"config"))
    except (PermissionError, NotADirectoryError) as error:
        path = quote(chosen.path)
        raise RepositoryError(
            f"{path} cannot be opened as a repository: {error.strerror}", subject=path
        ) from error
    except OSError:
        pass
    if not repository_at(chosen.path):
        raise NoRepositoryError(
            f"no repository at {quote(chosen.path)}",
            subject=quote(chosen.path),
            hint=_way_out(invocation, chosen),
        )


def _way_out(invocation: Invocation, chosen: Chosen) -> str:
    if chosen.named:
        return "is its disk mounted? `snapfs create DIR` would make a new one there"
    user = invocation.environment.text("SUDO_USER")
    if user is not None and os.geteuid() == 0:
        theirs = os.path.expanduser(os.fsencode(f"~{user}") + b"/.local/share/snapfs/repository")
        if repository_at(theirs):
            return f"that of {printable(user)} is {quote(theirs)}: name it with -r"
    return "`snapfs create DIR` makes it, -r PATH or SNAPFS_REPO names another"


def refuse_planting(chosen: Chosen) -> None:
    """Raises RepositoryError if root would make a repository in the home of another user unasked: sudo may
    have kept that user's HOME, and the user could not even look into it.
    """
    if chosen.named or os.geteuid() != 0:
        return
    above = chosen.path
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    owner = os.stat(above).st_uid
    if owner == 0:
        return
    name = user_name(owner) or str(owner)
    path = quote(chosen.path)
    raise RepositoryError(
        f"the repository {path} would be root's, below a directory of {name}",
        subject=path,
        hint=f"run snapfs as {name}, or name a place with -r PATH",
    )


def refuse_foreign(chosen: Chosen) -> None:
    """Raises RepositoryError for a repository of another user, except for root who named it."""
    owner, me = os.stat(chosen.path).st_uid, os.geteuid()
    if owner == me or (me == 0 and chosen.named):
        return
    name = user_name(owner) or str(owner)
    path = quote(chosen.path)
    raise RepositoryError(
        f"the repository {path} belongs to {name}, not to {user_name(me) or me}",
        subject=path,
        hint=f"name it with -r {path} to write into it as root, or run snapfs as {name}"
        if me == 0
        else f"run snapfs as {name}, or use another with -r PATH",
    )
