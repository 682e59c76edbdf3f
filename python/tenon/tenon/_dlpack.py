"""DLPack's capsules, in both directions and of both versions."""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

CPU = 1
# Bits of Versioned.flags.
_READ_ONLY, _IS_COPIED = 1, 2


class Tensor(ctypes.Structure):
    _fields_ = [
        ('data', c_void_p), ('device_type', c_int32), ('device_id', c_int32), ('rank', c_int32), ('code', c_uint8), ('bits', c_uint8), ('lanes', c_uint16),
        ('dims', POINTER(c_int64)), ('strides', POINTER(c_int64)), ('byte_offset', c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [('tensor', Tensor), ('context', c_void_p), ('deleter', c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [('major', c_uint32), ('minor', c_uint32), ('context', c_void_p), ('deleter', c_void_p), ('flags', c_uint64), ('tensor', Tensor)]


_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.restype, _NEW.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.restype, _POINTER.argtypes = c_void_p, [c_void_p, c_char_p]
_VALID = ctypes.pythonapi.PyCapsule_IsValid
_VALID.restype, _VALID.argtypes = c_int, [c_void_p, c_char_p]
_RENAME = ctypes.pythonapi.PyCapsule_SetName
_RENAME.restype, _RENAME.argtypes = c_int, [c_void_p, c_char_p]
# Capsules keep the pointers.
_NAME, _USED, _NAME_1, _USED_1 = b'dltensor', b'used_dltensor', b'dltensor_versioned', b'used_dltensor_versioned'


def export(managed: int) -> Any:
    """A capsule for a DLManagedTensor*; who takes it calls the deleter, else it is called with the capsule's end."""
    return _NEW(managed, _NAME, _destructor)


@ctypes.CFUNCTYPE(None, c_void_p)
def _delete_unused(capsule: int) -> None:
    if _VALID(capsule, _NAME):
        pointer = _POINTER(capsule, _NAME)
        deleter = Managed.from_address(pointer).deleter
        if deleter:
            ctypes.CFUNCTYPE(None, c_void_p)(deleter)(pointer)


_destructor = ctypes.cast(_delete_unused, c_void_p)


class Import:
    """What an object with __dlpack__ lends: its tensor, and the deleter with its argument, which `take` makes ours."""

    def __init__(self, array: Any) -> None:
        try:
            self.capsule = array.__dlpack__(max_version=(1, 0))
        except TypeError:
            self.capsule = array.__dlpack__()
        at = id(self.capsule)
        self._versioned = bool(_VALID(at, _NAME_1))
        if not self._versioned and not _VALID(at, _NAME):
            raise TypeError(f'{array!r} gave a capsule that is no DLPack tensor, or was taken already')
        self.context = _POINTER(at, _NAME_1 if self._versioned else _NAME)
        managed: Any = (Versioned if self._versioned else Managed).from_address(self.context)
        if self._versioned and managed.major != 1:
            raise TypeError(f'DLPack version {managed.major}.{managed.minor} is not known')
        self.tensor: Tensor = managed.tensor
        # Whether nobody will write to the memory while it is lent. Capsules without a version do not say.
        self.is_constant: bool = self._versioned and bool(managed.flags & (_READ_ONLY | _IS_COPIED))
        self.deleter: int | None = managed.deleter
        if self.tensor.device_type != CPU:
            raise TypeError(f'a tensor must be in host memory (device type 1), got device type {self.tensor.device_type}')

    def take(self) -> None:
        _RENAME(id(self.capsule), _USED_1 if self._versioned else _USED)
