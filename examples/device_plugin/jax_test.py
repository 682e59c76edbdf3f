"""JAX on the remote device: jax_test.py PATH_OF_THE_PLUGIN. NumPy is the judge."""
import os
import sys

try:
  import jax
except ImportError:
  print("SKIPPED: this Python has no JAX")
  sys.exit(0)

os.environ["JAX_PLATFORMS"] = "remote"
os.environ["TENON_JAX"] = "off"  # Where the package tenon_jax is installed, it must not register its own plugin.
from jax._src import xla_bridge

xla_bridge.register_plugin("remote", library_path=sys.argv[1])
import numpy as np


# Gradient descent on sum((w * w - target)^2), with the gradient by hand: the device has no sums.
def step(w, target):
  return w - 0.05 * (w * w - target) * w


w, target = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4), np.full((3, 4), 2, np.float32)
compiled = jax.jit(step)
on_device, goal = jax.device_put(w), jax.device_put(target)
for _ in range(100):
  on_device, w = compiled(on_device, goal), step(w, target)
np.testing.assert_allclose(np.asarray(on_device), w, rtol=1e-5)
np.testing.assert_array_equal(np.asarray(jax.jit(lambda n: n * n - 3 + n)(np.arange(5, dtype=np.int32))), [-3, -1, 3, 9, 17])
# Forward derivatives are elementwise as well.
value, derivative = jax.jit(lambda x: jax.jvp(lambda y: y * y * y, (x,), (2 * x,)))(np.float32(3))
assert (float(value), float(derivative)) == (27, 162), (value, derivative)
try:
  jax.jit(lambda x: x @ x)(goal[:3, :3])
  raise AssertionError("a product was taken for elementwise code")
except jax.errors.JaxRuntimeError as error:
  assert "this device has no op" in str(error), error
print("passed on", jax.devices()[0])
