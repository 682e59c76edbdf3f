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

std::string_view ElementName(DType type) {
  switch (type) {
    case DType::kPred:
      return "i1";
    case DType::kS2:
      return "i2";
    case DType::kS4:
      return "i4";
    case DType::kS8:
      return "i8";
    case DType::kS16:
      return "i16";
    case DType::kS32:
      return "i32";
    case DType::kS64:
      return "i64";
    case DType::kU2:
      return "ui2";
    case DType::kU4:
      return "ui4";
    case DType::kU8:
      return "ui8";
    case DType::kU16:
      return "ui16";
    case DType::kU32:
      return "ui32";
    case DType::kU64:
      return "ui64";
    case DType::kC64:
      return "complex<f32>";
    case DType::kC128:
      return "complex<f64>";
    case DType::kF8E5M2:
      return "f8E5M2";
    case DType::kF8E4M3FN:
      return "f8E4M3FN";
    case DType::kF8E4M3B11FNUZ:
      return "f8E4M3B11FNUZ";
    case DType::kF8E5M2FNUZ:
      return "f8E5M2FNUZ";
    case DType::kF8E4M3FNUZ:
      return "f8E4M3FNUZ";
    case DType::kF8E4M3:
      return "f8E4M3";
    case DType::kF8E3M4:
      return "f8E3M4";
    case DType::kF8E8M0FNU:
      return "f8E8M0FNU";
    case DType::kF4E2M1FN:
      return "f4E2M1FN";
    case DType::kF6E2M3FN:
      return "f6E2M3FN";
    case DType::kF6E3M2FN:
      return "f6E3M2FN";
    default:
      return DTypeName(type);  // f16, bf16, f32, f64; what is no element type of StableHLO is refused where it enters.
  }
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
