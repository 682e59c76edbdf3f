#pragma once

// Stable sorting of (key, rest) records by key.

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tenon::kernels::internal {

/// Keys of up to 32 bits: the key in the upper half, what travels with it in the lower.
struct NarrowRecord {
  uint64_t bits;
  using Key = uint32_t;
  Key key() const { return static_cast<uint32_t>(bits >> 32); }
  uint32_t rest() const { return static_cast<uint32_t>(bits); }
  static NarrowRecord Make(uint64_t key, uint32_t rest) { return {key << 32 | rest}; }
};

struct WideRecord {
  uint64_t bits;
  uint64_t lower;
  using Key = uint64_t;
  Key key() const { return bits; }
  uint32_t rest() const { return static_cast<uint32_t>(lower); }
  static WideRecord Make(uint64_t key, uint32_t rest) { return {key, rest}; }
};

/// Below this many records comparing beats counting.
inline constexpr int64_t kInsertionMax = 32;

template <class Record>
void InsertionSort(Record* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Record x = a[i];
    int64_t j = i;
    for (; j > 0 && x.key() < a[j - 1].key(); --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

/// Least significant digit first; digits that all records share cost no pass. Returns where the result is: `a` or `b`.
template <int kDigitBits, class Record>
Record* RadixSort(Record* a, Record* b, int64_t n, int key_bits) {
  constexpr int kBuckets = 1 << kDigitBits;
  constexpr int kMaxDigits = (8 * static_cast<int>(sizeof(typename Record::Key)) + kDigitBits - 1) / kDigitBits;
  const int digits = (key_bits + kDigitBits - 1) / kDigitBits;
  std::array<std::array<uint32_t, kBuckets>, kMaxDigits> counts;
  for (int d = 0; d < digits; ++d) counts[static_cast<size_t>(d)].fill(0);
  for (int64_t i = 0; i < n; ++i) {
    const auto key = a[i].key();
    for (int d = 0; d < digits; ++d) ++counts[static_cast<size_t>(d)][(key >> (d * kDigitBits)) & (kBuckets - 1)];
  }
  for (int d = 0; d < digits; ++d) {
    auto& count = counts[static_cast<size_t>(d)];
    const int shift = d * kDigitBits;
    if (count[(a[0].key() >> shift) & (kBuckets - 1)] == static_cast<uint64_t>(n)) continue;
    uint32_t at = 0;
    for (uint32_t& c : count) at += std::exchange(c, at);
    for (int64_t i = 0; i < n; ++i) b[count[(a[i].key() >> shift) & (kBuckets - 1)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

template <class Record>
Record* StableSort(Record* a, Record* b, int64_t n, int key_bits) {
  if (n <= kInsertionMax) {
    InsertionSort(a, n);
    return a;
  }
  // Long digits mean fewer passes, once the counters' cost is spread over many records.
  if (n >= 16384 && key_bits > 16) return RadixSort<11>(a, b, n, key_bits);
  return RadixSort<8>(a, b, n, key_bits);
}

}  // namespace tenon::kernels::internal
