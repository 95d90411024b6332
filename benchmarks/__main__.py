"""``python -m benchmarks``: build the trees, run snapfs beside its peers, print Markdown.

  python -m benchmarks build a DIR [--from INSTALLATION]...     a tree of software installations
  python -m benchmarks build m DIR [--scale 0.1]                a million files of 36 bytes
  python -m benchmarks run --work DIR [--tree-a DIR] [--tree-m DIR] [--scenario a] ...

Everything is run as whole processes with a warm page cache; tools take turns in every round.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import scenarios, trees
from benchmarks.report import markdown
from benchmarks.scenarios import Measured, Peer, Plan
from benchmarks.tools import TOOLS, find_program

SCENARIOS = ("a", "history", "m", "big", "limits")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build a tree")
    build.add_argument("tree", choices=("a", "m"))
    build.add_argument("target", type=Path)
    build.add_argument(
        "--from", dest="sources", type=Path, action="append", default=[], metavar="DIR"
    )
    build.add_argument("--scale", type=float, default=1.0)
    run = commands.add_parser("run", help="measure")
    run.add_argument(
        "--work",
        type=Path,
        required=True,
        help="an empty or absent directory on the disk to measure",
    )
    run.add_argument(
        "--scenario", choices=SCENARIOS, action="append", help="default: all that have a tree"
    )
    run.add_argument("--tree-a", type=Path, metavar="DIR", help="software installations")
    run.add_argument("--tree-m", type=Path, metavar="DIR", help="very many small files")
    run.add_argument("--tools", default=",".join(TOOLS), help="default: %(default)s")
    run.add_argument(
        "--peers", type=Path, metavar="DIR", help="where the other tools are, before PATH"
    )
    run.add_argument("--rounds", type=int, default=3)
    run.add_argument("--scale", type=float, default=1.0, help="of the big file's 4 GiB")
    run.add_argument("--output", type=Path, help="write the tables there as well")
    return parser.parse_args()


def _peers(names: str, folder: Path | None) -> Iterator[Peer]:
    for name in names.split(","):
        program = find_program(name, folder)
        if program is None:
            print(f"{name}: not found, left out", file=sys.stderr)
            continue
        yield Peer(name, TOOLS[name], program)


def _measure(arguments: argparse.Namespace, plan: Plan) -> Iterator[Measured]:
    wanted = arguments.scenario or SCENARIOS
    for name, tree, title in (("a", arguments.tree_a, "tree A"), ("m", arguments.tree_m, "tree M")):
        if tree is None:
            continue
        files, size = trees.tree_size(tree)
        print(f"{title}: {files} files, {size / 1e6:.0f} MB", file=sys.stderr)
        if name in wanted:
            yield (
                scenarios.installations(plan, tree)
                if name == "a"
                else scenarios.million(plan, tree)
            )
        if name == "a" and "history" in wanted:
            yield scenarios.history(plan, tree)
        if "limits" in wanted:
            yield scenarios.limits(plan, tree, title)
    if "big" in wanted:
        yield scenarios.big_file(plan)


def main() -> None:
    """Parse and run."""
    arguments = _arguments()
    if arguments.command == "build":
        if arguments.tree == "a":
            trees.installations(arguments.target, arguments.sources)
        else:
            trees.million(arguments.target, files=int(1_000_000 * arguments.scale))
        return
    arguments.work.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        arguments.work.resolve(),
        tuple(_peers(arguments.tools, arguments.peers)),
        arguments.rounds,
        arguments.scale,
    )
    tables = []
    for measured in _measure(arguments, plan):
        tables.append(markdown(measured))
        print(tables[-1], flush=True)
    if arguments.output is not None:
        arguments.output.write_text("\n".join(tables))


main()
