#include "tenon/compiler/import/writer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

using mlir::Value;

Value OpWriter::Op(llvm::StringRef name, mlir::ValueRange operands, mlir::Type type,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(loc_, name);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attributes);
  return b_.create(state)->getResult(0);
}

Value OpWriter::Convert(Value v, mlir::Type element) {
  const auto type = TensorOf(v).clone(element);
  return type == v.getType() ? v : Op("stablehlo.convert", v, type);
}

Value OpWriter::Compare(Value x, Value y, llvm::StringRef direction) {
  const auto how = stablehlo::symbolizeComparisonDirection(direction);
  return Op("stablehlo.compare", {x, y}, TensorOf(x).clone(pred()),
            Attribute("comparison_direction", stablehlo::ComparisonDirectionAttr::get(b_.getContext(), *how)));
}

Value OpWriter::Reshape(Value v, llvm::ArrayRef<int64_t> dims) {
  const auto type = Tensor(dims, TensorOf(v).getElementType());
  return type == v.getType() ? v : Op("stablehlo.reshape", v, type);
}

Value OpWriter::Broadcast(Value v, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> map) {
  const auto type = Tensor(dims, TensorOf(v).getElementType());
  return type == v.getType() ? v : Op("stablehlo.broadcast_in_dim", v, type, List("broadcast_dimensions", map));
}

Value OpWriter::Slice(Value v, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit,
                      llvm::ArrayRef<int64_t> strides) {
  llvm::SmallVector<int64_t> dims;
  for (size_t d = 0; d < start.size(); ++d) dims.push_back((limit[d] - start[d] + strides[d] - 1) / strides[d]);
  return Op("stablehlo.slice", v, Tensor(dims, TensorOf(v).getElementType()),
            {List("start_indices", start), List("limit_indices", limit), List("strides", strides)});
}

Value OpWriter::Concatenate(mlir::ValueRange parts, int64_t dimension) {
  llvm::SmallVector<int64_t> dims(TensorOf(parts[0]).getShape());
  int64_t& extent = dims[static_cast<size_t>(dimension)];
  extent = 0;
  for (Value v : parts) extent += TensorOf(v).getDimSize(static_cast<unsigned>(dimension));
  return Op("stablehlo.concatenate", parts, Tensor(dims, TensorOf(parts[0]).getElementType()),
            Number("dimension", dimension));
}

Value OpWriter::Iota(mlir::RankedTensorType type, int64_t dimension) {
  return Op("stablehlo.iota", {}, type, Number("iota_dimension", dimension));
}

Value OpWriter::Floats(mlir::RankedTensorType type, llvm::ArrayRef<double> numbers) {
  llvm::SmallVector<mlir::Attribute> values;
  for (const double v : numbers) values.push_back(b_.getFloatAttr(type.getElementType(), v));
  return Op("stablehlo.constant", {}, type, Attribute("value", mlir::DenseElementsAttr::get(type, values)));
}

Value OpWriter::Ints(mlir::RankedTensorType type, llvm::ArrayRef<uint64_t> numbers) {
  const unsigned width = type.getElementType().getIntOrFloatBitWidth();
  llvm::SmallVector<llvm::APInt> values;
  for (const uint64_t v : numbers) values.push_back(llvm::APInt(64, v).zextOrTrunc(width));
  return Op("stablehlo.constant", {}, type, Attribute("value", mlir::DenseElementsAttr::get(type, values)));
}

Value OpWriter::Numbers(mlir::RankedTensorType type, llvm::ArrayRef<double> numbers) {
  if (mlir::isa<mlir::FloatType>(type.getElementType())) return Floats(type, numbers);
  return Ints(type,
              llvm::map_to_vector(numbers, [](double v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); }));
}

Value OpWriter::Sum(Value v, llvm::ArrayRef<int64_t> dimensions) {
  const mlir::RankedTensorType from = TensorOf(v);
  llvm::SmallVector<int64_t> dims;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    if (!llvm::is_contained(dimensions, d)) dims.push_back(from.getDimSize(static_cast<unsigned>(d)));
  }
  const auto scalar = Tensor({}, from.getElementType());
  mlir::OperationState state(loc_, "stablehlo.reduce");
  state.addOperands({v, Numbers(scalar, {0.0})});
  state.addTypes(Tensor(dims, from.getElementType()));
  state.addAttribute("dimensions", b_.getDenseI64ArrayAttr(dimensions));
  mlir::Region* region = state.addRegion();
  auto* body = new mlir::Block();
  region->push_back(body);
  body->addArguments({scalar, scalar}, {loc_, loc_});
  {
    const mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(body);
    mlir::OperationState yield(loc_, "stablehlo.return");
    yield.addOperands(Binary("stablehlo.add", body->getArgument(0), body->getArgument(1)));
    b_.create(yield);
  }
  return b_.create(state)->getResult(0);
}

Value HighProduct(OpWriter& w, Value x, Value y) {
  const mlir::RankedTensorType type = TensorOf(x);
  const unsigned width = type.getElementType().getIntOrFloatBitWidth();
  const bool is_unsigned = type.getElementType().isUnsignedInteger();
  const auto shifted = [&](llvm::StringRef op, Value v, uint64_t by) {
    return w.Binary(op, v, w.Ints(TensorOf(v), by));
  };
  if (width < 64) {  // structural: the widest integers
    const mlir::Type wide = is_unsigned ? w.Unsigned(2 * width) : w.Int(2 * width);
    const Value product = w.Binary("stablehlo.multiply", w.Convert(x, wide), w.Convert(y, wide));
    return w.Convert(shifted("stablehlo.shift_right_logical", product, width), type.getElementType());
  }
  const auto low = [&](Value v) { return w.Binary("stablehlo.and", v, w.Ints(TensorOf(v), 0xffffffffu)); };
  const auto high = [&](Value v) { return shifted("stablehlo.shift_right_logical", v, 32); };
  const auto times = [&](Value a, Value b) { return w.Binary("stablehlo.multiply", a, b); };
  const auto plus = [&](Value a, Value b) { return w.Binary("stablehlo.add", a, b); };
  const Value middle = plus(times(high(x), low(y)), high(times(low(x), low(y))));
  const Value other = plus(times(low(x), high(y)), low(middle));
  Value product = plus(plus(times(high(x), high(y)), high(middle)), high(other));
  if (is_unsigned) return product;
  // A negative factor counts 2^64 too much, times the other one.
  for (const auto& [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    const Value all = shifted("stablehlo.shift_right_arithmetic", a, 63);
    product = w.Binary("stablehlo.subtract", product, w.Binary("stablehlo.and", all, b));
  }
  return product;
}

}  // namespace tenon::compiler
