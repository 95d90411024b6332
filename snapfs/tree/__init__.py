"""Trees of entries with one interface: a stored snapshot, the live directory."""
