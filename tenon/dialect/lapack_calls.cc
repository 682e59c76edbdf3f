#include "tenon/dialect/lapack_calls.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::dialect {
namespace {

using Type = mlir::RankedTensorType;

Type TypeOf(mlir::Value v) {
  const auto type = llvm::dyn_cast<Type>(v.getType());
  return type && type.hasStaticShape() ? type : Type();
}

/// LAPACK's letter of an element type; 0 when it has none.
char LetterOf(mlir::Type element) {
  const auto complex = llvm::dyn_cast<mlir::ComplexType>(element);
  const mlir::Type part = complex ? complex.getElementType() : element;
  if (part.isF32()) return complex ? 'c' : 's';
  if (part.isF64()) return complex ? 'z' : 'd';
  return 0;
}

/// `type` with other extents behind the batch of a matrix type.
Type Inner(Type matrix, llvm::ArrayRef<int64_t> extents, mlir::Type element) {
  llvm::SmallVector<int64_t> dims(matrix.getShape().drop_back(2));
  dims.append(extents.begin(), extents.end());
  return Type::get(dims, element);
}

/// Matrices column-major, vectors as they are.
mlir::ArrayAttr Layouts(mlir::OpBuilder& b, mlir::TypeRange types, int64_t matrix_rank) {
  llvm::SmallVector<mlir::Attribute> layouts;
  for (const mlir::Type t : types) {
    const int64_t rank = llvm::cast<Type>(t).getRank();
    llvm::SmallVector<int64_t> minor_to_major;
    for (int64_t d = rank; d-- > 0;) minor_to_major.push_back(d);
    if (rank == matrix_rank) std::swap(minor_to_major[0], minor_to_major[1]);
    layouts.push_back(mlir::DenseIntElementsAttr::get(Type::get({rank}, b.getIndexType()), [&] {
      llvm::SmallVector<llvm::APInt> values;
      for (const int64_t d : minor_to_major) values.emplace_back(64, static_cast<uint64_t>(d));
      return values;
    }()));
  }
  return b.getArrayAttr(layouts);
}

mlir::Operation* CallLapack(mlir::OpBuilder& b, mlir::Location loc, char letter, llvm::StringRef routine,
                            mlir::ValueRange operands, mlir::TypeRange results,
                            llvm::ArrayRef<mlir::NamedAttribute> config = {}) {
  const int64_t rank = llvm::cast<Type>(operands[0].getType()).getRank();
  const std::string target = ("lapack_" + llvm::Twine(letter) + routine + "_ffi").str();
  return b.create(
      loc, b.getStringAttr("stablehlo.custom_call"), operands, results,
      {b.getNamedAttr("call_target_name", b.getStringAttr(target)),
       b.getNamedAttr("api_version", stablehlo::CustomCallApiVersionAttr::get(
                                         b.getContext(), stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI)),
       b.getNamedAttr("backend_config", b.getDictionaryAttr(config)),
       b.getNamedAttr("operand_layouts", Layouts(b, operands.getTypes(), rank)),
       b.getNamedAttr("result_layouts", Layouts(b, results, rank))});
}

/// `values` where `info` is 0, NaN elsewhere.
mlir::Value OrNan(mlir::OpBuilder& b, mlir::Location loc, mlir::Value values, mlir::Value info) {
  const auto type = llvm::cast<Type>(values.getType());
  const auto batch = llvm::cast<Type>(info.getType());
  const auto constant = [&](mlir::DenseElementsAttr value) {
    return b.create(loc, b.getStringAttr("stablehlo.constant"), {}, value.getType(), b.getNamedAttr("value", value))
        ->getResult(0);
  };
  const mlir::Value zero = constant(mlir::DenseElementsAttr::get(batch, b.getI32IntegerAttr(0)));
  const mlir::Value ok =
      b.create(loc, b.getStringAttr("stablehlo.compare"), {info, zero}, {Type::get(batch.getShape(), b.getI1Type())},
               {b.getNamedAttr("comparison_direction", stablehlo::ComparisonDirectionAttr::get(
                                                           b.getContext(), stablehlo::ComparisonDirection::EQ))})
          ->getResult(0);
  llvm::SmallVector<int64_t> dims;
  for (int64_t d = 0; d < batch.getRank(); ++d) dims.push_back(d);
  const mlir::Value everywhere =
      b.create(loc, b.getStringAttr("stablehlo.broadcast_in_dim"), {ok}, {Type::get(type.getShape(), b.getI1Type())},
               {b.getNamedAttr("broadcast_dimensions", b.getDenseI64ArrayAttr(dims))})
          ->getResult(0);
  const auto complex = llvm::dyn_cast<mlir::ComplexType>(type.getElementType());
  const auto part = llvm::cast<mlir::FloatType>(complex ? complex.getElementType() : type.getElementType());
  const llvm::APFloat nan = llvm::APFloat::getNaN(part.getFloatSemantics());
  const auto value = complex ? mlir::DenseElementsAttr::get(type, std::complex<llvm::APFloat>(nan, nan))
                             : mlir::DenseElementsAttr::get(type, nan);
  return b.create(loc, b.getStringAttr("stablehlo.select"), {everywhere, values, constant(value)}, {type})
      ->getResult(0);
}

/// Whether a config "lower,..." says that the lower triangle counts.
std::optional<bool> ReadsLower(stablehlo::CustomCallOp call) {
  const auto config = call->getAttrOfType<mlir::StringAttr>("backend_config");
  if (!config) return std::nullopt;
  llvm::SmallVector<llvm::StringRef> numbers;
  config.getValue().split(numbers, ',');
  if (numbers.size() < 3 || numbers.size() > 4) return std::nullopt;
  const llvm::StringRef lower = numbers[0].trim();
  if (lower != "0" && lower != "1") return std::nullopt;
  return lower == "1";
}

}  // namespace

bool ReplaceDecomposition(stablehlo::CustomCallOp call) {
  const llvm::StringRef target = call.getCallTargetName();
  if (call->getNumOperands() == 0) return false;
  const Type a = TypeOf(call->getOperand(0));
  const char letter = a && a.getRank() >= 2 ? LetterOf(a.getElementType()) : '\0';
  if (letter == 0) return false;
  const bool complex = letter == 'c' || letter == 'z';
  const int64_t m = a.getShape().drop_back().back(), n = a.getShape().back();
  const Type taus = Inner(a, {std::min(m, n)}, a.getElementType());
  const auto has = [&](llvm::ArrayRef<mlir::Type> operands, llvm::ArrayRef<mlir::Type> results) {
    return llvm::equal(call->getOperandTypes(), operands) && llvm::equal(call->getResultTypes(), results);
  };
  mlir::OpBuilder b(call);
  const mlir::Location loc = call->getLoc();
  if (target == "Qr" && has({a}, {a, taus})) {
    call->replaceAllUsesWith(CallLapack(b, loc, letter, "geqrf", call->getOperands(), call->getResultTypes()));
    return true;
  }
  // Reflectors may be fewer than columns.
  const Type some = call->getNumOperands() == 2 ? TypeOf(call->getOperand(1)) : Type();
  const bool few = some && some.getRank() + 1 == a.getRank() && some.getShape().back() <= taus.getShape().back() &&
                   some == Inner(a, {some.getShape().back()}, a.getElementType());
  if (target == "ProductOfElementaryHouseholderReflectors" && few && has({a, some}, {a})) {
    call->replaceAllUsesWith(
        CallLapack(b, loc, letter, complex ? "ungqr" : "orgqr", call->getOperands(), call->getResultTypes()));
    return true;
  }
  const mlir::Type real =
      complex ? llvm::cast<mlir::ComplexType>(a.getElementType()).getElementType() : a.getElementType();
  const Type values = Inner(a, {n}, real);
  const std::optional<bool> lower = target == "Eigh" ? ReadsLower(call) : std::nullopt;
  if (!lower || m != n || !has({a}, {a, values})) return false;
  const auto byte = [&](char c) {
    return mlir::IntegerAttr::get(b.getIntegerType(8, /*isSigned=*/false), static_cast<uint8_t>(c));
  };
  mlir::Operation* solved = CallLapack(
      b, loc, letter, complex ? "heevd" : "syevd", call->getOperands(), {a, values, Inner(a, {}, b.getI32Type())},
      {b.getNamedAttr("mode", byte('V')), b.getNamedAttr("uplo", byte(*lower ? 'L' : 'U'))});
  const mlir::Value info = solved->getResult(2);
  call->replaceAllUsesWith(
      mlir::ValueRange{OrNan(b, loc, solved->getResult(0), info), OrNan(b, loc, solved->getResult(1), info)});
  return true;
}

}  // namespace tenon::dialect
