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
    from orias.code_block import use_block

    block = use_block()
    from orias.cli.door import enter
    from orias.cli.main import run
    from orias.cli.program_names import program_name
    from orias.kept import save_kept, use_kept

    use_kept(block.root, block.path.removesuffix(".block"))
    code = enter(run, sys.argv, program_name(sys.argv[0]))
    block.save()
    save_kept()
    return code


def start() -> None:
    """Run the command line and end the process."""
    code = main()
    if "orias.cli.door" in sys.modules:
        from orias.cli.door import leave

        leave(code)
    sys.exit(code)


if __name__ == "__main__":
    start()
