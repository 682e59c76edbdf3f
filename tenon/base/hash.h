#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

/// A 128-bit content hash. Equal content gives equal hashes on every machine. Finds; what is found decides by
/// its value.
struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

struct Hash128Hasher {
  size_t operator()(const Hash128& h) const { return static_cast<size_t>(h.low ^ (h.high * 0x9e3779b97f4a7c15u)); }
};

}  // namespace tenon
