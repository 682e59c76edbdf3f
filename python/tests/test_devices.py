"""Programs of several devices."""

from helpers import run

PROLOGUE = '''
import jax, numpy as np, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("i", "j"))
x = np.arange(16.0, dtype=np.float32).reshape(4, 4)
'''


def test_shard_maps_inside_shard_maps():
    result = run(PROLOGUE + '''
def inner(v):
    return jax.lax.psum(v, "j") * (1 + jax.lax.axis_index("j"))

def outer(v):
    v = v + 100 * jax.lax.axis_index("i")
    return jax.shard_map(inner, in_specs=P(None, "j"), out_specs=P(None, "j"), axis_names={"j"})(v)

f = jax.jit(jax.shard_map(outer, mesh=mesh, in_specs=P("i", None), out_specs=P("i", None), axis_names={"i"}))
assert "HloModule" in f.lower(x).compile().as_text()
give(np.asarray(f(x)).tolist())
''', TENON_NUM_DEVICES=4).result
    want = []
    for row in range(4):
        values = [4.0 * row + column + 100 * (row // 2) for column in range(4)]
        left, right = values[0] + values[2], values[1] + values[3]
        want.append([left, right, 2 * left, 2 * right])
    assert result == want


def test_ordered_callbacks_in_a_shard_map():
    result = run(PROLOGUE + '''
seen = []
def note(i, v):
    seen.append((int(i), float(np.sum(v))))

def f(v):
    i = jax.lax.axis_index("i")
    jax.experimental.io_callback(note, None, i, v, ordered=True)
    jax.experimental.io_callback(note, None, i, v + 1, ordered=True)
    return v

jax.block_until_ready(jax.jit(jax.shard_map(f, mesh=Mesh(np.array(jax.devices()), ("i",)), in_specs=P("i"), out_specs=P("i")))(x))
jax.effects_barrier()
give([[s for i, s in seen if i == k] for k in range(4)])
''', TENON_NUM_DEVICES=4).result
    assert result == [[sum(range(4 * k, 4 * k + 4)), sum(range(4 * k, 4 * k + 4)) + 4] for k in range(4)]
