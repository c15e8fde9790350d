"""``python -m orias`` and the ``orias`` command."""

import sys


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    from orias.cli.main import run

    return run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
