"""Element types of the library and of NumPy. Those that NumPy lacks are ml_dtypes'."""

import functools

import numpy as np

# In the order of their numbers: the library's name, and NumPy's or that of ml_dtypes.
_NAMES = (
    ('invalid', ''), ('pred', 'bool'), ('s8', 'int8'), ('s16', 'int16'), ('s32', 'int32'), ('s64', 'int64'), ('u8', 'uint8'), ('u16', 'uint16'),
    ('u32', 'uint32'), ('u64', 'uint64'), ('f16', 'float16'), ('f32', 'float32'), ('f64', 'float64'), ('bf16', 'bfloat16'), ('c64', 'complex64'),
    ('c128', 'complex128'), ('f8e5m2', 'float8_e5m2'), ('f8e4m3fn', 'float8_e4m3fn'), ('f8e4m3b11fnuz', 'float8_e4m3b11fnuz'),
    ('f8e5m2fnuz', 'float8_e5m2fnuz'), ('f8e4m3fnuz', 'float8_e4m3fnuz'), ('s4', 'int4'), ('u4', 'uint4'), ('token', ''), ('s2', 'int2'),
    ('u2', 'uint2'), ('f8e4m3', 'float8_e4m3'), ('f8e3m4', 'float8_e3m4'), ('f8e8m0fnu', 'float8_e8m0fnu'), ('f4e2m1fn', 'float4_e2m1fn'),
    ('s1', 'int1'), ('u1', 'uint1'), ('f6e2m3fn', 'float6_e2m3fn'), ('f6e3m2fn', 'float6_e3m2fn'),
)  # fmt: skip
_NUMBERS = {numpy_name: number for number, (_, numpy_name) in enumerate(_NAMES) if numpy_name}


def number_of(dtype: np.dtype) -> int:
    """The library's number; TypeError for types that programs do not have."""
    number = _NUMBERS.get(dtype.name)
    if number is None or not dtype.isnative:
        raise TypeError(f'an array of {dtype!r} has no element type of StableHLO')
    return number


def name_of(number: int) -> str:
    return _NAMES[number][0]


@functools.cache
def dtype_of(number: int) -> np.dtype:
    name = _NAMES[number][1]
    if hasattr(np, name) and name:
        return np.dtype(name)
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError, TypeError):
        raise TypeError(f'NumPy has no type for {_NAMES[number][0]}; the package ml_dtypes may have one') from None


@functools.cache
def is_native(dtype: np.dtype) -> bool:
    """Whether NumPy itself has the type, and so DLPack and the array interface do."""
    return dtype.kind in 'biufc' and dtype.isbuiltin == 1
