#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tenon/kir/builder.h"
#include "test/fuzz_programs/generator.h"
#include "test/fuzz_programs/random.h"

namespace tenon::fuzz {
namespace {

constexpr std::string_view kHead = "// fuzz: ";

/// The text after "key=" up to the next space; empty when there is none.
std::string_view Field(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + key.size());
  return line.substr(0, line.find_first_of(" \n"));
}

/// Subnormal numbers are none of these: compiled code takes them for zero, as JAX's own backend does, the evaluator
/// does not.
double SpecialFloat(DType type, Random& random) {
  const double largest = type == DType::kF64    ? std::numeric_limits<double>::max()
                         : type == DType::kF16  ? 65504
                         : type == DType::kBF16 ? 3.38953139e38
                         : type == DType::kF32  ? std::numeric_limits<float>::max()
                                                : 4;
  const bool is_small = DTypeBits(type) < 8;  // Neither NaN nor infinity.
  const bool has_infinity =
      DTypeBits(type) > 8 || type == DType::kF8E5M2 || type == DType::kF8E4M3 || type == DType::kF8E3M4;  // structural
  const double sign = random.Chance(2) ? 1 : -1;
  switch (random.Pick(6)) {
    case 0:
      return is_small ? sign : std::numeric_limits<double>::quiet_NaN();
    case 1:
      return has_infinity ? sign * std::numeric_limits<double>::infinity() : sign;
    case 2:
      return -0.0;
    case 3:
      return sign * largest;
    case 4:
      return sign * 0.5;
    default:
      return sign * 1.25;
  }
}

uint64_t IntegerBits(DType type, int style, Random& random) {
  const uint64_t mask = ByteWidth(type) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * ByteWidth(type))) - 1;
  int64_t v;
  const int64_t low = IsSigned(type) ? -3 : 0;
  const int bits = DTypeBits(type);
  switch (style) {
    case 0:
      v = random.Between(low, 7);
      break;
    case 1:
      v = static_cast<int64_t>(random.Next() >> (64 - bits));
      break;
    default: {
      // The ends of the type and what is close.
      const uint64_t ends[] = {0, uint64_t{1} << (bits - 1), ~uint64_t{0}};
      v = static_cast<int64_t>(ends[random.Pick(3)] + static_cast<uint64_t>(random.Between(-2, 2)));
      break;
    }
  }
  // Wrapped to the type; narrow ones as a whole byte, signed ones sign-extended.
  auto u = static_cast<uint64_t>(v);
  if (bits < 64) {
    u &= (uint64_t{1} << bits) - 1;
    if (IsSigned(type) && (u >> (bits - 1)) != 0) u |= ~uint64_t{0} << bits;
  }
  return u & mask;
}

}  // namespace

std::string Print(const Conditions& conditions) {
  std::string text =
      fmt::format("{}data={} specials={} tolerance=", kHead, conditions.data_seed, conditions.specials ? 1 : 0);
  for (size_t i = 0; i < conditions.outputs.size(); ++i) {
    const Tolerance& t = conditions.outputs[i];
    text += fmt::format("{}{:.2g}{}", i ? "," : "", t.absolute, t.any_zero ? "z" : "");
  }
  return text;
}

Conditions ParseConditions(std::string_view program) {
  Conditions c;
  const size_t at = program.find(kHead);
  if (at == std::string_view::npos) return c;
  const std::string_view line = program.substr(at, program.find('\n', at) - at);
  const std::string_view seed = Field(line, "data=");
  std::from_chars(seed.data(), seed.data() + seed.size(), c.data_seed);
  c.specials = Field(line, "specials=") == "1";
  std::string_view list = Field(line, "tolerance=");
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string one(list.substr(0, end));
    c.outputs.push_back({.absolute = std::strtod(one.c_str(), nullptr), .any_zero = one.back() == 'z'});
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return c;
}

std::string ArgumentBytes(const Conditions& conditions, size_t index, const Shape& shape) {
  Random random(conditions.data_seed * 31 + index * 1000003 + 7);
  const DType part = IsComplex(shape.dtype) ? RealPartOf(shape.dtype) : shape.dtype;
  const auto width = static_cast<size_t>(ByteWidth(part));
  const size_t count = width == 0 ? 0 : static_cast<size_t>(SizeBytes(shape)) / width;
  std::string bytes(count * width, '\0');
  const int style = static_cast<int>(random.OneOf<int64_t>({0, 0, 0, 1, 2}));
  const int64_t bound = width == 1 ? 2 : width == 2 ? 4 : 8;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits;
    if (IsFloat(part)) {
      const double v = conditions.specials && !IsComplex(shape.dtype) && random.Chance(4)
                           ? SpecialFloat(part, random)
                           : static_cast<double>(random.Between(-bound, bound));
      bits = kir::LiteralBits(part, v);
    } else if (part == DType::kPred) {
      bits = static_cast<uint64_t>(random.Pick(2));
    } else {
      bits = IntegerBits(part, style, random);
    }
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

}  // namespace tenon::fuzz
