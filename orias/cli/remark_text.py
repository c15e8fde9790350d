"""Prints what the compiler decided (``--remarks``)."""

from orias.cli.diagnostics_text import Messages
from orias.cli.parse import UsageError
from orias.ori.decisions import KINDS, Decision


def wanted_kinds(value: str) -> list[str]:
    """The kinds that the value of ``--remarks`` names, all for an empty one; UsageError for an unknown name."""
    kinds = [k for k in value.split(",") if k]
    for k in kinds:
        if k not in KINDS:
            names = ", ".join(KINDS)
            raise UsageError(f"Unknown kind of remark '{k}'; the kinds are {names}")
    return kinds or list(KINDS)


def say_remarks(found: list[Decision], kinds: list[str], file: str, out: Messages) -> None:
    """Print the decisions of some kinds."""
    several = len({d.function for d in found}) > 1
    for d in found:
        if d.kind in kinds:
            where = f", {d.function}" * several + f", {d.phase}" * bool(d.phase)
            out.say("remark", f"{d.kind}: {d.text} [{where[2:]}]", file, d.line)
