"""What ``create`` takes a snapshot of when it is given a stream: its label, its file's name, its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import Param, params_of
from snapfs.cli.frame.streams import encode
from snapfs.create import CommandSource, InputSource, is_file_name
from snapfs.errors import UsageError
from snapfs.fs.machine import host_id
from snapfs.model.quote import quote, quote_text
from snapfs.model.snapshot import NewRoot, Root

SAYS_A_STREAM = ("stdin", "from_command", "label")
"""Fields of ``create`` that only a stream has."""
_TAKEN = frozenset({
    *SAYS_A_STREAM, "name", "message", "tags", "time", "skip_if_unchanged", "host",
    *(param.field for param in params_of(Changing) if param.field != "root"),
})  # fmt: skip


class Inflow(NamedTuple):
    """A stream as the command line says it."""

    label: str
    name: bytes
    command: str | None

    def root(self, roots: Iterable[Root], host: str | None) -> Root | NewRoot:
        """The root of that label, or the one that it becomes. Raises UsageError for that of a directory."""
        found = next((root for root in roots if root.label == self.label), None)
        if found is None:
            return NewRoot(None, host or host_id(), label=self.label)
        if found.path is not None:
            raise UsageError(
                f"{self.label} is the root of {quote(found.path)}, not a stream",
                subject=self.label,
                hint="choose another label",
            )
        return found

    def source(self, invocation: Invocation) -> CommandSource | InputSource:
        """Where its bytes come from. Raises UsageError if none can come."""
        if self.command is not None:
            return CommandSource(self.command)
        invocation.require_input("--stdin")
        return InputSource(0)


def inflow(
    values: Mapping[str, object], params: Iterable[Param], origins: Mapping[str, str]
) -> Inflow | None:
    """The stream that the options of ``create`` (``values`` by field) speak of, None if of none.

    Raises UsageError for options that say something of a directory, unless they are settings that were not
    given for this run.
    """
    if all(values[field] is None for field in SAYS_A_STREAM):
        return None
    stdin, command, label = (values[field] for field in SAYS_A_STREAM)
    option = "--stdin" if stdin is not None else "--from-command"
    if stdin is None and command is None:
        raise UsageError(
            "--label names a stream, and there is none",
            subject="--label",
            hint="give --stdin NAME or --from-command COMMAND; a directory gets its label by "
            "`snapfs roots rename`",
        )
    if label is None and str(stdin).startswith("-"):
        raise UsageError(
            f"--stdin needs a name, and {stdin} was taken for it", subject="--stdin",
            hint="write --stdin NAME --label LABEL",
        )  # fmt: skip
    if label is None:
        raise UsageError(
            f"{option} needs a label", subject=option, hint="add --label LABEL: it names the stream"
        )
    if command == "":
        raise UsageError("--from-command: the command is empty", subject="--from-command")
    for param in params:
        field = param.field
        if values[field] and field not in _TAKEN and field not in origins:
            raise UsageError(
                f"{param.name} speaks of a directory, and {option} of a stream", subject=param.name
            )
    name = encode(str(label if stdin is None else stdin))
    if not is_file_name(name):
        raise UsageError(
            f"--stdin: {quote_text(str(stdin))} cannot be the name of a file",
            subject="--stdin",
            hint="it is a name without a directory, as db.sql",
        )
    return Inflow(str(label), name, None if command is None else str(command))
