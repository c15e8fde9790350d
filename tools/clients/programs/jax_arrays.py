"""JAX: elements, sums, softmax, sorting, derivatives, loops and random numbers, beside numpy's results.

Run it with ``orias exec -- python tools/clients/jax_cuda.py jax_arrays.py``.
"""

import jax
import jax.numpy as jnp
import numpy as np

a = np.random.default_rng(1).standard_normal((64, 128)).astype(np.float32)
checked = 0


def check(name, got, wanted, tolerance=1e-5):
    """The same shape and nearly the same values."""
    global checked
    got = np.asarray(got)
    assert got.shape == np.shape(wanted) and np.allclose(got, wanted, rtol=tolerance, atol=tolerance), name
    checked += 1


assert jax.devices()[0].platform == "gpu"
e = np.exp(a - a.max(1, keepdims=True))
check("sum", (jnp.arange(1000, dtype=jnp.float32) * 2 + 1).sum(), 1e6)
check("softmax", jax.jit(jax.nn.softmax)(a), e / e.sum(1, keepdims=True))
check("sort", jnp.sort(a, axis=1), np.sort(a, 1))
check("derivative", jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(a), 2 * np.tanh(a) * (1 - np.tanh(a) ** 2))
check("scan", jnp.cumsum(a, axis=1), np.cumsum(a, 1), 1e-4)
check("loop", jax.lax.fori_loop(0, 10, lambda i, x: x * 0.5 + i, a), a / 1024 + 8194 / 512)
check("scatter", jnp.zeros(7).at[jnp.arange(21) % 7].add(1.0), np.full(7, 3.0))
check("map", jax.vmap(lambda x: jnp.argmax(x))(a), a.argmax(1))
check("random", jax.random.uniform(jax.random.key(1), (1000,)).mean(), 0.5, 0.05)
print(checked, "checks passed")
