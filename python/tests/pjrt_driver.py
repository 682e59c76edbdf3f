"""Drives a PJRT plugin through its C interface with ctypes: compiles programs of any format and runs them on NumPy arrays.

Works for any plugin of PJRT 0.40 or later, so that the same program can be given to two of them.
"""

import ctypes
import pathlib
import re

import numpy as np

_API_DEF = pathlib.Path(__file__).resolve().parents[2] / 'tenon' / 'abi' / 'api.def'
_NAMES = re.findall(r'^PJRT_FN\((\w+),', _API_DEF.read_text(), re.M)
_SLOT = {name: 40 + 8 * i for i, name in enumerate(_NAMES)}  # After struct_size, extension_start and the version.

_P, _Z, _I, _B = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_bool

_TYPES = {1: 'bool', 2: 'int8', 3: 'int16', 4: 'int32', 5: 'int64', 6: 'uint8', 7: 'uint16', 8: 'uint32', 9: 'uint64', 10: 'float16', 11: 'float32',
          12: 'float64', 13: 'bfloat16', 14: 'complex64', 15: 'complex128', 16: 'float8_e5m2', 17: 'float8_e4m3fn', 18: 'float8_e4m3b11fnuz',
          19: 'float8_e5m2fnuz', 20: 'float8_e4m3fnuz', 21: 'int4', 22: 'uint4', 24: 'int2', 25: 'uint2', 26: 'float8_e4m3', 27: 'float8_e3m4',
          28: 'float8_e8m0fnu', 29: 'float4_e2m1fn'}


def _dtype(number):
    name = _TYPES[number]
    if hasattr(np, name) or name == 'bool':
        return np.dtype(name)
    import ml_dtypes
    return np.dtype(getattr(ml_dtypes, name))


def _number(dtype):
    return next(n for n, name in _TYPES.items() if name == np.dtype(dtype).name)


class PluginError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def compile_options(replicas=1, partitions=1):
    """A CompileOptionsProto."""
    build = b'\x08' + _varint(-1) + b'\x20' + _varint(replicas) + b'\x28' + _varint(partitions)
    return b'\x1a' + _varint(len(build)) + build


class Plugin:
    """A plugin with one client."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.GetPjrtApi.restype = _P
        self._api = self._library.GetPjrtApi()
        self._call('PJRT_Plugin_Initialize', 16)
        created = self._call('PJRT_Client_Create', 88)
        self._client = created[8]
        devices = self._call('PJRT_Client_AddressableDevices', 40, [(2, self._client)])
        self.devices = list((_P * devices[4]).from_address(devices[3]))

    def _call(self, name, size, fields=()):
        """Calls `name` with an argument struct of `size` bytes, all of whose fields are 8 bytes wide; returns it as 8-byte words."""
        args = (ctypes.c_uint64 * (size // 8))()
        args[0] = size
        for index, value in fields:
            args[index] = value or 0
        slot = _P.from_address(self._api + _SLOT[name]).value
        assert slot, f'{name} is not there'
        error = ctypes.CFUNCTYPE(_P, _P)(slot)(ctypes.addressof(args))
        if error:
            self._raise(error)
        return args

    def _raise(self, error):
        def raw(name, size):
            args = (ctypes.c_uint64 * (size // 8))()
            args[0], args[2] = size, error
            ctypes.CFUNCTYPE(_P, _P)(_P.from_address(self._api + _SLOT[name]).value)(ctypes.addressof(args))
            return args
        told = raw('PJRT_Error_Message', 40)
        message = ctypes.string_at(told[3], told[4]).decode(errors='replace')
        code = raw('PJRT_Error_GetCode', 32)[3] & 0xFFFFFFFF
        raw('PJRT_Error_Destroy', 24)
        raise PluginError(code, message)

    def _await(self, event):
        try:
            self._call('PJRT_Event_Await', 24, [(2, event)])
        finally:
            self._call('PJRT_Event_Destroy', 24, [(2, event)])

    def compile(self, code, format, options=None):
        """Returns a function from arrays to the list of results, for a program of one device. PluginError when it does not compile."""
        options = compile_options() if options is None else options
        code_buffer, format_buffer, option_buffer = (ctypes.create_string_buffer(b, max(len(b), 1)) for b in (code, format.encode(), options))
        program = (ctypes.c_uint64 * 6)(48, 0, ctypes.addressof(code_buffer), len(code), ctypes.addressof(format_buffer), len(format))
        args = self._call('PJRT_Client_Compile', 56, [(2, self._client), (3, ctypes.addressof(program)), (4, ctypes.addressof(option_buffer)),
                                                      (5, len(options))])
        executable = args[6]
        inner = self._call('PJRT_LoadedExecutable_GetExecutable', 32, [(2, executable)])[3]
        outputs = self._call('PJRT_Executable_NumOutputs', 32, [(2, inner)])[3]
        self._call('PJRT_Executable_Destroy', 24, [(2, inner)])

        def execute(*arrays):
            return self._execute(executable, outputs, arrays)
        execute.executable, execute.num_outputs = executable, outputs
        return execute

    def put(self, array):
        array = np.asarray(array, order='C')
        dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        made = self._call('PJRT_Client_BufferFromHostBuffer', 120,
                          [(2, self._client), (3, array.ctypes.data), (4, _number(array.dtype)), (5, ctypes.addressof(dims)), (6, array.ndim),
                           (9, 0), (10, self.devices[0])])
        self._await(made[13])
        return made[14]

    def get(self, buffer):
        shape = self._call('PJRT_Buffer_Dimensions', 40, [(2, buffer)])
        dims = tuple((ctypes.c_int64 * shape[4]).from_address(shape[3])) if shape[4] else ()
        dtype = _dtype(self._call('PJRT_Buffer_ElementType', 32, [(2, buffer)])[3] & 0xFFFFFFFF)
        result = np.empty(dims, dtype)
        if result.nbytes:
            copied = self._call('PJRT_Buffer_ToHostBuffer', 56, [(2, buffer), (4, result.ctypes.data), (5, result.nbytes)])
            self._await(copied[6])
        return result

    def is_deleted(self, buffer):
        return bool(self._call('PJRT_Buffer_IsDeleted', 32, [(2, buffer)])[3] & 0xFF)

    def destroy(self, buffer):
        self._call('PJRT_Buffer_Destroy', 24, [(2, buffer)])

    def run_buffers(self, executable, outputs, buffers):
        arguments = (_P * max(len(buffers), 1))(*buffers)
        results = (_P * max(outputs, 1))()
        argument_lists, output_lists = (_P * 1)(ctypes.addressof(arguments)), (_P * 1)(ctypes.addressof(results))
        options = (ctypes.c_uint64 * 14)(112)
        events = (_P * 1)()
        self._call('PJRT_LoadedExecutable_Execute', 80,
                   [(2, executable), (3, ctypes.addressof(options)), (4, ctypes.addressof(argument_lists)), (5, 1), (6, len(buffers)),
                    (7, ctypes.addressof(output_lists)), (8, ctypes.addressof(events))])
        self._await(events[0])
        return [results[i] for i in range(outputs)]

    def _execute(self, executable, outputs, arrays):
        buffers = [self.put(a) for a in arrays]
        made = self.run_buffers(executable, outputs, buffers)
        results = [self.get(b) for b in made]
        for b in buffers + made:
            self.destroy(b)
        return results
