#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/element_name.h"
#include "tenon/base/shape.h"

namespace tenon::builder {

/// An extent that is known only when the program runs: "?" in text.
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

/// How integers stand for real numbers: real = (stored - zero_point) * scale.
struct Quantization {
  DType storage = DType::kS8;  ///< s2 ... s32, u2 ... u32
  DType expressed = DType::kF32;
  std::vector<double> scales;        ///< One, or one per index of `axis`.
  std::vector<int64_t> zero_points;  ///< Like `scales`; empty means 0.
  int64_t axis = -1;                 ///< -1: one scale for all.
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// The type of a value: an array, a token, a tuple or a future. An array has an element type and extents, which may be
/// kDynamic, then with an upper bound or without. Copies share what is large.
class Type {
 public:
  enum class Kind : uint8_t { kNone, kTensor, kToken, kTuple, kFuture };

  Type() = default;
  Type(DType dtype, Dims dims = {})  // NOLINT: implicit
      : kind_(Kind::kTensor), dtype_(dtype), dims_(std::move(dims)) {}
  Type(const Shape& shape) : Type(shape.dtype, shape.dims) {}  // NOLINT: implicit
  static Type Token();
  static Type Tuple(std::vector<Type> elements);
  /// What an asynchronous operation gives, to be awaited.
  static Type Future(std::vector<Type> results);
  static Type Quantized(Quantization quantization, Dims dims);
  /// The same type with upper bounds of its dynamic extents: one number per dim, kDynamic where there is none.
  Type WithBounds(std::vector<int64_t> bounds) const;
  Type WithDims(Dims dims) const;
  Type WithDType(DType dtype) const;

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  DType dtype() const { return dtype_; }  ///< For quantized types that of the stored integers.
  const Dims& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  bool is_static() const;  ///< An array without dynamic extents.
  const Quantization* quantization() const { return quantization_.get(); }
  const std::vector<int64_t>& bounds() const { return bounds_; }
  const std::vector<Type>& elements() const { return elements_; }

  /// As in StableHLO: "tensor<2x3xf32>".
  std::string ToString() const;
  friend bool operator==(const Type& a, const Type& b);

 private:
  Kind kind_ = Kind::kNone;
  DType dtype_ = DType::kInvalid;
  Dims dims_;
  std::vector<int64_t> bounds_;
  std::vector<Type> elements_;
  std::shared_ptr<const Quantization> quantization_;
};

/// Whether one value may have both types: equal but for extents that are dynamic in one of them.
bool Compatible(const Type& a, const Type& b);

}  // namespace tenon::builder
