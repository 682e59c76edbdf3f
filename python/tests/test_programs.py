"""JAX programs against NumPy, each on Tenon in this process."""

import itertools
import threading
import time

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.experimental.layout import Format, Layout

RNG = np.random.default_rng(0)
EPS = float(np.finfo(np.float32).eps)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_this_is_tenon():
    assert 'tenon' in jax.devices()[0].client.platform_version


@pytest.mark.parametrize('shape', [(), (1,), (7,), (16,), (1000,), (3, 5), (2, 3, 4), (0,), (4, 0, 2)])
@pytest.mark.parametrize('dtype', [np.float32, np.int32, np.uint8, np.bool_])
def test_select_and_compare(shape, dtype):
    a, b = ((RNG.integers(0, 2, shape) * 3).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(jax.jit(lambda x, y: jnp.where(x == y, x, y))(a, b), np.where(a == b, a, b))


@pytest.mark.parametrize('shape', [(3, 1), (1, 4), (3, 1, 4), (1, 1, 2), (0, 3), (2, 3)])
def test_layouts(shape):
    x = f32(*shape)
    for order in itertools.permutations(range(len(shape))):
        layout = Format(Layout(order), jax.sharding.SingleDeviceSharding(jax.devices()[0]))
        put = jax.device_put(x, layout)
        add = jax.jit(lambda v: v + 1, in_shardings=layout, out_shardings=layout)
        for y, want in ((put, x), (add(put), x + 1)):
            assert y.format.layout.major_to_minor == order
            np.testing.assert_array_equal(y, want)
        assert add.lower(x).compile().input_formats[0][0].layout.major_to_minor == order


def test_broadcast_transpose_slice_reverse():
    x, row = f32(6, 8), f32(8)
    got = jax.jit(lambda x, r: (x + r).T[1:7:2, ::-1] * 2)(x, row)
    np.testing.assert_array_equal(got, (x + row).T[1:7:2, ::-1] * 2)


def test_pad_and_concatenate():
    x = f32(3, 4)
    got = jax.jit(lambda x: jnp.concatenate([jnp.pad(x, ((1, 2), (0, 3)), constant_values=7.0), jnp.ones((6, 2))], axis=1))(x)
    want = np.concatenate([np.pad(x, ((1, 2), (0, 3)), constant_values=7.0), np.ones((6, 2), np.float32)], axis=1)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize('axis', [None, 0, 1, (0, 2), 2])
def test_sums(axis):
    x = f32(17, 33, 65)
    want = x.astype(np.float64).sum(axis=axis)
    # A sum of n terms errs by at most (n - 1) * eps relative to the sum of magnitudes.
    n = x.size // np.size(want)
    bound = n * EPS * np.abs(x).astype(np.float64).sum(axis=axis)
    assert np.all(np.abs(np.asarray(jax.jit(lambda x: x.sum(axis=axis))(x)) - want) <= bound)


def test_argmax_takes_the_first_and_nan_wins():
    x = np.array([[1, 3, 3, 2], [np.nan, 1, np.nan, 5], [0, 0, 0, 0]], np.float32)
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.argmax(x, axis=1))(x), [1, 0, 0])


def test_softmax_rows_sum_to_one():
    x = f32(50, 300) * 10
    got = np.asarray(jax.jit(jax.nn.softmax)(x))
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    # Each element: exp (2 ulp, and the rounding of its argument of at most 100), a sum of 300 and a division.
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=(2 + 100 + 300 + 2) * EPS)


@pytest.mark.parametrize('m,k,n', [(1, 1, 1), (3, 5, 7), (64, 64, 64), (1, 100, 50), (50, 100, 1), (130, 70, 90), (4, 0, 3)])
def test_matrix_products(m, k, n):
    a, b = f32(m, k), f32(k, n)
    want = a.astype(np.float64) @ b.astype(np.float64)
    bound = (k + 2) * EPS * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert np.all(np.abs(np.asarray(jax.jit(jnp.matmul)(a, b)) - want) <= bound)


def test_while_and_scan():
    got = jax.jit(lambda x: lax.fori_loop(0, 10, lambda i, s: s * 2 + i, x))(np.int32(1))
    want = 1
    for i in range(10):
        want = want * 2 + i
    assert int(got) == want
    _, ys = jax.jit(lambda x: lax.scan(lambda c, v: (c + v, c * v), np.float32(0), x))(np.arange(6, dtype=np.float32))
    np.testing.assert_array_equal(ys, [0, 0, 2, 9, 24, 50])


@pytest.mark.parametrize('index,want', [(0, 1), (1, 10), (2, 100), (7, 100), (-3, 1)])
def test_switch(index, want):
    # lax.switch clamps on both sides.
    got = jax.jit(lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * 10, lambda x: x * 100], x))(index, 1.0)
    assert float(got) == want


def test_sort_gather_scatter():
    x = RNG.integers(0, 50, 100).astype(np.int32)
    i = RNG.integers(0, 100, 30).astype(np.int32)
    np.testing.assert_array_equal(jax.jit(jnp.sort)(x), np.sort(x))
    np.testing.assert_array_equal(jax.jit(jnp.argsort)(x), np.argsort(x, kind='stable'))
    np.testing.assert_array_equal(jax.jit(lambda x, i: x[i])(x, i), x[i])
    want = x.copy()
    np.add.at(want, i, 1)
    np.testing.assert_array_equal(jax.jit(lambda x, i: x.at[i].add(1))(x, i), want)


def test_random_bits_equal_the_builtin_backend():
    key = jax.random.key_data(jax.random.key(42))
    draw = jax.jit(lambda k: jax.random.bits(jax.random.wrap_key_data(k), (1000,)))
    np.testing.assert_array_equal(np.asarray(draw(key)), np.asarray(draw(jax.device_put(np.asarray(key), jax.devices('xla_cpu')[0]))))


def test_donated_arguments_are_gone():
    x = jnp.ones((1000,), jnp.float32)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(y, np.full(1000, 2, np.float32))
    with pytest.raises((RuntimeError, ValueError), match='deleted|donated'):
        np.asarray(x)


def test_numpy_memory_is_not_written():
    a = np.zeros(1 << 16, np.float32)
    x = jax.device_put(a)
    jax.block_until_ready(jax.jit(lambda x: x + 1, donate_argnums=0)(x))
    assert not a.any()


def test_unaligned_and_strided_host_arrays():
    base = f32(64, 65)
    np.testing.assert_array_equal(jax.device_put(base[1:, 1:]), base[1:, 1:])
    np.testing.assert_array_equal(jax.device_put(base.T), base.T)
    np.testing.assert_array_equal(jnp.from_dlpack(base.ravel()[1:]), base.ravel()[1:])


def test_cholesky_through_lapack():
    pytest.importorskip('scipy', reason='jaxlib takes LAPACK from scipy')
    a = f32(20, 20)
    a = a @ a.T + 20 * np.eye(20, dtype=np.float32)
    factor = np.asarray(jnp.linalg.cholesky(a)).astype(np.float64)
    # Backward error of a Cholesky factorisation: (n + 1) * eps * |L| |L|^T, element by element.
    assert np.all(np.abs(factor @ factor.T - a) <= 21 * EPS * (np.abs(factor) @ np.abs(factor).T))


def test_python_callbacks():
    got = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(v) * 3, jax.ShapeDtypeStruct((4,), np.float32), x) + 1)(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(got, np.arange(4) * 3 + 1)


@pytest.mark.parametrize('callback', [np.asfortranarray, lambda v: np.asarray(v)[:, ::-1], lambda v: np.broadcast_to(np.float32(2), v.shape)])
def test_results_of_callbacks_in_any_layout(callback):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    np.testing.assert_array_equal(jax.jit(lambda v: jax.pure_callback(callback, like, v))(x), callback(x))
    np.testing.assert_array_equal(jax.jit(lambda v: jax.experimental.io_callback(callback, like, v, ordered=True))(x), callback(x))


@pytest.mark.parametrize('make', [lambda: np.ones((2, 0), np.float64), lambda: np.ones((4, 1, 6), np.float32)[:, :, ::3], lambda: np.ones((3, 4), np.float32)[:, :1]])
def test_results_of_callbacks_with_strides_of_no_use(make):
    likes = (jax.ShapeDtypeStruct(make().shape, np.float32), jax.ShapeDtypeStruct((2,), np.float32))
    got, other = jax.jit(lambda: jax.pure_callback(lambda: (make(), np.float32([1, 2])), likes))()
    np.testing.assert_array_equal(got, make())
    np.testing.assert_array_equal(other, [1, 2])


@pytest.mark.parametrize('dtype', [jnp.int4, jnp.uint4])
def test_callbacks_on_small_integers(dtype):
    x = jnp.arange(7, dtype=dtype)
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    got = jax.jit(lambda v: jax.pure_callback(lambda a: np.asarray(a)[::-1], like, v))(x)
    np.testing.assert_array_equal(got, np.asarray(x)[::-1])


def test_a_callback_may_use_jax():
    def inner(v):
        return np.asarray(jax.jit(lambda x: x * 2)(np.asarray(v)))
    got = jax.jit(lambda x: jax.pure_callback(inner, jax.ShapeDtypeStruct((4,), np.float32), x))(np.ones(4, np.float32))
    np.testing.assert_array_equal(got, np.full(4, 2))


def test_an_error_in_a_callback_reaches_the_caller():
    def fails(v):
        raise ValueError('no luck today')
    with pytest.raises(Exception, match='no luck today'):
        jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.float32), x))(np.float32(1))


def test_callbacks_run_on_the_thread_of_their_caller():
    seen = []

    @jax.jit
    def f(x):
        def body(i, y):
            return jax.pure_callback(lambda v: (seen.append(threading.get_ident()), v)[1], jax.ShapeDtypeStruct((), np.float32), y)
        return jax.lax.fori_loop(0, 3, body, x)

    f(np.float32(1))
    assert seen == [threading.get_ident()] * 3


def test_callbacks_have_the_settings_of_their_caller():
    with jax.enable_x64(True):
        got = jax.jit(lambda x: jax.pure_callback(lambda v: v * 3, jax.ShapeDtypeStruct((2,), np.float64), x))(np.float64([1, 1e300]))
        np.testing.assert_array_equal(got, np.float64([3, 3e300]))


def test_what_a_callback_computes_is_none_of_its_callers_trace():
    x = np.arange(3, dtype=np.float32)
    called = jax.jit(lambda v: jax.pure_callback(lambda a: np.asarray(jnp.sin(a)), jax.ShapeDtypeStruct((3,), np.float32), v)).lower(x).compile()
    seen = []

    def traced(y):
        seen.append(np.asarray(called(x)))
        return y

    np.testing.assert_allclose(jax.jit(traced)(np.float32(2)), 2)
    np.testing.assert_allclose(seen, [np.sin(x)], rtol=1e-6)


@pytest.mark.parametrize('dtype', [np.bool_, np.int8, np.float32, np.complex64, jnp.bfloat16, jnp.int4])
def test_operands_of_callbacks_are_arrays_of_the_cpu(dtype):
    x = jnp.ones((3, 2), dtype)
    seen = []

    def look(*operands):
        seen.extend((type(v) is type(x), v.devices() == {jax.local_devices(backend='cpu')[0]}, v.committed, v.aval.str_short()) for v in operands)

    def f(v):
        jax.debug.callback(look, v, v[0])
        jax.experimental.io_callback(look, None, v, v[0, 0], ordered=True)
        return v

    with jax.transfer_guard('disallow'):
        jax.block_until_ready(jax.jit(f)(x))
    short = x.aval.str_short().partition('[')[0]
    assert seen == [(True, True, True, f'{short}[{shape}]') for shape in ('3,2', '2', '3,2', '')]


def test_callbacks_come_before_what_their_caller_does_next():
    seen = []

    @jax.jit
    def f(x):
        def body(i, y):
            jax.debug.callback(lambda i: (time.sleep(0.02), seen.append(int(i))), i)
            return y * 2
        return jax.lax.fori_loop(0, 3, body, x)

    f(np.float32(1))
    assert seen == [0, 1, 2]


def test_executables_survive_serialisation():
    from jax.experimental import serialize_executable
    compiled = jax.jit(lambda x: x * 3 + 1).lower(np.ones(4, np.float32)).compile()
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), execution_devices=jax.devices()[:1])
    np.testing.assert_array_equal(again(np.arange(4, dtype=np.float32)), np.arange(4) * 3 + 1)


def test_chains_of_executions_keep_their_order():
    f = jax.jit(lambda x: x * 1.0001 + 1)
    x = jnp.zeros((1 << 16,), jnp.float32)
    y = np.zeros(1, np.float32)
    for _ in range(200):
        x = f(x)
        y = np.float32(np.float64(y) * np.float64(np.float32(1.0001)) + 1)
    # One rounding a step against none: at most 200 roundings of values below 250.
    assert np.all(np.abs(np.asarray(x) - y) <= 200 * EPS * 250)


def test_out_of_memory_is_an_error():
    with pytest.raises(Exception, match='RESOURCE_EXHAUSTED'):
        jax.block_until_ready(jax.jit(lambda: jnp.zeros((1 << 42,), jnp.float32))())


def test_handlers_share_a_batch_among_threads():
    x = np.random.default_rng(0).standard_normal((10, 15, 15)).astype(np.float32)
    t, s = jax.jit(jax.vmap(jax.lax.linalg.schur))(x + 0j)
    np.testing.assert_allclose(s @ t @ np.conj(np.swapaxes(s, 1, 2)), x, atol=1e-4)


def test_compiler_options_written_for_xla():
    double = lambda options: jax.jit(lambda x: x * 2, compiler_options=options)(np.float32(3))
    assert double({'xla_embed_ir_in_executable': True, 'xla_dump_max_hlo_modules': 200, 'xla_gpu_auto_spmd_partitioning_memory_budget_ratio': 0.5}) == 6
    assert double({'xla_embed_ir_in_executable': 'false'}) == 6
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'no_such_key'"):
        double({'no_such_key': 1})
    with pytest.raises(jax.errors.JaxRuntimeError, match="'perhaps' is not a valid bool value"):
        double({'xla_embed_ir_in_executable': 'perhaps'})


F8 = ['float8_e5m2', 'float8_e4m3fn', 'float8_e4m3b11fnuz', 'float8_e5m2fnuz', 'float8_e4m3fnuz', 'float8_e4m3', 'float8_e3m4']


@pytest.mark.parametrize('name', F8)
def test_eight_bit_floats_widen_and_round(name):
    kind = getattr(ml_dtypes, name)
    codes = np.arange(256, dtype=np.uint8).view(kind)
    np.testing.assert_array_equal(jax.jit(lambda x: x.astype(jnp.float32))(codes), codes.astype(np.float32))
    # All exponents around the format's range, with fractions that lie between two codes, on one, and close to the middle.
    bits = RNG.integers(0, 1 << 32, 100000, dtype=np.uint64).astype(np.uint32)
    bits[::2] = (bits[::2] & 0x807fffff) | (RNG.integers(100, 150, 50000).astype(np.uint32) << 23)
    bits[::4] = bits[::4] & 0xfff80000
    x = bits.view(np.float32)
    with np.errstate(all='ignore'):
        want = x.astype(kind)
    got = np.asarray(jax.jit(lambda x: x.astype(kind))(x))
    same = (got.view(np.uint8) == want.view(np.uint8)) | (np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
    assert same.all(), (x[~same][:4], got[~same][:4], want[~same][:4])


@pytest.mark.parametrize('source, target', [('uint8', 'uint32'), ('uint8', 'float32'), ('int16', 'float32'), ('uint32', 'uint8'), ('float32', 'int16'), ('float16', 'int8')])
def test_bitcast_to_another_width(source, target):
    parts = max(1, np.dtype(target).itemsize // np.dtype(source).itemsize)
    x = RNG.integers(0, 100, (5, 7, parts) if parts > 1 else (5, 7)).astype(source)
    got = np.asarray(jax.jit(lambda x: lax.bitcast_convert_type(x, target))(x))
    assert got.dtype == target and got.tobytes() == x.tobytes()


def test_hlo_modules_are_transformed():
    xla = pytest.importorskip('jax.extend.xla')
    hlo = pytest.importorskip('jax._src.lib').hlo
    seen = []

    def sines_to_cosines(proto):
        module = hlo.HloModule.from_serialized_hlo_module_proto(proto)
        found = [(c, i) for c in module.computations() for i in c.instructions() if i.opcode == hlo.HloOpcode.kSin]
        for computation, sine in found:
            computation.replace_instruction(sine, computation.create_unary_instruction(hlo.HloOpcode.kCos, sine.operands()[0]))
        seen.append(len(found))
        return module.as_serialized_hlo_module_proto() if found else None

    x = f32(8)
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    xla.register_hlo_module_transformation(sines_to_cosines, name='sines_to_cosines', platforms='cpu')
    try:
        np.testing.assert_allclose(f(x), np.cos(x) + 1, rtol=4 * EPS, atol=4 * EPS)
        np.testing.assert_allclose(jax.jit(lambda x: jnp.exp(x) * 2)(x), np.exp(x) * 2, rtol=8 * EPS)
        assert seen[0] == 1 and seen[-1] == 0, seen
    finally:
        assert xla.clear_hlo_module_transformation('sines_to_cosines', platforms='cpu')
    f.clear_cache()
    np.testing.assert_allclose(f(x), np.sin(x) + 1, rtol=4 * EPS, atol=4 * EPS)
