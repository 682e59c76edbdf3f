#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon::reference {

/// What an operand or a result of a program holds: an array, a token, or a tuple of values. Arrays are dense and
/// row-major with ByteWidth(dtype) bytes per element (types narrower than a byte take a whole one). Copies share the
/// bytes; treat them as read-only unless `unique()`. Quantized arrays carry their storage integers.
class Value {
 public:
  /// A token; the same as Token().
  Value() { shape_.dtype = DType::kToken; }
  static Value Token() { return Value(); }
  static Value Tuple(std::vector<Value> elements);

  /// An array whose bytes are not set. RESOURCE_EXHAUSTED when they cannot be had; INVALID_ARGUMENT for a shape that is
  /// no array's.
  static Result<Value> Allocate(Shape shape);
  /// The same with every byte zero.
  static Result<Value> Zeros(Shape shape);
  /// A copy of `bytes`, which must be SizeBytes(shape) long (INVALID_ARGUMENT otherwise).
  static Result<Value> Copy(Shape shape, std::span<const std::byte> bytes);
  /// Memory of somebody else's: SizeBytes(shape) bytes at `data`, aligned as one element, that live and stay unchanged
  /// as long as `owner`.
  static Value View(Shape shape, const void* data, std::shared_ptr<const void> owner);

  bool is_token() const { return shape_.dtype == DType::kToken && !elements_; }
  bool is_tuple() const { return elements_ != nullptr; }
  bool is_array() const { return !is_tuple() && shape_.dtype != DType::kToken; }

  /// Of an array; dtype kToken for a token, kInvalid for a tuple.
  const Shape& shape() const { return shape_; }
  DType dtype() const { return shape_.dtype; }
  std::span<const int64_t> dims() const { return shape_.dims; }
  size_t rank() const { return shape_.dims.size(); }
  int64_t num_elements() const { return NumElements(shape_.dims); }
  /// The elements of a tuple.
  const std::vector<Value>& elements() const { return *elements_; }

  /// Null only for tokens and tuples.
  const std::byte* bytes() const { return data_; }
  int64_t size_bytes() const { return is_array() ? SizeBytes(shape_) : 0; }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }

  /// Whether nobody else sees the bytes, so that they may be changed in place.
  bool unique() const { return owned_ && owner_.use_count() == 1; }
  /// The bytes for writing; only while filling a fresh array or when unique().
  std::byte* mutable_bytes() { return const_cast<std::byte*>(data_); }
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_bytes());
  }

  /// The same bytes under another shape of the same size in bytes.
  Value WithShape(Shape shape) const;

 private:
  Shape shape_;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool owned_ = false;
  std::shared_ptr<const std::vector<Value>> elements_;
};

}  // namespace tenon::reference
