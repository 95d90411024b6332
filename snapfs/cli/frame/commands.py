"""Which commands there are: known without loading any of them."""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """A command as ``snapfs --help`` shows it; its module is ``snapfs.cli.<name>``."""

    name: str
    group: str
    summary: str

    @property
    def module(self) -> str:
        return "snapfs.cli." + self.name.replace("-", "_").replace(" ", "_")


GROUPS = ("every day", "history", "rolling", "space", "transfer", "views", "care")
"""Headings of ``snapfs --help``, in order; one without commands is not shown."""

COMMANDS = (
    Listed("create", "every day", "take a snapshot of a directory"),
    Listed("list", "every day", "list snapshots, oldest first"),
    Listed("show", "every day", "show one snapshot: counts, sizes, changes, rules, problems"),
    Listed("ls", "every day", "list a directory as it was"),
    Listed("cat", "every day", "write a file as it was to standard output"),
    Listed("diff", "every day", "compare snapshots with each other or with the directory"),
    Listed("restore", "every day", "bring files back, beside or in place"),
    Listed("around", "every day", "snapshots before and after a command, and what it changed"),
    Listed("log", "history", "show every version of a file or directory"),
    Listed("find", "history", "find paths in all snapshots, deleted ones too"),
    Listed("sql", "history", "ask the catalog anything, in SQL"),
    Listed("revert", "history", "undo what happened between two snapshots, keeping later edits"),
    Listed("rename", "history", "give a snapshot another name or message"),
    Listed("tag", "history", "add tags to a snapshot"),
    Listed("untag", "history", "take tags off a snapshot"),
    Listed("pin", "history", "protect a snapshot from deletion"),
    Listed("unpin", "history", "let a snapshot be deleted again"),
    Listed("usage", "space", "show what takes space, by snapshot, set or path"),
    Listed("delete", "space", "delete snapshots and free their space"),
    Listed("purge", "space", "drop a path from all snapshots and every trace of it"),
    Listed("verify", "care", "check the repository, down to every byte if asked"),
    Listed("repair", "care", "mend what is damaged, say what is lost"),
    Listed("roots", "care", "list, rename, move or remove registered directories"),
    Listed("runs", "care", "list the commands that changed something"),
    Listed("info", "care", "show what the repository is and what it holds"),
    Listed("completion", "care", "print completion for bash, zsh or fish"),
    Listed("rebuild-catalog", "care", "make the catalog again from journal and packs"),
)

START = Listed("start", "", "show where I stand and what to type next")
"""What ``snapfs`` alone does."""

_BY_NAME = {command.name: command for command in COMMANDS}

FOREIGN = {
    "backup": "create",
    "check": "verify",
    "checkout": "restore",
    "commit": "create",
    "compare": "diff",
    "destroy": "delete",
    "df": "info",
    "du": "usage --by-path",
    "dump": "cat",
    "extract": "restore",
    "forget": "delete",
    "grep": "find",
    "fsck": "verify",
    "get": "restore",
    "history": "log",
    "locate": "find",
    "query": "sql",
    "recreate": "purge",
    "remove": "delete",
    "rewrite": "purge",
    "rm": "delete",
    "rollback": "restore SNAP --in-place",
    "save": "create",
    "scrub": "verify --data",
    "shred": "purge",
    "snap": "create",
    "snapshot": "create",
    "snapshots": "list",
    "stats": "usage",
    "status": "diff",
    "tree": "ls --recursive",
    "undo": "restore SNAP --in-place",
}
"""Words of other tools, and the command here that does the same."""

REMARKS = {
    "init": "nothing needs to be set up: the first `snapfs create DIR` makes the repository",
    "mount": "this version has no mount; look with `snapfs ls` and `snapfs cat`",
    "prune": "this version has no prune; `snapfs delete SNAP` frees what no other snapshot needs, and "
    "`snapfs purge --deleted` the dead bytes in packs that stay",
    "receive": "this version has no import; a repository can be copied as a folder",
    "send": "this version has no export; a repository can be copied as a folder",
    "version": "`snapfs --version` prints it",
    "unlock": "nothing needs to be unlocked: locks end with the process that holds them",
}
"""Words of other tools for which there is no command, and what to do instead."""


def find(name: str) -> Listed | None:
    """The command of that name."""
    return _BY_NAME.get(name)


def suggest(word: str) -> str:
    """What to type instead of an unknown command, as the end of a sentence."""
    if word in REMARKS:
        return REMARKS[word]
    if word in FOREIGN:
        return f"here it is `snapfs {FOREIGN[word]}`"
    from difflib import get_close_matches

    near = get_close_matches(word, [*_BY_NAME, *FOREIGN], 1, 0.6)
    if near:
        return f"did you mean `snapfs {FOREIGN.get(near[0], near[0])}`?"
    return "`snapfs --help` lists the commands"
