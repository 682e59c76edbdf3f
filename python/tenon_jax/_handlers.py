"""Hands jaxlib's typed custom-call handlers (LAPACK, Python callbacks, users' own) to the plugin.

jaxlib queues handlers for platform cpu until somebody claims them, and gives them all to the first who does; so whoever claims them here passes
them on to the built-in client too. The plugin takes them through the FFI extension of its C API.
"""

import ctypes
import logging

from jax._src.lib import xla_client

_log = logging.getLogger(__name__)

_FFI_EXTENSION_TYPE = 5
_MAX_EXTENSIONS = 1000  # Longer chains are circles: there are not so many types.
_TYPED_API_VERSION = 1  # jaxlib's number for the typed FFI.

# Bits among a handler's traits that are the plugin's own (tenon/ffi_host/registry.h).
_LEAF = 1 << 30  # The handler never calls JAX, the client or an interpreter.
_BUNDLE = 1 << 29  # What is registered points to a bundle of stages.
_STAND_IN = 1 << 27  # The plugin may have that routine itself, and calls its own where that is as fast.
_STAGES = ('instantiate', 'prepare', 'initialize', 'execute')

# jaxlib's own handlers that only compute. All others may call back.
_LEAF_PREFIXES = ('lapack_', 'cpu_csr_sparse_')
_STAND_IN_PREFIX = 'lapack_'
_leaf_names = set()


def declare_leaf_handlers(*names: str) -> None:
    """Says of custom-call targets, before they are registered, that their handlers only compute: programs that call them then run in the device's order
    like any other instead of on threads that may block."""
    _leaf_names.update(names)


def _is_leaf(name: str) -> bool:
    return name in _leaf_names or name.startswith(_LEAF_PREFIXES)


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


class _TypeInfo(ctypes.Structure):
    """How objects of a type are freed, as PJRT has it; the FFI's own has its deleter behind two words."""
    _fields_ = [('deleter', ctypes.c_void_p), ('serialize', ctypes.c_void_p), ('deserialize', ctypes.c_void_p)]


class _RegisterTypeArgs(ctypes.Structure):
    _fields_ = [
        ('struct_size', ctypes.c_size_t),
        ('extension_start', ctypes.c_void_p),
        ('type_name', ctypes.c_char_p),
        ('type_name_size', ctypes.c_size_t),
        ('type_id', ctypes.c_int64),
        ('type_info', ctypes.POINTER(_TypeInfo)),
    ]


_RegisterType = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_RegisterTypeArgs))
_RegisterHandler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_RegisterHandlerArgs))


class _FfiExtension(ctypes.Structure):
    _fields_ = [('base', _ExtensionBase), ('type_register', _RegisterType), ('user_data_add', ctypes.c_void_p), ('register_handler', _RegisterHandler)]


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
    for _ in range(_MAX_EXTENSIONS):
        if not extension:
            return None
        if extension.contents.type == _FFI_EXTENSION_TYPE:
            return ctypes.cast(extension, ctypes.POINTER(_FfiExtension)).contents
        extension = extension.contents.next
    raise RuntimeError(f"the plugin's chain of extensions has no end: more than {_MAX_EXTENSIONS} follow each other, or it is a circle")


class _Registrar:
    """Called by jaxlib with each handler of platform cpu, those of later registrations included."""

    def __init__(self, extension, forward_to_builtin: bool):
        self._extensions = [extension]
        self._forward_to_builtin = forward_to_builtin
        self._keep_alive = []  # Capsules own what their pointers mean.
        self._seen = {}  # By name: what was registered.

    def also(self, extension) -> None:
        """Hands everything to one more plugin, now and from now on."""
        self._extensions.append(extension)
        for name, args in self._seen.items():
            if extension.register_handler(ctypes.byref(args)):
                _log.warning('Tenon refused the custom-call handler %s', name)

    def __call__(self, name, handler, platform, api_version=0, traits=0) -> None:
        if self._forward_to_builtin:
            xla_client._xla.register_custom_call_target(name, handler, platform, api_version, traits)
        self.add(name, handler, api_version, traits)

    def add(self, name, handler, api_version=_TYPED_API_VERSION, traits=0) -> None:
        name = name.decode() if isinstance(name, bytes) else name
        if api_version != _TYPED_API_VERSION:
            _log.debug('custom call %s has the untyped interface %s, which Tenon does not call', name, api_version)
            return
        if name in self._seen:
            return
        stages = handler if isinstance(handler, dict) else {'execute': handler}
        unknown = {stage for stage, function in stages.items() if function is not None} - set(_STAGES)
        if unknown - {'record'} or stages.get('execute') is None:  # Recording is for GPUs.
            _log.warning('Tenon cannot take the custom-call handler %s with the stages %s', name, sorted(stages))
            return
        bundle = (ctypes.c_void_p * 5)(*(None if stages.get(stage) is None else _pointer_of(stages[stage]) for stage in _STAGES))
        args = _RegisterHandlerArgs()
        args.struct_size = ctypes.sizeof(_RegisterHandlerArgs) - 4  # The last member ends four bytes before the struct does.
        args.target_name = name.encode()
        args.target_name_size = len(name.encode())
        args.handler = ctypes.addressof(bundle)
        args.platform_name = b'Host'
        args.platform_name_size = 4
        args.traits = int(getattr(traits, 'value', traits) or 0) | _BUNDLE | (_LEAF if _is_leaf(name) else 0) | (_STAND_IN if name.startswith(_STAND_IN_PREFIX) else 0)
        for extension in self._extensions:
            if extension.register_handler(ctypes.byref(args)):
                _log.warning('Tenon refused the custom-call handler %s', name)
                return
        self._seen[name] = args
        self._keep_alive.append((stages, bundle))


class _TypeRegistrar:
    """Called by jaxlib with each type of state or user data of platform cpu: ids are the built-in client's, which both then know."""

    def __init__(self, extension):
        self._extension = extension
        self._keep_alive = []

    def __call__(self, name, registration) -> None:
        xla_client._xla.register_custom_type(name, registration)
        name = name.encode() if isinstance(name, str) else name
        type_id = ctypes.c_int64.from_address(_pointer_of(registration['type_id'] if isinstance(registration, dict) else registration))
        info = _TypeInfo()
        if isinstance(registration, dict) and registration.get('type_info') is not None:
            info.deleter = ctypes.c_void_p.from_address(_pointer_of(registration['type_info']) + 16).value
        args = _RegisterTypeArgs(ctypes.sizeof(_RegisterTypeArgs), None, name, len(name), type_id.value, ctypes.pointer(info))
        if self._extension.type_register(ctypes.byref(args)):
            _log.warning('Tenon refused the type %s with id %d', name.decode(), type_id.value)
        self._keep_alive.append(registration)


_registrar = None
_type_registrar = None


def install(c_api, forward_to_builtin: bool) -> None:
    """Registers all handlers that jaxlib has for the CPU, now and from now on, with the plugin behind `c_api` (a PyCapsule)."""
    global _registrar, _type_registrar
    extension = _find_ffi_extension(c_api)
    if extension is None:
        _log.warning('the plugin has no FFI extension: LAPACK and Python callbacks are not available')
        return
    _registrar = _Registrar(extension, forward_to_builtin)
    if forward_to_builtin and hasattr(xla_client, 'register_custom_type_handler'):
        _type_registrar = _TypeRegistrar(extension)
        xla_client.register_custom_type_handler('cpu', _type_registrar)
    xla_client.register_custom_call_handler('cpu', _registrar)
    # Handlers that jaxlib's own library registers (Python callbacks) never go through the queue.
    for name, stages in xla_client.custom_call_targets('Host').items():
        _registrar.add(name, stages)


def install_beside(c_api) -> None:
    """Gives the handlers of the CPU to the plugin behind `c_api` as well, whose programs call them on the host. After install."""
    extension = _find_ffi_extension(c_api)
    if extension is not None and _registrar is not None:
        _registrar.also(extension)
