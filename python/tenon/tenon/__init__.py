"""Runs StableHLO programs on any PJRT plugin.

    client = tenon.Client('cpu')
    program = client.compile(text)
    y = np.asarray(program(x)[0])

Calls return when the work is under way; reading a Buffer waits for it. Everything may be used from several threads.
"""

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

import numpy as np

from tenon import _dlpack, _dtypes, _library
from tenon._library import TenonError, call, get, get_bytes

__all__ = ['Buffer', 'Candidate', 'Client', 'Device', 'Executable', 'Plugin', 'TenonError', 'find_plugins']
__version__ = _library.version()


class Candidate(NamedTuple):
    """A plugin that can be found by name."""

    name: str
    path: str
    source: str


def find_plugins() -> list[Candidate]:
    """What names find, without loading it. A name may appear several times: the first wins."""
    with _library.plugins_of_this_python():
        lines = get_bytes('find_plugins').decode().splitlines()
    return [Candidate(*line.split('\t')) for line in lines]


class Plugin(_library.Handle, kind='plugin'):
    """A loaded plugin, by name ('cpu', 'xla_cpu') or path; without one what TENON_PLUGIN says, else Tenon's. Stays loaded."""

    def __init__(self, name_or_path: str | os.PathLike[str] = '') -> None:
        with _library.plugins_of_this_python():
            super().__init__(get('plugin_load', os.fsencode(name_or_path)))

    @property
    def name(self) -> str:
        return _library.plugin_text('name', self._handle)

    @property
    def path(self) -> str:
        return _library.plugin_text('path', self._handle)

    @property
    def version(self) -> str:
        """Of the PJRT interface: '0.117'."""
        return _library.plugin_text('version', self._handle)

    def __repr__(self) -> str:
        return f'<tenon.Plugin {self.name} (PJRT {self.version}, {self.path})>'


class Device(_library.Handle, kind='device'):
    @property
    def id(self) -> int:
        """Unique over all processes of a job."""
        return get('device_id', self._handle, kind=c_int)

    @property
    def kind(self) -> str:
        return get_bytes('device_kind', self._handle).decode()

    def __repr__(self) -> str:
        return f'<tenon.Device {get_bytes("device_to_string", self._handle).decode()}>'


def _option_text(options: Mapping[str, Any]) -> bytes:
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return 'true' if value else 'false'
        if isinstance(value, (list, tuple)):
            return '[' + ';'.join(str(v) for v in value) + ']'
        return repr(value) if isinstance(value, float) else str(value)

    return ','.join(f'{name}={text(value)}' for name, value in options.items()).encode()


class Client(_library.Handle, kind='client'):
    """The devices of a plugin, opened. `options` are the plugin's own: Client('cpu', num_devices=2)."""

    def __init__(self, plugin: Plugin | str | os.PathLike[str] = '', **options: Any) -> None:
        self.plugin = plugin if isinstance(plugin, Plugin) else Plugin(plugin)
        super().__init__(get('client_create', self.plugin._handle, _option_text(options)))

    @property
    def platform(self) -> str:
        return get_bytes('client_platform_name', self._handle).decode()

    @property
    def platform_version(self) -> str:
        return get_bytes('client_platform_version', self._handle).decode()

    @property
    def devices(self) -> list[Device]:
        """Those that this process can use."""
        count = get('client_num_devices', self._handle, kind=c_size_t)
        return [Device(get('client_device', self._handle, i)) for i in range(count)]

    def __repr__(self) -> str:
        return f'<tenon.Client {self.platform} by {self.plugin.name}>'

    def compile(
        self,
        program: str | bytes,
        *,
        format: str = 'mlir',
        replicas: int = 1,
        partitions: int = 1,
        device: int | None = None,
        options: Mapping[str, str | bool | int | float] | None = None,
    ) -> 'Executable':
        """Compiles StableHLO (text, bytecode or portable artifact), or with format='hlo' a serialized HloModuleProto.

        `device` is the id of the one device to run on; `options` are the plugin's own.
        """
        code = program.encode() if isinstance(program, str) else bytes(program)
        handle = get('compile_options_create')
        try:
            call('compile_options_set_replicas', handle, replicas)
            call('compile_options_set_partitions', handle, partitions)
            if device is not None:
                call('compile_options_set_device', handle, device)
            for name, value in (options or {}).items():
                kind = 'bool' if isinstance(value, bool) else 'int' if isinstance(value, int) else 'double' if isinstance(value, float) else 'string'
                call('compile_options_set_' + kind, handle, name.encode(), value.encode() if isinstance(value, str) else value)
            return Executable(self, get('compile', self._handle, code, len(code), format.encode(), handle))
        finally:
            _library._lib.tenon_compile_options_free(handle)

    def load(self, serialized: bytes) -> 'Executable':
        """What Executable.serialize gave, by the same build of the same plugin."""
        return Executable(self, get('executable_load', self._handle, serialized, len(serialized)))

    def array(self, value: Any, *, device: Device | None = None, copy: bool | None = None) -> 'Buffer':
        """A buffer from a NumPy array, a number, a nested list or an object with __dlpack__.

        copy=True copies. copy=False uses the memory where it lies, if the plugin can: nobody may write to it while the buffer lives. None does that for
        what is read-only: a NumPy array that is not writeable, a tensor that DLPack marks so, a Buffer. It copies everything else, so that the caller may
        write to it when the call returns. Programs take arguments that are no buffers in this way, too.
        """
        if not hasattr(value, '__dlpack__'):
            value, copy = np.asarray(value), True
        if isinstance(value, np.ndarray):
            if copy is None:
                copy = value.flags.writeable
            if any(s <= 0 for s in value.strides) and value.size > 1:
                value, copy = np.ascontiguousarray(value), True
            number = _dtypes.number_of(value.dtype)
            if copy:
                where = None if device is None else device._handle
                return Buffer(self, get('buffer_from_host', self._handle, where, byref(_numpy_array(value, number))))
            # DLPack knows nothing of ml_dtypes' types: what has as many bytes stands for them.
            same_bytes = value if _dtypes.is_native(value.dtype) else value.view(f'u{value.dtype.itemsize}')
            return self._view(same_bytes, device, number, False)
        if copy is None and isinstance(value, Buffer):
            copy = False  # Nobody writes to one, whatever its capsule says.
        return self._view(value, device, None, copy)

    def _view(self, value: Any, device: Device | None, number: int | None, copy: bool | None) -> 'Buffer':
        lent = _dlpack.Import(value)
        t = lent.tensor
        dims = (c_int64 * t.rank)(*t.dims[: t.rank])
        if number is None:
            number = _FROM_DLPACK.get((t.code, t.bits)) if t.lanes == 1 else None
            if number is None:
                raise TypeError(f'a tensor of DLPack type code {t.code} with {t.bits} bits and {t.lanes} lanes has no element type of StableHLO')
        strides = None
        if t.strides and not _is_dense(t):
            strides = (c_int64 * t.rank)(*(s * (t.bits // 8) for s in t.strides[: t.rank]))
        if strides and any(s <= 0 for s in strides) and _dtypes.is_native(_dtypes.dtype_of(number)):
            return self.array(np.from_dlpack(value), device=device, copy=True)  # Not every plugin takes such strides.
        data = (t.data or 0) + t.byte_offset
        array = _library.Array(data or None, number, t.rank, dims, strides)
        where = None if device is None else device._handle
        if copy or (copy is None and not lent.is_constant):
            return Buffer(self, get('buffer_from_host', self._handle, where, byref(array)))  # The capsule, which nobody took, gives the tensor back.
        handle = get('buffer_from_host_view', self._handle, where, byref(array), lent.deleter, lent.context)
        lent.take()
        return Buffer(self, handle)


_FROM_DLPACK = {(0, 8): 2, (0, 16): 3, (0, 32): 4, (0, 64): 5, (1, 8): 6, (1, 16): 7, (1, 32): 8, (1, 64): 9, (2, 16): 10, (2, 32): 11, (2, 64): 12,
                (4, 16): 13, (5, 64): 14, (5, 128): 15, (6, 8): 1}  # fmt: skip


def _is_dense(tensor: _dlpack.Tensor) -> bool:
    step = 1
    for i in reversed(range(tensor.rank)):
        if tensor.dims[i] > 1 and tensor.strides[i] != step:
            return False
        step *= tensor.dims[i]
    return True


def _numpy_array(value: np.ndarray, number: int) -> _library.Array:
    rank = value.ndim
    strides = None if value.flags.c_contiguous else (c_int64 * rank)(*value.strides)
    return _library.Array(value.ctypes.data if value.size else None, number, rank, (c_int64 * rank)(*value.shape), strides)


class _Held:
    """Lends NumPy the memory of a buffer."""

    def __init__(self, hold: int, address: int, shape: tuple[int, ...], typestr: str) -> None:
        self._hold = hold
        self._free = _library._lib.tenon_hold_free  # Modules may be gone when this is.
        self.__array_interface__ = {'version': 3, 'data': (address, True), 'shape': shape, 'typestr': typestr}

    def __del__(self) -> None:
        self._free(self._hold)


class Buffer(_library.Handle, kind='buffer'):
    """An array on a device. np.asarray and __dlpack__ read it, without a copy where the host can read the device's memory."""

    def __init__(self, client: Client, handle: int) -> None:
        super().__init__(handle)
        self._client = client
        self._type: tuple[int, tuple[int, ...]] | None = None

    def _number_and_shape(self) -> tuple[int, tuple[int, ...]]:
        if self._type is None:
            number = get('buffer_dtype', self._handle, kind=c_int)
            rank = get('buffer_dims', self._handle, None, 0, kind=c_size_t)
            dims = (c_int64 * rank)()
            get('buffer_dims', self._handle, dims, rank, kind=c_size_t)
            self._type = number, tuple(dims)
        return self._type

    @property
    def shape(self) -> tuple[int, ...]:
        return self._number_and_shape()[1]

    @property
    def dtype(self) -> np.dtype:
        return _dtypes.dtype_of(self._number_and_shape()[0])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def device(self) -> Device:
        return Device(get('buffer_device', self._handle))

    def is_ready(self) -> bool:
        event = get('buffer_ready_event', self._handle)
        try:
            return bool(get('event_is_ready', event, kind=c_int))
        finally:
            _library._lib.tenon_event_free(event)

    def block_until_ready(self) -> 'Buffer':
        """Waits; TenonError when what should have made the contents failed."""
        call('buffer_await', self._handle)
        return self

    def is_deleted(self) -> bool:
        """Whether an execution consumed it."""
        return bool(get('buffer_is_deleted', self._handle, kind=c_int))

    def copy_to(self, device: Device) -> 'Buffer':
        return Buffer(self._client, get('buffer_copy_to', self._handle, device._handle))

    def numpy(self, *, copy: bool = False) -> np.ndarray:
        """The contents: read-only and without a copy where that works, else, or with copy=True, an array of its own."""
        number, shape = self._number_and_shape()
        dtype = _dtypes.dtype_of(number)
        if not copy:
            data, hold = c_void_p(), c_void_p()
            try:
                call('buffer_hold', self._handle, byref(data), byref(hold))
            except TenonError as error:
                if error.code != 'UNIMPLEMENTED':
                    raise
            else:
                native = _dtypes.is_native(dtype)
                held = _Held(hold.value or 0, data.value or 0, shape, dtype.str if native else '|u1' if dtype.itemsize == 1 else f'<u{dtype.itemsize}')
                array = np.asarray(held)
                return array if native else array.view(dtype)
        array = np.empty(shape, dtype)
        call('buffer_to_host', self._handle, array.ctypes.data if array.size else None, array.nbytes)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy(copy=bool(copy))
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f'an array of {dtype} needs a copy of one of {array.dtype}')
            return array.astype(dtype)
        return array

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        if copy or (dl_device is not None and tuple(dl_device)[0] != _dlpack.CPU):
            raise BufferError('only the memory itself, on the host, is lent by DLPack')
        return _dlpack.export(get('buffer_to_dlpack', self._handle))

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.CPU, 0

    def __repr__(self) -> str:
        number, shape = self._number_and_shape()
        return f'<tenon.Buffer {_dtypes.name_of(number)}{list(shape)}>'


class Executable(_library.Handle, kind='executable'):
    """A compiled program. Calling it runs it; arguments are buffers, or anything that Client.array takes."""

    def __init__(self, client: Client, handle: int) -> None:
        super().__init__(handle)
        self._client = client
        self.num_outputs: int = get('executable_num_outputs', handle, kind=c_size_t)
        self.num_devices: int = get('executable_num_devices', handle, kind=c_size_t)
        self._outputs_type = c_void_p * self.num_outputs

    @property
    def name(self) -> str:
        return get_bytes('executable_name', self._handle).decode()

    @property
    def outputs(self) -> list[tuple[np.dtype, tuple[int, ...]]]:
        """Type and shape of each result."""
        types = []
        for i in range(self.num_outputs):
            number, dims = c_int(), (c_int64 * 64)()
            rank = get('executable_output', self._handle, i, byref(number), dims, 64, kind=c_size_t)
            types.append((_dtypes.dtype_of(number.value), tuple(dims[:rank])))
        return types

    def serialize(self) -> bytes:
        """For Client.load."""
        return get_bytes('executable_serialize', self._handle)

    def _options(self, donate: Iterable[int], launch_id: int) -> Any:
        if donate == () and launch_id == 0:
            return None
        numbers = list(donate)
        return byref(_library.ExecuteOptions(ctypes.sizeof(_library.ExecuteOptions), (c_int64 * len(numbers))(*numbers), len(numbers), launch_id))

    def _buffers(self, arguments: Sequence[Any], device: Device | None = None) -> list[Buffer]:
        return [a if isinstance(a, Buffer) else self._client.array(a, device=device) for a in arguments]

    def __call__(self, *arguments: Any, donate: Iterable[int] = (), launch_id: int = 0) -> list[Buffer]:
        """Runs on the one device that it was compiled for. `donate`: arguments that the program may consume, if it marks them."""
        buffers = self._buffers(arguments)
        handles = (c_void_p * len(buffers))(*[b._handle for b in buffers])
        outputs = self._outputs_type()
        call('execute', self._handle, handles, len(buffers), self._options(donate, launch_id), outputs, self.num_outputs, None)
        return [Buffer(self._client, handle) for handle in outputs]

    def run_on_devices(self, arguments: Sequence[Sequence[Any]], *, donate: Iterable[int] = (), launch_id: int = 0) -> list[list[Buffer]]:
        """The same for several devices: a list of arguments for each, and a list of results of each."""
        devices = self._client.devices
        counts = {len(a) for a in arguments}
        if len(counts) != 1 or len(arguments) > len(devices):
            raise ValueError(f'wants equally many arguments for each of up to {len(devices)} devices, got {[len(a) for a in arguments]}')
        buffers = [self._buffers(a, devices[i]) for i, a in enumerate(arguments)]
        flat = [b._handle for row in buffers for b in row]
        n, total = counts.pop(), len(arguments) * self.num_outputs
        outputs = (c_void_p * total)()
        call('execute_on_devices', self._handle, (c_void_p * len(flat))(*flat), len(arguments), n, self._options(donate, launch_id), outputs, self.num_outputs)
        made = [Buffer(self._client, handle) for handle in outputs]
        return [made[i : i + self.num_outputs] for i in range(0, total, self.num_outputs)] if self.num_outputs else [[] for _ in arguments]

    def __repr__(self) -> str:
        return f'<tenon.Executable {self.name}: {self.num_outputs} outputs on {self.num_devices} devices>'
