"""What to tell JAX: backends by name and where its custom-call handlers go."""

import logging
import os
import socket

from jax._src import distributed, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib import xla_client

from tenon_jax import _callbacks, _dumps, _handlers, _lowered, _partitioning, _transforms

_log = logging.getLogger(__name__)

# Above the built-in CPU client (0), below accelerators (200 and up), so that a GPU stays the default where there is one.
_PRIORITY = 50
_ALIAS_PRIORITY = 40
_BUILTIN_PRIORITY = -10
# Below everything: a program gets it by name (JAX_PLATFORMS=vulkan, jax.devices('vulkan')).
_VULKAN_PRIORITY = -20


def _host_address() -> str:
    """This host's address on the way to the job's coordinator: the one that the other processes reach; '' when that cannot be told."""
    coordinator = distributed.global_state.coordinator_address
    if not coordinator:
        return ''
    host, _, port = coordinator.rpartition(':')
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip('[]'), int(port), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # Sends nothing: only chooses the route.
            return probe.getsockname()[0]
    except (OSError, ValueError):
        return ''


def _options() -> dict:
    count = xla_bridge.num_cpu_devices.value
    options = {'num_devices': count} if count >= 0 else {}
    if _num_processes() > 1 and not os.environ.get('TENON_HOST_ADDRESS'):
        options['host_address'] = _host_address()
    return options


def _topology_factory(c_api):
    return lambda topology_name='', **options: xla_client.make_c_api_device_topology(c_api, topology_name, **options)


def _register_backend(name: str, library: str, priority: int):
    """The plugin as backend `name`. Returns its C API."""
    c_api = xla_client.load_pjrt_plugin_dynamically(name, library)
    try:
        xla_bridge._profiler.register_plugin_profiler(c_api)
    except Exception as error:  # A profiler that does not come up must not cost the backend.
        _log.debug('no device profiler: %s', error)

    def make_client():
        return xla_bridge.make_pjrt_c_api_client(name, _options())

    xla_bridge.register_backend_factory(
        name, make_client, priority=priority, fail_quietly=False, experimental=False, make_topology=_topology_factory(c_api), c_api=c_api)
    return c_api


def register_vulkan(library: str) -> None:
    """The GPU plugin as platform `vulkan`: used where it is asked for by name, since a machine may have no device, or only a software one."""
    if 'vulkan' in xla_bridge._backend_factories or _num_processes() > 1:
        return
    c_api = xla_client.load_pjrt_plugin_dynamically('vulkan', library)
    xla_bridge.register_backend_factory(
        'vulkan', lambda: xla_bridge.make_pjrt_c_api_client('vulkan', {}), priority=_VULKAN_PRIORITY, fail_quietly=True, experimental=False,
        make_topology=_topology_factory(c_api), c_api=c_api)
    _handlers.install_beside(c_api)
    # What JAX lowers for single platforms alone, and linear algebra, as LAPACK's functions, runs on the host there too.
    rules = mlir._platform_specific_lowerings
    of_linalg = {id(p) for p in vars(linalg).values()}
    for primitive, entry in list(rules['cpu'].items()):
        if primitive not in mlir._lowerings or id(primitive) in of_linalg:
            rules['vulkan'].setdefault(primitive, entry)


def _cpu_client():
    """The client that JAX made, or is making, for `cpu`: an alias must be the same object."""
    client = xla_bridge._backends.get('cpu')
    if client is None:
        client = xla_bridge._init_backend('cpu')
        xla_bridge._backends['cpu'] = client
    return client


def _select_platforms() -> None:
    """JAX_PLATFORMS=tenon means the client that is called cpu; JAX looks other things up under that name."""
    import jax
    wanted = xla_bridge.config.jax_platforms.value
    if not wanted:
        return
    names = wanted.split(',')
    if 'tenon' in names and 'cpu' not in names:
        names.insert(names.index('tenon'), 'cpu')
        jax.config.update('jax_platforms', ','.join(names))


def _num_processes() -> int:
    """Of the job that jax.distributed was told of; 1 without one."""
    return distributed.global_state.num_processes or 1


def register(library: str, replace: bool, elsewhere: bool = False) -> None:
    """`elsewhere`: the devices are another process's, which asks nothing of this one while it compiles."""
    _callbacks.install()
    _lowered.install()
    if replace:
        if elsewhere:
            _partitioning.install()
        _transforms.install()
    _dumps.install()  # Last: what is given is written before it is transformed.
    builtin = xla_bridge._backend_factories.get('cpu')
    if not replace:
        c_api = _register_backend('tenon', library, _PRIORITY)
        _handlers.install(c_api, forward_to_builtin=True)
        return
    c_api = _register_backend('cpu', library, _PRIORITY)
    xla_bridge.register_backend_factory(
        'tenon', _cpu_client, priority=_ALIAS_PRIORITY, fail_quietly=False, make_topology=_topology_factory(c_api), c_api=c_api)
    if builtin is not None:
        xla_bridge.register_backend_factory('xla_cpu', builtin.factory, priority=_BUILTIN_PRIORITY, fail_quietly=True)
    _handlers.install(c_api, forward_to_builtin=True)
    _select_platforms()
