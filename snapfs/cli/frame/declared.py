"""What every command takes, made from the commands by `declare`; do not edit."""

from snapfs.cli.frame.params import Param

COMMON = (
    Param(field="repo", names=("-r", "--repo"), metavar="PATH", completes="directory"),
    Param(field="root", names=("--root",), metavar="ROOT", completes="root"),
    Param(field="profile", names=("--profile",), metavar="NAME"),
    Param(field="json", names=("--json",), metavar=""),
    Param(field="quiet", names=("-q", "--quiet"), metavar=""),
    Param(field="verbose", names=("-v", "--verbose"), metavar=""),
    Param(field="lock_wait", names=("--lock-wait",), metavar="SPAN"),
    Param(field="no_progress", names=("--no-progress",), metavar=""),
    Param(field="debug", names=("--debug",), metavar=""),
)
CHANGING = (
    Param(field="dry_run", names=("-n", "--dry-run"), metavar=""),
    Param(field="yes", names=("-y", "--yes"), metavar=""),
    *COMMON,
)
DECLARED = {
    "create": (
        Param(field="roots", names=(), metavar="[ROOT...]", many=True, completes="root-or-directory"),
        Param(field="name", names=("--name",), metavar="NAME"),
        Param(field="message", names=("-m", "--message"), metavar="TEXT"),
        Param(field="tags", names=("--tag",), metavar="TAG", many=True),
        Param(field="time", names=("--time",), metavar="WHEN"),
        Param(field="exclude", names=("--exclude",), metavar="PATTERN", many=True),
        Param(field="exclude_from", names=("--exclude-from",), metavar="FILE", many=True, completes="path"),
        Param(field="exclude_caches", names=("--exclude-caches",), metavar=""),
        Param(field="exclude_if_present", names=("--exclude-if-present",), metavar="NAME", many=True),
        Param(field="exclude_larger_than", names=("--exclude-larger-than",), metavar="SIZE"),
        Param(field="one_file_system", names=("-x", "--one-file-system"), metavar=""),
        Param(field="skip_if_unchanged", names=("--skip-if-unchanged",), metavar=""),
        Param(field="explain", names=("--explain",), metavar="PATH", many=True, completes="path"),
        Param(field="checksum", names=("--checksum",), metavar=""),
        Param(field="ignore_ctime", names=("--ignore-ctime",), metavar=""),
        Param(field="ignore_inode", names=("--ignore-inode",), metavar=""),
        Param(field="nested", names=("--nested",), metavar=""),
        Param(field="host", names=("--host",), metavar="HOST"),
        *CHANGING,
    ),
    "list": (
        Param(field="roots", names=(), metavar="[ROOT...]", many=True, completes="root"),
        Param(field="all", names=("-a", "--all"), metavar=""),
        Param(field="number", names=("-n", "--number"), metavar="N"),
        Param(field="sort", names=("--sort",), metavar="ORDER", choices=("chain", "time")),
        *COMMON,
    ),
    "show": (
        Param(field="snapshot", names=(), metavar="[SNAP]", completes="snapshot"),
        *COMMON,
    ),
    "ls": (
        Param(field="place", names=(), metavar="[SNAP][:PATH]", completes="reference"),
        Param(field="long", names=("-l", "--long"), metavar=""),
        Param(field="recursive", names=("-R", "--recursive"), metavar=""),
        Param(field="zero", names=("-0", "--null"), metavar=""),
        *COMMON,
    ),
    "cat": (
        Param(field="place", names=(), metavar="SNAP:PATH", completes="file"),
        *COMMON,
    ),
    "diff": (
        Param(field="words", names=(), metavar="[A] [B] [PATH...]", many=True, completes="state"),
        Param(field="paths", names=(), metavar="", many=True, literal=True),
        Param(field="stat", names=("--stat",), metavar=""),
        Param(field="content", names=("--content",), metavar=""),
        Param(field="all", names=("-a", "--all"), metavar=""),
        Param(field="checksum", names=("--checksum",), metavar=""),
        Param(field="exit_code", names=("--exit-code",), metavar=""),
        Param(field="zero", names=("-0", "--null"), metavar=""),
        *COMMON,
    ),
    "restore": (
        Param(field="place", names=(), metavar="SNAP[:PATH]", completes="reference"),
        Param(field="words", names=(), metavar="[PATH...]", many=True, completes="stored-path"),
        Param(field="paths", names=(), metavar="", many=True, literal=True),
        Param(field="to", names=("--to",), metavar="DIR", completes="directory"),
        Param(field="in_place", names=("--in-place",), metavar=""),
        Param(field="delete", names=("--delete",), metavar=""),
        Param(field="overwrite", names=("--overwrite",), metavar="WHEN", choices=("always", "if-changed", "if-newer", "never")),
        Param(field="no_safety", names=("--no-safety",), metavar=""),
        Param(field="include", names=("--include",), metavar="PATTERN", many=True),
        Param(field="exclude", names=("--exclude",), metavar="PATTERN", many=True),
        Param(field="owner", names=("--owner",), metavar="RULE", choices=("id", "name", "none")),
        Param(field="sparse", names=("--sparse",), metavar=""),
        *CHANGING,
    ),
    "log": (
        Param(field="path", names=(), metavar="PATH", completes="path"),
        Param(field="number", names=("-n", "--number"), metavar="N"),
        Param(field="content", names=("--content",), metavar=""),
        Param(field="all", names=("-a", "--all"), metavar=""),
        *COMMON,
    ),
    "rename": (
        Param(field="snapshot", names=(), metavar="OLD", completes="snapshot"),
        Param(field="name", names=(), metavar="[NEW]"),
        Param(field="message", names=("-m", "--message"), metavar="TEXT"),
        *CHANGING,
    ),
    "tag": (
        Param(field="snapshot", names=(), metavar="SNAP", completes="snapshot"),
        Param(field="tags", names=(), metavar="TAG...", many=True),
        *CHANGING,
    ),
    "untag": (
        Param(field="snapshot", names=(), metavar="SNAP", completes="snapshot"),
        Param(field="tags", names=(), metavar="TAG...", many=True),
        *CHANGING,
    ),
    "pin": (
        Param(field="snapshots", names=(), metavar="SNAP...", many=True, completes="snapshot"),
        *CHANGING,
    ),
    "unpin": (
        Param(field="snapshots", names=(), metavar="SNAP...", many=True, completes="snapshot"),
        *CHANGING,
    ),
    "delete": (
        Param(field="snapshots", names=(), metavar="SNAP|A..B...", many=True, completes="range"),
        *CHANGING,
    ),
    "verify": (
        Param(field="data", names=("--data",), metavar=""),
        Param(field="sample", names=("--sample",), metavar="SHARE"),
        *COMMON,
    ),
    "roots list": (
        *COMMON,
    ),
    "roots rename": (
        Param(field="old", names=(), metavar="ROOT", completes="root"),
        Param(field="label", names=(), metavar="LABEL"),
        *CHANGING,
    ),
    "roots move": (
        Param(field="old", names=(), metavar="ROOT", completes="root"),
        Param(field="directory", names=(), metavar="DIR", completes="directory"),
        Param(field="host", names=("--host",), metavar="HOST"),
        Param(field="nested", names=("--nested",), metavar=""),
        *CHANGING,
    ),
    "roots remove": (
        Param(field="old", names=(), metavar="ROOT", completes="root"),
        *CHANGING,
    ),
    "runs": (
        Param(field="root_word", names=(), metavar="[ROOT]", completes="root"),
        Param(field="failed", names=("--failed",), metavar=""),
        Param(field="number", names=("-n", "--number"), metavar="N"),
        *COMMON,
    ),
    "info": (
        *COMMON,
    ),
    "completion": (
        Param(field="shell", names=(), metavar="bash|zsh|fish", choices=("bash", "zsh", "fish")),
        *COMMON,
    ),
    "rebuild-catalog": (
        Param(field="yes", names=("-y", "--yes"), metavar=""),
        *COMMON,
    ),
}
