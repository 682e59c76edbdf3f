#pragma once

// The sorting driver's step in a plan: numbers for what the slots do not say.

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/base/strided_array.h"
#include "tenon/kernels/sort/sort.h"

namespace tenon::kernels {

/// Inputs: the keys, then the payloads that are read. Outputs: the payloads in order, then SortScratchBytes of scratch.
struct SortConfig {
  struct Key {
    bool descending = false;
    bool zeros_equal = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  int64_t dimension = 0;
  std::vector<Key> keys;
  std::vector<bool> is_position;  ///< Per output.
  friend bool operator==(const SortConfig&, const SortConfig&) = default;
};

/// As numbers, and back; INVALID_ARGUMENT for numbers that ToConfig does not write.
std::vector<int64_t> ToConfig(const SortConfig& config);
Result<SortConfig> SortConfigOf(std::span<const int64_t> numbers);

/// What to run over arrays of these forms; `in` holds the payloads that are read. INVALID_ARGUMENT when they do not fit
/// each other.
Result<SortSignature> SignatureOf(const SortConfig& config, std::span<const StridedArray> keys,
                                  std::span<const StridedArray> in, std::span<const StridedArray> out);

}  // namespace tenon::kernels
