#include "tenon/compiler/ir/attrs.h"

#include <fmt/format.h>

#include <string_view>

namespace tenon::compiler {
namespace {

std::string ValueText(const Dims& list) { return DimsToString(list); }
std::string ValueText(int64_t number) { return fmt::format("{}", number); }
std::string ValueText(kir::Cmp direction) {
  static constexpr std::string_view kNames[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  return std::string(kNames[direction]);
}
std::string ValueText(LinalgOp op) {
  static constexpr std::string_view kNames[] = {"cholesky", "triangular_solve", "lu"};
  return std::string(kNames[static_cast<size_t>(op)]);
}
std::string ValueText(FftType type) {
  static constexpr std::string_view kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return std::string(kNames[static_cast<size_t>(type)]);
}

}  // namespace

std::string ToString(const Attributes& attributes) {
  std::string text;
  attributes.Visit([&](const auto& a) {
    ForEachField(a, [&]<class T>(const char* name, const T& value, FieldMeaning, FieldOf) {
      if constexpr (std::is_same_v<T, bool>) {
        if (value) text += fmt::format(" {}", name);
      } else if constexpr (std::is_same_v<T, Dims>) {
        if (!value.empty()) text += fmt::format(" {}={}", name, ValueText(value));
      } else {
        text += fmt::format(" {}={}", name, ValueText(value));
      }
    });
  });
  return text;
}

uint64_t HashOf(const Attributes& attributes) {
  uint64_t h = 0;
  const auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
  };
  attributes.Visit([&](const auto& a) {
    ForEachField(a, [&]<class T>(const char*, const T& value, FieldMeaning, FieldOf) {
      if constexpr (std::is_same_v<T, Dims>) {
        mix(value.size());
        for (int64_t d : value) mix(static_cast<uint64_t>(d));
      } else {
        mix(static_cast<uint64_t>(value));
      }
    });
  });
  return h;
}

}  // namespace tenon::compiler
