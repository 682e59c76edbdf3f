"""Programs of format "hlo": what JAX lowers to HLO, as protobuf and as text, on the plugin through its C interface, against XLA's own CPU backend."""

import os
import pathlib
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import pjrt_driver

ROOT = pathlib.Path(__file__).resolve().parents[2]


def plugin_path():
    for path in (os.environ.get('TENON_PLUGIN'), ROOT / 'build' / 'release' / 'lib' / 'pjrt_plugin_tenon.so'):
        if path and pathlib.Path(path).exists():
            return path
    import tenon_jax
    return next(iter(pathlib.Path(tenon_jax.__file__).parent.rglob('pjrt_plugin_tenon.so')))


@pytest.fixture(scope='module')
def plugin():
    return pjrt_driver.Plugin(plugin_path())


def oracle_device():
    """XLA's CPU, whatever Tenon is registered as."""
    for name in ('xla_cpu', 'cpu'):
        try:
            device = jax.devices(name)[0]
        except RuntimeError:
            continue
        if 'tenon' not in device.client.platform_version:
            return device
    pytest.skip('no CPU backend other than Tenon in this process')


def f32(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compare(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        if g.dtype.kind in 'biu':
            np.testing.assert_array_equal(g, w)
            continue
        wide = np.complex128 if g.dtype.kind == 'c' else np.float64
        # Two implementations of the same functions, each within some ulp per step; programs here are tens of steps and sums of at most 100 terms.
        tolerance = 2e-2 if g.dtype.itemsize <= 2 else 2e-4
        np.testing.assert_allclose(g.astype(wide), w.astype(wide), rtol=tolerance, atol=tolerance)


CASES = {}


def case(name, function, *arguments):
    CASES[name] = (function, arguments)


case('arithmetic', lambda x, y: (x + y, x * y - x / y, jnp.maximum(x, y), x ** 2), f32(4, 5), f32(4, 5, seed=1))
case('functions', lambda x: (jnp.tanh(x), jnp.exp(x), jnp.log1p(jnp.abs(x)), lax.rsqrt(x * x + 1), jnp.sign(x), jnp.floor(x), jnp.round(x), lax.cbrt(x),
                             jax.nn.sigmoid(x), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.expm1(x), jnp.arctan2(x, x + 1)), f32(8, 16))
case('special functions', lambda x: (lax.erf(x), jnp.sinh(x), jnp.cosh(x), jnp.arcsinh(x), jnp.arccosh(jnp.abs(x) + 1), jnp.arctanh(jnp.tanh(x)),
                                     jnp.arcsin(jnp.tanh(x)), jnp.arccos(jnp.tanh(x)), lax.erf_inv(jnp.tanh(x)), lax.lgamma(jnp.abs(x) + 1)), f32(7))
case('integers', lambda x, y: (x // y, x % y, x << 2, x >> 1, x ^ y, ~x, lax.population_count(x), lax.clz(x), lax.shift_right_logical(x, y)),
     np.arange(-8, 8, dtype=np.int32), np.arange(3, 19, dtype=np.int32))
case('unsigned', lambda x: (x + 250, x.astype(jnp.int32) - 5, x > 3), np.arange(8, dtype=np.uint8))
case('predicates', lambda x, y: (jnp.where(x > y, x, y), (x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0), jnp.isnan(x), jnp.isfinite(x)), f32(9), f32(9, seed=1))
case('conversions', lambda x: (x.astype(jnp.bfloat16), x.astype(jnp.float16), x.astype(jnp.int8), x.astype(jnp.int32), x.astype(jnp.bool_),
                               x.astype(jnp.complex64), x.astype(jnp.float8_e4m3fn).astype(jnp.float32)), f32(6))
case('bits', lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.reduce_precision(x, 5, 10)), f32(6))
case('complex numbers', lambda z: (z * jnp.conj(z), jnp.abs(z), jnp.real(z), jnp.imag(z), jnp.exp(z)), (f32(7) + 1j * f32(7, seed=1)).astype(np.complex64))
case('shapes', lambda x: (x.reshape(6, 4).T, jnp.broadcast_to(x[:, :1], (2, 5)), jnp.concatenate([x, x], 1), jnp.pad(x, ((1, 2), (0, 3)), constant_values=7.),
                          x[::-1, ::2], lax.pad(x, np.float32(1), ((0, -1, 1), (-1, 2, 0)))), f32(2, 12))
case('iota and constants', lambda x: (x + jnp.arange(6.), jnp.array([[1, 2], [3, 4]], jnp.int16), jnp.eye(3), jnp.array([True, False]), jnp.array(1 + 2j, jnp.complex64)),
     f32(6))
case('gather and scatter', lambda x, i: (x[i], x.at[i].add(1.0), x.at[i].set(0.), x.at[i].max(2.)), f32(10, 3), np.array([1, 4, 4, 9], np.int32))
case('dynamic slices', lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i, 0), (2, 3)) * 2, (i + 1, 0)), f32(8, 3), np.int32(3))
case('reductions', lambda x: (x.sum(), x.max(1), x.min(0), jnp.argmax(x, 1), jnp.prod(x), jnp.any(x > 2), jnp.all(x < 9)), f32(6, 7))
case('running sums', lambda x: (jnp.cumsum(x, 1), lax.cummax(x)), f32(6, 7))
case('windows', lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME'),
                           lax.reduce_window(x, 0., lax.add, (1, 3, 3, 1), (1, 1, 1, 1), 'VALID')), f32(2, 8, 8, 3))
case('gradient of a pool', jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME') ** 2).sum()), f32(1, 4, 4, 2))
case('products', lambda a, b: (a @ b, jnp.einsum('ij,kj->ik', a, a), jnp.dot(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32)),
     f32(8, 12), f32(12, 5))
case('batched product', lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), precision=lax.Precision.HIGHEST), f32(3, 4, 5), f32(3, 5, 6))
case('product of int8', lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32), np.ones((8, 16), np.int8),
     np.full((16, 8), -3, np.int8))
case('convolution', lambda x, k: lax.conv_general_dilated(x, k, (1, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f32(2, 8, 8, 3), f32(3, 3, 3, 4))
case('grouped convolution', lambda x, k: lax.conv_general_dilated(x, k, (2, 2), 'VALID', feature_group_count=2, rhs_dilation=(2, 2), dimension_numbers=('NCHW', 'OIHW', 'NCHW')),
     f32(1, 4, 9, 9), f32(6, 2, 3, 3))
case('transposed convolution', lambda x, k: lax.conv_transpose(x, k, (2, 2), 'SAME'), f32(1, 5, 5, 3), f32(3, 3, 3, 4))
case('while', lambda x: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 1.1), (0, x)), f32(3))
case('scan', lambda w, xs: lax.scan(lambda h, x: ((n := jnp.tanh(h @ w + x)), n), jnp.zeros(4), xs), f32(4, 4), f32(7, 4))
case('branches', lambda i, x: (lax.cond(i > 1, jnp.sin, jnp.cos, x), lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: x - 1], x)), np.int32(2), f32(4))
case('gradient of a network', lambda w, v, x: jax.grad(lambda p: -jax.nn.log_softmax(jax.nn.relu(x @ p[0]) @ p[1])[:, 0].mean())((w, v)), f32(8, 16), f32(16, 3), f32(5, 8))
case('attention', lambda q, k, v: jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(jnp.einsum('bhqd,bhkd->bhqk', q, k)), v), f32(2, 2, 6, 8), f32(2, 2, 6, 8, seed=1),
     f32(2, 2, 6, 8, seed=2))
case('layer norm and gelu', lambda x: jax.nn.gelu((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)), f32(4, 16))
case('fourier transforms', lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x))), f32(3, 8))
case('sorts', lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1), lax.sort((x, -x), num_keys=1)[1]), f32(5, 6))
case('largest', lambda x: lax.top_k(x, 3), f32(5, 9))
case('random bits', lambda key: jax.random.bits(jax.random.wrap_key_data(key), (7,)), np.array([3, 4], np.uint32))
case('nested tuples', lambda t: {'b': (t[0], (t[1][0] + 1, t[1][1])), 'a': t[0] * 2}, (f32(2), (f32(3), f32(4))))
case('empty arrays', lambda x: (x.sum(0), jnp.concatenate([x, x], 0), x.reshape(3, 0)), f32(0, 3))
case('no arguments', lambda: (jnp.arange(5), jnp.float32(2)))


def lower(function, arguments):
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    return lowered.compiler_ir('hlo'), [np.asarray(a) for a in jax.tree.leaves(arguments)]


def expected(function, arguments):
    with jax.default_device(oracle_device()):
        return jax.tree.leaves(jax.jit(function)(*arguments))


@pytest.mark.parametrize('name', CASES)
def test_protobuf(plugin, name):
    function, arguments = CASES[name]
    hlo, arrays = lower(function, arguments)
    compare(plugin.compile(hlo.as_serialized_hlo_module_proto(), 'hlo')(*arrays), expected(function, arguments))


@pytest.mark.parametrize('name', CASES)
def test_text(plugin, name):
    function, arguments = CASES[name]
    hlo, arrays = lower(function, arguments)
    compare(plugin.compile(hlo.as_hlo_text(print_large_constants=True).encode(), 'hlo')(*arrays), expected(function, arguments))


@pytest.mark.parametrize('name', ['arithmetic', 'shapes', 'reductions', 'products', 'gather and scatter', 'while', 'gradient of a network', 'layer norm and gelu', 'constants'])
def test_modules_that_xla_has_optimised(plugin, name):
    """Fusions, copies, bitcasts between layouts."""
    if name == 'constants':
        function, arguments = (lambda x: x + np.arange(64, dtype=np.float32).reshape(8, 8), (f32(8, 8),))
    else:
        function, arguments = CASES[name]
    with jax.default_device(oracle_device()):
        compiled = jax.jit(function, keep_unused=True).lower(*arguments).compile()
        want = jax.tree.leaves(compiled(*arguments))
    module = compiled.runtime_executable().hlo_modules()[0]
    arrays = [np.asarray(a) for a in jax.tree.leaves(arguments)]
    try:
        run = plugin.compile(module.as_serialized_hlo_module_proto(), 'hlo')
    except pjrt_driver.PluginError as error:
        # XLA's own library calls are not part of the program.
        if error.code == 5 or '__' in str(error) or 'TopK' in str(error):
            pytest.skip(f'calls into XLA: {error}')
        raise
    compare(run(*arrays), want)


def test_donated_arguments_are_gone(plugin):
    hlo = jax.jit(lambda x, y: x + y, donate_argnums=0).lower(f32(1000), f32(1000)).compiler_ir('hlo')
    program = hlo.as_serialized_hlo_module_proto()
    text = hlo.as_hlo_text()
    if 'input_output_alias' not in text and 'buffer_donor' not in text:
        # Some versions keep donation out of HLO that is not optimised.
        program = text.replace('HloModule jit__lambda', 'HloModule jit__lambda, input_output_alias={ {}: (0, {}, may-alias) }', 1).encode()
        assert b'may-alias' in program
    run = plugin.compile(program, 'hlo')
    buffers = [plugin.put(f32(1000)), plugin.put(f32(1000, seed=1))]
    [result] = plugin.run_buffers(run.executable, run.num_outputs, buffers)
    assert [plugin.is_deleted(b) for b in buffers] == [True, False]
    np.testing.assert_array_equal(plugin.get(result), f32(1000) + f32(1000, seed=1))


def test_column_major_entry_layouts_do_not_change_results(plugin):
    text = '''HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[3,2]{0,1}}
ENTRY e {
  p = f32[2,3]{0,1} parameter(0)
  c = f32[2,3]{0,1} constant({{1,2,3},{4,5,6}})
  a = f32[2,3]{0,1} add(p, c)
  ROOT t = f32[3,2]{0,1} transpose(a), dimensions={1,0}
}
'''
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    [got] = plugin.compile(text.encode(), 'hlo')(x)
    np.testing.assert_array_equal(got, (x + np.arange(1, 7).reshape(2, 3)).T)


@pytest.mark.parametrize('program, message', [
    (b'HloModule m\nENTRY e {\n  ROOT x = f32[2] parameter(0\n}\n', 'line 4'),
    (b'HloModule m\nENTRY e {\n  t = token[] after-all()\n  ROOT x = (f32[2], token[]) infeed(t)\n}\n', 'infeed'),
    (b'\x0a\x01m\x1a\x03\x0a\x01c', 'root_id 0 is none of its 0 instructions'),
])
def test_errors_say_what_is_wrong(plugin, program, message):
    with pytest.raises(pjrt_driver.PluginError, match=message) as caught:
        plugin.compile(program, 'hlo')
    assert caught.value.code in (3, 12)


def test_programs_that_go_clients_send(plugin):
    folder = pathlib.Path(os.environ.get('TENON_SHARED', ROOT.parent / 'shared')) / 'clients' / 'captures' / 'gopjrt_hlo'
    if not folder.is_dir():
        pytest.skip(f'{folder} is not there')
    want = {'minimal_xx_plus_1': lambda x: [x * x + 1], 'square_and_sqrt': lambda x: [x * x, np.sqrt(x)], 'square_scalar': lambda x: [x * x]}
    for name, function in want.items():
        run = plugin.compile((folder / f'{name}.hlo').read_bytes(), 'hlo', (folder / f'{name}.opts.pb').read_bytes())
        compare(run(np.float32(3)), [np.float32(v) for v in function(np.float32(3))])


# --- Writing: StableHLO to HLO by `tenon convert`, read by XLA's own parser.

def converter():
    tool = ROOT / 'build' / 'release' / 'bin' / 'tenon'
    if not tool.exists():
        pytest.skip(f'{tool} is not built')
    return tool


def xla_reader():
    try:
        import jaxlib._hlo as hlo
    except ImportError:
        from jax._src.lib import xla_client
        hlo = xla_client._xla
    if not hasattr(hlo, 'hlo_module_from_text'):
        pytest.skip('this jaxlib has no parser of HLO text')
    return hlo


@pytest.mark.parametrize('name', CASES)
def test_what_is_written_xla_reads(plugin, name, tmp_path):
    tool, hlo = converter(), xla_reader()
    function, arguments = CASES[name]
    program = tmp_path / 'program.mlir'
    program.write_text(jax.jit(function, keep_unused=True).lower(*arguments).as_text())
    written = {}
    for form in ('hlo-text', 'hlo-proto'):
        done = subprocess.run([tool, 'convert', program, '--to', form, '-o', tmp_path / form], capture_output=True, text=True)
        if 'UNIMPLEMENTED' in done.stderr and 'chlo.' in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        written[form] = (tmp_path / form).read_bytes()
    arrays = [np.asarray(a) for a in jax.tree.leaves(arguments)]
    want = expected(function, arguments)
    # What XLA makes of either form is the program.
    from_text = hlo.hlo_module_from_text(written['hlo-text'].decode()).as_serialized_hlo_module_proto()
    from_proto = hlo.HloModule.from_serialized_hlo_module_proto(written['hlo-proto']).as_serialized_hlo_module_proto()
    for module in (from_text, from_proto):
        compare(plugin.compile(module, 'hlo')(*arrays), want)
