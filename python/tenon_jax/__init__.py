"""Makes Tenon's CPU plugin JAX's CPU backend.

Installing the package is enough: JAX calls ``initialize`` when it first needs a backend. The environment variable ``TENON_JAX`` says how:

  replace  (default) ``cpu`` is Tenon, ``tenon`` is another name for the same client, ``xla_cpu`` is the built-in client.
  beside   ``cpu`` stays the built-in client; ``tenon`` is a client of its own and the default backend.
  off      nothing is registered.

Where the package holds the GPU plugin, or ``TENON_VULKAN_PLUGIN`` names its file, it is the platform ``vulkan`` beside these, for whoever asks for it by
name: ``JAX_PLATFORMS=vulkan``, ``jax.devices('vulkan')``. Nothing of it is opened before.

``TENON_JAX_ISOLATE=1`` runs the plugin in a process of its own: when it crashes, what it was doing fails with UNAVAILABLE, and arrays that were ready
are still there (docs/isolation).

``TENON_JAX_REMOTE=HOST:PORT`` makes ``cpu`` the devices of a tenon-device-server on another machine (docs/remote); ``TENON_REMOTE_TOKEN_FILE``, or
``TENON_REMOTE_CERTIFICATE``, ``_KEY`` and ``_AUTHORITY``, say who asks.

``TENON_PLUGIN`` names another plugin library than the one in the package, as a file. Names of plugins, which other programs of Tenon take there,
too, leave the one in the package.
"""

import os
import pathlib

__all__ = ['declare_leaf_handlers', 'initialize', 'library_path']


def library_path() -> str:
    """Path of the plugin's shared library. FileNotFoundError, naming the path, when it is not there."""
    given = os.environ.get('TENON_PLUGIN', '')
    is_file = '/' in given or given.endswith('.so')
    path = pathlib.Path(given) if is_file else pathlib.Path(__file__).parent / 'lib' / 'pjrt_plugin_tenon.so'
    if not path.is_file():
        raise FileNotFoundError(f'Tenon\'s plugin is not at {path}; set TENON_PLUGIN or reinstall the package')
    return str(path)


def vulkan_library_path() -> str | None:
    """Path of the GPU plugin, or None when there is none."""
    given = os.environ.get('TENON_VULKAN_PLUGIN', '')
    path = pathlib.Path(given) if given else pathlib.Path(library_path()).parent / 'pjrt_plugin_tenon_vulkan.so'
    if given and not path.is_file():
        raise FileNotFoundError(f'TENON_VULKAN_PLUGIN is {given}, which is no file')
    return str(path) if path.is_file() else None


def _isolated(plugin: str) -> str:
    """The plugin that runs `plugin` in a process of its own, and which lies beside it or in the package."""
    name = 'pjrt_plugin_tenon_isolated.so'
    folders = [pathlib.Path(plugin).parent, pathlib.Path(__file__).parent / 'lib']
    for folder in folders:
        if (folder / name).is_file():
            os.environ['TENON_ISOLATE_PLUGIN'] = str(pathlib.Path(plugin).resolve())
            return str(folder / name)
    raise FileNotFoundError(f'TENON_JAX_ISOLATE and TENON_JAX_REMOTE want {name}, which is in none of {", ".join(map(str, folders))}')


def declare_leaf_handlers(*names: str) -> None:
    """Says of custom-call targets, before they are registered with jax.ffi, that their handlers only compute and never call back."""
    from tenon_jax import _handlers
    _handlers.declare_leaf_handlers(*names)


def initialize() -> None:
    """Registers the plugin with JAX. Called by JAX; an error here only makes JAX log and go on without Tenon."""
    mode = os.environ.get('TENON_JAX', 'replace')
    if mode == 'off':
        return
    if mode not in ('replace', 'beside'):
        raise ValueError(f'TENON_JAX is {mode!r}, wanted replace, beside or off')
    library = library_path()
    remote = os.environ.get('TENON_JAX_REMOTE', '')
    if remote:  # In a process of its own, too, at the server.
        os.environ['TENON_REMOTE'] = remote
    elsewhere = bool(remote) or os.environ.get('TENON_JAX_ISOLATE', '0') not in ('', '0')
    if elsewhere:
        library = _isolated(library)
    from tenon_jax import _registration
    _registration.register(library, replace=mode == 'replace', elsewhere=elsewhere)
    if (vulkan := vulkan_library_path()) is not None:
        _registration.register_vulkan(vulkan)
