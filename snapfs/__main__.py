"""``python -m snapfs``."""

import sys

from snapfs.cli.main import main

sys.exit(main())
