#include "tenon/dialect/stablehlo/types.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::stablehlo {
namespace {

using mlir::Type;

bool IsQuantStorage(mlir::quant::QuantizedType type) {
  const unsigned width = type.getStorageTypeIntegralWidth();
  return width == 2 || width == 4 || width == 8 || width == 16 || width == 32;
}

bool IsFloat(Type type) {
  return llvm::isa<mlir::Float4E2M1FNType, mlir::Float6E2M3FNType, mlir::Float6E3M2FNType, mlir::Float8E3M4Type,
                   mlir::Float8E4M3Type, mlir::Float8E4M3FNType, mlir::Float8E4M3FNUZType, mlir::Float8E4M3B11FNUZType,
                   mlir::Float8E5M2Type, mlir::Float8E5M2FNUZType, mlir::Float8E8M0FNUType, mlir::Float16Type,
                   mlir::BFloat16Type, mlir::Float32Type, mlir::Float64Type>(type);
}

bool IsWidth(unsigned width) {
  return width == 2 || width == 4 || width == 8 || width == 16 || width == 32 || width == 64;
}

bool IsBuffer(Type type) {
  auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
  return memref && IsElementOf(memref.getElementType(), kFloat | kBool | kInt | kComplex | kQuant);
}

constexpr uint32_t kEverything = kFloat | kBool | kInt | kComplex | kQuant | kQuantAxis;

}  // namespace

bool IsElementOf(Type type, uint32_t kinds) {
  if (IsFloat(type)) return (kinds & kFloat) || ((kinds & kPart) && (type.isF32() || type.isF64()));
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    if (integer.isSigned()) return false;
    if (integer.getWidth() == 1) return integer.isSignless() && (kinds & kBool);
    if (!IsWidth(integer.getWidth())) return false;
    if (kinds & kInt) return true;
    if (integer.isSignless()) return (kinds & kSignless) || ((kinds & kI32) && integer.getWidth() == 32);
    return (kinds & kUi32) && integer.getWidth() == 32;
  }
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    return (kinds & kComplex) && (complex.getElementType().isF32() || complex.getElementType().isF64());
  }
  if (auto uniform = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    return (kinds & kQuant) && IsQuantStorage(uniform);
  }
  if (auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    return (kinds & kQuantAxis) && IsQuantStorage(axis);
  }
  return type.isIndex() && (kinds & kIndex);
}

bool IsTensorOf(Type type, uint32_t kinds) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && IsElementOf(tensor.getElementType(), kinds);
}

bool IsTensorOfRank(Type type, uint32_t kinds, int64_t rank) {
  return IsTensorOf(type, kinds) && llvm::cast<mlir::RankedTensorType>(type).getRank() == rank;
}

bool IsStaticTensorOf(Type type, uint32_t kinds) {
  return IsTensorOf(type, kinds) && llvm::cast<mlir::RankedTensorType>(type).hasStaticShape();
}

bool IsStaticTensorOfRank(Type type, uint32_t kinds, int64_t rank) {
  return IsTensorOfRank(type, kinds, rank) && llvm::cast<mlir::RankedTensorType>(type).hasStaticShape();
}

bool IsStaticOrOneBounded(Type type) {
  if (!IsTensorOf(type, kEverything)) return false;
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  if (tensor.hasStaticShape()) return true;
  if (tensor.getNumDynamicDims() != 1) return false;
  const llvm::ArrayRef<int64_t> bounds = Bounds(type);
  for (auto [index, size] : llvm::enumerate(tensor.getShape())) {
    if (mlir::ShapedType::isDynamic(size)) return index < bounds.size() && !mlir::ShapedType::isDynamic(bounds[index]);
  }
  return false;
}

bool IsTensorOrToken(Type type) { return IsTensorOf(type, kEverything) || llvm::isa<TokenType>(type); }

bool IsPlainTensorOrToken(Type type) {
  return IsTensorOf(type, kEverything & ~kQuantAxis) || llvm::isa<TokenType>(type);
}

bool IsStaticTensorOrToken(Type type) { return IsStaticTensorOf(type, kEverything) || llvm::isa<TokenType>(type); }

bool IsTensorTokenOrBuffer(Type type) { return IsTensorOrToken(type) || IsBuffer(type); }

bool IsTupleOrElement(Type type) { return IsTensorTokenOrBuffer(type) || IsNestedTuple(type); }

bool IsNestedTuple(Type type) {
  auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
  return tuple && llvm::all_of(tuple.getTypes(), IsTupleOrElement);
}

bool IsCustomCallValue(Type type) {
  if (auto tuple = llvm::dyn_cast<mlir::TupleType>(type)) return llvm::all_of(tuple.getTypes(), IsCustomCallValue);
  if (auto tensor = llvm::dyn_cast<mlir::TensorType>(type)) return IsElementOf(tensor.getElementType(), kEverything);
  return llvm::isa<TokenType, FutureType>(type) || IsBuffer(type);
}

bool IsReplicaGroups(mlir::Attribute attr) {
  if (llvm::isa<ReplicaGroupMeshAxesAttr>(attr)) return true;
  auto groups = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attr);
  return groups && groups.getElementType().isSignlessInteger(64);
}

bool IsLayout(mlir::Attribute attr) {
  auto layout = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attr);
  return layout && layout.getElementType().isIndex() && layout.getType().getRank() == 1;
}

bool HaveOneBaseline(Type a, Type b) {
  if (a == b) return true;
  auto qa = llvm::dyn_cast<mlir::quant::QuantizedType>(a);
  auto qb = llvm::dyn_cast<mlir::quant::QuantizedType>(b);
  return qa && qb && qa.getStorageType() == qb.getStorageType() && qa.isSigned() == qb.isSigned() &&
         qa.getExpressedType() == qb.getExpressedType();
}

bool DifferInAxisOnly(Type a, Type b) {
  auto qa = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(a);
  auto qb = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(b);
  return qa && qb && HaveOneBaseline(a, b) && qa.getStorageTypeMin() == qb.getStorageTypeMin() &&
         qa.getStorageTypeMax() == qb.getStorageTypeMax() && qa.getScales() == qb.getScales() &&
         qa.getZeroPoints() == qb.getZeroPoints();
}

bool AreCompatibleShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  if (a.size() != b.size()) return false;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x != y && !mlir::ShapedType::isDynamic(x) && !mlir::ShapedType::isDynamic(y)) return false;
  }
  return true;
}

namespace {

bool All(mlir::TypeRange a, mlir::TypeRange b, bool (*compatible)(Type, Type)) {
  if (a.size() != b.size()) return false;
  return llvm::all_of(llvm::zip_equal(a, b),
                      [&](const auto& pair) { return compatible(std::get<0>(pair), std::get<1>(pair)); });
}

}  // namespace

bool AreCompatible(Type a, Type b) {
  if (a == b) return true;
  if (auto ta = llvm::dyn_cast<mlir::TupleType>(a)) {
    auto tb = llvm::dyn_cast<mlir::TupleType>(b);
    return tb && AreCompatible(ta.getTypes(), tb.getTypes());
  }
  auto ra = llvm::dyn_cast<mlir::RankedTensorType>(a);
  auto rb = llvm::dyn_cast<mlir::RankedTensorType>(b);
  return ra && rb && ra.getElementType() == rb.getElementType() && AreCompatibleShapes(ra.getShape(), rb.getShape());
}

bool AreCompatible(mlir::TypeRange a, mlir::TypeRange b) { return All(a, b, AreCompatible); }

bool AreBaselineCompatible(Type a, Type b) {
  if (AreCompatible(a, b)) return true;
  auto ra = llvm::dyn_cast<mlir::RankedTensorType>(a);
  auto rb = llvm::dyn_cast<mlir::RankedTensorType>(b);
  return ra && rb && HaveOneBaseline(ra.getElementType(), rb.getElementType()) &&
         AreCompatibleShapes(ra.getShape(), rb.getShape());
}

bool AreBaselineCompatible(mlir::TypeRange a, mlir::TypeRange b) { return All(a, b, AreBaselineCompatible); }

llvm::ArrayRef<int64_t> Bounds(Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor) return {};
  auto extensions = llvm::dyn_cast_if_present<TypeExtensionsAttr>(tensor.getEncoding());
  return extensions ? extensions.getBounds() : llvm::ArrayRef<int64_t>();
}

mlir::RankedTensorType WithElement(mlir::RankedTensorType type, Type element) {
  return mlir::RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

llvm::LogicalResult InferLikeFirst(mlir::ValueRange operands, llvm::SmallVectorImpl<Type>& types) {
  if (operands.empty()) return llvm::failure();
  types.push_back(operands.front().getType());
  return llvm::success();
}

llvm::LogicalResult InferRealPart(mlir::ValueRange operands, llvm::SmallVectorImpl<Type>& types) {
  auto type = operands.empty() ? nullptr : llvm::dyn_cast<mlir::RankedTensorType>(operands.front().getType());
  if (!type) return llvm::failure();
  auto complex = llvm::dyn_cast<mlir::ComplexType>(type.getElementType());
  types.push_back(complex ? WithElement(type, complex.getElementType()) : type);
  return llvm::success();
}

}  // namespace tenon::stablehlo
