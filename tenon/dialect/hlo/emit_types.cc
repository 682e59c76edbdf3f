// Types, literals and attributes of HLO as MLIR's.

#include <cstring>

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/dialect/hlo/emitter.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {

Result<mlir::Type> Emitter::ElementOf(int32_t type) {
  mlir::MLIRContext* c = b_.getContext();
  switch (type) {
    case 1:
      return mlir::Type(b_.getI1Type());
    case 2:
      return mlir::Type(b_.getIntegerType(8));
    case 3:
      return mlir::Type(b_.getIntegerType(16));
    case 4:
      return mlir::Type(b_.getIntegerType(32));
    case 5:
      return mlir::Type(b_.getIntegerType(64));
    case 6:
      return mlir::Type(b_.getIntegerType(8, false));
    case 7:
      return mlir::Type(b_.getIntegerType(16, false));
    case 8:
      return mlir::Type(b_.getIntegerType(32, false));
    case 9:
      return mlir::Type(b_.getIntegerType(64, false));
    case 10:
      return mlir::Type(b_.getF16Type());
    case 11:
      return mlir::Type(b_.getF32Type());
    case 12:
      return mlir::Type(b_.getF64Type());
    case 15:
      return mlir::Type(mlir::ComplexType::get(b_.getF32Type()));
    case 16:
      return mlir::Type(b_.getBF16Type());
    case 18:
      return mlir::Type(mlir::ComplexType::get(b_.getF64Type()));
    case 19:
      return mlir::Type(mlir::Float8E5M2Type::get(c));
    case 20:
      return mlir::Type(mlir::Float8E4M3FNType::get(c));
    case 21:
      return mlir::Type(b_.getIntegerType(4));
    case 22:
      return mlir::Type(b_.getIntegerType(4, false));
    case 23:
      return mlir::Type(mlir::Float8E4M3B11FNUZType::get(c));
    case 24:
      return mlir::Type(mlir::Float8E5M2FNUZType::get(c));
    case 25:
      return mlir::Type(mlir::Float8E4M3FNUZType::get(c));
    case 26:
      return mlir::Type(b_.getIntegerType(2));
    case 27:
      return mlir::Type(b_.getIntegerType(2, false));
    case 28:
      return mlir::Type(mlir::Float8E4M3Type::get(c));
    case 29:
      return mlir::Type(mlir::Float8E3M4Type::get(c));
    case 32:
      return mlir::Type(mlir::Float4E2M1FNType::get(c));
    case 33:
      return mlir::Type(mlir::Float8E8M0FNUType::get(c));
    case 35:
      return mlir::Type(mlir::Float6E3M2FNType::get(c));
    case 36:
      return mlir::Type(mlir::Float6E2M3FNType::get(c));
    default:
      break;
  }
  const TypeInfo* info = FindType(type);
  return Unimplemented(
      fmt::format("arrays of {} have no StableHLO form", info != nullptr ? info->name : "an unknown type"));
}

Result<mlir::RankedTensorType> Emitter::TensorOf(const Shape& shape) {
  TENON_ASSIGN_OR_RETURN(mlir::Type element, ElementOf(shape.type));
  return mlir::RankedTensorType::get(shape.dims, element);
}

Status Emitter::LeafTypes(const Shape& shape, llvm::SmallVectorImpl<mlir::Type>& types) {
  if (shape.type == kTuple) {
    for (const Shape& member : shape.members) TENON_RETURN_IF_ERROR(LeafTypes(member, types));
    return OkStatus();
  }
  if (shape.type == kToken) {
    types.push_back(stablehlo::TokenType::get(b_.getContext()));
    return OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType type, TensorOf(shape));
  types.push_back(type);
  return OkStatus();
}

Result<Values> Emitter::EmitLiteral(const Literal& literal, const Shape& shape, mlir::Location loc) {
  Values values;
  if (shape.type == kTuple) {
    for (size_t m = 0; m < shape.members.size(); ++m) {
      TENON_ASSIGN_OR_RETURN(Values member, EmitLiteral(literal.members[m], shape.members[m], loc));
      values.append(member);
    }
    return values;
  }
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType type, TensorOf(shape));
  const auto width = static_cast<size_t>(FindType(shape.type)->bytes);
  std::string_view data = literal.data;
  const bool splat = data.size() > width && std::memcmp(data.data(), data.data() + width, data.size() - width) == 0;
  if (splat) data = data.substr(0, width);
  mlir::DenseElementsAttr value;
  if (data.empty()) {
    value = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  } else if (shape.type == kPred) {
    static_assert(sizeof(bool) == 1);
    value = mlir::DenseElementsAttr::get(type,
                                         llvm::ArrayRef<bool>(reinterpret_cast<const bool*>(data.data()), data.size()));
  } else {
    const TypeInfo* info = FindType(shape.type);
    std::string masked;
    if (info->bits < 8) {
      // Unused bits are zero in MLIR's literals.
      masked = data;
      for (char& c : masked) c = static_cast<char>(c & ((1 << info->bits) - 1));
      data = masked;
    }
    value = mlir::DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef<char>(data.data(), data.size()));
  }
  values.push_back(Make(loc, "stablehlo.constant", {}, {type}, {{"value", value}})->getResult(0));
  return values;
}

mlir::Value Emitter::Zero(mlir::RankedTensorType type, mlir::Location loc) {
  return Make(loc, "stablehlo.constant", {}, {type},
              {{"value", mlir::DenseElementsAttr::get(type, b_.getZeroAttr(type.getElementType()))}})
      ->getResult(0);
}

mlir::Attribute Emitter::Matrix(const std::vector<std::vector<int64_t>>& rows, size_t columns) {
  llvm::SmallVector<int64_t> flat;
  for (const auto& row : rows) {
    for (size_t c = 0; c < columns; ++c) flat.push_back(c < row.size() ? row[c] : -1);
  }
  return mlir::DenseIntElementsAttr::get(
      mlir::RankedTensorType::get({static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)}, b_.getI64Type()),
      flat);
}

mlir::Attribute Emitter::Padding(const std::vector<WindowDim>& window) {
  std::vector<std::vector<int64_t>> rows;
  for (const WindowDim& w : window) rows.push_back({w.low, w.high});
  return Matrix(rows, 2);
}

mlir::Attribute Emitter::AccuracyOf(const Extras& x) {
  if (!x.accuracy) return {};
  using Mode = stablehlo::ResultAccuracyMode;
  const Accuracy& a = *x.accuracy;
  return stablehlo::ResultAccuracyAttr::get(
      b_.getContext(), llvm::APFloat(a.tolerance ? a.atol : 0.0), llvm::APFloat(a.tolerance ? a.rtol : 0.0),
      a.tolerance ? a.ulps : 0,
      stablehlo::ResultAccuracyModeAttr::get(b_.getContext(), a.tolerance ? Mode::TOLERANCE : Mode::HIGHEST));
}

mlir::Attribute Emitter::PrecisionOf(const Extras& x) {
  if (x.precision.empty()) return {};
  llvm::SmallVector<mlir::Attribute> list;
  for (int32_t p : x.precision) {
    const auto precision = stablehlo::symbolizePrecision(static_cast<uint32_t>(p));
    list.push_back(stablehlo::PrecisionAttr::get(b_.getContext(), precision.value_or(stablehlo::Precision::DEFAULT)));
  }
  return b_.getArrayAttr(list);
}

Result<mlir::Attribute> Emitter::ParseDictionary(std::string_view text) {
  // MLIR's parser recurses with the brackets.
  int depth = 0;
  for (char c : text) {
    depth += c == '{' || c == '[' || c == '<' || c == '(';
    if (depth > 100) return InvalidArgument("a dictionary with more than 100 opening brackets");
  }
  mlir::Attribute value =
      mlir::parseAttribute(Ref(text), b_.getContext(), mlir::Type(), nullptr, /*isKnownNullTerminated=*/false);
  if (!value || !mlir::isa<mlir::DictionaryAttr>(value))
    return InvalidArgument(fmt::format("no dictionary of MLIR attributes: {}", text.substr(0, 200)));
  return value;
}

mlir::Attribute Emitter::TextDictionary(const TextMap& map) {
  llvm::SmallVector<mlir::NamedAttribute> entries;
  for (const auto& [key, value] : map) {
    if (key.empty() || (!entries.empty() && entries.back().getName().getValue() == Ref(key))) continue;
    entries.push_back(b_.getNamedAttr(Ref(key), b_.getStringAttr(Ref(value))));
  }
  return b_.getDictionaryAttr(entries);
}

}  // namespace tenon::hlo
