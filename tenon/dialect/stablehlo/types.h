#pragma once

#include <cstdint>
#include <optional>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/ValueRange.h"

/// Which types operands, results and attributes of StableHLO may have; the generated op classes call these.
namespace tenon::stablehlo {

/// Bits that TableGen constraints combine (base.td states the same numbers).
enum ElementKind : uint32_t {
  kFloat = 1,       ///< f4 f6 f8 (all variants), f16, bf16, f32, f64
  kBool = 2,        ///< i1
  kInt = 4,         ///< i2 ... i64 (meaning signed) and ui2 ... ui64
  kSignless = 8,    ///< i2 ... i64
  kComplex = 16,    ///< complex<f32>, complex<f64>
  kQuant = 32,      ///< !quant.uniform with one scale
  kQuantAxis = 64,  ///< !quant.uniform with a scale per index of an axis
  kIndex = 128,     ///< index
  kPart = 256,      ///< f32, f64: what complex numbers are made of
  kI32 = 512,       ///< i32
  kUi32 = 1024,     ///< ui32
};

/// True if `type` is of one of the kinds in `kinds`.
bool IsElementOf(mlir::Type type, uint32_t kinds);

bool IsTensorOf(mlir::Type type, uint32_t kinds);
bool IsTensorOfRank(mlir::Type type, uint32_t kinds, int64_t rank);
bool IsStaticTensorOf(mlir::Type type, uint32_t kinds);
bool IsStaticTensorOfRank(mlir::Type type, uint32_t kinds, int64_t rank);
/// Tensor without dynamic dimensions, or with exactly one, which carries a bound.
bool IsStaticOrOneBounded(mlir::Type type);
bool IsTensorOrToken(mlir::Type type);
bool IsPlainTensorOrToken(mlir::Type type);
bool IsStaticTensorOrToken(mlir::Type type);
bool IsTensorTokenOrBuffer(mlir::Type type);
bool IsTupleOrElement(mlir::Type type);
bool IsNestedTuple(mlir::Type type);
bool IsCustomCallValue(mlir::Type type);

/// True for an i64 matrix or #stablehlo.replica_group_mesh_axes.
bool IsReplicaGroups(mlir::Attribute attr);
/// True for a dense vector of index.
bool IsLayout(mlir::Attribute attr);

/// Equal types; or ranked tensors of one element type whose dimensions agree wherever both are static; tuples of
/// compatible types.
bool AreCompatible(mlir::Type a, mlir::Type b);
bool AreCompatible(mlir::TypeRange a, mlir::TypeRange b);
/// Element types that ops may take beside each other which compute with the numbers that elements stand for: equal
/// ones, and quantized ones of equal storage and expressed type, whatever their scales and zero points are.
bool HaveOneBaseline(mlir::Type a, mlir::Type b);
/// As AreCompatible, where elements need no more than one baseline.
bool AreBaselineCompatible(mlir::Type a, mlir::Type b);
bool AreBaselineCompatible(mlir::TypeRange a, mlir::TypeRange b);
/// Quantized types that differ in nothing but the axis, along which they have the same scales and zero points.
bool DifferInAxisOnly(mlir::Type a, mlir::Type b);
/// Ranks equal, and sizes equal wherever both are static.
bool AreCompatibleShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Upper bounds of a tensor's dynamic dimensions; empty if it has none. kDynamic: no bound.
llvm::ArrayRef<int64_t> Bounds(mlir::Type type);

/// `type` with another element type.
mlir::RankedTensorType WithElement(mlir::RankedTensorType type, mlir::Type element);

/// Result type = type of the first operand. Fails if there is none.
llvm::LogicalResult InferLikeFirst(mlir::ValueRange operands, llvm::SmallVectorImpl<mlir::Type>& types);
/// As InferLikeFirst, with complex elements replaced by their part type.
llvm::LogicalResult InferRealPart(mlir::ValueRange operands, llvm::SmallVectorImpl<mlir::Type>& types);

/// Op trait: Check() of the op is called before the traits that follow it in the op's list.
template <typename ConcreteOp>
class ChecksFirst : public mlir::OpTrait::TraitBase<ConcreteOp, ChecksFirst> {
 public:
  static llvm::LogicalResult verifyTrait(mlir::Operation* op) { return llvm::cast<ConcreteOp>(op).Check(); }
};

/// All operands have one shape and one baseline.
llvm::LogicalResult VerifyElementwise(mlir::Operation* op);

/// Every quantized tensor type of `root` and of all inside it is one of StableHLO's, has the axis along which it is
/// quantized, and as many scales as it has places along it. Looks at values and signatures; takes nothing for granted,
/// and may run before verifiers.
llvm::LogicalResult VerifyQuantizedTypes(mlir::Operation* root);

class ResultAccuracyAttr;
/// Tolerances are not negative, and zero unless the mode is TOLERANCE.
llvm::LogicalResult VerifyAccuracy(mlir::Operation* op, ResultAccuracyAttr accuracy);

}  // namespace tenon::stablehlo
