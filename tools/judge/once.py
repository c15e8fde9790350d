"""What a run of a kernel depends on, so that equal code is run once.

Neither the simulator nor the interpreters look at more of a target than :func:`machine` says, and without ``hazards`` none looks at control
words.  So a kernel whose code (without control words), constants, parameters and memory are equal on two targets or levels does the same.
"""

from collections.abc import Hashable

from orias.isa.decode import Decoded, IllegalWord
from orias.isa.isa_table import EncodeError
from orias.ori.clone import signature
from orias.ori.ir import Func
from orias.sim.core.image import Image
from orias.target import features
from orias.target.profile import Target
from orias.target.vocabulary import WORDS


def machine(target: Target) -> Hashable:
    """What execution sees of a target in addition to the code: the system's layout of constants and shared memory, and the generation."""
    t = target
    return (
        t.has(features.CLUSTERS), t.has(features.HARDWARE_BARRIERS), t.number("system_shared"),
        *(t.word_base(name) if t.has_word(name) else -1 for name in WORDS),
    )  # fmt: skip


def _surroundings(image: Image, kernel: str) -> Hashable:
    """All that a launch sees in addition to the code."""
    k = image.kernels[kernel]
    reader = image.reader
    return (
        machine(image.target), tuple((p.ordinal, p.offset, p.size) for p in k.params), k.param_bytes, k.frame_size, k.min_stack_size,
        k.abi_frame_unknown, tuple(k.cluster_dim), tuple(k.reqntid), tuple(k.maxntid), reader.shared_size(kernel),
        reader.param_base.get(kernel), tuple(image.reference_slots(kernel)), tuple(sorted(image.variables.items())),
        image.arena.data[: image.arena.top].tobytes(), reader.bank(3), image.banks.get(f".nv.constant2.{kernel}"),
        image.banks.get(".nv.constant4"),
    )  # fmt: skip


def code_key(image: Image, kernel: str) -> Hashable | None:
    """Equal for kernels that do the same, given the image as it was loaded; None: not known (it calls other sections)."""
    if image.reader.functions or image._text_relocs:
        return None
    (code,) = (code for _, code, name in image._code if name == kernel)
    try:
        words = tuple(
            _seen(image.table.decode(int.from_bytes(code[i : i + 16], "little"))) for i in range(0, len(code), 16)
        )
    except (IllegalWord, EncodeError):
        return None
    return _surroundings(image, kernel), hash(words), max(image.kernels[kernel].num_regs, 24)


def _seen(d: Decoded) -> Hashable:
    return d.op.ident, d.guard, tuple(d.dst), tuple(d.src)


def stage_key(image: Image, kernel: str, funcs: list[Func], meets: bool) -> Hashable | None:
    """The same for a kernel at one stage of its compilation to `image` (`meets`: as OriImage has it); None where it calls."""
    if any(f.calls for f in funcs):
        return None
    stages = tuple(
        (
            signature(f), tuple((s.name, s.kind, s.addend) for s in f.syms), bytes(f.vkind), bytes(f.vwidth),
            tuple((u, t.offset, tuple(t.picks)) for u, t in sorted(f.tables.items())), f.frame_size,
        )
        for f in funcs
    )  # fmt: skip
    return _surroundings(image, kernel), stages, meets
