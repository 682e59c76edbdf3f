#include "tenon/kir/internal/text_const.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "tenon/kir/builder.h"
#include "tenon/kir/internal/scalar.h"
#include "tenon/kir/internal/soft_float.h"

namespace tenon::kir::internal {
namespace {

template <class T>
bool ParseAll(std::string_view text, T* out, int base = 10) {
  std::from_chars_result r;
  if constexpr (std::is_floating_point_v<T>) {
    r = std::from_chars(text.data(), text.data() + text.size(), *out);
  } else {
    r = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  }
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

std::string FloatText(DType type, uint64_t bits) {
  const double wide = LiteralValue(type, bits);
  if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
  std::string text = type == DType::kF64 ? fmt::format("{}", wide) : fmt::format("{}", static_cast<float>(wide));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string ConstText(DType type, uint64_t bits) {
  if (type == DType::kPred && bits <= 1) return bits ? "true" : "false";
  if (IsInteger(type)) return IsSigned(type) ? fmt::format("{}", AsInt64(type, bits)) : fmt::format("{}", bits);
  if (IsFloat(type) && !std::isnan(LiteralValue(type, bits))) {
    std::string text = FloatText(type, bits);
    const Result<uint64_t> back = ParseConst(type, text);
    if (back.ok() && *back == bits) return text;
  }
  return fmt::format("{:#x}", bits);
}

Result<uint64_t> ParseConst(DType type, std::string_view text) {
  const auto bad = [&] {
    return InvalidArgument(fmt::format("'{}' is not a literal of type {}", text, DTypeName(type)));
  };
  const int width = DTypeBits(type);
  if (text.starts_with("0x")) {
    uint64_t bits = 0;
    if (!ParseAll(text.substr(2), &bits, 16) || (width < 64 && bits >> width != 0)) return bad();
    return bits;
  }
  if (type == DType::kPred) {
    if (text != "true" && text != "false") return bad();
    return static_cast<uint64_t>(text == "true");
  }
  if (IsSigned(type)) {
    int64_t value = 0;
    if (!ParseAll(text, &value)) return bad();
    const uint64_t bits = LiteralBits(type, value);
    if (AsInt64(type, bits) != value) return bad();
    return bits;
  }
  if (IsUnsigned(type)) {
    uint64_t value = 0;
    if (!ParseAll(text, &value) || (width < 64 && value >> width != 0)) return bad();
    return value;
  }
  if (type == DType::kF64) {
    double value = 0;
    if (!ParseAll(text, &value)) return bad();
    return std::bit_cast<uint64_t>(value);
  }
  if (IsFloat(type)) {
    float value = 0;
    if (!ParseAll(text, &value)) return bad();
    return Encode(type, Decode(DType::kF32, std::bit_cast<uint32_t>(value)));
  }
  return bad();
}

}  // namespace tenon::kir::internal
