"""Functions that the driver supplies, and what it initialises."""

from typing import Final

FUNCTIONS: Final[tuple[str, ...]] = ("vprintf", "malloc", "free", "__assertfail")
"""Called through the address table; undefined in every module."""
SET_CONDITION: Final = "cudaGraphSetConditional"
"""Sets the condition of a node of a graph: its handle, 64 bits, and the value, 32 bits."""
GRAPH_FUNCTIONS: Final[tuple[str, ...]] = (
    "cudaGraphKernelNodeSetEnabled", "cudaGraphKernelNodeSetGridDim", "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply", "cudaGraphLaunch", SET_CONDITION,
)  # fmt: skip
"""Functions of device code that change or launch graphs."""
LAUNCH_FUNCTIONS: Final[tuple[str, ...]] = (
    "cnpCtxSynchronize", "cnpDeviceGetAttribute", "cnpDeviceGetName", "cnpDeviceGetTotalMem", "cnpEventCreate",
    "cnpEventDestroy", "cnpEventRecord", "cnpFuncGetAttribute", "cnpGetCacheConfig", "cnpGetDevice", "cnpGetDeviceCount",
    "cnpGetLastError", "cnpGetLimit", "cnpGetParameterBuffer", "cnpGetParameterBufferV2", "cnpGetSharedMemConfig",
    "cnpLaunchDevice", "cnpLaunchDeviceV2", "cnpSetLastError", "cnpStreamCreate", "cnpStreamDestroy",
    "cnpStreamWaitEvent",
)  # fmt: skip
"""Functions that the device runtime of dynamic parallelism calls."""
CALLABLE: Final[frozenset[str]] = frozenset((*FUNCTIONS, "__profile", *GRAPH_FUNCTIONS, *LAUNCH_FUNCTIONS))
"""Functions that a module may declare and call without a definition, and without the prefix of the others: all that ptxas 13.0.88 takes
of the names that it contains (docs/facts/front-end.md)."""
KNOWN_REGISTERS: Final[tuple[str, ...]] = ("vprintf", "__assertfail")
"""Driver functions whose clobbered registers the compiler knows."""
PREFIX: Final = "__cuda_syscall_"
"""Prefix of the names of all other driver functions."""
GRADIENTS: Final = PREFIX + "tex_grad_"
"""Prefix of the functions that sample textures with gradients."""
DEVICE_LAUNCHES: Final = PREFIX + "cnpv2"
"""Prefix of the functions by which the device runtime launches kernels."""
GRID_HANDLE: Final = PREFIX + "CGS_get_intrinsic_handle"
GRID_SYNC: Final = PREFIX + "CGS_sync"
"""The functions of grid synchronisation that the device runtime calls."""
COPIES: Final = PREFIX + "cp_async_bulk_"
"""Prefix of the functions that copy from global memory to shared memory of the cluster."""
NAMED_SYSCALL: Final = PREFIX + "32f3056bbb"
"""The function that ``--cuda32f3056bbb`` makes every function name; nothing calls it."""
TENSOR_PARTITION: Final = "__nv_reservedSMEM_tcgen05_partition"
"""Symbol of the record of allocated tensor memory, in reserved shared memory."""
TENSOR_RECORD: Final[dict[str, tuple[int, int, int]]] = {
    TENSOR_PARTITION: (32, 8, 16),
    "__nv_reservedSMEM_allocation_phase": (1, -1, -1),
    "__nv_reservedSMEM_allocation_mask": (4, -1, -1),
    "__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier": (8, 0, -1),
    "__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier_parity": (4, -1, 0),
}
"""Parts of that record, as ptxas up to 13.0 (the first) and ptxas 13.4 name them: size, and the offsets of the barrier object and of the
parity with which pairs of blocks wait for it, -1 if it is not in this part."""


def known_registers(name: str) -> bool:
    """Whether prototypes say which registers a function uses."""
    return name in KNOWN_REGISTERS or name.startswith((COPIES, GRADIENTS))


def is_callable(name: str) -> bool:
    """Whether a module may declare and call a function of this name without a definition."""
    return name in CALLABLE or name.startswith(PREFIX)
