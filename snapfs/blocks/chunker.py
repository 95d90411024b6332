"""Where files are cut into blocks.

The numbers are part of format 1: the same file gives the same blocks in every repository.
"""

from __future__ import annotations

from importlib import import_module

# Whole files up to here: 128 KiB -> 256 KiB stored 1.2 % less (three Python installations, 260 ->
# 257 MB) with 2 % fewer blocks; beyond, each small change of a file would store too much again.
WHOLE_MAX = 256 * 1024
# A quarter and four times the average, as in the paper; 32 KiB and normalization 2 or 3 moved
# the stored bytes by 0.2 % only.
MIN_BLOCK = 16 * 1024
MAX_BLOCK = 256 * 1024
# 16, 32, 128 KiB stored -1.0, -0.3, -0.1 %, but the smaller ones have 33 and 11 % more blocks, and
# larger ones store more again of a large file with scattered changes.
AVERAGE_BLOCK = 64 * 1024

# memcmp against this is the fastest test for zeros Python has (30 GB/s).
_ZEROS = bytes(MAX_BLOCK)


def is_zero(data: bytes | memoryview) -> bool:
    """Whether ``data`` (at most ``MAX_BLOCK`` bytes) consists of zeros only."""
    return _ZEROS.startswith(data)


class Chunker:
    """Content-defined chunking (FastCDC, 2020) of files longer than ``WHOLE_MAX``.

    Not safe to share between threads.
    """

    def __init__(self) -> None:
        # Loaded here: most runs of a command that could cut have nothing to cut.
        self._cdc = import_module("pyfastcdc").FastCDC(
            AVERAGE_BLOCK,
            min_size=MIN_BLOCK,
            max_size=MAX_BLOCK,
            normalized_chunking=1,
            seed=0,
        )

    def cut(self, window: bytes | memoryview, *, last: bool) -> list[int]:
        """Lengths of the blocks at the start of ``window``, which begins at a block's border.

        What they leave over, at most ``MAX_BLOCK``, is not yet decided: put it in front of the next
        window, which must be longer. With ``last`` the window ends the file and nothing is left.
        The cuts do not depend on how a file is divided into windows.
        """
        lengths = [chunk.length for chunk in self._cdc.cut_buf(window)]
        if not last and lengths:
            # Only the end of the window ended this one, or it may have.
            lengths.pop()
        return lengths
