#include "tenon/compiler/import/types.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

Result<Shape> ShapeOf(mlir::Type type) {
  if (mlir::isa<stablehlo::TokenType>(type)) return Shape{DType::kToken, {}};
  std::string text;
  auto describe = [&] {
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor) return Unimplemented("values of type " + describe());
  if (!tensor.hasStaticShape()) return Unimplemented("dynamic shape " + describe());
  Shape shape{ElementTypeOf(tensor.getElementType()), {}};
  if (shape.dtype == DType::kInvalid) return Unimplemented("element type of " + describe());
  for (int64_t d : tensor.getShape()) shape.dims.push_back(d);
  TENON_RETURN_IF_ERROR(
      CheckedSizeBytes(shape).ok() ? OkStatus() : InvalidArgument("the size of " + describe() + " exceeds 2^63 - 1"));
  return shape;
}

std::optional<Literal> LiteralOf(mlir::Attribute value) {
  if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value)) {
    const DType type = ElementTypeOf(dense.getElementType());
    if (type == DType::kInvalid) return std::nullopt;
    if (type == DType::kPred) {
      if (dense.isSplat()) return MakeLiteral(std::string(1, dense.getSplatValue<bool>() ? 1 : 0), true);
      std::string bytes;
      bytes.reserve(static_cast<size_t>(dense.getNumElements()));
      for (bool b : dense.getValues<bool>()) bytes.push_back(b ? 1 : 0);
      return MakeLiteral(std::move(bytes), false);
    }
    const llvm::ArrayRef<char> raw = dense.getRawData();
    const size_t width = static_cast<size_t>(ByteWidth(type));
    const bool splat = dense.isSplat();
    std::string bytes(raw.data(), splat ? std::min(raw.size(), width) : raw.size());
    if (!splat && bytes.size() != width * static_cast<size_t>(dense.getNumElements())) return std::nullopt;
    // MLIR keeps narrow integers zero-extended; here the sign fills the byte.
    if (IsSigned(type) && DTypeBits(type) < 8) {
      const int shift = 8 - DTypeBits(type);
      for (char& c : bytes) c = static_cast<char>(static_cast<int8_t>(static_cast<uint8_t>(c) << shift) >> shift);
    }
    return MakeLiteral(std::move(bytes), splat);
  }
  if (auto resource = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    const mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    if (blob == nullptr) return std::nullopt;
    const DType type = ElementTypeOf(resource.getType().getElementType());
    const llvm::ArrayRef<char> data = blob->getData();
    const size_t count = static_cast<size_t>(resource.getType().getNumElements());
    if (type == DType::kInvalid || data.size() != count * static_cast<size_t>(ByteWidth(type))) return std::nullopt;
    return MakeLiteral(std::string(data.data(), data.size()), false);
  }
  return std::nullopt;
}

Dims DimsOf(mlir::Attribute list) {
  Dims dims;
  if (!list) return dims;
  if (auto array = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(list)) {
    for (int64_t v : array.asArrayRef()) dims.push_back(v);
  } else if (auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(list)) {
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) dims.push_back(v.getSExtValue());
  } else if (auto values = mlir::dyn_cast<mlir::ArrayAttr>(list)) {
    for (mlir::Attribute v : values) dims.push_back(mlir::cast<mlir::IntegerAttr>(v).getInt());
  }
  return dims;
}

std::vector<Dims> LayoutsOf(mlir::Operation* call, llvm::StringRef name) {
  std::vector<Dims> layouts;
  if (auto list = call->getAttrOfType<mlir::ArrayAttr>(name)) {
    for (mlir::Attribute one : list) layouts.push_back(DimsOf(one));
  }
  return layouts;
}

}  // namespace tenon::compiler
