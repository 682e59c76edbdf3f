#include "tenon/dialect/stablehlo/verify_util.h"

#include "llvm/ADT/SmallSet.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"

namespace tenon::stablehlo {

using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;
using mlir::Operation;
using mlir::Type;
using mlir::TypeRange;

namespace {

// A list as it stands in an error.
std::string Text(Dims dims) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '[';
  llvm::interleaveComma(dims, out);
  out << ']';
  return text;
}

}  // namespace

bool IsUnique(Dims dims) {
  llvm::SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

mlir::RankedTensorType Tensor(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
Type Element(mlir::Value value) { return Tensor(value).getElementType(); }
bool IsQuantized(Type element) { return llvm::isa<mlir::quant::QuantizedType>(element); }
bool IsPerAxis(Type element) { return llvm::isa<mlir::quant::UniformQuantizedPerAxisType>(element); }

Type Expressed(Type element) {
  auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(element);
  return quantized ? quantized.getExpressedType() : element;
}

Type Storage(Type element) {
  auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(element);
  return quantized ? quantized.getStorageType() : element;
}

int64_t BitWidth(Type element) {
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element)) return 2 * BitWidth(complex.getElementType());
  const Type storage = Storage(element);
  return storage.isIntOrFloat() ? storage.getIntOrFloatBitWidth() : 64;
}

bool IsPromotable(Type from, Type to) {
  if (from == to) return true;
  if (auto a = llvm::dyn_cast<mlir::IntegerType>(from)) {
    auto b = llvm::dyn_cast<mlir::IntegerType>(to);
    return b && (a.getWidth() == 1) == (b.getWidth() == 1) && a.getSignedness() == b.getSignedness() &&
           a.getWidth() <= b.getWidth();
  }
  if (auto a = llvm::dyn_cast<mlir::FloatType>(from)) {
    auto b = llvm::dyn_cast<mlir::FloatType>(to);
    return b && a.getWidth() <= b.getWidth();
  }
  if (auto a = llvm::dyn_cast<mlir::ComplexType>(from)) {
    auto b = llvm::dyn_cast<mlir::ComplexType>(to);
    return b && BitWidth(a) <= BitWidth(b);
  }
  return IsQuantized(from) && IsQuantized(to) && Expressed(from) == Expressed(to) && BitWidth(from) <= BitWidth(to);
}

LogicalResult CheckInRange(Operation* op, StringRef name, Dims dims, int64_t rank) {
  for (int64_t dim : dims) {
    if (dim >= 0 && dim < rank) continue;
    return op->emitOpError() << name << " must be in [0, " << rank << "), got " << dim;
  }
  return success();
}

LogicalResult CheckUnique(Operation* op, StringRef name, Dims dims) {
  if (IsUnique(dims)) return success();
  return op->emitOpError() << name << " must not repeat a value, got " << Text(dims);
}

LogicalResult CheckAscending(Operation* op, StringRef name, Dims dims) {
  if (llvm::is_sorted(dims)) return success();
  return op->emitOpError() << name << " must be sorted, got " << Text(dims);
}

LogicalResult CheckCount(Operation* op, StringRef name, int64_t got, int64_t want) {
  if (got == want) return success();
  return op->emitOpError() << name << " must have " << want << " entries, got " << got;
}

LogicalResult CheckAtLeast(Operation* op, StringRef name, Dims values, int64_t least) {
  for (int64_t value : values) {
    if (value < least) return op->emitOpError() << name << " must be at least " << least << ", got " << value;
  }
  return success();
}

LogicalResult CheckShape(Operation* op, StringRef name, Type got, Dims want) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(got);
  if (tensor && AreCompatibleShapes(tensor.getShape(), want)) return success();
  const auto shape = tensor ? mlir::RankedTensorType::get(want, tensor.getElementType()) : mlir::RankedTensorType();
  auto error = op->emitOpError() << name << " must have shape ";
  if (shape) return error << shape << ", got " << got;
  return error << Text(want) << ", got " << got;
}

TypeRange ReturnedTypes(mlir::Region& region) {
  if (region.empty() || !region.front().mightHaveTerminator()) return {};
  return region.front().getTerminator()->getOperandTypes();
}

LogicalResult CheckRegion(Operation* op, StringRef name, mlir::Region& region, TypeRange arguments, TypeRange results) {
  const TypeRange got = region.front().getArgumentTypes();
  if (!AreCompatible(got, arguments)) {
    return op->emitOpError() << name << " must take (" << arguments << "), got (" << got << ")";
  }
  if (!AreCompatible(ReturnedTypes(region), results)) {
    return op->emitOpError() << name << " must return (" << results << "), got (" << ReturnedTypes(region) << ")";
  }
  return success();
}

LogicalResult CheckReducer(Operation* op, StringRef name, mlir::Region& region, mlir::ValueRange inputs,
                           mlir::ValueRange inits, llvm::SmallVectorImpl<Type>& elements) {
  mlir::Block& block = region.front();
  const size_t count = inputs.size();
  if (block.getNumArguments() != 2 * count) {
    return op->emitOpError() << name << " must take " << 2 * count << " arguments, got " << block.getNumArguments();
  }
  const TypeRange returned = ReturnedTypes(region);
  if (returned.size() != count) {
    return op->emitOpError() << name << " must return " << count << " values, got " << returned.size();
  }
  for (size_t i = 0; i < count; ++i) {
    const Type lhs = block.getArgument(i).getType(), rhs = block.getArgument(count + i).getType();
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(lhs);
    if (!tensor || !AreCompatible(lhs, rhs) || !AreCompatible(lhs, returned[i])) {
      return op->emitOpError() << name << " must have one tensor type for arguments " << i << " and " << count + i
                               << " and for result " << i << ", got " << lhs << ", " << rhs << " and " << returned[i];
    }
    const Type element = tensor.getElementType();
    if (!IsPromotable(Element(inputs[i]), element)) {
      return op->emitOpError() << name << " must work on a type that elements of " << inputs[i].getType()
                               << " can be promoted to, got " << lhs;
    }
    if (inits.empty()) {
      if (tensor.getRank() != 0) return op->emitOpError() << name << " must work on scalars, got " << lhs;
    } else if (Element(inputs[i]) != Element(inits[i])) {
      return op->emitOpError() << "initial value " << i << " must have the element type of input " << i << " ("
                               << inputs[i].getType() << "), got " << inits[i].getType();
    } else if (!AreCompatibleShapes(tensor.getShape(), Tensor(inits[i]).getShape())) {
      return op->emitOpError() << name << " must work on the shape of initial value " << i << " (" << inits[i].getType()
                               << "), got " << lhs;
    }
    elements.push_back(element);
  }
  return success();
}

LogicalResult CheckPrecision(Operation* op, std::optional<mlir::ArrayAttr> precision) {
  if (!precision || precision->size() <= 2) return success();
  return op->emitOpError() << "precision_config must have at most 2 entries, got " << precision->size();
}

}  // namespace tenon::stablehlo
