"""Under which names JAX finds Tenon, for every way of asking."""

import ctypes

import pytest
import tenon_jax
from helpers import run
from tenon_jax import _handlers

LOOKUPS = '''
import jax, numpy as np, jax.numpy as jnp
tenon = lambda device: "tenon" in device.client.platform_version
give({
    "default": tenon(jax.devices()[0]),
    "cpu": tenon(jax.devices("cpu")[0]),
    "same": jax.devices("cpu")[0] is jax.devices()[0],
    "platform": jax.default_backend(),
    "from_dlpack": all(map(tenon, (jnp.from_dlpack(np.arange(4.0)) + 1).devices())),
    "local_devices": tenon(jax.local_devices(backend="cpu")[0]),
    "jit_backend": all(map(tenon, jax.jit(lambda x: x + 1, backend="cpu")(1.0).devices())),
    "default_device": (jax.config.update("jax_default_device", "cpu"), all(map(tenon, jax.jit(lambda x: x + 2)(1.0).devices())))[1],
})
'''


@pytest.mark.parametrize('platforms', [None, 'tenon', 'cpu'])
def test_every_lookup_lands_on_tenon(platforms):
    result = run(LOOKUPS, JAX_PLATFORMS=platforms).result
    assert result.pop('platform') == 'cpu'
    assert all(result.values()), result


def test_extensions_without_end_are_an_error():
    extension = _handlers._ExtensionBase(24, 10)
    extension.next = ctypes.pointer(extension)
    table = _handlers._Api(1000, ctypes.pointer(extension))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(ctypes.addressof(table), b'pjrt_c_api', None)
    with pytest.raises(RuntimeError, match='no end'):
        _handlers._find_ffi_extension(capsule)
    extension.next = None
    assert _handlers._find_ffi_extension(capsule) is None


def test_builtin_client_keeps_a_name():
    result = run('import jax\n'
                 'a, b = jax.devices("xla_cpu")[0], jax.devices()[0]\n'
                 'give([a.client is b.client, "tenon" in a.client.platform_version, float(jax.jit(lambda x: x + 1)(jax.device_put(1.0, a)))])').result
    assert result == [False, False, 2.0]


def test_tenon_is_another_name_for_cpu():
    assert run('import jax; give(jax.devices("tenon")[0] is jax.devices("cpu")[0])').result is True


def test_beside_leaves_cpu_alone():
    result = run('import jax; give(["tenon" in jax.devices(n)[0].client.platform_version for n in ("cpu", "tenon")])', TENON_JAX='beside').result
    assert result == [False, True]


@pytest.mark.parametrize('options, message', [({'num_nodes': 0}, 'num_nodes is 0'), ({'num_nodes': 1, 'node_id': 1}, 'node_id is 1'),
                                              ({'num_nodes': 2, 'node_id': 2}, 'node_id is 2, wanted 0 to 1')])
def test_the_plugin_refuses_to_be_nobody_of_a_job(options, message):
    pjrt_driver = pytest.importorskip('pjrt_driver')
    plugin = pjrt_driver.Plugin(tenon_jax.library_path())
    store = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: None)
    pointer = ctypes.cast(store, ctypes.c_void_p).value
    values = (ctypes.c_uint64 * (7 * len(options)))()
    names = [ctypes.create_string_buffer(name.encode()) for name in options]
    for i, (name, value) in enumerate(zip(names, options.values())):
        values[7 * i:7 * i + 7] = [56, 0, ctypes.addressof(name), len(name.value), 1, value, 1]  # 1: an int64.
    with pytest.raises(pjrt_driver.PluginError, match=message):
        plugin._call('PJRT_Client_Create', 88, [(2, ctypes.addressof(values)), (3, len(options)), (4, pointer), (6, pointer)])


def test_off_registers_nothing():
    assert run('import jax; give("tenon" in jax.devices()[0].client.platform_version)', TENON_JAX='off').result is False


@pytest.mark.parametrize('environment', [{'TENON_NUM_DEVICES': 3}, {'XLA_FLAGS': '--xla_force_host_platform_device_count=3'}])
def test_number_of_devices(environment):
    assert run('import jax; give([len(jax.devices()), [d.id for d in jax.devices()]])', **environment).result == [3, [0, 1, 2]]


def test_number_of_devices_from_the_config():
    assert run('import jax; jax.config.update("jax_num_cpu_devices", 2); give(len(jax.devices()))').result == 2


def test_a_bad_number_of_devices_is_an_error():
    ran = run('import jax; give(str(jax.devices()))', check=False, TENON_NUM_DEVICES='many', JAX_PLATFORMS='cpu')
    assert ran.returncode != 0
    assert "TENON_NUM_DEVICES is 'many', wanted a number" in ran.stderr


def test_a_topology_may_be_another_cpus():
    result = run('import jax, numpy as np, pickle\n'
                 'from jax.experimental import topologies\n'
                 'from jax.experimental.serialize_executable import deserialize_and_load, serialize\n'
                 'topology = topologies.get_topology_desc(topology_name="cpu:avx2", platform="cpu")\n'
                 'sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])\n'
                 'x = np.linspace(-3, 3, 1000, dtype=np.float32)\n'
                 'f = lambda x: (jax.numpy.tanh(x) * x + x).sum()\n'
                 'shape = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)\n'
                 'compiled = jax.jit(f).lower(shape).compile()\n'
                 'saved = compiled.runtime_executable().serialize()\n'
                 'bad = ""\n'
                 'try:\n'
                 '    topologies.get_topology_desc(topology_name="cpu:abacus", platform="cpu")\n'
                 'except Exception as e:\n'
                 '    bad = str(e)\n'
                 'give([b"cpu:avx2:cores=8" in saved, bad])').result
    assert result[0]
    assert 'wanted cpu:sse4, cpu:avx2 or cpu:avx512' in result[1]


@pytest.mark.parametrize('platform', ['cpu', 'tenon'])
def test_a_topology_without_a_client_compiles(platform):
    result = run('import jax, numpy as np\n'
                 'from jax.experimental import topologies\n'
                 f'topology = topologies.get_topology_desc(topology_name="cpu", platform="{platform}", num_devices=2)\n'
                 'mesh = jax.sharding.Mesh(np.array(topology.devices), ("x",))\n'
                 'sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))\n'
                 'f = jax.jit(lambda x: x * 2, in_shardings=sharding)\n'
                 'compiled = f.lower(jax.ShapeDtypeStruct((4,), np.float32)).compile()\n'
                 'give([len(topology.devices), compiled.memory_analysis().argument_size_in_bytes])').result
    assert result[0] == 2
