"""Where values come from that the command line leaves out: ``SNAPFS_*`` variables, then a profile.

``$XDG_CONFIG_HOME/snapfs/config.toml`` (``~/.config`` by default) may say::

    profile = "home"                # used when no other is named

    [profiles.home]
    repo = "/mnt/backup/snapfs"     # long names of options, without dashes
    lock-wait = "5min"
    exclude = ["*.o", "/tmp/"]
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from snapfs.cli.frame.params import Param, parse_pattern
from snapfs.cli.frame.parser import Setting, Settings
from snapfs.errors import UsageError
from snapfs.model.quote import quote, quote_text

_PROFILE_VARIABLE = "SNAPFS_PROFILE"
_TOP_KEYS = frozenset({"profile", "profiles"})
PROFILE_KEYS = frozenset(
    {
        "exclude",
        "exclude-caches",
        "exclude-from",
        "exclude-if-present",
        "exclude-larger-than",
        "host",
        "lock-wait",
        "no-progress",
        "one-file-system",
        "repo",
        "root",
    }
)
"""Options that a profile may set: those declared as settings, which a test compares."""
NAMED_PROFILE = "a named profile"
DEFAULT_PROFILE = "the default profile"


class Environment:
    """The environment's variables, read as snapfs reads them: an empty one is not set."""

    def __init__(self, variables: Mapping[bytes, bytes]) -> None:
        self._variables = variables

    def text(self, name: str) -> str | None:
        """The value as UTF-8 text with surrogate escapes."""
        value = self._variables.get(name.encode())
        return value.decode("utf-8", "surrogateescape") if value else None

    def absolute(self, name: str) -> bytes | None:
        """The value if it is an absolute path; XDG says to ignore others."""
        value = self._variables.get(name.encode())
        return value if value and value.startswith(b"/") else None

    def folder(self, variable: str, below_home: bytes) -> bytes | None:
        """An XDG base directory: the variable, else below ``$HOME``, else None."""
        home = self.absolute("HOME")
        return self.absolute(variable) or (os.path.join(home, below_home) if home else None)

    def expand_home(self, path: str) -> bytes:
        """``~/x`` below ``$HOME``, any other path as it is."""
        raw = path.encode("utf-8", "surrogateescape")
        home = self.absolute("HOME")
        if home and (raw == b"~" or raw.startswith(b"~/")):
            return home + raw[1:]
        return raw

    def settings(self, profile: str | None) -> Settings:
        """What variables and the profile say; the profile of that name, else the default one."""
        named = profile or self.text(_PROFILE_VARIABLE)
        values, origin = self._profile(named)

        def look_up(param: Param) -> Setting | None:
            text = self.text(param.variable)
            if text is not None:
                lines = [line for line in text.split("\n") if line]
                return Setting(param.variable, lines if param.many else (text,))
            value = values.get(param.key)
            return None if value is None else Setting(origin, self._texts(param, value))

        return look_up

    def _profile(self, named: str | None) -> tuple[Mapping[str, Any], str]:
        config = self._config()
        name = named or config.get("profile")
        if name is None:
            return {}, ""
        profiles = config.get("profiles", {})
        values = profiles.get(name) if isinstance(profiles, dict) else None
        if not isinstance(values, dict):
            known = ", ".join(map(quote_text, profiles)) if isinstance(profiles, dict) else ""
            raise UsageError(
                f"{self._config_name()} has no profile {quote_text(str(name))}",
                subject=str(name),
                hint=f"it has {known or 'none'}",
            )
        _refuse_unknown(
            values, PROFILE_KEYS, f"{self._config_name()}: profile {quote_text(str(name))}"
        )
        return values, NAMED_PROFILE if named else DEFAULT_PROFILE

    def _config_path(self) -> bytes | None:
        folder = self.folder("XDG_CONFIG_HOME", b".config")
        return None if folder is None else os.path.join(folder, b"snapfs/config.toml")

    def _config_name(self) -> str:
        return quote(self._config_path() or b"config.toml")

    def _texts(self, param: Param, value: object) -> list[str]:
        """A setting as the texts that the command line would have. Raises UsageError."""
        values = value if isinstance(value, list) else [value]
        # A path is written as text: a number that stands for one is a mistake.
        wanted = (
            str if param.parse in {str, parse_pattern} and not param.is_flag else str | int | float
        )
        for item in values:
            if not isinstance(item, wanted):
                plain = wanted is str and isinstance(item, int | float)
                shape = "text" if plain else "text, a number or a list"
                raise UsageError(
                    f"{self._config_name()}: {param.key} = {item}: {shape} is wanted",
                    subject=param.key,
                    hint=f'write {param.key} = "{item}"' if plain else "",
                )
        return [str(item) for item in values]

    def _config(self) -> Mapping[str, Any]:
        path = self._config_path()
        if path is None:
            return {}
        try:
            with open(path, "rb") as file:
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        # Few have a profile, and every command starts here.
        import tomllib

        try:
            config = tomllib.loads(text.decode("utf-8"))
        except ValueError as error:
            raise UsageError(f"{quote(path)}: {error}", subject="config.toml") from error
        _refuse_unknown(config, _TOP_KEYS, quote(path))
        return config


def _refuse_unknown(values: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise UsageError(
                f"{where}: no such setting: {quote_text(key)}",
                subject=key,
                hint=f"known are {', '.join(sorted(known))}",
            )
