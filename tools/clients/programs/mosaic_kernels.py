"""JAX's kernels of Pallas through Mosaic GPU: products, attention and ragged products, beside numpy's results.

Run it with ``orias exec --device H100 -- python tools/clients/jax_cuda.py mosaic_kernels.py`` (or ``--device B200``), also with the names
of some kernels after it; JAX's kernels need absl-py.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.gpu import (
    attention_mgpu,
    blackwell_matmul_mgpu,
    blackwell_ragged_dot_mgpu,
    hopper_matmul_mgpu,
    hopper_mixed_type_matmul_mgpu,
    ragged_dot_mgpu,
    transposed_ragged_dot_mgpu,
)

random = np.random.default_rng(0)
SIZES = (100, 60, 96)
PARTS = [slice(sum(SIZES[:k]), sum(SIZES[: k + 1])) for k in range(3)]
TILES = {"tile_m": 128, "tile_n": 128, "tile_k": 64, "max_concurrent_steps": 2}
BLOCKS = {"block_k": 64, "block_m": 64, "max_concurrent_steps": 2, "grid_block_n": 1}
groups = jnp.asarray(np.array(SIZES, np.int32))
M = hopper_matmul_mgpu.MatmulDimension.M


def some(*shape, kind=jnp.float16):
    """Eighths from -1 to 1."""
    return jnp.asarray((random.integers(-8, 9, shape) / 8).astype(kind))


def wide(x):
    """The same values as doubles."""
    return np.asarray(x).astype(np.float64)


def hopper(kind=jnp.float16, **more):
    a, b = some(256, 128, kind=kind), some(128, 256, kind=kind)
    config = hopper_matmul_mgpu.TuningConfig(**TILES, **more)
    return hopper_matmul_mgpu.matmul(a, b, None, config=config), wide(a) @ wide(b)


def attention(kernel=attention_mgpu.attention, **more):
    q, k, v = (some(1, 256, 2, 64) for _ in range(3))
    config = attention_mgpu.TuningConfig(block_q=64, block_kv=64, max_concurrent_steps=2, **more)
    x, y, z = (wide(a).transpose(0, 2, 1, 3) for a in (q, k, v))
    s = x @ y.transpose(0, 1, 3, 2)
    if more.get("causal"):
        s = np.where(np.tril(np.ones(s.shape[-2:])) > 0, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return kernel(q, k, v, config), (e / e.sum(-1, keepdims=True) @ z).transpose(0, 2, 1, 3)


def ragged(turned):
    a, b = some(256, 128), some(3, 128, 128)
    got = ragged_dot_mgpu.ragged_dot(a, b, group_sizes=groups, block_n=128, transpose_rhs=turned, **BLOCKS)
    return got, np.concatenate([wide(a)[p] @ (wide(b)[k].T if turned else wide(b)[k]) for k, p in enumerate(PARTS)])


def transposed():
    a, b = some(256, 128), some(256, 128)
    got = transposed_ragged_dot_mgpu.transposed_ragged_dot(a, b, group_sizes=groups, block_n=64, **BLOCKS)
    return got, np.stack([wide(a)[p].T @ wide(b)[p] for p in PARTS])


def mixed():
    a, b = jnp.asarray(random.integers(-9, 9, (128, 128)).astype(np.int8)), some(128, 128, kind=jnp.bfloat16)
    config = hopper_mixed_type_matmul_mgpu.TuningConfig(tile_m=64, tile_n=64, tile_k=64, max_concurrent_steps=2)
    got = hopper_mixed_type_matmul_mgpu.mixed_matmul_kernel(a, b, out_dtype=jnp.bfloat16, config=config)
    return got, wide(a) @ wide(b)


def blackwell(**more):
    a, b = some(256, 128), some(128, 256)
    config = blackwell_matmul_mgpu.TuningConfig(**{**TILES, "collective": False, "epilogue_tile_n": 32, **more})
    return blackwell_matmul_mgpu.matmul_kernel(a, b, config), wide(a) @ wide(b)


def blackwell_ragged():
    a, b = some(256, 128), some(3, 128, 256)
    rows = blackwell_matmul_mgpu.MatmulDimension.M
    config = blackwell_ragged_dot_mgpu.TuningConfig(
        **TILES, collective=True, grid_tile_width=1, grid_minor_dim=rows, epilogue_tile_n=32
    )
    got = blackwell_ragged_dot_mgpu.ragged_dot_kernel(a, b, groups, config)
    return got, np.concatenate([wide(a)[p] @ wide(b)[k] for k, p in enumerate(PARTS)])


HOPPER = {
    "product": hopper,
    "product by rows": lambda: hopper(jnp.bfloat16, wg_dimension=M),
    "product in clusters": lambda: hopper(cluster_dimension=M),
    "product stored whole": lambda: hopper(epi_tile_n=None, epi_tile_m=None),
    "attention": attention,
    "causal attention": lambda: attention(causal=True),
    "attention without order": lambda: attention(use_schedule_barrier=False),
    "attention in a pipeline": lambda: attention(attention_mgpu.attention_with_pipeline_emitter),
    "ragged": lambda: ragged(False),
    "ragged, turned": lambda: ragged(True),
    "ragged, transposed": transposed,
    "int8 with bf16": mixed,
}
BLACKWELL = {
    "product": blackwell,
    "product of pairs": lambda: blackwell(collective=True),
    "wide product": lambda: blackwell(tile_n=256),
    "product by rows": lambda: blackwell(grid_minor_dim=blackwell_matmul_mgpu.MatmulDimension.M),
    "ragged": blackwell_ragged,
}
kernels = BLACKWELL if float(jax.devices()[0].compute_capability) >= 10 else HOPPER
names = sys.argv[1:] or list(kernels)
for name in names:
    got, wanted = kernels[name]()
    np.testing.assert_allclose(wide(got), wanted, rtol=2e-2, atol=2e-2, err_msg=name)
print(len(names), "checks passed")
