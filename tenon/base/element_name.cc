#include "tenon/base/element_name.h"

namespace tenon {

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

}  // namespace tenon
