"""Tables on terminals of several widths: what is typed back stays whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from snapfs.cli.frame.streams import Output
from snapfs.cli.render.table import print_table, width
from snapfs.cli.render.text import print_roots, print_snapshots
from snapfs.cli.runs import COLUMNS, row
from snapfs.clock import Clock
from snapfs.model.snapshot import Root, RootSummary, Snapshot
from snapfs.repository.runs import Run

NS = 10**9
NOON = 1_780_315_200 * NS
CLOCK = Clock(NOON)
PHOTOS = Root(1, "here", b"/home/anne/photos", "photos", 0)
OTHER = Root(2, "0123456789abcdef0123456789abcdef", b"/home/anne/photos", "photos-2", 0)
FIRST = Snapshot(
    id=7, root_id=1, name="s20260601-120000.000", created_ns=NOON, finished_ns=NOON, utc_offset_s=0,
    message="before the upgrade of the mail server", tags=("release",), pinned=True, complete=True,
    files=68_000, dirs=10, others=0, total_bytes=3 << 30, stored_bytes=5 << 20, position=0,
)  # fmt: skip
NEXT = replace(FIRST, id=12, name="v1", message="", tags=(), pinned=False)


class Screen(Output):
    """A terminal of some width, as lines."""

    def __init__(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TZ", "UTC")
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
        self.is_terminal = True
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


SNAPSHOTS = {
    80: [
        "no  snapshot              time                  files  size  stored",
        " 7  s20260601-120000.000  2026-06-01 12:00:00  68,000  3.0G    5.0M  pinned #re…",
        "12  v1                    2026-06-01 12:00:00  68,000  3.0G    5.0M",
    ],
    60: [
        "no  snapshot               files  size  stored",
        " 7  s20260601-120000.000  68,000  3.0G    5.0M  pinned #rel…",
        "12  v1                    68,000  3.0G    5.0M",
    ],
    30: [
        "no  snapshot              size",
        " 7  s20260601-120000.000  3.0G",
        "12  v1                    3.0G",
    ],
}
ROOTS = {
    80: [
        "root      directory          snapshots  newest               size  host",
        "photos    /home/anne/photos          2  2026-06-01 12:00:00  3.0G",
        "photos-2  /home/anne/photos          0  never                      0123456789ab…",
    ],
    60: [
        "root      directory          snapshots  size  host",
        "photos    /home/anne/photos          2  3.0G",
        "photos-2  /home/anne/photos          0        0123456789abc…",
    ],
    30: [
        "root      snapshots  host",
        "photos            2",
        "photos-2          0  01234567…",
    ],
}
RUNS = {
    80: [
        "started               took  exit  user  root    command             result",
        "2026-06-01 12:00:00  2.0 s     0  anne  photos  create . --name v…  v1: 3 new,…",
        "2026-06-01 12:00:00  2.0 s     1  anne          rebuild-catalog",
    ],
    60: [
        "exit  user  root    command                     result",
        "   0  anne  photos  create . --name v1 -m note  v1: 3 new,…",
        "   1  anne          rebuild-catalog",
    ],
    30: [
        "exit  root    command",
        "   0  photos  create . --name…",
        "   1          rebuild-catalog",
    ],
}


@pytest.mark.parametrize("columns", [80, 60, 30])
def test_snapshots(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(columns, monkeypatch)
    print_snapshots(screen, [(PHOTOS, FIRST), (PHOTOS, NEXT)], CLOCK, several=False)
    assert screen.lines == SNAPSHOTS[columns]


@pytest.mark.parametrize("columns", [80, 60, 30])
def test_roots(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(columns, monkeypatch)
    summaries = [RootSummary(PHOTOS, 2, FIRST), RootSummary(OTHER, 0, None)]
    print_roots(screen, summaries, CLOCK, "here")
    assert screen.lines == ROOTS[columns]


@pytest.mark.parametrize("columns", [80, 60, 30])
def test_runs(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(columns, monkeypatch)
    done = Run(
        1, "create . --name v1 -m note", "photos", NOON, NOON + 2 * NS, 1, "anne", 0,
        "v1: 3 new, 12 changed, 1 removed",
    )  # fmt: skip
    failed = replace(done, command="rebuild-catalog", root=None, exit=1, summary="")
    print_table(screen, COLUMNS, [row(one, CLOCK) for one in (done, failed)])
    assert screen.lines == RUNS[columns]


@pytest.mark.parametrize("columns", [1, 20, 40, 76, 77, 78, 100, 200])
def test_names_stay_whole(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(columns, monkeypatch)
    print_snapshots(screen, [(PHOTOS, FIRST), (OTHER, NEXT)], CLOCK, several=True)
    assert len(screen.lines) == 3
    for line, name in zip(screen.lines[1:], ("photos@" + FIRST.name, "photos-2@v1"), strict=True):
        assert name in line.split()
        assert width(line) <= max(columns, 31)
