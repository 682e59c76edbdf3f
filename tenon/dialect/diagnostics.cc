#include <string>

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "tenon/dialect/parse_mlir.h"

namespace tenon::dialect {
namespace {

// Messages may quote types and attributes of the input.
constexpr size_t kMaxMessage = 4000;

}  // namespace

std::string Describe(mlir::Location loc) {
  std::string name;
  if (auto named = loc->findInstanceOf<mlir::NameLoc>()) name = named.getName().str();
  auto file = loc->findInstanceOf<mlir::FileLineColLoc>();
  if (!file) return name.empty() ? "unknown location" : name;
  std::string where =
      file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  return name.empty() ? where : name + " (" + where + ")";
}

std::string Describe(mlir::Operation* op) {
  return op->getName().getStringRef().str() + " at " + Describe(op->getLoc());
}

DiagnosticCapture::DiagnosticCapture(mlir::MLIRContext* context) : context_(context) {
  id_ = context->getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && first_error_.empty()) {
      first_error_ = diagnostic.str();
      if (first_error_.size() > kMaxMessage) first_error_ = first_error_.substr(0, kMaxMessage) + "...";
      const std::string where = Describe(diagnostic.getLocation());
      first_error_ += " (at " + where + ")";
    }
    return mlir::success();
  });
}

DiagnosticCapture::~DiagnosticCapture() { context_->getDiagEngine().eraseHandler(id_); }

Status DiagnosticCapture::ToStatus(Code code) const {
  return Status(code, first_error_.empty() ? "no reason given" : first_error_);
}

}  // namespace tenon::dialect
