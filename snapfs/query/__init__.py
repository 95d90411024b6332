"""Questions in SQL: the views of the catalog that people may query (``snapfs-sql.7``)."""

from snapfs.query.operation import Answer, QueryOptions, query
from snapfs.query.views import VIEWS, Column, View

__all__ = ["VIEWS", "Answer", "Column", "QueryOptions", "View", "query"]
