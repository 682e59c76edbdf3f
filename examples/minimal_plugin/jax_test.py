"""Runs unmodified JAX on the minimal plugin: jax_test.py PATH_OF_THE_PLUGIN. NumPy is the judge."""

import os
import sys

try:
    import jax
except ImportError:
    print("SKIPPED: this Python has no JAX")
    sys.exit(0)

os.environ["JAX_PLATFORMS"] = "minimal"
os.environ["TENON_JAX"] = "off"  # Where the tenon_jax package is installed, it must not register its own plugin.
from jax._src import xla_bridge

xla_bridge.register_plugin("minimal", library_path=sys.argv[1])

import jax.numpy as jnp
import numpy as np


def check(got, want, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


print(jax.devices(), jax.devices()[0].client.platform_version)
assert jax.devices()[0].platform == "cpu", jax.devices()[0].platform
assert "minimal" in jax.devices()[0].client.platform_version

a = np.arange(12, dtype=np.float32).reshape(3, 4)
b = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
check(jnp.asarray(a) + 1, a + 1)
check(jnp.asarray(a) @ jnp.asarray(b), a @ b, 1e-5)
check(jnp.asarray(a.T) + 1, a.T + 1)  # A strided upload.
check(jnp.asarray(np.arange(1 << 16, dtype=np.int32)) * 3, np.arange(1 << 16, dtype=np.int32) * 3)  # Aliases NumPy's memory.


@jax.jit
def softmax(x):
    e = jnp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


want = np.exp(a - a.max(-1, keepdims=True))
check(softmax(a), want / want.sum(-1, keepdims=True))
check(jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, s: s + i, 0))(10), 45)
check(jax.grad(lambda x: (x**3).sum())(a), 3 * a**2, 1e-5)
x = jax.device_put(a)
assert not x.is_deleted()
x.delete()
assert x.is_deleted()
try:
    jnp.asarray(a).reshape(5, 5)
    raise AssertionError("a bad reshape passed")
except TypeError:
    pass
print("passed")
