#pragma once

#include <cstdint>

namespace tenon {

/// Random numbers that are the same on every machine and with every standard library (splitmix64).
class SplitMix {
 public:
  /// The state steps along one cycle of all numbers: seeds are scattered over it, since neighbours on it would draw the
  /// same numbers, one later each.
  explicit SplitMix(uint64_t seed) : state_(Scatter(Scatter(seed))) {}

  uint64_t Next() { return Scatter(state_ += 0x9e3779b97f4a7c15); }

 private:
  static uint64_t Scatter(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace tenon
