#include "tenon/dialect/stablehlo/assembly.h"

#include "mlir/IR/Builders.h"

namespace tenon::stablehlo {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::failed;
using mlir::failure;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::Operation;
using mlir::ParseResult;
using mlir::success;
using mlir::Type;
using mlir::TypeRange;

namespace {

// Splits a function type over operands and the result.
ParseResult AssignFunctionType(AsmParser& parser, llvm::SMLoc loc, mlir::FunctionType function,
                               ArrayRef<Type*> operands, Type& result) {
  if (function.getNumInputs() != operands.size() || function.getNumResults() != 1) {
    return parser.emitError(loc) << "expected " << operands.size() << " operand types and 1 result type, got "
                                 << function.getNumInputs() << " and " << function.getNumResults();
  }
  for (auto [operand, type] : llvm::zip_equal(operands, function.getInputs())) *operand = type;
  result = function.getResult(0);
  return success();
}

ParseResult ParseSame(AsmParser& parser, ArrayRef<Type*> operands, Type& result) {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type)) return failure();
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    return AssignFunctionType(parser, loc, function, operands, result);
  }
  for (Type* operand : operands) *operand = type;
  result = type;
  return success();
}

void PrintFunctionType(OpAsmPrinter& printer, TypeRange operands, TypeRange results) {
  printer.printFunctionalType(operands, results);
}

void PrintSame(OpAsmPrinter& printer, TypeRange operands, Type result) {
  if (llvm::all_of(operands, [&](Type type) { return type == result; })) {
    printer << result;
  } else {
    PrintFunctionType(printer, operands, result);
  }
}

}  // namespace

//===--- Types ---===//

ParseResult parseSameOrFunctionType(OpAsmParser& parser, Type& a, Type& result) {
  return ParseSame(parser, {&a}, result);
}
ParseResult parseSameOrFunctionType(OpAsmParser& parser, Type& a, Type& b, Type& result) {
  return ParseSame(parser, {&a, &b}, result);
}
ParseResult parseSameOrFunctionType(OpAsmParser& parser, Type& a, Type& b, Type& c, Type& result) {
  return ParseSame(parser, {&a, &b, &c}, result);
}
void printSameOrFunctionType(OpAsmPrinter& printer, Operation*, Type a, Type result) {
  PrintSame(printer, {a}, result);
}
void printSameOrFunctionType(OpAsmPrinter& printer, Operation*, Type a, Type b, Type result) {
  PrintSame(printer, {a, b}, result);
}
void printSameOrFunctionType(OpAsmPrinter& printer, Operation*, Type a, Type b, Type c, Type result) {
  PrintSame(printer, {a, b, c}, result);
}

ParseResult parseVariadicSameType(OpAsmParser& parser, const UnresolvedOperands& operands, SmallVectorImpl<Type>& types,
                                  Type& result) {
  types.resize(operands.size());
  SmallVector<Type*> pointers;
  for (Type& type : types) pointers.push_back(&type);
  return ParseSame(parser, pointers, result);
}
void printVariadicSameType(OpAsmPrinter& printer, Operation*, mlir::OperandRange, TypeRange types, Type result) {
  PrintSame(printer, types, result);
}

ParseResult parseComplexType(OpAsmParser& parser, Type& lhs, Type& rhs, Type& result) {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type)) return failure();
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    return AssignFunctionType(parser, loc, function, {&lhs, &rhs}, result);
  }
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  auto complex = tensor ? llvm::dyn_cast<mlir::ComplexType>(tensor.getElementType()) : mlir::ComplexType();
  if (!complex) return parser.emitError(loc) << "expected a tensor of complex elements, got " << type;
  lhs = rhs = WithElement(tensor, complex.getElementType());
  result = type;
  return success();
}
void printComplexType(OpAsmPrinter& printer, Operation*, Type lhs, Type rhs, Type result) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(result);
  auto complex = tensor ? llvm::dyn_cast<mlir::ComplexType>(tensor.getElementType()) : mlir::ComplexType();
  if (complex && lhs == rhs && lhs == WithElement(tensor, complex.getElementType())) {
    printer << result;
  } else {
    PrintFunctionType(printer, {lhs, rhs}, result);
  }
}

ParseResult parseSelectType(OpAsmParser& parser, Type& pred, Type& on_true, Type& on_false, Type& result) {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type)) return failure();
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    return AssignFunctionType(parser, loc, function, {&pred, &on_true, &on_false}, result);
  }
  pred = type;
  if (parser.parseComma() || parser.parseType(result)) return failure();
  on_true = on_false = result;
  return success();
}
void printSelectType(OpAsmPrinter& printer, Operation*, Type pred, Type on_true, Type on_false, Type result) {
  if (on_true == result && on_false == result) {
    printer << pred << ", " << result;
  } else {
    PrintFunctionType(printer, {pred, on_true, on_false}, result);
  }
}

ParseResult parsePairwiseTypes(OpAsmParser& parser, SmallVectorImpl<Type>& operands, SmallVectorImpl<Type>& results) {
  if (parser.parseTypeList(operands)) return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}
void printPairwiseTypes(OpAsmPrinter& printer, Operation*, TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult parseTupleOperandTypes(OpAsmParser& parser, SmallVectorImpl<Type>& operands, Type& result) {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result)) return failure();
  auto tuple = llvm::dyn_cast<mlir::TupleType>(result);
  if (!tuple) return parser.emitError(loc) << "expected a tuple type, got " << result;
  llvm::append_range(operands, tuple.getTypes());
  return success();
}
void printTupleOperandTypes(OpAsmPrinter& printer, Operation*, TypeRange, Type result) { printer << result; }

//===--- Operands and integers ---===//

ParseResult parseOperandsWithCommas(OpAsmParser& parser, UnresolvedOperands& operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    const mlir::OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value()) return success();
    if (failed(*parsed) || parser.parseComma()) return failure();
    operands.push_back(operand);
  }
}
void printOperandsWithCommas(OpAsmPrinter& printer, Operation*, mlir::OperandRange operands) {
  bool first = true;
  for (mlir::Value operand : operands) {
    if (!first) printer << ' ';
    printer << operand << ',';
    first = false;
  }
}

ParseResult parseExponentMantissa(OpAsmParser& parser, mlir::IntegerAttr& exponent, mlir::IntegerAttr& mantissa) {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef text;
  if (parser.parseKeyword(&text)) return failure();
  llvm::StringRef rest = text;
  int32_t e = 0, m = 0;
  if (!rest.consume_front("e") || rest.consumeInteger(10, e) || !rest.consume_front("m") || rest.getAsInteger(10, m)) {
    return parser.emitError(loc) << "expected a format such as e5m10, got " << text;
  }
  exponent = parser.getBuilder().getI32IntegerAttr(e);
  mantissa = parser.getBuilder().getI32IntegerAttr(m);
  return success();
}
void printExponentMantissa(OpAsmPrinter& printer, Operation*, mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseSliceRanges(OpAsmParser& parser, mlir::DenseI64ArrayAttr& start, mlir::DenseI64ArrayAttr& limit,
                             mlir::DenseI64ArrayAttr& strides) {
  SmallVector<int64_t> starts, limits, steps;
  const auto parse_range = [&]() -> ParseResult {
    int64_t step = 1;
    if (parser.parseInteger(starts.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limits.emplace_back()) ||
        (succeeded(parser.parseOptionalColon()) && parser.parseInteger(step))) {
      return failure();
    }
    steps.push_back(step);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse_range)) return failure();
  mlir::Builder& builder = parser.getBuilder();
  start = builder.getDenseI64ArrayAttr(starts);
  limit = builder.getDenseI64ArrayAttr(limits);
  strides = builder.getDenseI64ArrayAttr(steps);
  return success();
}
void printSliceRanges(OpAsmPrinter& printer, Operation*, mlir::DenseI64ArrayAttr start, mlir::DenseI64ArrayAttr limit,
                      mlir::DenseI64ArrayAttr strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(start.asArrayRef(), limit.asArrayRef(), strides.asArrayRef()), printer,
                        [&](auto range) {
                          const auto [from, to, step] = range;
                          printer << from << ':' << to;
                          if (step != 1) printer << ':' << step;
                        });
  printer << ']';
}

ParseResult ParseInts(AsmParser& parser, SmallVectorImpl<int64_t>& values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}
void PrintInts(AsmPrinter& printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

//===--- Products ---===//

namespace {

// NAME = INTS x INTS
ParseResult ParseDimPair(AsmParser& parser, SmallVectorImpl<int64_t>& lhs, SmallVectorImpl<int64_t>& rhs) {
  return failure(parser.parseEqual() || ParseInts(parser, lhs) || parser.parseKeyword("x") || ParseInts(parser, rhs));
}

ParseResult ParsePrecisions(AsmParser& parser, mlir::ArrayAttr& precision) {
  SmallVector<mlir::Attribute> values;
  const auto parse_one = [&]() -> ParseResult {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef keyword;
    if (parser.parseKeyword(&keyword)) return failure();
    const std::optional<Precision> value = symbolizePrecision(keyword);
    if (!value) return parser.emitError(loc) << "expected DEFAULT, HIGH or HIGHEST, got " << keyword;
    values.push_back(PrecisionAttr::get(parser.getContext(), *value));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse_one)) return failure();
  precision = parser.getBuilder().getArrayAttr(values);
  return success();
}

}  // namespace

ParseResult parseDotDimensions(OpAsmParser& parser, DotDimensionNumbersAttr& dims) {
  SmallVector<int64_t> lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  if (succeeded(parser.parseOptionalKeyword("batching_dims"))) {
    if (ParseDimPair(parser, lhs_batch, rhs_batch) || parser.parseComma()) return failure();
  }
  if (parser.parseKeyword("contracting_dims") || ParseDimPair(parser, lhs_contract, rhs_contract)) return failure();
  dims = DotDimensionNumbersAttr::get(parser.getContext(), lhs_batch, rhs_batch, lhs_contract, rhs_contract);
  return success();
}
void printDotDimensions(OpAsmPrinter& printer, Operation*, DotDimensionNumbersAttr dims) {
  if (!dims.getLhsBatchingDimensions().empty() || !dims.getRhsBatchingDimensions().empty()) {
    printer << "batching_dims = ";
    PrintInts(printer, dims.getLhsBatchingDimensions());
    printer << " x ";
    PrintInts(printer, dims.getRhsBatchingDimensions());
    printer << ", ";
  }
  printer << "contracting_dims = ";
  PrintInts(printer, dims.getLhsContractingDimensions());
  printer << " x ";
  PrintInts(printer, dims.getRhsContractingDimensions());
}

ParseResult parsePrecisionConfig(OpAsmParser& parser, mlir::ArrayAttr& precision) {
  if (failed(parser.parseOptionalComma())) return success();
  return failure(parser.parseKeyword("precision") || ParsePrecisions(parser, precision));
}
void printPrecisionConfig(OpAsmPrinter& printer, Operation*, mlir::ArrayAttr precision) {
  if (!precision) return;
  printer << ", precision = [";
  llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer,
                        [&](PrecisionAttr value) { printer << stringifyPrecision(value.getValue()); });
  printer << ']';
}

ParseResult parsePrecisionAndAlgorithm(OpAsmParser& parser, mlir::ArrayAttr& precision, DotAlgorithmAttr& algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    if (!precision && !algorithm && succeeded(parser.parseOptionalKeyword("precision"))) {
      if (ParsePrecisions(parser, precision)) return failure();
    } else if (!algorithm && succeeded(parser.parseOptionalKeyword("algorithm"))) {
      if (parser.parseEqual() || parser.parseCustomAttributeWithFallback(algorithm)) return failure();
    } else {
      return parser.emitError(parser.getCurrentLocation(), "expected precision, then algorithm, each at most once");
    }
  }
  return success();
}
void printPrecisionAndAlgorithm(OpAsmPrinter& printer, Operation* op, mlir::ArrayAttr precision,
                                DotAlgorithmAttr algorithm) {
  printPrecisionConfig(printer, op, precision);
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

//===--- Window ---===//

namespace {

ParseResult ParsePadding(AsmParser& parser, mlir::DenseIntElementsAttr& padding) {
  SmallVector<int64_t> values;
  const auto parse_pair = [&]() -> ParseResult {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    const size_t before = values.size();
    if (ParseInts(parser, values)) return failure();
    if (values.size() != before + 2) {
      return parser.emitError(loc) << "expected a pair [low, high], got " << values.size() - before << " numbers";
    }
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse_pair)) return failure();
  const auto type =
      mlir::RankedTensorType::get({static_cast<int64_t>(values.size() / 2), 2}, parser.getBuilder().getI64Type());
  padding = mlir::DenseIntElementsAttr::get(type, values);
  return success();
}

ParseResult ParseReversal(AsmParser& parser, mlir::DenseBoolArrayAttr& reversal) {
  SmallVector<bool> values;
  const auto parse_one = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      values.push_back(true);
    } else if (succeeded(parser.parseOptionalKeyword("false"))) {
      values.push_back(false);
    } else {
      const llvm::SMLoc loc = parser.getCurrentLocation();
      int64_t number = 0;
      if (parser.parseInteger(number)) return failure();
      if (number != 0 && number != 1) return parser.emitError(loc) << "expected true, false, 0 or 1, got " << number;
      values.push_back(number == 1);
    }
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse_one)) return failure();
  reversal = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

ParseResult ParseDenseInts(AsmParser& parser, mlir::DenseI64ArrayAttr& attr) {
  SmallVector<int64_t> values;
  if (ParseInts(parser, values)) return failure();
  attr = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

}  // namespace

ParseResult parseWindow(OpAsmParser& parser, mlir::DenseI64ArrayAttr& strides, mlir::DenseIntElementsAttr& padding,
                        mlir::DenseI64ArrayAttr& lhs_dilation, mlir::DenseI64ArrayAttr& rhs_dilation,
                        mlir::DenseBoolArrayAttr& reversal) {
  do {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef name;
    if (failed(parser.parseOptionalKeyword(&name))) return success();
    if (parser.parseEqual()) return failure();
    const bool repeated = (name == "stride" && strides) || (name == "pad" && padding) ||
                          (name == "lhs_dilate" && lhs_dilation) || (name == "rhs_dilate" && rhs_dilation) ||
                          (name == "reverse" && reversal);
    if (repeated) return parser.emitError(loc) << name << " given twice";
    ParseResult parsed = success();
    if (name == "stride") {
      parsed = ParseDenseInts(parser, strides);
    } else if (name == "pad") {
      parsed = ParsePadding(parser, padding);
    } else if (name == "lhs_dilate") {
      parsed = ParseDenseInts(parser, lhs_dilation);
    } else if (name == "rhs_dilate") {
      parsed = ParseDenseInts(parser, rhs_dilation);
    } else if (name == "reverse") {
      parsed = ParseReversal(parser, reversal);
    } else {
      return parser.emitError(loc) << "expected stride, pad, lhs_dilate, rhs_dilate or reverse, got " << name;
    }
    if (parsed) return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

void printWindow(OpAsmPrinter& printer, Operation*, mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                 mlir::DenseI64ArrayAttr lhs_dilation, mlir::DenseI64ArrayAttr rhs_dilation,
                 mlir::DenseBoolArrayAttr reversal) {
  bool first = true;
  const auto begin = [&](llvm::StringRef name) {
    if (!first) printer << ", ";
    first = false;
    printer << name << " = ";
  };
  const auto print_ints = [&](llvm::StringRef name, mlir::DenseI64ArrayAttr values) {
    if (!values) return;
    begin(name);
    PrintInts(printer, values.asArrayRef());
  };
  print_ints("stride", strides);
  if (padding) {
    begin("pad");
    SmallVector<int64_t> values(padding.getValues<int64_t>());
    printer << '[';
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      printer << (i ? ", " : "");
      PrintInts(printer, {values[i], values[i + 1]});
    }
    printer << ']';
  }
  print_ints("lhs_dilate", lhs_dilation);
  print_ints("rhs_dilate", rhs_dilation);
  if (reversal) {
    begin("reverse");
    printer << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer, [&](bool value) { printer << (value ? "true" : "false"); });
    printer << ']';
  }
}

//===--- Calls ---===//

ParseResult parseCallTarget(OpAsmParser& parser, mlir::StringAttr& target) { return parser.parseSymbolName(target); }
void printCallTarget(OpAsmPrinter& printer, Operation*, mlir::StringAttr target) {
  printer.printSymbolName(target.getValue());
}

}  // namespace tenon::stablehlo
