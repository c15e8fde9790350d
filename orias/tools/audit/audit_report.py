"""The text of a verdict."""

import json

from orias.tools.audit.audit_kernel import Verdict


def _made(v: Verdict) -> str:
    b = v.binary
    parts = [f"for {b.arch}", b.tool and f"by {b.tool} {b.release}".strip(), f"-O{b.level}" if b.level >= 0 else ""]
    return ", ".join(p for p in parts if p)


def report(v: Verdict) -> str:
    """The lines of a verdict, each with a newline."""
    lines = [f"{v.kernel} in {v.binary.name} ({_made(v)}): {v.outcome}"]
    d = v.difference
    if d is not None:
        lines.append(f"  wrong:    {d.where()}: {d.got} instead of {d.expected} (registers start as {d.fill})")
        if d.wrong_words:
            lines.append(f"  extent:   {d.wrong_words} wrong words; the PTX changes {d.changed_words}")
        if d.line > 0:
            lines.append(f"  PTX:      line {d.line} stores the right value")
        if d.address >= 0:
            lines.append(f"  at:       0x{d.address:04x} {d.store}")
        if d.suspect:
            lines.append(f"  suspect:  0x{d.suspect_address:04x} {d.suspect}: {d.reason}")
        lines.extend(f"  static:   {n}" for n in v.notes[:4])
        if v.confirmed:
            lines.append(f"  cause:    {v.confirmed}: right if the PTX is rewritten around this fault")
        for f in v.faults[:3]:
            if v.confirmed and f.name not in v.confirmed:
                continue
            sure = "known" if f.measured(v.binary.release) else "may be"
            lines.append(f"  {sure}:{' ' * (9 - len(sure))}{f.name}: {f.title}")
            lines.append(f"  instead:  {f.workaround}")
        lines.append(f"  launch:   {json.dumps(d.case.json())}")
        if v.reduced:
            lines.append(f"  reduced:  {v.reduced}")
    else:
        more = f"; {v.orders} runs by other schedules or with late reads" if v.orders else ""
        lines.append(
            f"  compared: {v.compared} launches, each with registers that start as a pattern and as zero{more}"
        )
    lines.extend(f"  skipped:  {s}" for s in v.skipped)
    return "\n".join(lines) + "\n"
