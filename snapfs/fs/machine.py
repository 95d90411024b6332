"""Which machine this is, and what its numbers for users and groups are called."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd

_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def host_id() -> str:
    """32 hexadecimal digits that stay the same over reboots: the machine id (machine-id(5)).

    Where there is none (containers, rescue systems) they are made from the host name, so that the same
    name gives the same root again. OSError (no descriptor left) is no reason to be another machine.
    """
    for path in _ID_FILES:
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                text = file.read().strip().lower()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        if len(text) == 32 and all(char in "0123456789abcdef" for char in text):
            return text
    return hashlib.blake2b(host_name().encode(), digest_size=16, person=b"snapfs-host").hexdigest()


def host_name() -> str:
    """The name of this machine, for people."""
    return os.uname().nodename


def user_name(uid: int) -> str | None:
    """Name of a user of this host; None if the number has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return None


def group_name(gid: int) -> str | None:
    """Name of a group of this host; None if the number has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except (KeyError, OverflowError):
        return None


def user_number(name: str) -> int | None:
    """Number of the user called ``name`` on this host; None if nobody is."""
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None


def group_number(name: str) -> int | None:
    """Number of the group called ``name`` on this host; None if none is."""
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        return None
