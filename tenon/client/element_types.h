#pragma once

/// The element types of host arrays, which are those of tenon/base/element.h.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tenon/base/element.h"

namespace tenon::client {

using tenon::BF16;
using tenon::Element;
using tenon::F16;
using tenon::F4E2M1FN;
using tenon::F6E2M3FN;
using tenon::F6E3M2FN;
using tenon::F8E3M4;
using tenon::F8E4M3;
using tenon::F8E4M3B11FNUZ;
using tenon::F8E4M3FN;
using tenon::F8E4M3FNUZ;
using tenon::F8E5M2;
using tenon::F8E5M2FNUZ;
using tenon::F8E8M0FNU;
using tenon::FloatEnds;
using tenon::kDTypeOf;
using tenon::S1;
using tenon::S2;
using tenon::S4;
using tenon::SmallFloat;
using tenon::SmallInt;
using tenon::U1;
using tenon::U2;
using tenon::U4;

/// What host arrays of T are returned in. std::vector<bool> is no array, so pred comes as bytes 0 and 1.
template <Element T>
using HostVector = std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

/// Bytes per element in host arrays: types narrower than a byte take one. 0 for kInvalid and kToken.
inline size_t HostElementSize(DType type) { return static_cast<size_t>(ByteWidth(type)); }

}  // namespace tenon::client
