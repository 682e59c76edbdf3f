#include "tenon/dialect/parse.h"

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
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/container.h"
#include "tenon/dialect/vhlo/reader.h"
#include "tenon/dialect/vhlo/text_guard.h"
#include "tenon/dialect/vhlo/writer.h"

namespace tenon::dialect {
namespace {

// Serialized protobuf of HloModuleProto begins with field 1, the name: its tag and a length that stays in the input. No assembly
// begins with a control character.
bool LooksLikeHloModule(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x0A && static_cast<uint8_t>(bytes[1]) < 0x80 &&
         static_cast<size_t>(bytes[1]) + 2 <= bytes.size() && bytes.find('\0') != std::string_view::npos;
}

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

// Some clients end functions with stablehlo.return; what leaves here ends them with func.return, whose verifier compares types.
void NormalizeReturns(mlir::Operation* module) {
  for (mlir::Region& region : module->getRegions()) {
    for (mlir::Block& block : region) {
      for (auto function : block.getOps<mlir::func::FuncOp>()) {
        for (mlir::Block& body : function.getBody()) {
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
  if (op_ != nullptr) op_->erase();
  op_ = nullptr;
}

InputKind DetectInput(std::string_view bytes) {
  if (bytes.starts_with(vhlo::kBytecodeMagic)) {
    // The producer follows the version, which is one byte for every version there is.
    std::string_view producer = bytes.substr(std::min<size_t>(bytes.size(), vhlo::kBytecodeMagic.size() + 1));
    return producer.starts_with(vhlo::kPortableProducer) ? InputKind::kPortableArtifact : InputKind::kBytecode;
  }
  return LooksLikeHloModule(bytes) ? InputKind::kHloModuleProto : InputKind::kText;
}

Result<OwnedModule> Parse(Context& context, std::string_view bytes, const ParseOptions& options) {
  context.impl().parses += 1;
  context.impl().bytes += bytes.size();
  Result<OwnedModule> module = OwnedModule();
  switch (DetectInput(bytes)) {
    case InputKind::kText: module = ParseText(context, bytes); break;
    case InputKind::kPortableArtifact:
    case InputKind::kBytecode: module = ParseBytecode(context, bytes, options); break;
    case InputKind::kHloModuleProto: return Unimplemented("programs in the form of HloModuleProto cannot be read yet");
  }
  if (module.ok()) NormalizeReturns(module->op());
  if (module.ok() && options.verify) TENON_RETURN_IF_ERROR(Verify(module->op()));
  return module;
}

Status Verify(mlir::Operation* op) {
  DiagnosticCapture capture(op->getContext());
  if (mlir::succeeded(mlir::verify(op))) return OkStatus();
  return capture.ToStatus();
}

Result<std::string> Serialize(mlir::Operation* module, Version target) {
  auto op = mlir::dyn_cast_or_null<mlir::ModuleOp>(module);
  if (!op) return InvalidArgument("only a module can be written as a portable artifact");
  return vhlo::WriteArtifact(op, target);
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

}  // namespace tenon::dialect
