"""The shared library behind the package: functions of tenon.h with their types, and errors as exceptions."""

import contextlib
import ctypes
import os
import pathlib
import sys
import threading
from collections.abc import Iterator
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any

OUT = POINTER(c_void_p)

CODES = (
    'OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED',
    'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED',
)  # fmt: skip


class TenonError(RuntimeError):
    """What went wrong: `code` is a name such as 'INVALID_ARGUMENT', `message` says what was got and what was wanted."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f'{code}: {message}')
        self.code = code
        self.message = message


class Array(ctypes.Structure):
    _fields_ = [('data', c_void_p), ('dtype', c_int), ('rank', c_size_t), ('dims', POINTER(c_int64)), ('byte_strides', POINTER(c_int64))]


class ExecuteOptions(ctypes.Structure):
    _fields_ = [('struct_size', c_size_t), ('donate', POINTER(c_int64)), ('num_donate', c_size_t), ('launch_id', c_int)]


# Those that give a status, by the types of their parameters.
FALLIBLE: dict[str, list[Any]] = {
    'plugin_load': [c_char_p, OUT],
    'find_plugins': [OUT],
    'client_create': [c_void_p, c_char_p, OUT],
    'client_platform_name': [c_void_p, OUT],
    'client_platform_version': [c_void_p, OUT],
    'client_num_devices': [c_void_p, POINTER(c_size_t)],
    'client_device': [c_void_p, c_size_t, OUT],
    'device_id': [c_void_p, POINTER(c_int)],
    'device_kind': [c_void_p, OUT],
    'device_to_string': [c_void_p, OUT],
    'compile_options_create': [OUT],
    'compile_options_set_replicas': [c_void_p, c_int],
    'compile_options_set_partitions': [c_void_p, c_int],
    'compile_options_set_device': [c_void_p, c_int],
    'compile_options_set_string': [c_void_p, c_char_p, c_char_p],
    'compile_options_set_int': [c_void_p, c_char_p, c_int64],
    'compile_options_set_bool': [c_void_p, c_char_p, c_bool],
    'compile_options_set_double': [c_void_p, c_char_p, c_double],
    'compile': [c_void_p, c_char_p, c_size_t, c_char_p, c_void_p, OUT],
    'executable_name': [c_void_p, OUT],
    'executable_num_outputs': [c_void_p, POINTER(c_size_t)],
    'executable_num_devices': [c_void_p, POINTER(c_size_t)],
    'executable_output': [c_void_p, c_size_t, POINTER(c_int), POINTER(c_int64), c_size_t, POINTER(c_size_t)],
    'executable_serialize': [c_void_p, OUT],
    'executable_load': [c_void_p, c_char_p, c_size_t, OUT],
    'buffer_from_host': [c_void_p, c_void_p, POINTER(Array), OUT],
    'buffer_from_host_view': [c_void_p, c_void_p, POINTER(Array), c_void_p, c_void_p, OUT],
    'buffer_dtype': [c_void_p, POINTER(c_int)],
    'buffer_dims': [c_void_p, POINTER(c_int64), c_size_t, POINTER(c_size_t)],
    'buffer_size': [c_void_p, POINTER(c_size_t)],
    'buffer_device': [c_void_p, OUT],
    'buffer_await': [c_void_p],
    'buffer_ready_event': [c_void_p, OUT],
    'buffer_is_deleted': [c_void_p, POINTER(c_int)],
    'buffer_to_host': [c_void_p, c_void_p, c_size_t],
    'buffer_hold': [c_void_p, OUT, OUT],
    'buffer_to_dlpack': [c_void_p, OUT],
    'buffer_copy_to': [c_void_p, c_void_p, OUT],
    'execute': [c_void_p, POINTER(c_void_p), c_size_t, POINTER(ExecuteOptions), OUT, c_size_t, OUT],
    'execute_on_devices': [c_void_p, POINTER(c_void_p), c_size_t, c_size_t, POINTER(ExecuteOptions), OUT, c_size_t],
    'event_is_ready': [c_void_p, POINTER(c_int)],
}
HANDLES = ('plugin', 'client', 'device', 'compile_options', 'executable', 'buffer', 'hold', 'event', 'bytes', 'status')


def _open() -> ctypes.CDLL:
    beside = pathlib.Path(__file__).parent / 'lib' / 'libtenon.so.0'
    named = os.environ.get('TENON_LIBRARY')
    return ctypes.CDLL(named or (str(beside) if beside.exists() else 'libtenon.so.0'))


_lib = _open()
for _name, _types in FALLIBLE.items():
    _function = getattr(_lib, 'tenon_' + _name)
    _function.argtypes = _types
    _function.restype = c_void_p
for _name in HANDLES:
    _function = getattr(_lib, f'tenon_{_name}_free')
    _function.argtypes = [c_void_p]
    _function.restype = None
_lib.tenon_status_code.argtypes = [c_void_p]
_lib.tenon_status_message.argtypes = [c_void_p]
_lib.tenon_status_message.restype = c_char_p
_lib.tenon_bytes_data.argtypes = [c_void_p]
_lib.tenon_bytes_data.restype = c_void_p
_lib.tenon_bytes_size.argtypes = [c_void_p]
_lib.tenon_bytes_size.restype = c_size_t
for _name in ('name', 'path', 'version'):
    _function = getattr(_lib, 'tenon_plugin_' + _name)
    _function.argtypes = [c_void_p]
    _function.restype = c_char_p
_lib.tenon_version.restype = c_char_p
functions = {_name: getattr(_lib, 'tenon_' + _name) for _name in FALLIBLE}


def version() -> str:
    return _lib.tenon_version().decode()


def plugin_text(what: str, handle: c_void_p) -> str:
    return getattr(_lib, 'tenon_plugin_' + what)(handle).decode()


def call(name: str, *arguments: Any) -> None:
    """Calls tenon_<name>; TenonError unless it succeeds."""
    status = functions[name](*arguments)
    if status is not None:
        code, message = _lib.tenon_status_code(status), _lib.tenon_status_message(status).decode()
        _lib.tenon_status_free(status)
        raise TenonError(CODES[code] if 0 <= code < len(CODES) else str(code), message)


def get(name: str, *arguments: Any, kind: Any = c_void_p) -> Any:
    """Calls tenon_<name> with a place for its result as the last argument, and returns that."""
    out = kind()
    call(name, *arguments, ctypes.byref(out))
    return out.value


def get_bytes(name: str, *arguments: Any) -> bytes:
    handle = get(name, *arguments)
    data = ctypes.string_at(_lib.tenon_bytes_data(handle), _lib.tenon_bytes_size(handle))
    _lib.tenon_bytes_free(handle)
    return data


@contextlib.contextmanager
def plugins_of_this_python() -> Iterator[None]:
    """Names of plugins also find what is installed beside this package's interpreter, which need not be activated."""
    with _environment:
        added = sys.prefix != sys.base_prefix and 'VIRTUAL_ENV' not in os.environ
        if added:
            os.environ['VIRTUAL_ENV'] = sys.prefix
        try:
            yield
        finally:
            if added:
                os.environ.pop('VIRTUAL_ENV', None)


_environment = threading.Lock()


class Handle:
    """Owns a handle of the library."""

    _free: Any = None
    _handle: int | None = None

    def __init_subclass__(cls, kind: str) -> None:
        cls._free = staticmethod(getattr(_lib, f'tenon_{kind}_free'))

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __del__(self) -> None:
        if self._handle is not None:
            self._free(self._handle)
