#pragma once

/// Stable sorting along one dimension, and its first few.

#include <cstdint>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {

/// What decides the order. Integers and bools compare as such; floats in total order (-NaN < -inf < -0 < 0 < inf <
/// NaN), or, when `by_value`, with both zeros equal and all NaNs equal, behind inf.
struct SortKey {
  DType type = DType::kF32;  ///< Real, one byte wide or more.
  bool descending = false;
  bool by_value = false;
  int64_t stride = 1;  ///< In elements, along the sorted dimension.
  Dims outer_strides;  ///< In elements, one per outer extent.
};

/// What is brought into that order.
struct SortPayload {
  int64_t width_bytes = 4;  ///< 1, 2, 4, 8 or 16.
  /// Nothing is read: the positions before sorting are written, as integers of width_bytes (4 or 8).
  bool is_position = false;
  int64_t in_stride = 1, out_stride = 1;
  Dims in_outer_strides, out_outer_strides;
};

/// For every index of the outer extents: orders `length` elements by keys[0], ties by keys[1] ..., ties of all by
/// position, and writes the first `take` of each payload.
struct SortSignature {
  Dims outer;
  int64_t length = 0;
  int64_t take = 0;
  std::vector<SortKey> keys;
  std::vector<SortPayload> payloads;
};

/// INVALID_ARGUMENT unless extents are >= 0, length < 2^31, 0 <= take <= length, there is a key, and types and widths
/// are as said above.
Status Verify(const SortSignature& s);

/// Scratch that Sort wants, 64-byte aligned. Grows with length, and with the outer extents up to a fixed number of
/// pieces.
int64_t SortScratchBytes(const SortSignature& s);

/// Nanoseconds on one thread, within a factor of three.
double SortCostNs(const SortSignature& s);

/// Runs a verified signature. `keys[i]`, `in[i]` (null for positions) and `out[i]` point to the arrays' first elements;
/// outputs overlap nothing. The result is unique, so neither threads nor methods show in it.
void Sort(const SortSignature& s, const void* const* keys, const void* const* in, void* const* out, void* scratch,
          threads::ThreadPool& pool);

}  // namespace tenon::kernels
