"""Every shape and pair of types of wgmma as a program of one instruction, ours and ptxas's, against exact products."""

import pytest

from tests.device import load
from tests.forms.run import our_cubin, ptxas_cubin
from tests.wgmma.forms import Form, all_forms, module_text

ALL = all_forms()
MAKE = {"orias": our_cubin, "ptxas": ptxas_cubin}


def failures(forms: list[Form], compiler: str) -> list[str]:
    image = load(MAKE[compiler](module_text(forms), "sm_90a", 3))
    out = []
    for i, f in enumerate(forms):
        for special in (False, True):
            wrong = f.run(image, f"k{i}", special)
            if wrong:
                out.append(wrong)
    return out


def test_count() -> None:
    assert len(ALL) == len({f.name for f in ALL}) == 1860
    assert all(f.bytes <= 48 * 1024 for f in ALL)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiler", list(MAKE))
def test_sample(compiler: str) -> None:
    bad = failures(ALL[37::233], compiler)
    assert not bad, "\n".join(bad)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("compiler", list(MAKE))
def test_sweep(compiler: str, part: int) -> None:
    """Every 24th form, others for each compiler."""
    first = 3 if compiler == "orias" else 14
    bad = failures(ALL[first::24][part::4], compiler)
    assert not bad, "\n".join(bad)
