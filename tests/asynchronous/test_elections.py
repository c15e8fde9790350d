"""Copies that one thread asks for stand in no loop; those of uniform operands read none in it: as ptxas 13.0.88 has it."""

import re

import pytest

from orias.tools.disassemble import disassemble
from tests.asynchronous import elect_programs
from tests.asynchronous.elect_programs import OPERANDS, WHO
from tests.asynchronous.harness import LATER
from tests.forms.run import our_cubin

PROGRAMS = {p.name: p for p in elect_programs.programs()}


def loop(name: str, arch: str) -> list[str] | None:
    """The operations from the ELECT before the copy to it, or None if no branch goes back there."""
    text = PROGRAMS[name].text(arch)
    lines = [x for x in disassemble(our_cubin(text, arch, 3)).splitlines() if "/*" in x or x.startswith(".L_")]
    copy = next(k for k, x in enumerate(lines) if "UBLKRED" in x)
    head = max((k for k, x in enumerate(lines[:copy]) if x.startswith(".L_")), default=0)
    label = lines[head].rstrip(":")
    back = any(re.search(rf"@!?P\d BRA .*{re.escape(label)}\b", x) for x in lines[copy : copy + 3])
    return lines[head:copy] if back and any("ELECT" in x for x in lines[head:copy]) else None


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("who", list(WHO))
def test_loop(who: str) -> None:
    for arch in ("sm_90a", LATER[len(who) % 4]):
        found = loop(f"copy by {who}: constants", arch)
        assert (found is not None) == bool(WHO[who][1]), arch


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("what", list(OPERANDS))
def test_reads_in_loop(what: str) -> None:
    """R2UR in the loop asks the elected thread, and only for what varies."""
    for arch in ("sm_90a", LATER[len(what) % 4]):
        found = loop(f"copy by all: {what}", arch)
        assert found is not None
        asked = [x for x in found if re.search(r"@!?P\d R2UR", x)]
        assert bool(asked) == bool(OPERANDS[what][1]), arch
