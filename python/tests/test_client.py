"""The package `tenon`: Tenon's own plugin driven from Python, and the commands and examples of its documentation."""

import ctypes
import gc
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def newest(pattern):
    found = sorted(ROOT.glob(pattern), key=lambda p: p.stat().st_mtime)
    return str(found[-1]) if found else None


LIBRARY = os.environ.get('TENON_LIBRARY') or newest('build/*/lib/libtenon.so.0')
named = os.environ.get('TENON_PLUGIN', '')
PLUGIN = named if '/' in named else newest('build/*/lib/pjrt_plugin_tenon.so')
if LIBRARY is None or PLUGIN is None:
    pytest.skip('libtenon.so.0 or the plugin is not built: TENON_LIBRARY and TENON_PLUGIN may name them', allow_module_level=True)
os.environ['TENON_LIBRARY'] = LIBRARY
sys.path.insert(0, str(ROOT / 'python' / 'tenon'))
import tenon  # noqa: E402

ADD = 'func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> { %0 = stablehlo.add %x, %y : tensor<2x3xf32> return %0 : tensor<2x3xf32> }'
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope='module')
def client():
    return tenon.Client(PLUGIN, num_devices=2)


@pytest.fixture(scope='module')
def add(client):
    return client.compile(ADD)


def identity(client, type_text):
    return client.compile(f'func.func @main(%x: tensor<{type_text}>) -> tensor<{type_text}> {{ return %x : tensor<{type_text}> }}')


def test_plugin_and_devices(client):
    assert client.plugin.path == PLUGIN
    assert client.plugin.version.startswith('0.')
    assert client.platform == 'cpu'
    assert [d.id for d in client.devices] == [0, 1]
    assert 'tenon.Client' in repr(client) and 'tenon.Device' in repr(client.devices[0])


def test_runs_on_numpy_arrays(add):
    (out,) = add(X, X[::1] * 10)
    np.testing.assert_array_equal(np.asarray(out), X * 11)
    assert out.shape == (2, 3) and out.dtype == np.float32 and out.ndim == 2
    assert add.outputs == [(np.dtype(np.float32), (2, 3))]


@pytest.mark.parametrize('strided', [X.T.copy().T, X[:, ::-1], np.broadcast_to(X[0], (2, 3)), np.asfortranarray(X)])
def test_strides(add, strided):
    np.testing.assert_array_equal(np.asarray(add(strided, X)[0]), strided + X)


TYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float16', 'float32', 'float64', 'complex64', 'complex128']
MLIR = dict(zip(TYPES, ['i1', 'i8', 'i16', 'i32', 'i64', 'ui8', 'ui16', 'ui32', 'ui64', 'f16', 'f32', 'f64', 'complex<f32>', 'complex<f64>'], strict=True))
SMALL = {'bfloat16': 'bf16', 'float8_e5m2': 'f8E5M2', 'float8_e4m3fn': 'f8E4M3FN', 'int4': 'i4', 'uint4': 'ui4'}


@pytest.mark.parametrize('name', TYPES)
@pytest.mark.parametrize('copy', [True, False])
def test_every_type_of_numpy(client, name, copy):
    value = np.array([0, 1, 1, 0], name)
    out = identity(client, '4x' + MLIR[name])(client.array(value, copy=copy))[0]
    assert out.dtype == value.dtype
    np.testing.assert_array_equal(out.numpy(), value)
    np.testing.assert_array_equal(out.numpy(copy=True), value)


@pytest.mark.parametrize('name', SMALL)
@pytest.mark.parametrize('copy', [True, False])
def test_small_types(client, name, copy):
    ml_dtypes = pytest.importorskip('ml_dtypes')
    value = np.array([0, 1, 2, 3], getattr(ml_dtypes, name))
    out = identity(client, '4x' + SMALL[name])(client.array(value, copy=copy))[0]
    assert out.dtype == value.dtype
    np.testing.assert_array_equal(out.numpy().astype(np.float32), value.astype(np.float32))


def aligned(shape, dtype=np.float32):
    """An array that plugins take as it is, if it is large enough to be worth it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)


def test_zero_copies_into_the_plugin_and_back(client):
    value = aligned((64, 64))
    buffer = client.array(value, copy=False)
    assert np.shares_memory(buffer.numpy(), value)
    assert np.shares_memory(np.from_dlpack(buffer), value)
    assert not np.shares_memory(buffer.numpy(copy=True), value)
    assert not np.shares_memory(client.array(value).numpy(), value)
    value.flags.writeable = False
    assert np.shares_memory(client.array(value).numpy(), value)
    assert not buffer.numpy().flags.writeable


def test_memory_lives_as_long_as_somebody_reads_it(client):
    add = client.compile(ADD.replace('2x3', '64x64'))
    views = []
    for i in range(20):
        value = aligned((64, 64))
        value[:] = i
        out = add(client.array(value, copy=False), value)[0]
        views.append((out.numpy(), np.from_dlpack(out)))
        del value, out
    gc.collect()
    for i, (view, lent) in enumerate(views):
        np.testing.assert_array_equal(view, np.full((64, 64), 2.0 * i))
        np.testing.assert_array_equal(lent, np.full((64, 64), 2.0 * i))


class Lender:
    """What frameworks' tensors are: memory behind __dlpack__, no NumPy array."""

    def __init__(self, array, versioned=True):
        self.array = array
        self.versioned = versioned

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**(keywords if self.versioned else {}))


def test_lent_memory_is_given_back(client):
    # Counted outside of asserts, which pytest rewrites into code with references of its own.
    lender = Lender(aligned((64, 64)))
    counts = [sys.getrefcount(lender.array)]
    buffer = client.array(lender, copy=False)
    counts.append(sys.getrefcount(lender.array))
    del buffer
    counts.append(sys.getrefcount(lender.array))
    buffer = client.array(lender)
    counts.append(sys.getrefcount(lender.array))
    assert counts == [counts[0], counts[0] + 1, counts[0], counts[0]]


@pytest.mark.parametrize('versioned', [True, False])
def test_a_tensor_that_may_change_is_copied(client, versioned):
    add = client.compile(ADD.replace('2x3', '64x64'))
    lender = Lender(aligned((64, 64)), versioned)
    buffer, (out,) = client.array(lender), add(lender, lender)
    assert not np.shares_memory(buffer.numpy(), lender.array)
    assert np.shares_memory(client.array(lender, copy=False).numpy(), lender.array)
    lender.array[:] = 1
    assert not buffer.numpy().any() and not out.numpy().any()


def test_a_read_only_tensor_is_not_copied(client):
    lender = Lender(aligned((64, 64)))
    lender.array.flags.writeable = False
    assert np.shares_memory(client.array(lender).numpy(), lender.array)
    assert not np.shares_memory(client.array(lender, copy=True).numpy(), lender.array)
    buffer = client.array(aligned((64, 64)))
    assert np.shares_memory(client.array(buffer).numpy(), buffer.numpy())


def test_strides_of_a_tensor(add):
    for strided in [X.T.copy().T, np.broadcast_to(X[0], (2, 3))]:
        np.testing.assert_array_equal(np.asarray(add(Lender(strided), X)[0]), strided + X)


def test_a_capsule_that_nobody_takes(add):
    out = add(X, X)[0]
    for _ in range(3):
        capsule = out.__dlpack__()
        del capsule
    np.testing.assert_array_equal(np.from_dlpack(out), X * 2)


def test_donation(client):
    program = client.compile(ADD.replace('%y: tensor<2x3xf32>', '%y: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}'))
    x, y = client.array(X), client.array(X)
    assert not y.is_deleted()
    program(x, y)
    assert not y.is_deleted()
    out = program(x, y, donate=[1])[0]
    assert y.is_deleted() and not x.is_deleted()
    np.testing.assert_array_equal(np.asarray(out), X * 2)
    with pytest.raises(tenon.TenonError, match='argument 7 is to be donated'):
        program(x, x, donate=[7])


def test_waiting(add):
    out = add(X, X)[0].block_until_ready()
    assert out.is_ready()


def test_devices(client):
    program = client.compile(ADD, replicas=2)
    rows = program.run_on_devices([[X, X], [X * 10, X]])
    np.testing.assert_array_equal(np.asarray(rows[0][0]), X * 2)
    np.testing.assert_array_equal(np.asarray(rows[1][0]), X * 11)
    assert [row[0].device.id for row in rows] == [0, 1]
    moved = rows[1][0].copy_to(client.devices[0])
    assert moved.device.id == 0
    np.testing.assert_array_equal(np.asarray(moved), X * 11)
    with pytest.raises(ValueError, match='equally many'):
        program.run_on_devices([[X, X], [X]])
    second = client.compile(ADD, device=1)
    assert second(client.array(X, device=client.devices[1]), client.array(X, device=client.devices[1]))[0].device.id == 1


def test_saved_programs(client, add):
    loaded = client.load(add.serialize())
    np.testing.assert_array_equal(np.asarray(loaded(X, X)[0]), X * 2)


def test_errors(client, add):
    with pytest.raises(tenon.TenonError) as error:
        client.compile('func.func @main() { nonsense }')
    assert error.value.code == 'INVALID_ARGUMENT'
    with pytest.raises(tenon.TenonError, match='/nowhere.so') as error:
        tenon.Plugin('/nowhere.so')
    assert error.value.code == 'NOT_FOUND'
    with pytest.raises(tenon.TenonError):
        add(X)
    with pytest.raises(TypeError, match='no element type'):
        client.array(np.array(['text']))
    with pytest.raises(TypeError, match='no element type'):
        client.array(np.array([1], '>i4'))


def test_find_plugins(monkeypatch):
    monkeypatch.setenv('PJRT_PLUGIN_LIBRARY_PATH', str(pathlib.Path(PLUGIN).parent))
    assert all(isinstance(c, tenon.Candidate) for c in tenon.find_plugins())


def test_plugins_of_this_environment_are_found():
    """Also when its interpreter was started by its path, without activating it."""
    plugin_folder = pathlib.Path(sys.prefix) / 'lib' / f'python3.{sys.version_info.minor}' / 'site-packages' / 'xla_plugins'
    if not plugin_folder.exists():
        pytest.skip('xla-cpu-pjrt is not installed here')
    env = {k: v for k, v in os.environ.items() if k not in ('VIRTUAL_ENV', 'PATH')}
    env['PYTHONPATH'] = str(ROOT / 'python' / 'tenon')
    code = 'import os, tenon; assert any(c.name == "cpu" for c in tenon.find_plugins()); assert "VIRTUAL_ENV" not in os.environ'
    subprocess.run([sys.executable, '-c', code], env=env, check=True)


def test_every_function_is_declared_as_in_the_header():
    """Numbers of parameters and their widths, where ctypes would guess wrong in silence."""
    from tenon import _library

    header = (ROOT / 'tenon/client_c/tenon.h').read_text()
    declared = dict(re.findall(r'TENON_API tenon_status\* tenon_(\w+)\((.*?)\);', header, re.S))
    size = {'int': 4, 'int64_t': 8, 'size_t': 8, 'double': 8}
    for name, types in _library.FALLIBLE.items():
        parameters = [p.split() for p in declared[name].replace('(*release)(void* context)', '* release').split(',')]
        assert len(parameters) == len(types), name
        for words, kind in zip(parameters, types, strict=True):
            text = ' '.join(words)
            if '*' not in text and words[0] in size and kind is not ctypes.c_bool:
                assert ctypes.sizeof(kind) == size[words[0]], (name, text)
            elif '*' in text:
                assert ctypes.sizeof(kind) == 8, (name, text)


def python_blocks():
    text = (ROOT / 'docs/python/README.md').read_text() + (ROOT / 'python/tenon/README.md').read_text()
    return re.findall(r'^```python\n(.*?)^```(?:\n\n```\n(.*?)^```)?', text, re.M | re.S)


@pytest.mark.parametrize('block, printed', python_blocks())
def test_documentation(block, printed, tmp_path):
    path = os.pathsep.join([str(ROOT / 'python' / 'tenon'), os.environ.get('PYTHONPATH', '')])
    env = dict(os.environ, PYTHONPATH=path, PJRT_PLUGIN_LIBRARY_PATH=str(pathlib.Path(PLUGIN).parent), TENON_LIBRARY=LIBRARY)
    done = subprocess.run([sys.executable, '-c', block], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if printed:
        assert done.stdout == printed
