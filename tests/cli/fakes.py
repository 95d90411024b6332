"""A repository that has only names, for tests of what words mean."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.settings import Environment
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import Messages, Output, Streams
from snapfs.clock import Clock
from snapfs.errors import NotFoundError
from snapfs.model.snapshot import Root, Snapshot
from snapfs.repository.opened import Repository


@dataclass
class NamesOnly:
    """Roots and chains."""

    chains: dict[Root, list[Snapshot]] = field(default_factory=dict)
    path: bytes = b"/backup/repository"

    @property
    def catalog(self) -> Any:
        raise NotFoundError("it has names only, and no trees")

    def roots(self) -> tuple[Root, ...]:
        return tuple(self.chains)

    def snapshots(self, root_id: int) -> tuple[Snapshot, ...]:
        return tuple(next(chain for root, chain in self.chains.items() if root.id == root_id))

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        found = (one for chain in self.chains.values() for one in chain if one.id == snapshot_id)
        return next(found, None)

    def add(self, label: str, path: str, *names: str, host: str) -> Root:
        """A root with snapshots of those names, a day apart from 1970-01-01 on."""
        root = Root(len(self.chains) + 1, host, os.fsencode(path), label, 0)
        first = sum(map(len, self.chains.values())) + 1
        self.chains[root] = [
            Snapshot(
                id=first + place, root_id=root.id, name=name, created_ns=place * 86400 * 10**9,
                finished_ns=0, utc_offset_s=0, message="", tags=(), pinned=False, complete=True,
                files=0, dirs=1, others=0, total_bytes=0, stored_bytes=0, position=place,
            )
            for place, name in enumerate(names)
        ]  # fmt: skip
        return root


def invocation(
    common: Common | None = None, variables: Mapping[str, str] | None = None
) -> Invocation:
    """One run of a command, thirty days after 1970-01-01."""
    encoded = {os.fsencode(k): os.fsencode(v) for k, v in (variables or {}).items()}
    return Invocation(
        command="test",
        words=(),
        common=common or Common(),
        origins={},
        environment=Environment(encoded),
        streams=Streams(Output(), Messages()),
        clock=Clock(30 * 86400 * 10**9),
    )


def states(repository: NamesOnly, **common: Any) -> States:
    """What resolves words against that repository."""
    return States(invocation(Common(**common)), cast(Repository, repository))
