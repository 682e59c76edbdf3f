"""Hands jaxlib's typed custom-call handlers (LAPACK, Python callbacks, users' own) to the plugin.

jaxlib queues handlers for platform cpu until somebody claims them, and gives them all to the first who does; so whoever claims them here passes
them on to the built-in client too. The plugin takes them through the FFI extension of its C API.
"""

import ctypes
import logging

from jax._src.lib import xla_client

_log = logging.getLogger(__name__)

_FFI_EXTENSION_TYPE = 5
_TYPED_API_VERSION = 1  # jaxlib's number for the typed FFI.


class _ExtensionBase(ctypes.Structure):
    pass


_ExtensionBase._fields_ = [('struct_size', ctypes.c_size_t), ('type', ctypes.c_int), ('next', ctypes.POINTER(_ExtensionBase))]


class _RegisterHandlerArgs(ctypes.Structure):
    _fields_ = [
        ('struct_size', ctypes.c_size_t),
        ('target_name', ctypes.c_char_p),
        ('target_name_size', ctypes.c_size_t),
        ('handler', ctypes.c_void_p),
        ('platform_name', ctypes.c_char_p),
        ('platform_name_size', ctypes.c_size_t),
        ('traits', ctypes.c_int),
    ]


_RegisterHandler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_RegisterHandlerArgs))


class _FfiExtension(ctypes.Structure):
    _fields_ = [('base', _ExtensionBase), ('type_register', ctypes.c_void_p), ('user_data_add', ctypes.c_void_p), ('register_handler', _RegisterHandler)]


class _Api(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('extension_start', ctypes.POINTER(_ExtensionBase))]


def _pointer_of(capsule) -> int:
    """The pointer in a PyCapsule, whatever its name."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


def _find_ffi_extension(c_api):
    table = _Api.from_address(_pointer_of(c_api))
    extension = table.extension_start
    while extension:
        if extension.contents.type == _FFI_EXTENSION_TYPE:
            return ctypes.cast(extension, ctypes.POINTER(_FfiExtension)).contents
        extension = extension.contents.next
    return None


class _Registrar:
    """Called by jaxlib with each handler of platform cpu, those of later registrations included."""

    def __init__(self, extension, forward_to_builtin: bool):
        self._extension = extension
        self._forward_to_builtin = forward_to_builtin
        self._keep_alive = []  # Capsules own what their pointers mean.
        self._seen = set()

    def __call__(self, name, handler, platform, api_version=0, traits=0) -> None:
        if self._forward_to_builtin:
            xla_client._xla.register_custom_call_target(name, handler, platform, api_version, traits)
        self.add(name, handler, api_version, traits)

    def add(self, name, handler, api_version=_TYPED_API_VERSION, traits=0) -> None:
        name = name.decode() if isinstance(name, bytes) else name
        if api_version != _TYPED_API_VERSION:
            _log.debug('custom call %s has the untyped interface %s, which Tenon does not call', name, api_version)
            return
        if isinstance(handler, dict):
            if set(handler) - {'execute'}:
                _log.debug('custom call %s: only its execute stage is used', name)
            handler = handler.get('execute')
        if handler is None or name in self._seen:
            return
        args = _RegisterHandlerArgs()
        args.struct_size = ctypes.sizeof(_RegisterHandlerArgs) - 4  # The last member ends four bytes before the struct does.
        args.target_name = name.encode()
        args.target_name_size = len(name.encode())
        args.handler = _pointer_of(handler)
        args.platform_name = b'Host'
        args.platform_name_size = 4
        args.traits = int(getattr(traits, 'value', traits) or 0)
        if self._extension.register_handler(ctypes.byref(args)):
            _log.warning('Tenon refused the custom-call handler %s', name)
            return
        self._seen.add(name)
        self._keep_alive.append(handler)


_registrar = None


def install(c_api, forward_to_builtin: bool) -> None:
    """Registers all handlers that jaxlib has for the CPU, now and from now on, with the plugin behind `c_api` (a PyCapsule)."""
    global _registrar
    extension = _find_ffi_extension(c_api)
    if extension is None:
        _log.warning('the plugin has no FFI extension: LAPACK and Python callbacks are not available')
        return
    _registrar = _Registrar(extension, forward_to_builtin)
    xla_client.register_custom_call_handler('cpu', _registrar)
    # Handlers that jaxlib's own library registers (Python callbacks) never go through the queue.
    for name, stages in xla_client.custom_call_targets('Host').items():
        _registrar.add(name, stages)
