"""Side-by-side measurements of snapfs and other tools: ``python -m benchmarks --help``."""
