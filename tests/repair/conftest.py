"""The repositories of the tests of verify."""

from __future__ import annotations

from tests.verify.conftest import _history_once, history, store

__all__ = ["_history_once", "history", "store"]
