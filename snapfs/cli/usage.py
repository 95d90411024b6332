"""``snapfs usage``: what takes the space."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.roots import say_none
from snapfs.cli.render.text import Named, reference
from snapfs.cli.render.usage import print_paths, print_set, print_usage
from snapfs.errors import Exit, UsageError
from snapfs.model.snapshot import Root, StoredSide
from snapfs.model.units import parse_count
from snapfs.usage import PathOptions, usage, usage_by_path, usage_of_set


def _parse_depth(text: str) -> int:
    depth = parse_count(text)
    if not depth:
        raise ValueError("0 is no depth: 1 is what lies in the root itself")
    return depth


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    snapshots: tuple[str, ...] = argument(
        "[SNAP|A..B...]", many=True, completes="range",
        about="what deleting exactly these would free; ranges are inclusive",
    )  # fmt: skip
    by_path: bool = flag(
        "--by-path", about="which paths hold the space, over all snapshots of the root or the given"
    )
    depth: int | None = option(
        "--depth", metavar="N", parse=_parse_depth,
        about="with --by-path: paths of N names (default: 1)",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.depth is not None and not arguments.by_path:
        raise UsageError("usage: --depth goes with --by-path", subject="--depth")
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        chosen = states.snapshots_of(arguments.snapshots)
        root = _root(states, chosen) if arguments.by_path or not chosen else None
        if root is not None and not states.chain(root):
            say_none(invocation, [root], repository.path)
            return Exit.DONE
        with invocation.progress() as progress:
            if root is None:
                stored = [one.snapshot for one in chosen]
                answer = usage_of_set(repository, stored, progress=progress)
                progress.finish()
                if invocation.json:
                    invocation.emit("usage-set/1", answer)
                else:
                    print_set(invocation, [reference(o.root, o.snapshot) for o in chosen], answer)
            elif arguments.by_path:
                stored = [one.snapshot for one in chosen] or list(states.chain(root))
                options = PathOptions(depth=arguments.depth or 1)
                paths = usage_by_path(repository, root, stored, options, progress=progress)
                if invocation.json:
                    for path in paths:
                        invocation.emit("usage-path/1", path)
                else:
                    print_paths(invocation, paths, progress.finish)
            else:
                result = usage(repository, root, progress=progress)
                progress.finish()
                if invocation.json:
                    for one in result.snapshots:
                        named = Named(reference(root, one.snapshot), root.label)
                        invocation.emit("usage/1", named, one)
                else:
                    print_usage(invocation, result)
    return Exit.DONE


def _root(states: States, chosen: tuple[StoredSide, ...]) -> Root:
    """The root that is asked about. Raises UsageError if the snapshots are of several."""
    if not chosen:
        return states.root()
    root = chosen[0].root
    other = next((one.root for one in chosen if one.root != root), None)
    if other is not None:
        raise UsageError(
            f"usage --by-path: {root.label} and {other.label} are two roots, whose paths differ",
            hint="ask for one root at a time",
        )
    return root


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("usage [SNAP|A..B...]", "usage --by-path [--depth N] [SNAP|A..B...]"),
    description="""\
Without SNAP it lists the snapshots of the root I stand in: the size of all files; of that, the bytes
that are unique to the snapshot, each once, because no other snapshot of any root has them; and the
shared rest (what others have as well, what is in several of its files, and holes). `packed` is what the
unique bytes take in the packs, compressed: about what deleting this snapshot alone frees, now or later; a pack
that goes wholly takes its own index with it. What two snapshots have between them is unique to neither: ask
for both. A bar is as long as the size, and its dark part the unique bytes.

With SNAP it says what deleting exactly this set would do: what it would free at once, which are packs
that nothing else needs, and what dead blocks it would leave in packs that others still need
(`snapfs purge --deleted` writes such packs anew).
`snapfs delete` of the same set then does just that, at once if nobody reads and later if somebody does.
What earlier deletes could not free while somebody was reading is freed with it, and counted. A pinned
snapshot may be asked for.

With `--by-path` it says which paths hold the space, as du(1) would over the whole history: for each path
of N names (fewer where a file lies higher) the stored size of all blocks that any version below it uses in
any of the snapshots, each block once, and how much of it is unique: used neither below another of
the paths, nor by other snapshots, nor in other roots. A block that lies below several paths counts for
each of them, so the sizes may add up to more than the first line, `.`, which is all of them together.

Nothing is locked or changed; the repository may be read-only.""",
    examples=(
        Example("snapfs usage", "the snapshots of the root I stand in"),
        Example("snapfs usage photos@s1 photos@s3", "what deleting these two would free"),
        Example("snapfs usage --by-path --depth 2", "which directories hold the space"),
    ),
    schemas=("usage/1", "usage-set/1", "usage-path/1"),
)
