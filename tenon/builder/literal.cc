#include "tenon/builder/literal.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tenon/base/float_bits.h"
#include "tenon/builder/type.h"

namespace tenon::builder {
namespace {

// Up to here elements are written as numbers, for readers; beyond as bytes, for speed.
constexpr int64_t kMostNumbers = 64;

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// A literal of MLIR: decimal where it is exact enough to come back, else the bits.
template <class F, class Bits>
std::string FloatText(F value) {
  if (!std::isfinite(value)) return fmt::format("0x{:0{}X}", std::bit_cast<Bits>(value), 2 * sizeof(F));
  std::string text = fmt::format("{}", value);
  // MLIR tells floats by their point: 1e-05 is none.
  if (const size_t e = text.find('e'); text.find('.') == std::string::npos) {
    text.insert(e == std::string::npos ? text.size() : e, ".0");
  }
  return text;
}

std::string ElementText(DType type, const std::byte* at) {
  switch (type) {
    case DType::kPred:
      return Load<uint8_t>(at) != 0 ? "true" : "false";
    case DType::kS8:
      return fmt::format("{}", Load<int8_t>(at));
    case DType::kS16:
      return fmt::format("{}", Load<int16_t>(at));
    case DType::kS32:
      return fmt::format("{}", Load<int32_t>(at));
    case DType::kS64:
      return fmt::format("{}", Load<int64_t>(at));
    case DType::kU16:
      return fmt::format("{}", Load<uint16_t>(at));
    case DType::kU32:
      return fmt::format("{}", Load<uint32_t>(at));
    case DType::kU64:
      return fmt::format("{}", Load<uint64_t>(at));
    case DType::kF32:
      return FloatText<float, uint32_t>(Load<float>(at));
    case DType::kF64:
      return FloatText<double, uint64_t>(Load<double>(at));
    case DType::kC64:
      return fmt::format("({}, {})", ElementText(DType::kF32, at), ElementText(DType::kF32, at + 4));
    case DType::kC128:
      return fmt::format("({}, {})", ElementText(DType::kF64, at), ElementText(DType::kF64, at + 8));
    default:
      break;
  }
  if (IsFloat(type)) {
    const uint32_t bits = ByteWidth(type) == 2 ? Load<uint16_t>(at) : Load<uint8_t>(at);
    if (type == DType::kBF16 || type == DType::kF16) {
      const double value = FloatFromBits(type, bits);
      if (std::isfinite(value)) return FloatText<double, uint64_t>(value);
    }
    return fmt::format("0x{:0{}X}", bits, ByteWidth(type) * 2);
  }
  // Narrow integers: the low bits count.
  const int width = DTypeBits(type);
  const int low = Load<uint8_t>(at) & ((1 << width) - 1);
  return fmt::format("{}", IsSigned(type) && (low >> (width - 1)) != 0 ? low - (1 << width) : low);
}

void AppendNumbers(const Literal& literal, size_t dim, const std::byte*& at, std::string& text) {
  if (dim == literal.shape.rank()) {
    text += ElementText(literal.shape.dtype, at);
    at += ByteWidth(literal.shape.dtype);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < literal.shape.dims[dim]; ++i) {
    if (i != 0) text += ", ";
    AppendNumbers(literal, dim + 1, at, text);
  }
  text += ']';
}

template <class T>
void Put(std::vector<std::byte>& bytes, T value) {
  bytes.resize(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
}

int64_t Truncate(double value) {
  if (std::isnan(value)) return 0;
  // Outside of int64 unsigned numbers may still be meant.
  if (value >= 9223372036854775808.0) {
    return value >= 18446744073709551616.0 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace

Result<Literal> Literal::FromBytes(const Shape& shape, std::span<const std::byte> bytes) {
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
  if (static_cast<uint64_t>(size) != bytes.size()) {
    return InvalidArgument(fmt::format("{} needs {} bytes ({} of {} each), got {} bytes",
                                       builder::Type(shape).ToString(), size, NumElements(shape.dims),
                                       ByteWidth(shape.dtype), bytes.size()));
  }
  return Literal{shape, {bytes.begin(), bytes.end()}};
}

Result<Literal> Literal::Splat(const Shape& shape, double value) {
  TENON_RETURN_IF_ERROR(CheckedSizeBytes(shape).status());
  Literal literal{shape, {}};
  std::vector<std::byte>& bytes = literal.bytes;
  const DType type = shape.dtype;
  switch (type) {
    case DType::kC64:
      Put(bytes, std::pair<float, float>(static_cast<float>(value), 0.0f));
      return literal;
    case DType::kC128:
      Put(bytes, std::pair<double, double>(value, 0.0));
      return literal;
    case DType::kPred:
      Put(bytes, static_cast<uint8_t>(value != 0));
      return literal;
    default:
      break;
  }
  if (!IsInteger(type) && !IsFloat(type)) {
    return InvalidArgument(fmt::format("a constant needs an element type that holds numbers, got {}", DTypeName(type)));
  }
  Put(bytes, IsFloat(type) ? FloatBits(type, value) : static_cast<uint64_t>(Truncate(value)));
  bytes.resize(static_cast<size_t>(ByteWidth(type)));
  return literal;
}

bool Literal::is_splat() const {
  const size_t width = static_cast<size_t>(ByteWidth(shape.dtype));
  if (bytes.size() < width || NumElements(shape.dims) == 0) return false;
  for (size_t at = width; at < bytes.size(); at += width) {
    if (std::memcmp(bytes.data(), bytes.data() + at, width) != 0) return false;
  }
  return true;
}

std::string Literal::ToString() const {
  const std::string type = builder::Type(shape).ToString();
  const int64_t count = NumElements(shape.dims);
  if (count == 0) return fmt::format("dense<> : {}", type);
  if (is_splat()) return fmt::format("dense<{}> : {}", ElementText(shape.dtype, bytes.data()), type);
  std::string text = "dense<";
  // Readers disagree on the bytes of booleans: one each, or eight to a byte.
  if (count <= kMostNumbers || shape.dtype == DType::kPred) {
    const std::byte* at = bytes.data();
    AppendNumbers(*this, 0, at, text);
  } else {
    constexpr char kDigits[] = "0123456789ABCDEF";
    text.reserve(text.size() + 2 * bytes.size() + type.size() + 16);
    text += "\"0x";
    for (const std::byte b : bytes) {
      text += kDigits[static_cast<unsigned>(b) >> 4];
      text += kDigits[static_cast<unsigned>(b) & 15];
    }
    text += '"';
  }
  return fmt::format("{}> : {}", text, type);
}

}  // namespace tenon::builder
