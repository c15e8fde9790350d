"""The list of all files with handlers, and the look-up among them; importing a file registers its handlers.

Most programs need the common files only.  :func:`lookup` imports the others at the first instruction name without a
handler.  All handlers of one instruction name are in the same group, common or other.
"""

from orias.diag import Unsupported
from orias.lower.frame.registry import Handler, handler, is_registered
from orias.ptx.ast import Instr


def lookup(i: Instr) -> Handler:
    """The handler of an instruction; raises Unsupported with its line if there is none."""
    if not is_registered(i.sig.name):
        load_all()
    found = handler(i)
    if found is None:
        raise Unsupported(f"Instruction '{i.sig.text}' is not supported yet", i.line)
    return found


def load_common() -> None:
    """Import the families of ordinary programs."""
    import orias.lower.control.calls
    import orias.lower.control.control_flow
    import orias.lower.control.stack
    import orias.lower.float.approx
    import orias.lower.float.compare_float
    import orias.lower.float.convert
    import orias.lower.float.divide_float
    import orias.lower.float.float32
    import orias.lower.float.float64
    import orias.lower.float.half
    import orias.lower.integer.add_multiply
    import orias.lower.integer.bits
    import orias.lower.integer.compare
    import orias.lower.integer.divide_int
    import orias.lower.memory.barriers
    import orias.lower.memory.cache_hints
    import orias.lower.memory.fences
    import orias.lower.memory.loads_stores
    import orias.lower.memory.move
    import orias.lower.memory.warp  # noqa: F401


def load_all() -> None:
    """Import all families."""
    load_common()
    import orias.lower.integer.dot
    import orias.lower.integer.video
    import orias.lower.integer.video_simd
    import orias.lower.matrix.tcgen05
    import orias.lower.matrix.tcgen05_alloc
    import orias.lower.matrix.tcgen05_mma
    import orias.lower.matrix.warp_matrix
    import orias.lower.matrix.wgmma
    import orias.lower.matrix.wmma
    import orias.lower.memory.asynccopy
    import orias.lower.memory.atomics
    import orias.lower.memory.bulk
    import orias.lower.memory.launch_control
    import orias.lower.memory.mbarrier
    import orias.lower.memory.multimem
    import orias.lower.memory.policy
    import orias.lower.memory.tensormap
    import orias.lower.texture.sampling
    import orias.lower.texture.surface  # noqa: F401
