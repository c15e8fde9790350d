"""Random accesses to local, shared and global memory, through pointers that meet, against a model of memory in Python."""

import random

import numpy as np
import pytest

import orias
from orias import sim

_BYTES = 32
"""Of each space; the second global pointer is 16 bytes past the first."""
_THREADS = 32
_REGISTERS = 6
_TYPES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "b32": 4, "v2.b32": 8, "v4.b32": 16}
_ADDRESS = {"local": "stack", "shared": "%own", "twin": "%also", "global": "%one", "other": "%two"}
_SECOND = {"other": "global", "twin": "shared"}
"""Pointers 16 bytes past the first of their memory, which the compiler cannot know."""


def _program(seed: int) -> tuple[str, list[int]]:
    """PTX of accesses of one thread to its own part of each memory, and what its registers hold in the end."""
    rng = random.Random(seed)
    memory = {name: bytearray(_BYTES) for name in ("local", "shared", "global")}
    registers = [rng.getrandbits(32) for _ in range(_REGISTERS)]
    lines = [f"mov.b32 %r{k}, {v};" for k, v in enumerate(registers)]
    for space in ("local", "shared"):
        lines += [f"st.{space}.b32 [{_ADDRESS[space]}+{k}], 0;" for k in range(0, _BYTES, 4)]
    label = 0
    for _ in range(40):
        if label and rng.random() < 0.4:
            lines.append(f"L{label}:")
            label = 0
        elif not label and rng.random() < 0.15:
            # An arm that all threads run, as nobody but the launch knows.
            label = len(lines)
            lines.append(f"@%no bra L{label};")
        name = rng.choice(list(_ADDRESS))
        space = _SECOND.get(name, name)
        type_ = rng.choice(list(_TYPES))
        size = _TYPES[type_]
        at = rng.randrange((_BYTES - 16 if name in _SECOND else _BYTES) // size) * size
        start = at + (16 if name in _SECOND else 0)
        count = max(1, size // 4)
        first = rng.randrange(_REGISTERS - count + 1)
        names = ", ".join(f"%r{first + k}" for k in range(count))
        operand = f"{{{names}}}" if count > 1 else names
        # Both predicates are the same in all threads; only one of them is true.
        guard, runs = rng.choice((("", True), ("", True), ("@%yes ", True), ("@%no ", False)))
        what = rng.random()
        if what < 0.05:
            lines.append("bar.sync 0;")
        elif what < 0.5:
            lines.append(f"{guard}st.{space}.{type_.replace('s', 'u')} [{_ADDRESS[name]}+{at}], {operand};")
            data = b"".join(registers[first + k].to_bytes(4, "little") for k in range(count))[:size]
            if runs:
                memory[space][start : start + size] = data
        else:
            lines.append(f"{guard}ld.{space}.{type_} {operand}, [{_ADDRESS[name]}+{at}];")
            data = bytes(memory[space][start : start + size])
            for k in range(count):
                if runs:
                    part = data[4 * k : 4 * k + 4]
                    value = int.from_bytes(part, "little", signed=type_ in ("s8", "s16"))
                    registers[first + k] = value & 0xFFFFFFFF
    if label:
        lines.append(f"L{label}:")
    lines += [f"st.global.b32 [%out+{4 * k}], %r{k};" for k in range(_REGISTERS)]
    for space in memory:
        for k in range(0, _BYTES, 4):
            lines.append(
                f"ld.{space}.b32 %r0, [{_ADDRESS[space]}+{k}]; st.global.b32 [%out+{32 + 4 * len(registers)}], %r0;"
            )
            registers.append(int.from_bytes(memory[space][k : k + 4], "little"))
    return _frame(lines, len(registers)), registers


def _frame(lines: list[str], words: int) -> str:
    stride = 32 + 4 * words
    return "\n".join((
        ".version 8.0", ".target sm_75", ".address_size 64", f".shared .align 16 .b8 buffer[{_BYTES * _THREADS}];",
        ".visible .entry k(.param .u64 memory, .param .u64 results, .param .u32 five) {",
        f".local .align 16 .b8 stack[{_BYTES}];",
        ".reg .b32 %r<6>; .reg .b32 %t, %own, %also, %five; .reg .b64 %one, %two, %out, %step; .reg .pred %yes, %no;",
        "mov.u32 %t, %tid.x; mov.u32 %own, buffer;", f"mad.lo.u32 %own, %t, {_BYTES}, %own;",
        f"ld.param.u64 %one, [memory]; mad.wide.u32 %one, %t, {_BYTES}, %one; mul.wide.u32 %step, %t, 0;",
        "ld.param.u32 %five, [five]; cvt.u64.u32 %two, %five; add.u64 %two, %two, 11; add.u64 %two, %two, %one;",
        "add.u32 %also, %five, 11; add.u32 %also, %also, %own;",
        f"ld.param.u64 %out, [results]; mad.wide.u32 %out, %t, {stride}, %out;",
        "setp.eq.u32 %yes, %five, 5; setp.ne.u32 %no, %five, 5;", *lines, "ret; }",
    ))  # fmt: skip


def _run(seed: int, arch: str, level: int) -> None:
    text, expected = _program(seed)
    image = sim.load(orias.compile(text, arch=arch, opt_level=level).data)
    stride = 8 + len(expected)
    memory = np.zeros(_BYTES * _THREADS // 4, np.uint32)
    results = np.zeros(stride * _THREADS, np.uint32)
    image.launch("k", 1, _THREADS, [memory, results, np.uint32(5)])
    for row in results.reshape(_THREADS, stride):
        got = [*row[:_REGISTERS], *row[8 + _REGISTERS :]]
        assert [int(x) for x in got] == expected, f"seed {seed}"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("level", [1, 3])
def test_random_accesses(arch: str, level: int) -> None:
    for seed in range(2):
        _run(seed + 100 * level, arch, level)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_many_random_accesses(arch: str) -> None:
    for seed in range(1000, 1040):
        _run(seed, arch, 3)
