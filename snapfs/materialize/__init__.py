"""Writing a wanted tree onto a live one.

What holds: nothing outside the target is touched, since every name is looked up in an open directory and
no symlink is followed; a file that cannot be finished never stands under its name; directories get their
times last; a dry run takes the same decisions; memory is bounded by arrays of a few bytes a directory and
the jobs of one window.
"""

from snapfs.materialize.apply import materialize
from snapfs.materialize.owners import OwnerRule
from snapfs.materialize.wanted import (
    MaterializeOptions,
    MaterializeResult,
    Overwrite,
    Part,
    Place,
    Same,
    Source,
    WantedDir,
)

__all__ = [
    "MaterializeOptions",
    "MaterializeResult",
    "Overwrite",
    "OwnerRule",
    "Part",
    "Place",
    "Same",
    "Source",
    "WantedDir",
    "materialize",
]
