#include "tenon/dialect/stablehlo/element_type.h"

namespace tenon::stablehlo {

DType ElementTypeOf(mlir::Type type) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) {
    const bool is_unsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
      case 1:
        return DType::kPred;
      case 2:
        return is_unsigned ? DType::kU2 : DType::kS2;
      case 4:
        return is_unsigned ? DType::kU4 : DType::kS4;
      case 8:
        return is_unsigned ? DType::kU8 : DType::kS8;
      case 16:
        return is_unsigned ? DType::kU16 : DType::kS16;
      case 32:
        return is_unsigned ? DType::kU32 : DType::kS32;
      case 64:
        return is_unsigned ? DType::kU64 : DType::kS64;
      default:
        return DType::kInvalid;
    }
  }
  if (type.isF32()) return DType::kF32;
  if (type.isF64()) return DType::kF64;
  if (type.isBF16()) return DType::kBF16;
  if (type.isF16()) return DType::kF16;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type)) {
    return complex.getElementType().isF32()   ? DType::kC64
           : complex.getElementType().isF64() ? DType::kC128
                                              : DType::kInvalid;
  }
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return DType::kF8E5M2;
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return DType::kF8E4M3FN;
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(type)) return DType::kF8E4M3B11FNUZ;
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type)) return DType::kF8E5M2FNUZ;
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type)) return DType::kF8E4M3FNUZ;
  if (mlir::isa<mlir::Float8E4M3Type>(type)) return DType::kF8E4M3;
  if (mlir::isa<mlir::Float8E3M4Type>(type)) return DType::kF8E3M4;
  if (mlir::isa<mlir::Float8E8M0FNUType>(type)) return DType::kF8E8M0FNU;
  if (mlir::isa<mlir::Float4E2M1FNType>(type)) return DType::kF4E2M1FN;
  if (mlir::isa<mlir::Float6E2M3FNType>(type)) return DType::kF6E2M3FN;
  if (mlir::isa<mlir::Float6E3M2FNType>(type)) return DType::kF6E3M2FN;
  return DType::kInvalid;
}

}  // namespace tenon::stablehlo
