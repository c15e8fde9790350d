"""Functions that the driver supplies, and what it initialises."""

from typing import Final

FUNCTIONS: Final[tuple[str, ...]] = ("vprintf", "malloc", "free", "__assertfail")
"""Called through the address table; undefined in every module."""
DECLARABLE: Final[frozenset[str]] = frozenset((*FUNCTIONS, "__profile", "cudaGraphLaunch"))
"""Functions that a module may call without a definition (measured with ptxas 13.0.88 for forty names)."""
KNOWN_REGISTERS: Final[tuple[str, ...]] = ("vprintf", "__assertfail")
"""Driver functions whose clobbered registers the compiler knows."""
PREFIX: Final = "__cuda_syscall_"
"""Prefix of the names of all other driver functions."""
GRADIENTS: Final = PREFIX + "tex_grad_"
"""Prefix of the functions that sample textures with gradients."""
COPIES: Final = PREFIX + "cp_async_bulk_"
"""Prefix of the functions that copy from global memory to shared memory of the cluster."""
TENSOR_PARTITION: Final = "__nv_reservedSMEM_tcgen05_partition"
"""Symbol of the record of allocated tensor memory, in reserved shared memory."""
