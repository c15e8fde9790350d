"""``python -m orias`` and the ``orias`` command."""

import gc
import sys


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    # What is imported stays to the end: walking it over and over would be a tenth of a short run (`collect_seldom`).
    gc.disable()
    from orias.cli.main import run

    return run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
