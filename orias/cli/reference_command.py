"""``orias reference``: all instructions as a page."""

import json
import sys
from typing import Final

from orias.cli.drive import write_output
from orias.cli.tool_arguments import scan
from orias.cli.toolerror import ToolError
from orias.explore.page_writer import NeedsJinja, page
from orias.explore.reference_data import all_tables, reference_data

USAGE: Final = """\
usage: orias reference [-o PAGE.html] [--json] [sm_NN ...]

Writes all instructions of the SMs named, or of all, as a page: search, forms with a picture of their bits, what they do in a sentence
and in the simulator's code, the PTX that they come from, pipe and latency, and how often compiler output has them.

  -o PAGE.html      the page, one file that loads nothing from a network (default: isa.html)
  --json            print the data, and write no page unless -o is given

The page needs Jinja2 (pip install 'orias[explore]'), the simulator's code numpy.  Exit code: 0, or 255 for a wrong command line.
"""


def reference_command(arguments: list[str]) -> int:
    """Run ``orias reference`` with the arguments after ``reference``; returns the exit code."""
    if "-h" in arguments or "--help" in arguments:
        sys.stdout.write(USAGE)
        return 0
    found = scan(arguments, ("--json",), ("-o",))
    unknown = [name for name in found.files if name not in all_tables()]
    if unknown:
        raise ToolError(f"there is no instruction table {unknown[0]}; tables: {' '.join(all_tables())}")
    data = reference_data(found.files or all_tables())
    if "--json" in found.flags:
        sys.stdout.write(json.dumps(data) + "\n")
    if "-o" in found.values or "--json" not in found.flags:
        target = found.last("-o", "isa.html")
        try:
            write_output(target, page("reference", "SASS instructions", data).encode())
        except NeedsJinja as e:
            raise ToolError(str(e)) from None
        if "--json" not in found.flags:
            sys.stdout.write(f"{target}\n")
    return 0
