"""``python -m orias`` and the ``orias`` command."""

import gc
import sys


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    # Imported objects live to the end: their traversal by the collector would cost a tenth of a short run.
    gc.disable()
    from orias.cli.main import run

    return run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
