"""What the lowering of one function keeps beside the code: labels, frame layout, words of parameters."""

from typing import final

from orias.isa.operand import K_NONE, Opnd
from orias.lower.frame.data_layout import align_up, var_align
from orias.ori.ir import Block
from orias.ptx.ast import Function, Var


@final
class FuncState:
    """Labels, frame layout and words of parameters of one function."""

    __slots__ = (
        "apart", "assigned", "blocks", "dead", "first_new", "frame_align", "frame_base", "frame_offset", "frame_top", "function", "incoming", "kind", "leaves_variables", "outgoing", "outgoing_align", "param_values", "param_words", "placed", "reference_values", "refs", "result_key",
        "return_key", "shared_base",
    )  # fmt: skip

    def __init__(self) -> None:
        self.assigned: dict[int, set[int]] = {}
        """With -g: keys of the PTX registers that each PTX line assigns."""
        self.blocks: list[Block | None] = []
        """Block of each label, by label index."""
        self.refs: list[int] = []
        """For each label, the number of branches to it that are not lowered yet."""
        self.placed: set[int] = set()
        """Indices of the labels whose blocks are placed."""
        self.dead: bool = False
        """The current position is unreachable: instructions are skipped up to the next label."""
        self.function: Function | None = None
        self.kind: str = "entry"
        self.apart: bool = False
        """A helper with a section of its own, called as functions are."""
        self.first_new: int = 0
        """With -g: virtual registers from this number on are of the current PTX instruction."""
        self.frame_base: Opnd = K_NONE
        """Address of the frame, in functions whose stack pointer moves."""
        self.frame_offset: dict[Var, int] = {}
        """Byte offset of each variable in the frame."""
        self.incoming: dict[Var, int] = {}
        """Byte offset of a parameter of unknown size among the stack arguments that the caller gives."""
        self.frame_top: int = 0
        self.leaves_variables: bool = False
        """An address outside of its variable in the frame is taken."""
        self.frame_align: int = 8
        """Largest alignment of the variables in the frame."""
        self.outgoing: int = 0
        """Bytes of outgoing stack arguments, at the bottom of the frame."""
        self.outgoing_align: int = 8
        """Their alignment, and that of results in memory."""
        self.param_words: dict[Var, dict[int, int]] = {}
        """Temporaries that hold the words of a parameter variable (see :mod:`orias.lower.frame.params`)."""
        self.param_values: dict[int, int] = {}
        """Registers that hold 8 unchanged bytes of a kernel parameter: id -> offset in constant bank 0."""
        self.reference_values: dict[int, Var] = {}
        """Registers that hold the handle of a texture or surface reference: id -> reference."""
        self.return_key: int = 0
        self.result_key: int = 0
        """Temporary with the address at which the caller wants a result in memory."""
        self.shared_base: Opnd = K_NONE
        """sm_90: address of the CTA's shared window, computed in the entry block."""

    def frame_room(self, size: int, align: int) -> int:
        """Allot `size` bytes of the frame; returns their byte offset."""
        offset = align_up(self.frame_top, align)
        self.frame_top = offset + size
        return offset

    def frame_slot(self, var: Var) -> int:
        """Byte offset of the variable in the frame; the first use allots it."""
        offset = self.frame_offset.get(var)
        if offset is None:
            # Parameters pass through the frame in words (:mod:`orias.lower.frame.params`).
            unit = 4 if var.space == "param" else 1
            offset = align_up(self.frame_top, max(var_align(var), unit))
            self.frame_align = max(self.frame_align, var_align(var))
            self.frame_offset[var] = offset
            self.frame_top = offset + align_up(var.size, unit)
        return offset
