"""The blocks of PTX labels."""

from orias.lower.frame.emitter import Emitter
from orias.ori.ir import Block
from orias.ptx.ast import Label


def label_block(ctx: Emitter, label: Label) -> Block:
    """The block of a label; the first use creates it."""
    b = ctx.state.blocks[label.index]
    if b is None:
        b = ctx.new_block()
        ctx.state.blocks[label.index] = b
    return b


def note_branch(ctx: Emitter, label: Label) -> None:
    """Record that one branch to a label is lowered (or skipped); after the last one the block, if placed, is sealed."""
    state = ctx.state
    state.refs[label.index] -= 1
    b = state.blocks[label.index]
    if state.refs[label.index] == 0 and label.index in state.placed and b is not None:
        ctx.seal(b)
