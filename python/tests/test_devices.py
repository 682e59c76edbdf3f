"""Programs of several devices."""

import pathlib
import sys

import numpy as np
import pytest
import tenon_jax

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


def test_results_lie_as_arguments_and_constraints_do():
    # Shapes of the devices' parts, worked out by hand from which dims of the operands the results' dims are.
    result = run(PROLOGUE + '''
put = lambda v, *spec: jax.device_put(v, NamedSharding(mesh, P(*spec)))
a, b = put(np.ones((8, 6), np.float32), "i", None), put(np.ones((6, 4), np.float32), None, "j")
programs = {
    "same": lambda a, b: jnp.tanh(a) + 1,
    "transposed": lambda a, b: a.T,
    "product": lambda a, b: a @ b,
    "sum": lambda a, b: jnp.sum(a, axis=1),
    "sum over the cut dim": lambda a, b: jnp.sum(a, axis=0),
    "split": lambda a, b: a.reshape(4, 2, 3, 2),
    "joined": lambda a, b: a.reshape(48),
    "does not divide": lambda a, b: jnp.concatenate([a.T, a.T[:, :1]], axis=1),
    "conflict": lambda a, b: a @ jax.lax.with_sharding_constraint(b, NamedSharding(mesh, P(None, "i"))),
    "constraint": lambda a, b: jax.lax.with_sharding_constraint(a, NamedSharding(mesh, P("j", "i"))) * 2,
    "loop": lambda a, b: jax.lax.fori_loop(0, 3, lambda i, v: v * 2, a),
    "branch": lambda a, b: jax.lax.cond(b[0, 0] > 0, lambda: a, lambda: 2 * a),
    "rows": lambda a, b: a[jnp.array([1, 2, 0])],
    "keys": lambda a, b: jax.random.key_data(jax.vmap(jax.random.key)(a[:, 0].astype(np.uint32))),
}
try:
    from jax.experimental.shard_alike import shard_alike
    programs["alike"] = lambda a, b: shard_alike(jnp.zeros((8, 6), np.float32) + b[0, 0], a)[0]
except ImportError:  # Gone from newer versions.
    pass
programs["partly by hand"] = lambda a, b: jax.shard_map(
    lambda v: v * 2, mesh=mesh, in_specs=P(None, "j"), out_specs=P(None, "j"), axis_names={"j"})(a)
def read_by_hand(*spec):
    def f(a, b):
        y = a * 2
        return y + jax.shard_map(lambda v: v, mesh=mesh, in_specs=P(*spec), out_specs=P(*spec))(y).sum()
    return f
programs["as it is read"] = read_by_hand("i", "j")
programs["not as it is read"] = read_by_hand("j", "i")
def alike_and_read_by_hand(a, b):
    y = a * 2
    z = jnp.zeros((8, 6), np.float32) + jax.shard_map(lambda v: v, mesh=mesh, in_specs=P("i", "j"), out_specs=P("i", "j"))(y).sum()
    return shard_alike(y, z)[1]
if "alike" in programs:
    programs["alike, as one of them is read"] = alike_and_read_by_hand
shapes, right = {}, True
for name, f in programs.items():
    got = jax.jit(f)(a, b)
    shapes[name] = got.addressable_shards[0].data.shape
    right &= bool(np.array_equal(np.asarray(got), np.asarray(f(np.ones((8, 6), np.float32), np.ones((6, 4), np.float32)))))
give([shapes, right])
''', TENON_NUM_DEVICES=4).result
    shapes, right = result
    assert shapes.pop("alike", [4, 6]) == [4, 6]
    assert shapes.pop("alike, as one of them is read", [4, 3]) == [4, 3]
    assert [shapes, right] == [{
        "same": [4, 6], "transposed": [6, 4], "product": [4, 2], "sum": [4], "sum over the cut dim": [6],
        "split": [2, 2, 3, 2], "joined": [24], "does not divide": [6, 9], "conflict": [4, 4], "constraint": [4, 3],
        "loop": [4, 6], "branch": [4, 6], "rows": [3, 6],
        "keys": [4, 2], "partly by hand": [4, 3],
        "as it is read": [4, 3], "not as it is read": [4, 6]}, True]


def test_layouts_of_cut_arrays():
    result = run(PROLOGUE + '''
from jax.experimental.layout import Format, Layout
columns = Format(Layout((1, 0)), NamedSharding(mesh, P("i", "j")))
y = jax.device_put(x, columns)
f = jax.jit(lambda v: v @ v, in_shardings=columns, out_shardings=columns)
auto = jax.jit(lambda v: v.T, out_shardings=Format(Layout.AUTO)).lower(x).compile()
give([y.format.layout.major_to_minor, np.asarray(y).tolist(), f(y).format.layout.major_to_minor, np.asarray(f(y)).tolist(),
      auto.output_formats.layout.major_to_minor, np.asarray(auto(x)).tolist()])
''', TENON_NUM_DEVICES=4).result
    x = [[float(4 * i + j) for j in range(4)] for i in range(4)]
    square = [[sum(x[i][k] * x[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    transposed = [[x[j][i] for j in range(4)] for i in range(4)]
    assert result == [[1, 0], x, [1, 0], square, [1, 0], transposed]


def test_unreduced_arrays_are_the_sum_of_their_parts():
    result = run(PROLOGUE + '''
from jax.sharding import AxisType
mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
jax.set_mesh(mesh)

a, b = jax.device_put(x, P("i", "j")), jax.device_put(x, P("j", None))
product = jax.jit(lambda a, b: jnp.einsum("ik,kj->ij", a, b, out_sharding=P("i", None, unreduced={"j"})))(a, b)
held = {s.device: np.asarray(s.data) for s in product.addressable_shards}
added = np.concatenate([sum(held[d] for d in row) for row in mesh.devices])
twice = jax.jit(lambda v: jax.sharding.reshard(v + v, P(None, "j")))(product)
local = jax.jit(jax.shard_map(lambda v: jnp.sum(v, axis=0), in_specs=P("i", None), out_specs=P(unreduced={"i"}), check_vma=False))(
    jax.sharding.reshard(a, P("i", None)))
give([str(product.sharding.spec), added.tolist(), np.asarray(twice).tolist(),
      np.asarray(jax.sharding.reshard(local, P())).tolist()])
''', TENON_NUM_DEVICES=4).result
    x = [[float(4 * i + j) for j in range(4)] for i in range(4)]
    square = [[sum(x[i][k] * x[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    assert result[1:] == [square, [[2 * v for v in row] for row in square], [sum(row[j] for row in x) for j in range(4)]]
    assert "unreduced={'j'}" in result[0]


def test_devices_hold_the_summands_that_they_made():
    result = run(PROLOGUE + '''
from jax.sharding import AxisType
mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
jax.set_mesh(mesh)

def held(v):
    return [[np.asarray(s.data).tolist() for s in sorted(v.addressable_shards, key=lambda s: s.device.id)][d] for d in (0, 1)]

a, b = jax.device_put(x, P(None, "j")), jax.device_put(x, P("j", None))
product = jax.jit(lambda a, b: jnp.einsum("ik,kj->ij", a, b, out_sharding=P(unreduced={"j"})))(a, b)
total = jax.jit(lambda a: jnp.einsum("ik->i", a, out_sharding=P(unreduced={"j"})))(a)
cut = jax.jit(lambda a: jax.sharding.reshard(a, P(unreduced={"j"})))(b)
local = jax.jit(jax.shard_map(lambda v: v * 3, in_specs=P(None, "j"), out_specs=P(unreduced={"j"}), check_vma=False))(a)
again = jax.jit(jax.shard_map(lambda v: v * v, in_specs=P(unreduced={"j"}), out_specs=P(None, "j"), check_vma=False))(local)
same = jax.jit(lambda a: jax.shard_map(lambda v: v, in_specs=P(), out_specs=P(unreduced={"j"}), check_vma=False)(jax.sharding.reshard(a, P())))(b)
segments = jax.device_put(np.array([0, 2, 2, 1], np.int32), P("j"))
segment_sum = lambda v: jax.ops.segment_sum(v, segments, num_segments=3, out_sharding=P(unreduced={"j"}))
scattered = jax.jit(segment_sum)(jax.device_put(x[0] + 1, P("j")))
give([held(v) for v in (product, total, cut, local, same, scattered)] + [np.asarray(again).tolist()])
''', TENON_NUM_DEVICES=4).result
    x = np.arange(16.0).reshape(4, 4)
    halves = [x[:, :2] @ x[:2], x[:, 2:] @ x[2:]]
    zero = np.zeros((2, 4))
    want = [halves, [x[:, :2].sum(1), x[:, 2:].sum(1)],
            [np.concatenate([x[:2], zero]), np.concatenate([zero, x[2:]])], [3 * x[:, :2], 3 * x[:, 2:]], [x, x],
            [[1, 0, 2], [0, 4, 3]]]
    for got, wanted in zip(result, want):
        np.testing.assert_array_equal(np.array(got), np.array(wanted))
    np.testing.assert_array_equal(np.array(result[-1]), 9 * x * x)


def test_devices_hold_the_maxima_and_minima_that_they_made():
    result = run(PROLOGUE + '''
from jax.sharding import AxisType
try:
    from jax.sharding import UnreducedKind
except ImportError:
    give([])
    raise SystemExit
mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
jax.set_mesh(mesh)

results = []
for name in ("max", "min"):
    kind = getattr(UnreducedKind, name)
    reduce, collective = getattr(jax.lax, "reduce_" + name), getattr(jax.lax, "p" + name)
    made = jax.jit(lambda v: reduce(v, axes=(0,), out_sharding=P(None, unreduced={"i"}, unreduced_kind=kind)))(
        jax.device_put(x, P("i", None)))
    whole = jax.jit(jax.shard_map(lambda v: collective(v, "i"), out_specs=P()))(made)
    held = {s.device.id: np.asarray(s.data).tolist() for s in made.addressable_shards}
    results.append([[held[d.id] for d in mesh.devices[:, 0]], np.asarray(whole).tolist(), np.asarray(jax.sharding.reshard(made, P())).tolist()])
give(results)
''', TENON_NUM_DEVICES=4).result
    if not result:
        pytest.skip('this version of JAX has sums of parts only')
    x = np.arange(16.0).reshape(4, 4)
    assert result == [[[x[1].tolist(), x[3].tolist()], x[3].tolist(), x[3].tolist()],
                      [[x[0].tolist(), x[2].tolist()], x[0].tolist(), x[0].tolist()]]


def test_partitioned_callbacks_get_every_devices_part():
    result = run(PROLOGUE + '''
seen = []
def callback(v):
    jax.debug.callback(lambda part: seen.append(np.asarray(part).tolist()), v, partitioned=True)

def gathered(f, *args):
    with jax.set_mesh(mesh):
        jax.block_until_ready(jax.jit(f)(*args))
    jax.effects_barrier()
    got = list(seen)
    seen.clear()
    return got

put = lambda *spec: jax.device_put(x, NamedSharding(mesh, P(*spec)))
def called(v):
    callback(jax.jit(lambda v: v * 2)(v))
    return v
def looped(v):
    def body(i, v):
        callback(v)
        return v + 1
    return jax.lax.fori_loop(0, 2, body, v)
give([gathered(called, put("i", "j")), gathered(jax.jit(called), put(None, "j")), gathered(looped, put("i", None)),
      gathered(jax.vmap(called), put(None, "i")), gathered(called, put())])
''', TENON_NUM_DEVICES=4).result
    x = np.arange(16.0).reshape(4, 4)

    def parts(v, rows, columns):  # In the order of the devices.
        cut = [[q for q in np.split(p, columns, 1)] for p in np.split(v, rows)]
        return [cut[i * (rows > 1)][j * (columns > 1)].tolist() for i in (0, 1) for j in (0, 1)]

    assert sorted(result[0]) == sorted(parts(2 * x, 2, 2))
    assert sorted(result[1]) == sorted(parts(2 * x, 1, 2))
    assert sorted(result[2]) == sorted(parts(x, 2, 1) + parts(x + 1, 2, 1))
    assert sorted(result[3]) == sorted([half.tolist() for row in 2 * x for half in np.split(row, 2) for _ in (0, 1)])
    assert sorted(result[4]) == sorted(parts(2 * x, 1, 1))


def test_shardings_can_be_inspected():
    result = run(PROLOGUE + '''
seen = []
note = lambda s: seen.append(str(s.spec).replace("PartitionSpec", "P"))

@jax.jit
def f(v):
    w = v * 2
    jax.debug.inspect_array_sharding(w, callback=note)
    jax.debug.inspect_array_sharding(w.T, callback=note)
    return w

with mesh:
    f(jax.device_put(x, NamedSharding(mesh, P("i", "j"))))

def fails(s):
    raise ValueError("no thanks")

@jax.jit
def g(v):
    jax.debug.inspect_array_sharding(v, callback=fails)
    return v
try:
    with mesh:
        g(jax.device_put(x, NamedSharding(mesh, P("i"))))
except Exception as error:
    seen.append("no thanks" in str(error))
give(seen)
''', TENON_NUM_DEVICES=4).result
    assert result == ["P('i', 'j')", "P('j', 'i')", True]


def test_donated_parts_become_parts_of_results():
    result = run(PROLOGUE + '''
cut = NamedSharding(mesh, P("i", "j"))
step = jax.jit(lambda v, s: v * 2 + s, donate_argnums=0)
s = jax.device_put(np.float32(1), NamedSharding(mesh, P()))
v = step(jax.device_put(np.ones((1024, 1024), np.float32), cut), s)  # From here on the memory is the devices'.
jax.block_until_ready((v, s))
where = [p.data.unsafe_buffer_pointer() for p in v.addressable_shards]
before = [d.memory_stats()["bytes_in_use"] for d in jax.devices()]
for _ in range(3):
    v = jax.block_until_ready(step(v, s))
same = [p.data.unsafe_buffer_pointer() for p in v.addressable_shards] == where
after = [d.memory_stats()["bytes_in_use"] for d in jax.devices()]
kept = v
w = step(kept, s)
about = step.lower(w, s).compile().memory_analysis()
give([same, np.asarray(w)[::1023, ::1023].tolist(), before, after, about.argument_size_in_bytes, about.output_size_in_bytes])
''', TENON_NUM_DEVICES=4).result
    assert result[0] and result[1] == [[63.0, 63.0], [63.0, 63.0]]
    part = 512 * 512 * 4
    assert all(part <= b < part + 4096 for b in result[2]) and result[3] == result[2]
    assert result[4:] == [part + 4, part]


def test_donated_arrays_that_no_result_fits_stay():
    result = run(PROLOGUE + '''
import warnings
warnings.simplefilter("ignore")
put = lambda: jax.device_put(np.ones((8, 2), np.float32), NamedSharding(mesh, P("i", None)))
a, b = put(), put()
jax.jit(lambda v: v @ v.T, donate_argnums=0)(a)
jax.jit(lambda v: v + 1, donate_argnums=0)(b)
give([a.is_deleted(), b.is_deleted()])
''', TENON_NUM_DEVICES=4).result
    assert result == [False, True]


_NORMALISED = PROLOGUE + '''
from jax.experimental.custom_partitioning import custom_partitioning

@custom_partitioning
def normalised(v):
    return v / jnp.sum(v, axis=-1, keepdims=True)

seen = []
def partition(mesh, operands, result):
    seen.append([list(operands[0].sharding.spec), list(operands[0].shape), list(result.sharding.spec)])
    def per_device(part):
        # Each device has a part of the row, and adds its number for us to see that it was here.
        return part / jax.lax.psum(jnp.sum(part, axis=-1, keepdims=True), "j") + 10 * jax.lax.axis_index("i")
    return mesh, per_device, operands[0].sharding, (operands[0].sharding,)

normalised.def_partition(partition=partition, sharding_rule="i j -> i j", need_replication_factors=("j",))
v = jax.device_put(x + 1, NamedSharding(mesh, P("i", "j")))
'''


def _rows(shift):
    rows = [[float(4 * i + j + 1) for j in range(4)] for i in range(4)]
    return [[v / sum(row) + shift(i) for v in row] for i, row in enumerate(rows)]


def _close(got, want):
    # The sums are exact; the quotient and the shift round once each, at most below 16.
    return all(abs(g - w) <= 2.0**-20 for row, wanted in zip(got, want) for g, w in zip(row, wanted))


def test_functions_with_partitioners_of_their_own():
    result = run(_NORMALISED + '''
f = jax.jit(lambda v: 2 * normalised(v / 1))
got = f(v)
again = np.asarray(jax.jit(lambda v: jax.lax.fori_loop(0, 1, lambda _, w: normalised(w), v))(v))
give([np.asarray(got).tolist(), again.tolist(), seen])
''', TENON_NUM_DEVICES=4).result
    want = _rows(lambda i: 10 * (i // 2))
    assert _close(result[0], [[2 * v for v in row] for row in want]) and _close(result[1], want)
    assert result[2] == 2 * [[['i', 'j'], [4, 4], ['i', None]]]


def test_what_a_partitioner_raises_is_heard():
    result = run(_NORMALISED + '''
def refuse(*_):
    raise ValueError("not over this mesh")
normalised.def_partition(partition=refuse, sharding_rule="i j -> i j", need_replication_factors=("j",))
try:
    jax.jit(normalised)(v)
except Exception as e:
    give(str(e))
''', TENON_NUM_DEVICES=4).result
    assert 'not over this mesh' in result and 'custom_call' in result


def test_partitioners_are_not_asked_on_devices_of_another_process():
    result = run(_NORMALISED + 'give([np.asarray(jax.jit(normalised)(v)).tolist(), seen])', TENON_NUM_DEVICES=4, TENON_JAX_ISOLATE=1).result
    assert _close(result[0], _rows(lambda i: 0)) and result[1] == []


@pytest.mark.parametrize('name', ['float8_e4m3fn', 'float8_e5m2', 'float8_e8m0fnu', 'float4_e2m1fn'])
def test_narrow_floats_are_cut_like_others(name):
    result = run(PROLOGUE + f'''
import ml_dtypes
v = np.where(x > 7, 2, 1).astype(ml_dtypes.{name})
there = jax.device_put(v, NamedSharding(mesh, P("i", "j")))
twice = jax.jit(jax.shard_map(lambda a: a.astype(jnp.float32) * 2, mesh=mesh, in_specs=P("i", "j"), out_specs=P("i", "j")))
turned = jax.jit(lambda a: jax.lax.with_sharding_constraint(a.T, NamedSharding(mesh, P("i", "j"))).astype(jnp.float32))
give([np.asarray(twice(there)).tolist(), np.asarray(turned(there)).tolist()])
''', TENON_NUM_DEVICES=4).result
    want = np.where(np.arange(16).reshape(4, 4) > 7, 2.0, 1.0)
    assert result == [(2 * want).tolist(), want.T.tolist()]


def test_nobody_hears_of_a_permutation_without_pairs():
    result = run(PROLOGUE + '''
from jax import lax
f = lambda pairs, axis: np.asarray(jax.jit(jax.shard_map(lambda a: lax.ppermute(a, axis, pairs), mesh=mesh, in_specs=P("i", "j"),
                                                         out_specs=P("i", "j"), check_vma=False))(x)).tolist()
give([f([], "i"), f([], "j"), f([(0, 1)], "i")])
''', TENON_NUM_DEVICES=4).result
    zeros = np.zeros((4, 4))
    rows = np.arange(16.0).reshape(4, 4)
    assert result == [zeros.tolist(), zeros.tolist(), np.concatenate([zeros[:2], rows[:2]]).tolist()]


def test_each_device_goes_the_way_that_its_own_call_says():
    # The call stands in a function of its own: what differs between devices is found behind calls as well.
    result = run(PROLOGUE + '''
from jax import lax
asked = []
def number():
    asked.append(1)
    return np.int32(len(asked) - 1)

def f(a):
    n = jax.jit(lambda: jax.experimental.io_callback(number, jax.ShapeDtypeStruct((), jnp.int32)))()
    return lax.cond(n > 0, lambda a: lax.psum(a, "j") * 10, lambda a: -lax.psum(a, "j"), a), n[None]

mesh = Mesh(np.array(jax.devices()[:2]).reshape(2, 1), ("i", "j"))
r, n = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P("i")), check_vma=False))(np.arange(1.0, 5, dtype=np.float32))
give([np.asarray(r).tolist(), np.asarray(n).tolist()])
''', TENON_NUM_DEVICES=4).result
    values, numbers = result
    assert sorted(numbers) == [0, 1]
    assert values == [v * (10 if numbers[k // 2] > 0 else -1) for k, v in enumerate([1.0, 2, 3, 4])]


def test_a_failure_runs_through_any_number_of_executions():
    result = run('''
import jax, numpy as np
def fails(v):
    raise ValueError("on purpose")

# A call whose argument is still to come is not waited for.
slow = jax.jit(lambda x: jax.lax.fori_loop(0, 2_000_000_000, lambda i, v: v * 0.9999999 + 1e-7, x))
called = jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
f = jax.jit(lambda x: x + 1)
x = np.zeros(4, np.float32)
jax.block_until_ready(f(x))
y = called(slow(x))
for _ in range(30000):
    y = f(y)
try:
    np.asarray(y)
    give("no error")
except Exception as e:
    give("on purpose" in str(e))
''').result
    assert result is True


def test_a_callback_may_use_the_device_of_another_process_that_called_it():
    result = run('''
import jax, numpy as np

def inner(v):
    return np.asarray(jax.jit(lambda x: x * 2 + 1)(np.asarray(v)))

called = jax.jit(lambda x: jax.pure_callback(inner, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
give(np.asarray(called(np.ones(4, np.float32))).tolist())
''', TENON_JAX_ISOLATE=1).result
    assert result == [3.0] * 4


def test_arrays_of_callbacks_go_with_them():
    result = run('''
import jax, numpy as np, jax.numpy as jnp

def shared_mb():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssShmem")) // 1024

def of(megabytes):
    first = lambda v: np.asarray(v)[0]
    return jax.jit(lambda x: jax.pure_callback(first, x, jnp.full(megabytes << 18, x) * 2) + 1)

# Blocks of sizes that do not fit into one another.
functions = [of(megabytes) for megabytes in (9, 18, 36)]
seen = []
for _ in range(10):
    for f in functions:
        f(jnp.float32(1)).block_until_ready()
    seen.append(shared_mb())
give(seen)
''', TENON_JAX_ISOLATE=1).result
    assert result[-1] - result[1] < 100, result


def test_a_confined_process_runs_programs_and_the_hosts_handlers(tmp_path):
    """Python's and LAPACK's handlers are this process's, which may open files; the plugin's process may not."""
    (tmp_path / 'numbers').write_text('1 2 3')
    ran = run(f'''
import jax, numpy as np, os
read = lambda: np.loadtxt({str(tmp_path / 'numbers')!r}, dtype=np.float32)
called = jax.jit(lambda x: jax.pure_callback(lambda v: v * read(), jax.ShapeDtypeStruct((3,), np.float32), x) + 1)
values = np.asarray(called(np.ones(3, np.float32))).tolist()
eigenvalues = np.asarray(jax.jit(lambda x: jax.numpy.linalg.eigh(x)[0])(np.diag([3.0, 1.0, 2.0]).astype(np.float32))).tolist()
children = [pid for task in os.listdir("/proc/self/task") for pid in open(f"/proc/self/task/{{task}}/children").read().split()]
status = dict(line.split(":", 1) for pid in children for line in open(f"/proc/{{pid}}/status"))
give([values, eigenvalues, status["NoNewPrivs"].strip(), status["Seccomp"].strip()])
''', check=False, TENON_JAX_ISOLATE=1, TENON_ISOLATE_SANDBOX=1)
    if ran.result is None and 'this kernel cannot confine a process' in ran.stderr:
        pytest.skip('this kernel cannot confine a process')
    assert ran.result == [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0], '1', '2'], ran.stderr


@pytest.fixture
def xla_in_another_process(tmp_path):
    """Settings under which JAX's `cpu` is XLA's plugin in a process of its own: it calls handlers before it gives an execution's outputs."""
    xla = [f for folder in sys.path for f in pathlib.Path(folder).glob('xla_plugins/xla_cpu_pjrt/*.so')]
    if not xla:
        pytest.skip('XLA\'s plugin is not installed')
    folder = pathlib.Path(tenon_jax.library_path()).absolute().parent
    server = next(f for f in (folder / 'tenon-device-server', folder.parent / 'bin' / 'tenon-device-server') if f.is_file())
    (tmp_path / 'pjrt_plugin_tenon_isolated.so').symlink_to(folder / 'pjrt_plugin_tenon_isolated.so')
    (tmp_path / 'xla.so').symlink_to(xla[0])
    return {'TENON_PLUGIN': tmp_path / 'xla.so', 'TENON_DEVICE_SERVER': server, 'TENON_JAX_ISOLATE': 1}


def test_callbacks_of_programs_of_xla(xla_in_another_process):
    result = run('''
import jax, numpy as np
called = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)
give(np.asarray(called(np.arange(4, dtype=np.float32))).tolist())
''', **xla_in_another_process).result
    assert result == [1.0, 3.0, 5.0, 7.0]


def test_executions_wait_for_outputs_of_one_that_calls_back(xla_in_another_process):
    result = run('''
import jax, numpy as np, threading

asked = threading.Event()
triple, tenfold = jax.jit(lambda x: x * 3), jax.jit(lambda x: x * 10 + 1)

def inner(v):
    asked.wait(10)
    return np.asarray(triple(np.asarray(v)))  # Which waits for nothing.

called = jax.jit(lambda x: jax.pure_callback(inner, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)
x = np.arange(4, dtype=np.float32)
jax.block_until_ready([triple(x), tenfold(x)])
y = called(x)
z = called(tenfold(y))
asked.set()
give([np.asarray(tenfold(z)).tolist(), np.asarray(y).tolist()])
''', **xla_in_another_process).result
    y = [3 * v + 1 for v in (0.0, 1.0, 2.0, 3.0)]
    assert result == [[((10 * v + 1) * 3 + 1) * 10 + 1 for v in y], y]


def test_results_of_partitions_say_how_they_lie(xla_in_another_process):
    result = run('''
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:2]), ("i",))
x = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("i")))
total, more = jax.jit(lambda v: (v.sum(), v + 1))(x)
one = jax.jit(lambda v: v * 2)(x)
give([float(total), list(more.sharding.spec), np.asarray(more).tolist(), np.asarray(one).tolist()])
''', JAX_NUM_CPU_DEVICES=2, **xla_in_another_process).result
    assert result == [28.0, ['i'], [v + 1.0 for v in range(8)], [2.0 * v for v in range(8)]]


def test_arrays_of_the_host_are_given_back_to_xla(xla_in_another_process):
    result = run('''
import jax, numpy as np
f = jax.jit(lambda x: x + 1)
give([float(f(jax.device_put(np.full(4, i, np.float32)))[0]) for i in range(1200)])
''', **xla_in_another_process).result
    assert result == [i + 1.0 for i in range(1200)]


def test_collectives_that_are_started_and_awaited():
    result = run(PROLOGUE + '''
from jax._src.lax import parallel

def f(v):
    whole = parallel.all_gather_start(v, "i", tiled=True)
    twice = v + v
    return whole.done().sum(axis=0, keepdims=True) + twice

g = jax.jit(jax.shard_map(f, mesh=Mesh(np.array(jax.devices()), ("i",)), in_specs=P("i"), out_specs=P("i"), check_vma=False))
text = g.lower(x).as_text()
give(np.asarray(g(x)).tolist() if "async_start" in text or "all-gather-start" in text else "they are not started")
''', TENON_NUM_DEVICES=4).result
    columns = [sum(4.0 * i + j for i in range(4)) for j in range(4)]
    assert result == [[columns[j] + 2 * (4 * i + j) for j in range(4)] for i in range(4)]


def test_order_asked_for_of_what_was_started():
    """Custom calls take what is under way: programs of StableHLO 1.17, which JAX sends to who says that it reads them."""
    result = run(PROLOGUE + '''
from jax._src.lax import parallel
try:
    from jax.experimental.control_deps import schedule
except ImportError:
    give([])
    raise SystemExit

def f(v, w):
    whole = parallel.all_gather_start(w, "i", tiled=True)
    more = v + 1
    schedule([whole.x, more])
    return more @ whole.done()

g = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False))
text = g.lower(x, x).as_text()
give(np.asarray(g(x, x)).tolist() if "async_start" in text and "control_dep" in text else [])
''', TENON_NUM_DEVICES=4).result
    if not result:
        pytest.skip('this version of JAX asks for no such order')
    x = np.arange(16.0).reshape(4, 4)
    assert result == ((x + 1) @ x).tolist()


def test_all_effects_are_waited_for_though_some_begin_late():
    # JAX waits for the last execution of a device alone: here one that can begin before the one before it.
    result = run('''
import jax, numpy as np, jax.numpy as jnp
from jax.experimental import io_callback
seen = []
tell = jax.jit(lambda v: io_callback(lambda x: seen.append(float(x)), None, v))
slow = jax.jit(lambda v: jax.lax.fori_loop(0, 200, lambda _, w: jnp.tanh(w @ w), v)[0, 0] * 0 + 1)
m, two = jnp.full((300, 300), 0.01), jnp.float32(2)
jax.block_until_ready([slow(m), two])
tell(two)
jax.effects_barrier()
seen.clear()
tell(slow(m))
tell(two)
jax.effects_barrier()
give(sorted(seen))
''').result
    assert result == [1.0, 2.0]
