"""Writing onto the live tree of a root: what comes before, and what is never touched."""
