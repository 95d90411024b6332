"""Freeing what no snapshot refers to any more."""
