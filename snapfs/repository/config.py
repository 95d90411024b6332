"""The repository's config file: which format it has and what a program must understand to use it.

``need_read`` and ``need_write`` are lists of features, as ext4 and ZFS have them: a feature that this
program does not know means that it may not read, or may read but not write.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from snapfs.errors import NONSENSE, DamageError, RepositoryError
from snapfs.storage.contract import Backend

FORMAT = 1
NAME = "config"
KNOWN_FEATURES: frozenset[str] = frozenset()
_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Config:
    """What ``config`` says. ``id`` is 16 random bytes, in every pack and journal file."""

    format: int
    id: bytes
    need_read: tuple[str, ...] = ()
    need_write: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """As the file has it (``snapfs-repository.5``, CONFIG)."""
        value = {
            "format": self.format,
            "id": self.id.hex(),
            "need_read": list(self.need_read),
            "need_write": list(self.need_write),
        }
        return (json.dumps(value, indent=1) + "\n").encode()

    @staticmethod
    def decode(data: bytes) -> Config:
        """Raises DamageError if it is not a config."""
        try:
            value = json.loads(data)
            config = Config(
                int(value["format"]),
                bytes.fromhex(value["id"]),
                tuple(str(item) for item in value["need_read"]),
                tuple(str(item) for item in value["need_write"]),
            )
        except NONSENSE as error:
            raise DamageError(
                "config of the repository is damaged",
                subject=NAME,
                hint="snapfs rebuild-catalog makes it again",
            ) from error
        if len(config.id) != 16 or config.id.hex() != value["id"]:
            raise DamageError("config of the repository is damaged", subject=NAME)
        return config


def read_config(backend: Backend) -> Config:
    """Read it; raises MissingObjectError, DamageError."""
    with backend.open_reader(NAME) as reader:
        return Config.decode(reader.pread(0, _MAX_BYTES))


def write_config(backend: Backend, config: Config) -> None:
    """Replace it atomically."""
    with backend.create("", "config") as writer:
        writer.write(config.encode())
        writer.commit(NAME)


def check(config: Config, *, write: bool) -> None:
    """Refuse what this program does not understand, naming it (RepositoryError)."""
    if config.format != FORMAT:
        raise RepositoryError(
            f"the repository has format {config.format}, this snapfs knows format {FORMAT}",
            hint="use a newer snapfs",
        )
    unknown = sorted(set(config.need_read) - KNOWN_FEATURES)
    if unknown:
        raise RepositoryError(
            f"the repository needs features that this snapfs does not have: {', '.join(unknown)}",
            hint="use a newer snapfs",
        )
    unknown = sorted(set(config.need_write) - KNOWN_FEATURES)
    if write and unknown:
        raise RepositoryError(
            "the repository can only be read, writing needs features that this snapfs does not "
            f"have: {', '.join(unknown)}",
            hint="use a newer snapfs",
        )
