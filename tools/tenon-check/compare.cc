#include "tools/tenon-check/compare.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/reference/scalar.h"

namespace tenon::check_tool {
namespace {

using reference::Load;

// Of numbers that no distance in units separates: infinities, NaN.
constexpr uint64_t kFarApart = std::numeric_limits<uint64_t>::max();

template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

// Units in the last place of T between a and b: magnitudes are subtracted, or added when the signs differ.
template <class T>
uint64_t UlpDistance(T a, T b) {
  const auto x = std::bit_cast<BitsOf<T>>(a), y = std::bit_cast<BitsOf<T>>(b);
  if (x == y) return 0;
  const auto va = Load(a), vb = Load(b);
  if (std::isnan(va) && std::isnan(vb)) return 0;
  if (!std::isfinite(va) || !std::isfinite(vb)) return kFarApart;
  const auto sign = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));
  const uint64_t ma = x & static_cast<BitsOf<T>>(~sign), mb = y & static_cast<BitsOf<T>>(~sign);
  return (x & sign) != (y & sign) ? ma + mb : ma > mb ? ma - mb : mb - ma;
}

// Whether a floating-point number (or part) passes; `distance` gets the units in the last place.
template <class T>
bool FloatPasses(T actual, T expected, const Criterion& criterion, uint64_t& distance) {
  const auto a = static_cast<double>(Load(actual)), b = static_cast<double>(Load(expected));
  switch (criterion.rule) {
    case Rule::kEqual:
      return a == b;
    case Rule::kUlp:
      distance = UlpDistance(actual, expected);
      return distance <= criterion.max_ulp && distance >= criterion.min_ulp;
    case Rule::kScaled:
    case Rule::kAlmost:
      return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= criterion.tolerance;
  }
  return false;
}

template <class T>
std::string Show(T v) {
  const auto value = Load(v);
  if constexpr (reference::kIsComplex<decltype(Load(v))>) {
    return fmt::format("({}, {})", value.real(), value.imag());
  } else {
    return fmt::format("{}", value);
  }
}

// The largest finite magnitude among the elements (or their parts).
double LargestMagnitude(const reference::Value& value) {
  double largest = 0;
  reference::VisitType(value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto see = [&](double v) {
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    };
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      const auto v = Load(value.data<T>()[i]);
      if constexpr (reference::kIsComplex<reference::ComputeOf<T>>) {
        see(v.real());
        see(v.imag());
      } else {
        see(static_cast<double>(v));
      }
    }
    return 0;
  });
  return largest;
}

}  // namespace

Criterion AgreementIn(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kC128:
      return {Rule::kScaled, 0, 0, 1e-10};
    case DType::kF32:
    case DType::kC64:
      return {Rule::kScaled, 0, 0, 1e-4};
    case DType::kF16:
      return {Rule::kScaled, 0, 0, 1e-2};
    default:
      return {Rule::kScaled, 0, 0, 5e-2};
  }
}

std::optional<std::string> Compare(const reference::Value& actual, const reference::Value& expected,
                                   const Criterion& given) {
  Criterion criterion = given;
  if (criterion.rule == Rule::kScaled) criterion.tolerance *= std::max(1.0, LargestMagnitude(expected));
  if (!(actual.shape() == expected.shape())) {
    return fmt::format("got {}, wanted {}", ToString(actual.shape()), ToString(expected.shape()));
  }
  return reference::VisitType(actual.dtype(), [&](auto tag) -> std::optional<std::string> {
    using T = typename decltype(tag)::type;
    using C = reference::ComputeOf<T>;
    const T *a = actual.data<T>(), *b = expected.data<T>();
    int64_t wrong = 0, first = -1;
    uint64_t first_distance = 0;
    for (int64_t i = 0; i < actual.num_elements(); ++i) {
      bool passes;
      uint64_t distance = 0;
      if constexpr (reference::kIsComplex<C>) {
        uint64_t imag_distance = 0;
        // The lower bound counts for the larger of the two distances.
        Criterion parts = criterion;
        parts.min_ulp = 0;
        const bool real_passes = FloatPasses(a[i].real(), b[i].real(), parts, distance);
        const bool imag_passes = FloatPasses(a[i].imag(), b[i].imag(), parts, imag_distance);
        distance = std::max(distance, imag_distance);
        passes = real_passes && imag_passes && distance >= criterion.min_ulp;
      } else if constexpr (reference::FloatCompute<C>) {
        passes = FloatPasses(a[i], b[i], criterion, distance);
      } else {
        passes = Load(a[i]) == Load(b[i]);
      }
      if (passes) continue;
      if (first < 0) {
        first = i;
        first_distance = distance;
      }
      ++wrong;
    }
    if (first < 0) return std::nullopt;
    const std::string apart = criterion.rule != Rule::kUlp  ? ""
                              : first_distance == kFarApart ? ", far apart"
                                                            : fmt::format(", {} ulp apart", first_distance);
    return fmt::format("{} of {} elements differ, first element {}: got {}, wanted {}{}", wrong, actual.num_elements(),
                       first, Show(a[first]), Show(b[first]), apart);
  });
}

}  // namespace tenon::check_tool
