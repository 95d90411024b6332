"""The options that every command has, before or after its name."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.params import flag, option
from snapfs.model.span import parse_wait


@dataclass(frozen=True, slots=True)
class Common:
    """Options of every command."""

    repo: str | None = option(
        "-r", "--repo", metavar="PATH", completes="directory", setting=True,
        about="the repository (default: the profile's, else $XDG_DATA_HOME/snapfs/repository)",
    )  # fmt: skip
    root: str | None = option(
        "--root", metavar="ROOT", completes="root", setting=True,
        about="label or path of the root that is meant (default: the one I stand in)",
    )  # fmt: skip
    profile: str | None = option(
        "--profile", metavar="NAME", setting=True,
        about="profile of config.toml to take settings from",
    )  # fmt: skip
    json: bool = flag("--json", about="results as JSON lines on stdout, the rest as JSON on stderr")
    quiet: bool = flag("-q", "--quiet", about="no summary, notes or progress")
    verbose: bool = flag(
        "-v", "--verbose", about="say more: every problem, and which repository and root are used"
    )
    lock_wait: float | None = option(
        "--lock-wait", metavar="SPAN", parse=parse_wait, setting=True,
        about="how long to wait for another writer, as 30s or 5min (default: 0)",
    )  # fmt: skip
    no_progress: bool = flag("--no-progress", about="no progress line on a terminal", setting=True)
    debug: bool = flag("--debug", about="show where an error came from")


@dataclass(frozen=True, slots=True)
class Changing(Common):
    """Options of every command that changes something, besides."""

    dry_run: bool = flag("-n", "--dry-run", about="say what would be done and change nothing")
    yes: bool = flag("-y", "--yes", about="do not ask")
