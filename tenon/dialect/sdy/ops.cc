#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::sdy {

// "max {axes}": the reduction is not written when it is a sum. Named as the generated code wants them.
static mlir::ParseResult parseReduction(mlir::OpAsmParser& parser, ReductionOpAttr& op, AxisRefListAttr& axes) {
  const auto where = parser.getCurrentLocation();
  llvm::StringRef word;
  ReductionOp reduction = ReductionOp::SUM;
  if (mlir::succeeded(parser.parseOptionalKeyword(&word))) {
    auto named = symbolizeReductionOp(word);
    if (!named) return parser.emitError(where, "expected max, min or sum");
    reduction = *named;
  }
  op = ReductionOpAttr::get(parser.getContext(), reduction);
  axes = mlir::dyn_cast_or_null<AxisRefListAttr>(AxisRefListAttr::parse(parser, {}));
  return mlir::success(axes != nullptr);
}

static void printReduction(mlir::OpAsmPrinter& p, mlir::Operation*, ReductionOpAttr op, AxisRefListAttr axes) {
  if (op.getValue() != ReductionOp::SUM) p << stringifyReductionOp(op.getValue()) << " ";
  axes.print(p);
}

}  // namespace tenon::sdy

#define GET_OP_CLASSES
#include "tenon/dialect/sdy/ops.cc.inc"

namespace tenon::sdy {

// assembly.cc
TensorShardingPerValueAttr ParseShardings(mlir::AsmParser& parser);
void PrintShardings(mlir::AsmPrinter& p, TensorShardingPerValueAttr attr);

namespace {

// The block ends in sdy.return of values of the op's result types' number.
llvm::LogicalResult VerifyReturn(mlir::Operation* op, mlir::Region& body) {
  if (body.empty() || body.front().empty()) return op->emitOpError("needs a body that ends in sdy.return");
  auto ret = mlir::dyn_cast<ReturnOp>(body.front().back());
  if (!ret) return op->emitOpError("needs a body that ends in sdy.return");
  if (ret->getNumOperands() != op->getNumResults()) {
    return op->emitOpError("returns ") << ret->getNumOperands() << " values, wanted " << op->getNumResults();
  }
  return mlir::success();
}

// "(%arg: type, ...) { ... }"
mlir::ParseResult ParseBody(mlir::OpAsmParser& parser, mlir::Region& body) {
  llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
  return mlir::failure(parser.parseArgumentList(arguments, mlir::OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                                                /*allowAttrs=*/false) ||
                       parser.parseRegion(body, arguments));
}

void PrintBody(mlir::OpAsmPrinter& p, mlir::Region& body) {
  p << "(";
  if (!body.empty())
    llvm::interleaveComma(body.getArguments(), p, [&](mlir::BlockArgument a) { p.printRegionArgument(a); });
  p << ") ";
  p.printRegion(body, /*printEntryBlockArgs=*/false);
}

// attr-dict `:` functional-type, and the operands it gives types to.
mlir::ParseResult ParseTail(mlir::OpAsmParser& parser, llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands,
                            mlir::SMLoc where, mlir::OperationState& state) {
  mlir::FunctionType type;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), where, state.operands)) {
    return mlir::failure();
  }
  state.addTypes(type.getResults());
  return mlir::success();
}

void PrintTail(mlir::OpAsmPrinter& p, mlir::Operation* op, llvm::ArrayRef<llvm::StringRef> elided) {
  p.printOptionalAttrDict(op->getAttrs(), elided);
  p << " : ";
  p.printFunctionalType(op);
}

}  // namespace

llvm::LogicalResult MeshOp::verify() {
  const std::string wrong = WhatIsWrong(getMesh());
  return wrong.empty() ? mlir::success() : emitOpError(wrong);
}

llvm::LogicalResult ShardingConstraintOp::verify() { return VerifyRank(*this, getSharding(), getType()); }
llvm::LogicalResult ReshardOp::verify() { return VerifyRank(*this, getSharding(), getType()); }

mlir::ParseResult ManualComputationOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& state) {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  const mlir::SMLoc where = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, mlir::OpAsmParser::Delimiter::Paren)) return mlir::failure();
  const auto shardings = [&](llvm::StringRef name) -> mlir::ParseResult {
    if (parser.parseKeyword(name) || parser.parseEqual()) return mlir::failure();
    TensorShardingPerValueAttr attr = ParseShardings(parser);
    if (!attr) return mlir::failure();
    state.addAttribute(name, attr);
    return mlir::success();
  };
  if (shardings("in_shardings") || shardings("out_shardings") || parser.parseKeyword("manual_axes") ||
      parser.parseEqual()) {
    return mlir::failure();
  }
  mlir::Attribute axes = ManualAxesAttr::parse(parser, {});
  if (!axes) return mlir::failure();
  state.addAttribute("manual_axes", axes);
  return mlir::failure(ParseBody(parser, *state.addRegion()) || ParseTail(parser, operands, where, state));
}

void ManualComputationOp::print(mlir::OpAsmPrinter& p) {
  p << "(" << getTensors() << ") in_shardings=";
  PrintShardings(p, getInShardings());
  p << " out_shardings=";
  PrintShardings(p, getOutShardings());
  p << " manual_axes=";
  getManualAxes().print(p);
  p << " ";
  PrintBody(p, getBody());
  PrintTail(p, *this, {"in_shardings", "out_shardings", "manual_axes"});
}

llvm::LogicalResult ManualComputationOp::verify() {
  if (getInShardings().getShardings().size() != getTensors().size()) {
    return emitOpError("has ") << getInShardings().getShardings().size() << " in_shardings for " << getTensors().size()
                               << " operands";
  }
  if (getOutShardings().getShardings().size() != getNumResults()) {
    return emitOpError("has ") << getOutShardings().getShardings().size() << " out_shardings for " << getNumResults()
                               << " results";
  }
  for (auto [sharding, type] : llvm::zip(getInShardings().getShardings(), getTensors().getTypes())) {
    if (mlir::failed(VerifyRank(*this, sharding, type))) return mlir::failure();
  }
  for (auto [sharding, type] : llvm::zip(getOutShardings().getShardings(), getResultTypes())) {
    if (mlir::failed(VerifyRank(*this, sharding, type))) return mlir::failure();
  }
  if (getBody().getNumArguments() != getTensors().size()) {
    return emitOpError("has a body of ") << getBody().getNumArguments() << " arguments for " << getTensors().size()
                                         << " operands";
  }
  return VerifyReturn(*this, getBody());
}

mlir::ParseResult NamedComputationOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& state) {
  std::string name;
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseGreater()) return mlir::failure();
  state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  const mlir::SMLoc where = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, mlir::OpAsmParser::Delimiter::Paren)) return mlir::failure();
  for (llvm::StringRef list : {"in_shardings", "out_shardings"}) {
    if (mlir::failed(parser.parseOptionalKeyword(list))) continue;
    if (parser.parseEqual()) return mlir::failure();
    TensorShardingPerValueAttr attr = ParseShardings(parser);
    if (!attr) return mlir::failure();
    state.addAttribute(list, attr);
  }
  return mlir::failure(ParseBody(parser, *state.addRegion()) || ParseTail(parser, operands, where, state));
}

void NamedComputationOp::print(mlir::OpAsmPrinter& p) {
  p << "<";
  p.printString(getName());
  p << ">(" << getOperands() << ")";
  if (TensorShardingPerValueAttr attr = getInShardingsAttr()) {
    p << " in_shardings=";
    PrintShardings(p, attr);
  }
  if (TensorShardingPerValueAttr attr = getOutShardingsAttr()) {
    p << " out_shardings=";
    PrintShardings(p, attr);
  }
  p << " ";
  PrintBody(p, getBody());
  PrintTail(p, *this, {"name", "in_shardings", "out_shardings"});
}

}  // namespace tenon::sdy
