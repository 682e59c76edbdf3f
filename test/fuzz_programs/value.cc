#include "test/fuzz_programs/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tenon::fuzz {

double Type::exact_limit() const {
  // Half of what would be exact, so that no bound is met by a hair; f16 and f8 have few exponents besides.
  return std::min(std::ldexp(1.0, significant - 1), std::floor(largest));
}

double Type::counts_to() const {
  if (is_bool()) return 1;
  if (is_int()) return std::ldexp(1.0, is_signed() ? bits - 1 : bits) - 1;
  return std::min(std::ldexp(1.0, significant), std::floor(largest));
}

const std::vector<Type>& AllTypes() {
  static const std::vector<Type> types = {
      {"f32", DType::kF32, Kind::kFloat, 32, 24},
      {"i32", DType::kS32, Kind::kSigned, 32, 0},
      {"i1", DType::kPred, Kind::kBool, 1, 0},
      {"f64", DType::kF64, Kind::kFloat, 64, 53},
      {"i64", DType::kS64, Kind::kSigned, 64, 0},
      {"ui32", DType::kU32, Kind::kUnsigned, 32, 0},
      {"ui64", DType::kU64, Kind::kUnsigned, 64, 0},
      {"i8", DType::kS8, Kind::kSigned, 8, 0},
      {"ui8", DType::kU8, Kind::kUnsigned, 8, 0},
      {"bf16", DType::kBF16, Kind::kFloat, 16, 8},
      {"i16", DType::kS16, Kind::kSigned, 16, 0},
      {"ui16", DType::kU16, Kind::kUnsigned, 16, 0},
      {"f16", DType::kF16, Kind::kFloat, 16, 11, 65504},
      {"complex<f32>", DType::kC64, Kind::kComplex, 32, 24},
      {"complex<f64>", DType::kC128, Kind::kComplex, 64, 53},
      {"i4", DType::kS4, Kind::kSigned, 4, 0},
      {"ui4", DType::kU4, Kind::kUnsigned, 4, 0},
      {"f8E4M3FN", DType::kF8E4M3FN, Kind::kFloat, 8, 4, 448},
      {"f8E5M2", DType::kF8E5M2, Kind::kFloat, 8, 3, 57344},
      {"i2", DType::kS2, Kind::kSigned, 2, 0},
      {"ui2", DType::kU2, Kind::kUnsigned, 2, 0},
      {"f8E4M3", DType::kF8E4M3, Kind::kFloat, 8, 4, 240},
      {"f8E3M4", DType::kF8E3M4, Kind::kFloat, 8, 5, 15.5},
      {"f8E4M3FNUZ", DType::kF8E4M3FNUZ, Kind::kFloat, 8, 4, 240},
      {"f8E4M3B11FNUZ", DType::kF8E4M3B11FNUZ, Kind::kFloat, 8, 4, 30},
      {"f8E5M2FNUZ", DType::kF8E5M2FNUZ, Kind::kFloat, 8, 3, 57344},
      {"f6E2M3FN", DType::kF6E2M3FN, Kind::kFloat, 6, 4, 7.5},
      {"f6E3M2FN", DType::kF6E3M2FN, Kind::kFloat, 6, 3, 28},
      {"f4E2M1FN", DType::kF4E2M1FN, Kind::kFloat, 4, 2, 6},
  };
  return types;
}

const Type& TypeOf(DType dtype) {
  for (const Type& t : AllTypes()) {
    if (t.dtype == dtype) return t;
  }
  return AllTypes().front();
}

Type PartOf(const Type& complex) { return TypeOf(complex.dtype == DType::kC128 ? DType::kF64 : DType::kF32); }
Type ComplexOf(const Type& part) { return TypeOf(part.dtype == DType::kF64 ? DType::kC128 : DType::kC64); }

int64_t Count(const Dims& dims) {
  // As many as can be counted: some extents are large.
  int64_t n = 1;
  for (const int64_t d : dims) n = d == 0 ? 0 : n > INT64_MAX / d ? INT64_MAX : n * d;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  return n;
}

std::string Text(const Type& type, const Dims& dims) {
  std::string text = "tensor<";
  for (const int64_t d : dims) text += fmt::format("{}x", d);
  return text + type.name + ">";
}

std::string List(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }
std::string Array(const Dims& dims) {
  return fmt::format("array<i64{}{}>", dims.empty() ? "" : ": ", fmt::join(dims, ", "));
}

std::string ResultsOf(const std::string& name, size_t count) {
  return count == 1 ? name : fmt::format("{}:{}", name, count);
}
std::string ResultOf(const std::string& name, size_t count, size_t i) {
  return count == 1 ? name : fmt::format("{}#{}", name, i);
}

std::string Names(const std::vector<Value>& values) {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + v.name;
  return text;
}
std::string Types(const std::vector<Value>& values) {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + Text(v);
  return text;
}

Numbers Join(const Numbers& a, const Numbers& b) {
  return {.bound = std::max(a.bound, b.bound),
          .error = std::max(a.error, b.error),
          .zero_sign = a.zero_sign && b.zero_sign,
          .nan_bits = a.nan_bits && b.nan_bits,
          .special = a.special || b.special,
          .frozen = a.frozen || b.frozen};
}

}  // namespace tenon::fuzz
