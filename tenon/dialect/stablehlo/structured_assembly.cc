// Pretty forms that TableGen cannot express: constant, while, reduce.
#include "mlir/IR/Builders.h"
#include "tenon/dialect/stablehlo/assembly.h"

namespace tenon::stablehlo {

using llvm::SmallVector;
using llvm::StringRef;
using mlir::AsmParser;
using mlir::failed;
using mlir::failure;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::OperationState;
using mlir::ParseResult;
using mlir::success;
using mlir::Type;

//===--- constant ---===//

// constant ATTRS ELEMENTS, or constant () [<{value = ELEMENTS}>] ATTRS : () -> T
ParseResult ConstantOp::parse(OpAsmParser& parser, OperationState& result) {
  if (succeeded(parser.parseOptionalLParen())) {
    Type type;
    if (parser.parseRParen()) return failure();
    if (succeeded(parser.parseOptionalLess())) {
      mlir::DictionaryAttr properties;
      if (parser.parseAttribute(properties) || parser.parseGreater()) return failure();
      result.addAttributes(properties.getValue());
    }
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() || parser.parseLParen() ||
        parser.parseRParen() || parser.parseArrow() || parser.parseType(type)) {
      return failure();
    }
    result.addTypes(type);
    return success();
  }
  mlir::ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes)) return failure();
  if (result.attributes.get(getValueAttrName(result.name))) {
    return parser.emitError(parser.getCurrentLocation(), "value belongs after the attributes");
  }
  if (parser.parseAttribute(value, getValueAttrName(result.name), result.attributes)) return failure();
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter& printer) {
  if (getValue().getType() == getType()) {
    printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
    printer << ' ' << getValueAttr();
    return;
  }
  printer << "() <{value = " << getValueAttr() << "}>";
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
  printer << " : () -> " << getType();
}

void ConstantOp::getAsmResultNames(llvm::function_ref<void(mlir::Value, StringRef)> set_name) {
  set_name(getResult(), getType().getElementType().isIntOrIndex() ? "c" : "cst");
}

//===--- while ---===//

// while(%iterArg = %init, ...) [: T, ...] [attributes {...}] cond REGION do REGION
ParseResult WhileOp::parse(OpAsmParser& parser, OperationState& result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  const llvm::SMLoc loc = parser.getCurrentLocation();
  const auto parse_binding = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parse_binding)) return failure();
  if (!operands.empty() && parser.parseColonTypeList(result.types)) return failure();
  if (operands.size() != result.types.size()) {
    return parser.emitError(loc) << "expected " << operands.size() << " types, got " << result.types.size();
  }
  for (auto [argument, type] : llvm::zip_equal(arguments, result.types)) argument.type = type;
  SmallVector<Type> types(result.types.begin(), result.types.end());
  mlir::Region* cond = result.addRegion();
  mlir::Region* body = result.addRegion();
  return failure(parser.resolveOperands(operands, types, loc, result.operands) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseKeyword("cond") ||
                 parser.parseRegion(*cond, arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*body, arguments));
}

void WhileOp::print(OpAsmPrinter& printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperand()), printer, [&](auto pair) {
    printer.printRegionArgument(std::get<0>(pair), {}, /*omitType=*/true);
    printer << " = " << std::get<1>(pair);
  });
  printer << ')';
  if (getNumOperands() != 0) {
    printer << " : ";
    llvm::interleaveComma(getOperand().getTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void WhileOp::getAsmBlockArgumentNames(mlir::Region& region, mlir::OpAsmSetValueNameFn set_name) {
  for (mlir::BlockArgument argument : region.getArguments()) set_name(argument, "iterArg");
}

//===--- reduce ---===//

namespace {

// Ops that `applies` may name: commutative, two operands, one result.
bool MayApply(StringRef name) {
  static constexpr StringRef kNames[] = {"stablehlo.add",     "stablehlo.and",      "stablehlo.maximum",
                                         "stablehlo.minimum", "stablehlo.multiply", "stablehlo.or",
                                         "stablehlo.xor"};
  return llvm::is_contained(kNames, name);
}

// The op of a body `return OP(%lhs, %rhs)` on scalars of the first input's element type; null for any other body.
mlir::Operation* AppliedOp(ReduceOp reduce) {
  mlir::Block& block = reduce.getBody().front();
  if (reduce.getNumOperands() != 2 || block.getNumArguments() != 2 || block.empty()) return nullptr;
  mlir::Operation& inner = block.front();
  auto terminator = llvm::dyn_cast_if_present<ReturnOp>(inner.getNextNode());
  auto input = llvm::dyn_cast<mlir::RankedTensorType>(reduce.getOperand(0).getType());
  if (!terminator || terminator->getNextNode() || !input || !MayApply(inner.getName().getStringRef())) return nullptr;
  const Type scalar = mlir::RankedTensorType::get({}, input.getElementType());
  const bool fits = inner.getNumOperands() == 2 && inner.getNumResults() == 1 && inner.getAttrs().empty() &&
                    terminator->getAttrs().empty() && inner.getOperand(0) == block.getArgument(0) &&
                    inner.getOperand(1) == block.getArgument(1) && terminator.getNumOperands() == 1 &&
                    terminator.getOperand(0) == inner.getResult(0) && inner.getResult(0).getType() == scalar &&
                    llvm::all_of(block.getArgumentTypes(), [&](Type type) { return type == scalar; });
  return fits ? &inner : nullptr;
}

ParseResult BuildAppliedBody(OpAsmParser& parser, llvm::SMLoc loc, StringRef name, Type input, mlir::Region& body) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(input);
  if (!tensor) return parser.emitError(loc) << "expected a ranked tensor to reduce, got " << input;
  const Type scalar = mlir::RankedTensorType::get({}, tensor.getElementType());
  const mlir::Location where = parser.getEncodedSourceLoc(loc);
  mlir::Block& block = body.emplaceBlock();
  block.addArguments({scalar, scalar}, {where, where});
  mlir::OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  OperationState state(where, name, block.getArguments(), scalar);
  mlir::Operation* inner = builder.create(state);
  ReturnOp::create(builder, where, inner->getResults());
  return success();
}

}  // namespace

// reduce(%in init: %z), ... [applies OP] across dimensions = [..] ATTRS : FN [reducer(%a: T, %b: T), ... REGION]
ParseResult ReduceOp::parse(OpAsmParser& parser, OperationState& result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  const llvm::SMLoc loc = parser.getCurrentLocation();
  do {
    if (parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(inits.emplace_back()) || parser.parseRParen()) {
      return failure();
    }
  } while (succeeded(parser.parseOptionalComma()));

  StringRef applied;
  const llvm::SMLoc applies_loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    mlir::FailureOr<mlir::OperationName> name = parser.parseCustomOperationName();
    if (failed(name)) return failure();
    applied = name->getStringRef();
    if (!MayApply(applied)) {
      return parser.emitError(applies_loc) << "expected add, and, maximum, minimum, multiply, or, xor, got " << applied;
    }
  }

  SmallVector<int64_t> dimensions;
  mlir::FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      ParseInts(parser, dimensions) || parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(type)) {
    return failure();
  }
  result.addTypes(type.getResults());
  result.addAttribute(getDimensionsAttrName(result.name), parser.getBuilder().getDenseI64ArrayAttr(dimensions));
  SmallVector<OpAsmParser::UnresolvedOperand> operands(inputs);
  llvm::append_range(operands, inits);
  if (parser.resolveOperands(operands, type.getInputs(), loc, result.operands)) return failure();

  mlir::Region* body = result.addRegion();
  if (!applied.empty()) return BuildAppliedBody(parser, applies_loc, applied, type.getInput(0), *body);

  // The reducer lists pairs; the block takes the left sides first.
  SmallVector<OpAsmParser::Argument> lhs, rhs;
  if (parser.parseKeyword("reducer")) return failure();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (parser.parseLParen() || parser.parseArgument(lhs.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(rhs.emplace_back(), /*allowType=*/true) || parser.parseRParen()) {
      return failure();
    }
    (void)parser.parseOptionalComma();
  }
  llvm::append_range(lhs, rhs);
  return parser.parseRegion(*body, lhs);
}

void ReduceOp::print(OpAsmPrinter& printer) {
  const size_t count = getInputs().size();
  for (size_t i = 0; i < count; ++i) {
    printer << (i ? ", (" : "(") << getInputs()[i] << " init: " << getInitValues()[i] << ')';
  }
  mlir::Operation* applied = AppliedOp(*this);
  if (applied) printer << " applies " << applied->getName().getStringRef();
  printer << " across dimensions = ";
  PrintInts(printer, getDimensions());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (applied) return;
  printer.printNewline();
  printer << " reducer";
  for (size_t i = 0; i < count; ++i) {
    printer << '(';
    printer.printRegionArgument(getBody().getArgument(i));
    printer << ", ";
    printer.printRegionArgument(getBody().getArgument(count + i));
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

}  // namespace tenon::stablehlo
