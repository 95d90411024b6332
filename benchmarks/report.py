"""Measurements as Markdown tables: medians in seconds, and how many times longer than snapfs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.scenarios import Measured

OURS = "snapfs"


def markdown(measured: Measured) -> str:
    """One table of times, one of bytes."""
    return "\n".join(_lines(measured)) + "\n"


def _lines(measured: Measured) -> Iterator[str]:
    yield f"### {measured.title}"
    yield ""
    names = _columns(measured.timings)
    if names:
        yield from _head("operation", names)
        for operation, by_tool in measured.timings.items():
            medians = {name: median(t.wall_s for t in timings) for name, timings in by_tool.items()}
            cells = [_time_cell(medians.get(name), medians.get(OURS), name) for name in names]
            yield f"| {operation} | " + " | ".join(cells) + " |"
        yield ""
        yield "CPU seconds and the largest single process, of the same runs:"
        yield ""
        yield from _head("operation", names)
        for operation, by_tool in measured.timings.items():
            cells = [
                f"{median(t.cpu_s for t in by_tool[name]):.2f} s, {median(t.resident_bytes for t in by_tool[name]) / 2**20:.0f} MiB"
                if name in by_tool
                else "-"
                for name in names
            ]
            yield f"| {operation} | " + " | ".join(cells) + " |"
        yield ""
    names = _columns(measured.stored)
    if names:
        yield from _head("stored", names)
        for operation, sizes in measured.stored.items():
            middle = {name: median(values) for name, values in sizes.items()}
            cells = [_size_cell(middle.get(name), middle.get(OURS), name) for name in names]
            yield f"| {operation} | " + " | ".join(cells) + " |"
        yield ""


def _columns(table: Mapping[str, Mapping[str, object]]) -> list[str]:
    found: dict[str, None] = {}
    for by_tool in table.values():
        found |= dict.fromkeys(by_tool)
    return sorted(found, key=lambda name: (name != OURS, name))


def _head(first: str, names: Sequence[str]) -> Iterator[str]:
    yield f"| {first} | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)


def _time_cell(value: float | None, ours: float | None, name: str) -> str:
    if value is None:
        return "-"
    shown = f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    return shown if name == OURS or not ours else f"{shown} ({value / ours:.1f}x)"


def _size_cell(value: float | None, ours: float | None, name: str) -> str:
    if value is None:
        return "-"
    shown = f"{value / 1e6:.1f} MB"
    return (
        shown
        if name == OURS or not value or ours is None
        else f"{shown} (ours is {ours / value:.2f} of it)"
    )
