#pragma once

/// Floats of eight bits, for those that write code for them. Evaluators that judge such code have tables of their own.

#include <cstdint>
#include <optional>

#include "tenon/base/dtype.h"

namespace tenon {

struct F8Format {
  enum class Special : uint8_t {
    kIeee,     ///< Infinities and NaNs in the last exponent.
    kAllOnes,  ///< One NaN per sign, no infinity.
    kOneNan,   ///< The code of -0 is the only NaN, no infinity.
  };
  static constexpr uint32_t kSign = 0x80, kRest = 0x7f;

  uint32_t mantissa_bits;
  uint32_t bias;
  Special special;

  /// The first code, without its sign, that is no finite number.
  constexpr uint32_t FirstSpecial() const {
    if (special == Special::kIeee) return kRest >> mantissa_bits << mantissa_bits;
    return special == Special::kAllOnes ? kRest : kRest + 1;
  }
};

/// Nothing for types that are no such floats.
constexpr std::optional<F8Format> F8FormatOf(DType type) {
  using Special = F8Format::Special;
  switch (type) {
    case DType::kF8E5M2:
      return F8Format{2, 15, Special::kIeee};
    case DType::kF8E4M3:
      return F8Format{3, 7, Special::kIeee};
    case DType::kF8E3M4:
      return F8Format{4, 3, Special::kIeee};
    case DType::kF8E4M3FN:
      return F8Format{3, 7, Special::kAllOnes};
    case DType::kF8E5M2FNUZ:
      return F8Format{2, 16, Special::kOneNan};
    case DType::kF8E4M3FNUZ:
      return F8Format{3, 8, Special::kOneNan};
    case DType::kF8E4M3B11FNUZ:
      return F8Format{3, 11, Special::kOneNan};
    default:
      return std::nullopt;
  }
}

/// False for floats in which the code that would be -0 is NaN or a number.
constexpr bool HasNegativeZero(DType type) {
  const std::optional<F8Format> f8 = F8FormatOf(type);
  return type != DType::kF8E8M0FNU && (!f8 || f8->special != F8Format::Special::kOneNan);
}

}  // namespace tenon
