"""Cubins of many kernels, as PyTorch's libraries have them: reading or loading one takes work in proportion to their number."""

from collections.abc import Callable

import pytest

import orias
from orias.cubin.reader import Reader
from orias.sim.core.image import Image
from tests.effort import lines_executed


def cubin(count: int) -> bytes:
    kernels = "".join(
        f".visible .entry k{k}(.param .u64 p) {{ .reg .b64 %rd1; .shared .b32 s{k}; ld.param.u64 %rd1, [p]; "
        f"st.shared.u32 [s{k}], {k}; st.global.u32 [%rd1], {k}; ret; }}\n"
        for k in range(count)
    )
    text = f".version 8.0\n.target sm_90\n.address_size 64\n{kernels}"
    return orias.compile(text, arch="sm_90").data


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("read", [Reader, Image])
def test_work_grows_with_the_number_of_kernels(read: Callable[[bytes], object]) -> None:
    few, many = cubin(20), cubin(160)
    read(few)
    assert lines_executed(lambda: read(many)) <= 9 * lines_executed(lambda: read(few))
