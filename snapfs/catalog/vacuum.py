"""Nothing of what was deleted stays in the catalog's files: SQLite leaves it where it was.

Deleted rows go on standing in free pages, in the gaps of pages in use, and in the log. VACUUM writes the
rows that there are into new pages, which hold nothing else; then the log, which has all pages once
more, is merged and cut. Only SQLite needs any of this, and so this module is its own as `database` is.
"""

from __future__ import annotations

import time

from snapfs.catalog.database import Catalog, translated

_POLL_S = 0.1
_SAMPLES = "SELECT name FROM sqlite_master WHERE name LIKE 'sqlite\\_stat_' ESCAPE '\\'"


def wipe(catalog: Catalog, wait_s: float | None) -> bool:
    """Write the file anew; False if readers hold the old pages in the log for so long (None: for ever).

    Outside of any transaction. Needs room for the whole catalog twice, once of it where temporary files
    are. Raises StorageFullError.
    """
    with translated(catalog.name):
        catalog.execute("PRAGMA secure_delete=ON").fetchall()
        for (table,) in catalog.execute(_SAMPLES).fetchall():
            catalog.execute(f"DELETE FROM {table}")  # of an ANALYZE by hand: values of the rows
        catalog.execute("VACUUM")
    return cut_log(catalog, wait_s)


def cut_log(catalog: Catalog, wait_s: float | None) -> bool:
    """Merge the log into the file and cut it to nothing; False if readers were in the way for so long."""
    end = None if wait_s is None else time.monotonic() + wait_s
    with translated(catalog.name):
        # By short steps: SQLite hears nothing of signals while it waits.
        while not catalog.checkpoint():
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
    return True
