#include "tenon/reference/value.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace tenon::reference {

Value Value::Tuple(std::vector<Value> elements) {
  Value v;
  v.shape_.dtype = DType::kInvalid;
  v.elements_ = std::make_shared<const std::vector<Value>>(std::move(elements));
  return v;
}

Result<Value> Value::Allocate(Shape shape) {
  if (ByteWidth(shape.dtype) == 0) {
    return InvalidArgument(fmt::format("an array cannot have the element type {}", DTypeName(shape.dtype)));
  }
  TENON_ASSIGN_OR_RETURN(int64_t size, CheckedSizeBytes(shape));
  // 64 bytes at least, so that data() is never null; a whole number of them, as aligned_alloc wants.
  const size_t rounded = (static_cast<size_t>(size) + 64) / 64 * 64;
  void* data = std::aligned_alloc(64, rounded);
  if (data == nullptr) {
    return ResourceExhausted(fmt::format("out of memory: {} bytes for an array of shape {}", size, ToString(shape)));
  }
  Value v;
  v.shape_ = std::move(shape);
  v.owner_ = std::shared_ptr<const void>(data, [](const void* p) { std::free(const_cast<void*>(p)); });
  v.data_ = static_cast<const std::byte*>(data);
  v.owned_ = true;
  return v;
}

Result<Value> Value::Zeros(Shape shape) {
  TENON_ASSIGN_OR_RETURN(Value v, Allocate(std::move(shape)));
  std::memset(v.mutable_bytes(), 0, static_cast<size_t>(v.size_bytes()));
  return v;
}

Result<Value> Value::Copy(Shape shape, std::span<const std::byte> bytes) {
  TENON_ASSIGN_OR_RETURN(Value v, Allocate(std::move(shape)));
  if (static_cast<int64_t>(bytes.size()) != v.size_bytes()) {
    return InvalidArgument(fmt::format("{} bytes were given for an array of shape {}, which takes {}", bytes.size(),
                                       ToString(v.shape_), v.size_bytes()));
  }
  if (!bytes.empty()) std::memcpy(v.mutable_bytes(), bytes.data(), bytes.size());
  return v;
}

Value Value::View(Shape shape, const void* data, std::shared_ptr<const void> owner) {
  Value v;
  v.shape_ = std::move(shape);
  v.data_ = static_cast<const std::byte*>(data);
  v.owner_ = std::move(owner);
  return v;
}

Value Value::WithShape(Shape shape) const {
  Value v = *this;
  v.shape_ = std::move(shape);
  return v;
}

}  // namespace tenon::reference
