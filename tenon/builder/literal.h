#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/element.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"

namespace tenon::builder {

/// The value of a constant: a dense row-major array that owns its bytes, ByteWidth each.
struct Literal {
  Shape shape;
  std::vector<std::byte> bytes;  ///< All elements, or one that they all equal.

  /// A copy of `data`. INVALID_ARGUMENT unless the extents multiply to its length.
  template <Element T>
  static Result<Literal> Of(std::span<const T> data, const Dims& dims) {
    return FromBytes({kDTypeOf<T>, dims}, std::as_bytes(data));
  }
  /// The same for any element type. INVALID_ARGUMENT unless `bytes` holds exactly the elements.
  static Result<Literal> FromBytes(const Shape& shape, std::span<const std::byte> bytes);
  /// `value` rounded to the element type, everywhere. Integers from floats are truncated and wrap, as do pred (not 0)
  /// and complex types (imaginary part 0). INVALID_ARGUMENT for types that are no numbers.
  static Result<Literal> Splat(const Shape& shape, double value);

  bool is_splat() const;
  /// "dense<[1.0, 2.0]> : tensor<2xf32>": numbers where they are few, hexadecimal bytes where they are many.
  std::string ToString() const;
};

}  // namespace tenon::builder
