#include "tenon/dialect/check/dialect.h"

#include "mlir/IR/Builders.h"
#include "tenon/dialect/check/check.cc.inc"
#include "tenon/dialect/check/interpreter.cc.inc"

namespace tenon::check {
namespace {

// `dense<..> : T`, which is the type of the operand too.
mlir::ParseResult parseConstantOfType(mlir::OpAsmParser& parser, mlir::ElementsAttr& value, mlir::Type& type) {
  if (parser.parseAttribute(value)) return mlir::failure();
  type = value.getType();
  return mlir::success();
}
void printConstantOfType(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::ElementsAttr value, mlir::Type) {
  printer.printAttribute(value);
}

}  // namespace

void CheckDialect::initialize() {
  addOperations<ExpectEqOp, ExpectEqConstOp, ExpectAlmostEqOp, ExpectAlmostEqConstOp, ExpectCloseOp,
                ExpectSerializedEqOp>();
}

void RegisterCheck(mlir::DialectRegistry& registry) {
  registry.insert<CheckDialect, interpreter::InterpreterDialect>();
}

}  // namespace tenon::check

namespace tenon::interpreter {

void InterpreterDialect::initialize() { addOperations<PrintOp, ProbeOp, RunParallelOp>(); }

}  // namespace tenon::interpreter

#define GET_OP_CLASSES
#include "tenon/dialect/check/ops.cc.inc"
