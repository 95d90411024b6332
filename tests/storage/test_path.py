"""Paths made absolute as the system reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapfs.storage.path import absolute


def test_up_after_a_symlink_is_where_the_symlink_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "other/b").mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("../other/b")
    top = os.fsencode(tmp_path.resolve())
    monkeypatch.chdir(tmp_path)
    assert absolute(b"a/link/..") == top + b"/other"
    assert absolute(b"a/link/../new/x") == top + b"/other/new/x"
    assert absolute(b"a/link/../../a/link") == top + b"/a/link", "the last one is not followed"
    assert absolute(b"a/link/.") == top + b"/a/link"
    assert absolute(b"a//b/..c/") == top + b"/a/b/..c"
    assert absolute(b"gone/../x") == top + b"/x"
    assert absolute(b".") == top
    assert absolute(b"//x/./y") == b"/x/y"
    assert absolute(b"/..") == b"/"
