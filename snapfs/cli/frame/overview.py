"""``snapfs --help``, which needs no command module."""

from __future__ import annotations

from snapfs.cli.frame.commands import COMMANDS, GROUPS

_HEAD = """\
Usage: snapfs [OPTION...] COMMAND [ARG...]

Snapshots of any directory on any Linux filesystem: cheap to take, quick to look
into, compare and restore.
"""
_TAIL = """\
common options, before or after the command:
  -r, --repo PATH    the repository      --json          JSON lines
  --root ROOT        the root meant      -q, --quiet     no summary
  --profile NAME     named settings      -v, --verbose   say more
  --lock-wait SPAN   wait for a writer   --no-progress   no progress line
  -h, --help         this text           --version       the version
                                         --debug         where an error is from
and where something would change:
  -n, --dry-run      change nothing      -y, --yes       do not ask

`snapfs COMMAND --help` explains one command, `man snapfs` all of it.
First steps: snapfs create DIR, snapfs list, snapfs restore latest:FILE --to D2"""


def overview() -> str:
    """The help of snapfs as a whole."""
    width = max(len(command.name) for command in COMMANDS)
    parts = [_HEAD]
    for group in GROUPS:
        lines = [f"  {c.name:<{width}}  {c.summary}" for c in COMMANDS if c.group == group]
        if lines:
            parts.append("\n".join([f"{group}:", *lines, ""]))
    parts.append(_TAIL)
    return "\n".join(parts)
