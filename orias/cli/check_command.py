"""``orias check``: the hazard checker on the command line."""

import json
import sys
from pathlib import Path

from orias.check.cubin import Hazard, check_cubin
from orias.cubin.cubin_error import CubinError
from orias.diag import Unsupported
from orias.progress import Bar

USAGE = """\
usage: orias check [--json] [--quiet] FILE.cubin...

Checks that the code keeps every promise of its control words, on all paths: no result of fixed latency is read too early,
no other one without a wait for its scoreboard, no register overwritten that may still be read, no stale operand kept.  Besides: no uniform register or predicate is read
that no path writes, and no register of a warpgroup matrix operation is used before the wait for it.

--json prints one object per finding on a line, --quiet draws no progress bar.  The exit code is 0 if nothing was found, 1 if something was, 2 if there
was nothing but instructions of which nothing is known, 255 if a file cannot be checked.
"""
FOUND = 1
NOT_CHECKED = 2
FAILURE = 255


def check_command(program: str, arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code."""
    flags = {a for a in arguments if a.startswith("-")}
    files = [a for a in arguments if not a.startswith("-")]
    if flags & {"-h", "--help"}:
        sys.stdout.write(USAGE)
        return 0
    if flags - {"--json", "--quiet"} or not files:
        sys.stderr.write(f"{program} check: {USAGE.splitlines()[0]}\n")
        return FAILURE
    result = 0
    bar = Bar("--quiet" in flags)
    for k, name in enumerate(files):
        if len(files) > 1:
            bar(k, len(files), name)
        try:
            found = check_cubin(Path(name).read_bytes(), operands=True)
        except OSError as e:
            return _fail(program, f"{e.filename}: {e.strerror}")
        except KeyError as e:
            return _fail(program, f"{name}: there is no instruction table for {e}")
        except (CubinError, Unsupported, ValueError) as e:
            return _fail(program, f"{name}: {e}")
        bar.clear()
        for h in found:
            _print(name, h, "--json" in flags)
        hazards = sum(h.rule != "unknown" for h in found)
        if "--json" not in flags:
            unknown = len(found) - hazards
            more = f", {unknown} instructions not checked" if unknown else ""
            print(f"{name}: {hazards} hazards{more}")
        if hazards:
            result = FOUND
        elif found and not result:
            result = NOT_CHECKED
    return result


def _print(name: str, h: Hazard, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"file": name, **h.record()}))
    else:
        print(f"{name}: {h.line()}")


def _fail(program: str, message: str) -> int:
    sys.stderr.write(f"{program} check: {message}\n")
    return FAILURE
