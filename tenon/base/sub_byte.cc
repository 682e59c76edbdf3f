#include "tenon/base/sub_byte.h"

#include <cstdint>
#include <cstring>

namespace tenon {

void Pack(DType type, const void* from, size_t elements, void* to) {
  const auto bits = static_cast<size_t>(DTypeBits(type)), per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  const auto* source = static_cast<const uint8_t*>(from);
  auto* packed = static_cast<uint8_t*>(to);
  std::memset(packed, 0, PackedBytes(type, elements));
  for (size_t i = 0; i < elements; ++i) {
    uint8_t& byte = packed[i / per_byte];
    byte = static_cast<uint8_t>(byte | (source[i] & mask) << (i % per_byte * bits));
  }
}

void Unpack(DType type, const void* from, size_t elements, void* to) {
  const auto bits = static_cast<size_t>(DTypeBits(type)), per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1, sign = IsSigned(type) ? 1u << (bits - 1) : 0;
  const auto* packed = static_cast<const uint8_t*>(from);
  auto* target = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < elements; ++i) {
    const unsigned element = packed[i / per_byte] >> (i % per_byte * bits) & mask;
    target[i] = static_cast<uint8_t>((element ^ sign) - sign);
  }
}

}  // namespace tenon
