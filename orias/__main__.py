"""``python -m orias`` and the ``orias`` command."""

import gc
import os
import sys


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    # Imported objects live to the end: their traversal by the collector would cost a tenth of a short run.
    gc.disable()
    if "ORIAS_SERVER" in os.environ:
        from orias.cli.client import ask

        code = ask(sys.argv)
        if code >= 0:
            return code
    from orias.cli.door import enter
    from orias.cli.main import program_name, run

    return enter(run, sys.argv, program_name(sys.argv[0]))


if __name__ == "__main__":
    sys.exit(main())
