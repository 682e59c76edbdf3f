#pragma once

// Keys as unsigned integers whose order is the wanted one.

#include <cstdint>
#include <cstring>
#include <limits>

#include "tenon/base/float_bits.h"
#include "tenon/kernels/sort/sort.h"

namespace tenon::kernels::internal {

enum class KeyKind : uint8_t { kUnsigned, kSigned, kFloat };

/// Reads one key after another. `BitsT` is the unsigned integer of the key's width.
template <class BitsT, KeyKind kKind>
struct KeyReader {
  using Bits = BitsT;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

  const Bits* data;
  int64_t stride;
  Bits flip;  ///< All ones to sort downwards.
  bool by_value;
  Bits infinity;  ///< Of floats; bits of NaNs are above.

  Bits operator[](int64_t i) const {
    Bits x = data[i * stride];
    if constexpr (kKind == KeyKind::kSigned) x = static_cast<Bits>(x ^ kSign);
    if constexpr (kKind == KeyKind::kFloat) {
      if (by_value) {
        if (x == kSign) x = 0;
        if (static_cast<Bits>(x & ~kSign) > infinity) x = static_cast<Bits>(~kSign);
      }
      // All ones when negative, the sign alone otherwise.
      const Bits mask =
          static_cast<Bits>(static_cast<Bits>(Bits{0} - static_cast<Bits>(x >> (8 * sizeof(Bits) - 1))) | kSign);
      x = static_cast<Bits>(x ^ mask);
    }
    return static_cast<Bits>(x ^ flip);
  }
};

/// Calls fn(reader of the key at `data`).
template <class Fn>
void WithKeyReader(const SortKey& key, const void* data, const Fn& fn) {
  const auto call = [&]<class Bits, KeyKind kKind>() {
    fn(KeyReader<Bits, kKind>{static_cast<const Bits*>(data), key.stride,
                              key.descending ? static_cast<Bits>(~Bits{0}) : Bits{0}, key.by_value,
                              static_cast<Bits>(FloatBits(key.type, std::numeric_limits<double>::infinity()))});
  };
  const auto of_width = [&]<KeyKind kKind>() {
    switch (ByteWidth(key.type)) {
      case 1:
        return call.template operator()<uint8_t, kKind>();
      case 2:
        return call.template operator()<uint16_t, kKind>();
      case 4:
        return call.template operator()<uint32_t, kKind>();
      default:
        return call.template operator()<uint64_t, kKind>();
    }
  };
  if (IsFloat(key.type)) {
    of_width.template operator()<KeyKind::kFloat>();
  } else if (IsSigned(key.type)) {
    of_width.template operator()<KeyKind::kSigned>();
  } else {
    of_width.template operator()<KeyKind::kUnsigned>();
  }
}

}  // namespace tenon::kernels::internal
