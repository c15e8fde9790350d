"""``python -m orias`` and the ``orias`` command."""

import gc
import sys


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    # Imported objects live to the end: their traversal by the collector would cost a tenth of a short run.
    gc.disable()
    from orias.cli.door import enter
    from orias.cli.main import program_name, run

    return enter(run, sys.argv, program_name(sys.argv[0]))


if __name__ == "__main__":
    sys.exit(main())
