"""What the cubin says of a kernel beside its code: its named barriers and its parameters."""

import pytest

import orias
from orias.lower.frame.program import Kernel
from orias.lower.module import lower_module
from orias.ptx.parser import parse
from orias.target.profile import target

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def kernel(params: str, body: str) -> Kernel:
    """The only kernel of a module."""
    (k,) = lower_module(
        parse(f"{HEAD}.visible .entry k({params}) {{ .reg .b32 %r; {body} ret; }}\n"), target("sm_75")
    ).kernels
    return k


@pytest.mark.parametrize(("body", "count"), [("", 0), ("bar.sync 0;", 1), ("bar.sync 2; bar.sync 1;", 3)])
def test_constant_barrier_numbers_reserve_the_barriers_up_to_the_largest(body: str, count: int) -> None:
    assert kernel(".param .u32 n", body).barriers == count


def test_a_barrier_number_in_a_register_reserves_all_barriers() -> None:
    assert kernel(".param .u32 n", "ld.param.u32 %r, [n]; bar.sync %r;").barriers == 16


DEAD = ".reg .pred %p; setp.ne.u32 %p, 1, 1; @!%p bra L; bar.sync 5; L:"


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("mov.b32 %r, 7; bar.sync %r, 64;", (16, 8, 8)),
        ("mov.b32 %r, 7; bar.sync %r, %r;", (16, 8, 8)),
        ("mov.b32 %r, 7; call f;", (16, 10, 10)),
        ("ld.param.u32 %r, [n]; barrier.arrive %r, 64;", (16, 16, 16)),
        (DEAD, (6, 0, 0)),
    ],
)
def test_optimised_code_counts_the_barriers_that_it_has(body: str, counts: tuple[int, ...]) -> None:
    """As ptxas 13.0.88 counts at -O0, -O1 and -O3."""
    function = ".func f() { .reg .b32 %i; mov.b32 %i, 9; bar.sync %i, 64; ret; }\n" if "call" in body else ""
    text = f"{HEAD}{function}.visible .entry k(.param .u32 n) {{ .reg .b32 %r; {body} ret; }}\n"
    assert tuple(orias.compile(text, arch="sm_75", opt_level=n).kernels["k"].barriers for n in (0, 1, 3)) == counts


def test_references_take_no_bytes_among_the_parameters() -> None:
    params = kernel(".param .texref t, .param .u64 p, .param .surfref s, .param .u32 n", "").params
    assert [(p.offset, p.size, p.symbol) for p in params] == [
        (0xFFFF, 0, "t"),
        (0, 8, ""),
        (0xFFFF, 0, "s"),
        (8, 4, ""),
    ]
