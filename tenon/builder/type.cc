#include "tenon/builder/type.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::builder {

Type Type::Token() {
  Type type;
  type.kind_ = Kind::kToken;
  return type;
}

Type Type::Tuple(std::vector<Type> elements) {
  Type type;
  type.kind_ = Kind::kTuple;
  type.elements_ = std::move(elements);
  return type;
}

Type Type::Future(std::vector<Type> results) {
  Type type = Tuple(std::move(results));
  type.kind_ = Kind::kFuture;
  return type;
}

Type Type::Quantized(Quantization quantization, Dims dims) {
  Type type(quantization.storage, std::move(dims));
  type.quantization_ = std::make_shared<const Quantization>(std::move(quantization));
  return type;
}

Type Type::WithBounds(std::vector<int64_t> bounds) const {
  Type type = *this;
  type.bounds_ = std::move(bounds);
  return type;
}

Type Type::WithDims(Dims dims) const {
  Type type = *this;
  type.dims_ = std::move(dims);
  if (type.bounds_.size() != type.dims_.size()) type.bounds_.clear();
  return type;
}

Type Type::WithDType(DType dtype) const {
  Type type = *this;
  type.dtype_ = dtype;
  type.quantization_.reset();
  return type;
}

bool Type::is_static() const { return is_tensor() && std::find(dims_.begin(), dims_.end(), kDynamic) == dims_.end(); }

bool operator==(const Type& a, const Type& b) {
  const bool same_quantization =
      a.quantization_ == b.quantization_ ||
      (a.quantization_ != nullptr && b.quantization_ != nullptr && *a.quantization_ == *b.quantization_);
  return a.kind_ == b.kind_ && a.dtype_ == b.dtype_ && a.dims_ == b.dims_ && a.bounds_ == b.bounds_ &&
         a.elements_ == b.elements_ && same_quantization;
}

bool Compatible(const Type& a, const Type& b) {
  if (!a.is_tensor() || !b.is_tensor()) return a == b;
  if (a.dtype() != b.dtype() || a.rank() != b.rank() || (a.quantization() == nullptr) != (b.quantization() == nullptr))
    return false;
  for (size_t i = 0; i < a.dims().size(); ++i) {
    if (a.dims()[i] != b.dims()[i] && a.dims()[i] != kDynamic && b.dims()[i] != kDynamic) return false;
  }
  return true;
}

namespace {

std::string QuantizedName(const Quantization& q) {
  const auto scale = [&](size_t i) {
    const std::string number = fmt::format("{:.17g}", q.scales[i]);
    const std::string real = number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
    return i < q.zero_points.size() && q.zero_points[i] != 0 ? fmt::format("{}:{}", real, q.zero_points[i]) : real;
  };
  // The dialect of quantized types spells unsigned storage u8, not ui8.
  const std::string storage = fmt::format("{}{}", IsUnsigned(q.storage) ? "u" : "i", DTypeBits(q.storage));
  if (q.axis < 0) return fmt::format("!quant.uniform<{}:{}, {}>", storage, ElementName(q.expressed), scale(0));
  std::string scales;
  for (size_t i = 0; i < q.scales.size(); ++i) scales += (i == 0 ? "" : ", ") + scale(i);
  return fmt::format("!quant.uniform<{}:{}:{}, {{{}}}>", storage, ElementName(q.expressed), q.axis, scales);
}

std::string Join(const std::vector<Type>& types) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) text += (i == 0 ? "" : ", ") + types[i].ToString();
  return text;
}

std::string DimText(int64_t dim) { return dim == kDynamic ? "?" : fmt::format("{}", dim); }

}  // namespace

std::string Type::ToString() const {
  switch (kind_) {
    case Kind::kNone:
      return "none";
    case Kind::kToken:
      return "!stablehlo.token";
    case Kind::kTuple:
      return fmt::format("tuple<{}>", Join(elements_));
    case Kind::kFuture:
      return fmt::format("!stablehlo.future<{}>", Join(elements_));
    case Kind::kTensor:
      break;
  }
  std::string text = "tensor<";
  for (const int64_t dim : dims_) text += DimText(dim) + "x";
  text += quantization_ != nullptr ? QuantizedName(*quantization_) : std::string(ElementName(dtype_));
  if (!bounds_.empty()) {
    text += ", #stablehlo.bounds<";
    for (size_t i = 0; i < bounds_.size(); ++i) text += (i == 0 ? "" : ", ") + DimText(bounds_[i]);
    text += ">";
  }
  return text + ">";
}

}  // namespace tenon::builder
