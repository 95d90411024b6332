"""Every statement of the catalog as a SQLAlchemy Core construct, by the name `compiled` gives it.

Conventions: parameters are `bindparam`s named after what they hold; ``:at`` is a snapshot id; a
statement whose name ends in ``_AT`` reads an older snapshot, one that ends in ``_HEAD`` the newest.
"""

from __future__ import annotations

from typing import Any

from snapfs.catalog import (
    statements_aliases,
    statements_commit,
    statements_compare,
    statements_cut,
    statements_history,
    statements_listed,
    statements_overlay,
    statements_paths,
    statements_places,
    statements_read,
    statements_reclaim,
    statements_redigest,
    statements_repair,
    statements_rewrite,
    statements_rows,
    statements_rules,
    statements_settle,
    statements_slices,
    statements_stage,
    statements_usage,
    statements_verify,
    statements_views,
)

ALL: dict[str, Any] = {
    **statements_rows.ALL,
    **statements_read.ALL,
    **statements_slices.ALL,
    **statements_settle.ALL,
    **statements_listed.ALL,
    **statements_stage.ALL,
    **statements_compare.ALL,
    **statements_commit.ALL,
    **statements_overlay.ALL,
    **statements_paths.ALL,
    **statements_reclaim.ALL,
    **statements_history.ALL,
    **statements_repair.ALL,
    **statements_rules.ALL,
    **statements_usage.ALL,
    **statements_verify.ALL,
    **statements_places.ALL,
    **statements_views.ALL,
    **statements_redigest.ALL,
    **statements_cut.ALL,
    **statements_aliases.ALL,
    **statements_rewrite.ALL,
}
