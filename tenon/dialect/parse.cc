#include "tenon/dialect/parse.h"

#include <exception>
#include <utility>

#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tenon/dialect/context_impl.h"
#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/stablehlo.h"
#include "tenon/dialect/named_calls.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/reader.h"
#include "tenon/dialect/vhlo/text_guard.h"
#include "tenon/dialect/vhlo/writer.h"
#include "tenon/vhlo/container.h"

namespace tenon::dialect {
namespace {

Result<OwnedModule> ParseText(Context& context, std::string_view bytes) {
  TENON_ASSIGN_OR_RETURN(std::string text, PrepareText(bytes));
  mlir::MLIRContext* mlir_context = &context.mlir();
  DiagnosticCapture capture(mlir_context);
  mlir::ParserConfig config(mlir_context, /*verifyAfterParse=*/false);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "program");
  if (!module) return capture.ToStatus();
  return OwnedModule(module.release().getOperation());
}

Result<OwnedModule> ParseBytecode(Context& context, std::string_view bytes, const ParseOptions& options) {
  DiagnosticCapture capture(&context.mlir());
  auto module = vhlo::ReadBytecode(bytes, &context.mlir(), {.borrow_from = options.borrow_literals_from});
  if (!module.ok()) {
    Status status = std::move(module).status();
    // MLIR's own checks say more than "it cannot be read".
    return capture.has_error() ? status.WithContext(capture.ToStatus().message()) : status;
  }
  return OwnedModule(module->release().getOperation());
}

Result<OwnedModule> ParseHlo(Context& context, const Result<hlo::Module>& program) {
  TENON_RETURN_IF_ERROR(program.status());
  // Making types and attributes may report mistakes too.
  DiagnosticCapture capture(&context.mlir());
  auto module = hlo::ToStablehlo(*program, &context.mlir());
  TENON_RETURN_IF_ERROR(module.status());
  return OwnedModule(module->release().getOperation());
}

Result<OwnedModule> Within(std::string_view what, Result<OwnedModule> module) {
  if (module.ok()) return module;
  return std::move(module).status().WithContext(what);
}

// Some clients end functions with stablehlo.return; what leaves here ends them with func.return, whose verifier
// compares types. Nobody has verified the module yet: functions may lack their region.
void NormalizeReturns(mlir::Operation* module) {
  for (mlir::Region& region : module->getRegions()) {
    for (auto function : region.getOps<mlir::func::FuncOp>()) {
      for (mlir::Region& of_function : function->getRegions()) {
        for (mlir::Block& body : of_function) {
          if (body.empty() || !mlir::isa<stablehlo::ReturnOp>(body.back())) continue;
          mlir::Operation& old = body.back();
          mlir::OpBuilder builder(&old);
          auto ret = mlir::func::ReturnOp::create(builder, old.getLoc(), old.getOperands());
          ret->setDiscardableAttrs(old.getDiscardableAttrDictionary());
          old.erase();
        }
      }
    }
  }
}

}  // namespace

OwnedModule& OwnedModule::operator=(OwnedModule&& other) noexcept {
  if (this != &other) {
    Reset();
    op_ = other.Release();
  }
  return *this;
}

mlir::Operation* OwnedModule::Release() { return std::exchange(op_, nullptr); }

void OwnedModule::Reset() {
  // MLIR cannot be left by an exception: what it was at is not in order and stays where it is.
  if (op_ != nullptr && std::uncaught_exceptions() == 0) op_->erase();
  op_ = nullptr;
}

InputKind DetectInput(std::string_view bytes) {
  if (bytes.starts_with(vhlo::kBytecodeMagic)) {
    // The producer follows the version, which is one byte for every version there is.
    std::string_view producer = bytes.substr(std::min<size_t>(bytes.size(), vhlo::kBytecodeMagic.size() + 1));
    return producer.starts_with(vhlo::kPortableProducer) ? InputKind::kPortableArtifact : InputKind::kBytecode;
  }
  if (hlo::LooksLikeProto(bytes)) return InputKind::kHloModuleProto;
  return hlo::LooksLikeText(bytes) ? InputKind::kHloText : InputKind::kText;
}

Result<OwnedModule> Parse(Context& context, std::string_view bytes, const ParseOptions& options) {
  context.impl().parses += 1;
  context.impl().bytes += bytes.size();
  Result<OwnedModule> module = OwnedModule();
  switch (DetectInput(bytes)) {
    case InputKind::kText:
      module = ParseText(context, bytes);
      break;
    case InputKind::kPortableArtifact:
    case InputKind::kBytecode:
      module = ParseBytecode(context, bytes, options);
      break;
    case InputKind::kHloModuleProto:
      module = Within("HloModuleProto", ParseHlo(context, hlo::ReadProto(bytes)));
      break;
    case InputKind::kHloText:
      module = Within("HLO text", ParseHlo(context, hlo::ReadText(bytes)));
      break;
  }
  if (!module.ok()) return module;
  NormalizeReturns(module->op());
  TENON_RETURN_IF_ERROR(Verify(module->op()));
  if (ReadNamedCalls(module->op())) TENON_RETURN_IF_ERROR(Verify(module->op()));
  return module;
}

Status Verify(mlir::Operation* op) {
  DiagnosticCapture capture(op->getContext());
  if (mlir::succeeded(stablehlo::VerifyQuantizedTypes(op)) && mlir::succeeded(mlir::verify(op))) return OkStatus();
  return capture.ToStatus();
}

Result<std::string> Serialize(mlir::Operation* module, Version target) {
  auto op = mlir::dyn_cast_or_null<mlir::ModuleOp>(module);
  if (!op) return InvalidArgument("only a module can be written as a portable artifact");
  const mlir::OwningOpRef<mlir::ModuleOp> named = WithNamedCalls(op);
  return vhlo::WriteArtifact(named ? *named : op, target);
}

std::string ToText(mlir::Operation* op, const TextOptions& options) {
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  if (options.generic) flags.printGenericOpForm();
  if (options.locations) flags.enableDebugInfo();
  op->print(out, flags);
  out << "\n";
  return text;
}

Status TranslateShardings(mlir::ModuleOp module) { return hlo::TranslateShardings(module); }

}  // namespace tenon::dialect
