#pragma once

/// What a compiler asks drivers for: ops as plain data, in terms of arrays and numbers alone. One struct per kind of
/// op; a family reads those that it knows and leaves the others to its neighbours.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/strided_array.h"
#include "tenon/drivers/config.h"

namespace tenon::drivers {

/// An op over arrays that lie as said. `op` is the kOp of the struct that `attributes` holds (ToConfig).
struct Problem {
  std::string_view op;
  Config attributes;
  std::vector<StridedArray> operands;
  std::vector<StridedArray> results;
  /// An operand that many runs read as it is, which another layout may be worth a copy for; none if not said.
  std::optional<size_t> lasting = std::nullopt;
};

/// stablehlo.dot_general. Operands: lhs, rhs. Result dims: batch, free ones of lhs, free ones of rhs.
struct Contraction {
  static constexpr std::string_view kOp = "contraction";
  Dims lhs_batch, rhs_batch;              ///< Pairs.
  Dims lhs_contracting, rhs_contracting;  ///< Pairs.

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("lhs_batch", self.lhs_batch);
    field("rhs_batch", self.rhs_batch);
    field("lhs_contracting", self.lhs_contracting);
    field("rhs_contracting", self.rhs_contracting);
  }
  friend bool operator==(const Contraction&, const Contraction&) = default;
};

/// stablehlo.convolution: what its attributes say. Operands: input, weights. Lists have one entry per spatial dim. The
/// padding behind the last element follows from the result's extent.
struct Convolution {
  static constexpr std::string_view kOp = "convolution";
  int64_t in_batch = 0, in_feature = 0;
  Dims in_spatial;
  int64_t weight_in = 0, weight_out = 0;
  Dims weight_spatial;
  int64_t out_batch = 0, out_feature = 0;
  Dims out_spatial;
  Dims strides, low, in_dilation, window_dilation, reversed;
  int64_t feature_groups = 1, batch_groups = 1;

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("in_batch", self.in_batch);
    field("in_feature", self.in_feature);
    field("in_spatial", self.in_spatial);
    field("weight_in", self.weight_in);
    field("weight_out", self.weight_out);
    field("weight_spatial", self.weight_spatial);
    field("out_batch", self.out_batch);
    field("out_feature", self.out_feature);
    field("out_spatial", self.out_spatial);
    field("strides", self.strides);
    field("low", self.low);
    field("in_dilation", self.in_dilation);
    field("window_dilation", self.window_dilation);
    field("reversed", self.reversed);
    field("feature_groups", self.feature_groups);
    field("batch_groups", self.batch_groups);
  }
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// stablehlo.fft over the last `lengths.size()` dims.
struct FourierTransform {
  static constexpr std::string_view kOp = "fourier_transform";
  enum class Kind : uint8_t { kForward, kInverse, kRealForward, kRealInverse };
  Kind kind = Kind::kForward;
  Dims lengths;

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("kind", self.kind, Kind::kRealInverse);
    field("lengths", self.lengths);
  }
  friend bool operator==(const FourierTransform&, const FourierTransform&) = default;
};

/// A stable sort along one dim by one or several keys, or its first few. Operands: the keys, then the payloads that are
/// read. Results: the payloads in order; how many are taken follows from their extent.
struct Ordering {
  static constexpr std::string_view kOp = "ordering";
  int64_t dimension = 0;
  Dims descending;   ///< 0 or 1 per key.
  Dims by_value;     ///< 0 or 1 per key: -0 and 0 of floats are equal, and NaNs. Otherwise floats are in total order.
  Dims is_position;  ///< 0 or 1 per result: 1 for the positions before sorting, which are no operand.

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("dimension", self.dimension);
    field("descending", self.descending);
    field("by_value", self.by_value);
    field("is_position", self.is_position);
  }
  friend bool operator==(const Ordering&, const Ordering&) = default;
};

/// A factorisation or triangular system of the matrices in the last two dims. Operands: x, then a for kTriangularSolve.
/// Results: x when done; kLu: s32 pivots [batch..., min(rows, cols)], counted from 1; s32 info [batch...] when
/// `has_info`. Without info, a Cholesky factor that does not exist is NaN everywhere.
struct Factorisation {
  static constexpr std::string_view kOp = "factorisation";
  enum class Kind : uint8_t { kCholesky, kTriangularSolve, kLu };
  Kind kind = Kind::kCholesky;
  bool lower = true, left = true, transpose = false, unit_diagonal = false;
  bool has_info = false;

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("kind", self.kind, Kind::kLu);
    field("lower", self.lower);
    field("left", self.left);
    field("transpose", self.transpose);
    field("unit_diagonal", self.unit_diagonal);
    field("has_info", self.has_info);
  }
  friend bool operator==(const Factorisation&, const Factorisation&) = default;
};

/// The problem of `kind` over these arrays.
template <class Kind>
Problem ProblemOf(const Kind& kind, std::vector<StridedArray> operands, std::vector<StridedArray> results) {
  return {Kind::kOp, ToConfig(kind), std::move(operands), std::move(results)};
}

}  // namespace tenon::drivers
