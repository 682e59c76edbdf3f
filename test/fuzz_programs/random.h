#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tenon/base/splitmix.h"

namespace tenon::fuzz {

/// Choices, the same for a seed everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : numbers_(seed + 0x3c6ef372fe94f82b) {}

  uint64_t Next() { return numbers_.Next(); }
  /// In [0, n); 0 for n < 1.
  int64_t Pick(int64_t n) { return n <= 1 ? 0 : static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  /// In [low, high].
  int64_t Between(int64_t low, int64_t high) { return low + Pick(high - low + 1); }
  bool Chance(int one_in) { return Pick(one_in) == 0; }

  template <class T>
  T OneOf(std::initializer_list<T> list) {
    return list.begin()[Pick(static_cast<int64_t>(list.size()))];
  }
  template <class T>
  const T& OneOf(const std::vector<T>& list) {
    return list[static_cast<size_t>(Pick(static_cast<int64_t>(list.size())))];
  }
  template <class T>
  void Shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[static_cast<size_t>(Pick(static_cast<int64_t>(i)))]);
  }

 private:
  SplitMix numbers_;
};

}  // namespace tenon::fuzz
