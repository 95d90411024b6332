"""Bytes: blocks and their digests, chunking, segments, packs."""
