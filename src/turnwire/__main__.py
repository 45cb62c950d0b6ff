"""``python -m turnwire``: the same as the command ``turnwire``."""

import sys

from turnwire.cli import main

if __name__ == "__main__":
    sys.exit(main())
