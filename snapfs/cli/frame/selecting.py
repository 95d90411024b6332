"""The options of commands that take snapshots of a directory: what to leave out, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import flag, option, parse_pattern
from snapfs.cli.frame.streams import encode
from snapfs.create import CreateOptions
from snapfs.model.names import parse_text
from snapfs.model.units import parse_size


@dataclass(frozen=True, slots=True)
class Selecting(Changing):
    """Options of every command that takes snapshots."""

    exclude: tuple[str, ...] = option(
        "--exclude", metavar="PATTERN", many=True, parse=parse_pattern, setting=True,
        about="leave out what matches, as a line of .gitignore; may be repeated",
    )  # fmt: skip
    exclude_from: tuple[str, ...] = option(
        "--exclude-from", metavar="FILE", many=True, setting=True, completes="path",
        about="leave out what matches a line of FILE; may be repeated",
    )  # fmt: skip
    exclude_caches: bool = flag(
        "--exclude-caches",
        setting=True,
        about="of directories marked by CACHEDIR.TAG keep only the mark",
    )
    exclude_if_present: tuple[str, ...] = option(
        "--exclude-if-present", metavar="NAME", many=True, parse=parse_pattern, setting=True,
        about="of directories that hold NAME keep only that; may be repeated",
    )  # fmt: skip
    exclude_larger_than: int | None = option(
        "--exclude-larger-than", metavar="SIZE", parse=parse_size, setting=True,
        about="leave out files larger than SIZE, as 500M",
    )  # fmt: skip
    one_file_system: bool = flag(
        "-x", "--one-file-system", setting=True, about="do not descend into other filesystems"
    )
    nested: bool = flag("--nested", about="register a directory inside or around another root")
    host: str | None = option(
        "--host",
        metavar="HOST",
        parse=parse_text,
        setting=True,
        about="host the root belongs to (default: this machine's id)",
    )


def with_rules(
    options: CreateOptions, arguments: Selecting, invocation: Invocation
) -> CreateOptions:
    """The options with what is left out."""
    return replace(
        options,
        exclude=tuple(map(encode, arguments.exclude)),
        exclude_from=tuple(map(invocation.environment.expand_home, arguments.exclude_from)),
        exclude_caches=arguments.exclude_caches,
        exclude_if_present=tuple(map(encode, arguments.exclude_if_present)),
        one_file_system=arguments.one_file_system,
        exclude_larger_than=arguments.exclude_larger_than,
    )
