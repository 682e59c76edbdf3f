#include "tenon/emit_llvm/internal/compile.h"

#include <fmt/format.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "tenon/emit_llvm/internal/codegen.h"
#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/internal/hide_constants.h"
#include "tenon/emit_llvm/internal/hide_masks.h"
#include "tenon/emit_llvm/internal/llvm_thread.h"
#include "tenon/emit_llvm/internal/loader.h"
#include "tenon/emit_llvm/internal/x64/x64.h"

namespace tenon::emit_llvm {
namespace {

using Clock = std::chrono::steady_clock;
double MicrosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::string SymbolName(const Hash128& hash) {
  return fmt::format("tenon_{:016x}", hash.low ^ (hash.high * 0x9e3779b97f4a7c15u));
}

/// All that LLVM works on, in one piece: after a fatal error it is never touched again, and never destroyed.
struct Unit {
  explicit Unit(isa::IsaLevel isa) : session(BorrowSession(isa)), module(session->NewModule(context)) {}
  llvm::LLVMContext context;
  LentSession session;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallVector<char, 0> bytes;
};

/// The module's code in `unit->bytes`.
Status Generate(const std::shared_ptr<Unit>& unit, CodegenSession::Output output) {
  return RunLlvm([unit, output] { return unit->session->Generate(*unit->module, output, &unit->bytes); });
}

Result<llvm::Function*> EmitInto(Unit& unit, const kir::Kernel& kernel, const std::string& name) {
  llvm::Module& module = *unit.module;
  const CodegenSession& session = *unit.session;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::FunctionType* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, i64, i64, pointer}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  session.SetFunctionAttributes(*function);
  const Analysis analysis(kernel);
  FunctionEmitter emitter(analysis, session.isa(), function);
  TENON_RETURN_IF_ERROR(emitter.Emit());
  return function;
}

Status VerifyIr(const llvm::Function& function) {
  std::string problems;
  llvm::raw_string_ostream os(problems);
  if (!llvm::verifyFunction(function, &os)) return OkStatus();
  return Internal(fmt::format("the emitter wrote LLVM IR that does not verify: {}", problems.substr(0, 1000)));
}

#ifdef NDEBUG
constexpr bool kAlwaysVerify = false;
#else
constexpr bool kAlwaysVerify = true;
#endif

struct ModuleResult {
  std::vector<std::shared_ptr<CompiledKernel>> kernels;
};

/// What makes the code: "llvm" in TENON_CODEGEN leaves all of it to LLVM.
bool UseX64(isa::IsaLevel isa, Generator generator) {
  static const bool wanted = [] {
    const char* choice = std::getenv("TENON_CODEGEN");
    return choice == nullptr || std::string_view(choice) != "llvm";
  }();
  return wanted && generator != Generator::kLlvm && isa != isa::IsaLevel::kSse4;
}

x64::Registers RegistersOf(Generator generator) {
  if (generator == Generator::kOwnInFewRegisters) return {.gprs = 4, .vecs = 5, .masks = 2};
  return {};
}

Status CompileAll(std::span<const kir::Kernel* const> kernels, std::span<const Hash128> hashes, isa::IsaLevel isa,
                  Generator generator, ModuleResult* out) {
  const bool own = UseX64(isa, generator);
  const auto unit = std::make_shared<Unit>(isa);
  double instructions = 0;
  std::vector<double> size_of(kernels.size(), 0);
  std::vector<LoadedCode::Piece> pieces;
  bool left = false;
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto compiled = std::make_shared<CompiledKernel>();
    compiled->hash = hashes[i];
    compiled->name = SymbolName(hashes[i]);
    if (!own) compiled->llvm_reason = isa == isa::IsaLevel::kSse4 ? "sse4" : "asked for";
    auto start = Clock::now();
    TENON_ASSIGN_OR_RETURN(llvm::Function* const function, EmitInto(*unit, *kernels[i], compiled->name));
    compiled->name = function->getName().str();  // another one when two kernels' names are equal
    compiled->times.emit_us = MicrosSince(start);
    start = Clock::now();
    std::optional<x64::Code> code;
    if (kAlwaysVerify) TENON_RETURN_IF_ERROR(VerifyIr(*function));
    if (own) code = x64::Compile(*function, isa, isa::ExtrasFor(isa), &compiled->llvm_reason, RegistersOf(generator));
    compiled->times.codegen_us = MicrosSince(start);
    if (code) {
      compiled->frame_bytes = code->frame_bytes;
      compiled->spills = code->spills.stores;
      compiled->reloads = code->spills.loads + code->spills.folded;
      pieces.push_back({compiled->name, std::move(code->bytes), code->text_bytes, std::move(code->cfi)});
      function->eraseFromParent();
    } else {
      HideKnownMasks(*function, isa);
      HideNeutralConstants(*function);
      // LLVM's code generator does not forgive.
      if (!kAlwaysVerify) TENON_RETURN_IF_ERROR(VerifyIr(*function));
      left = true;
      size_of[i] = function->getInstructionCount();
      instructions += size_of[i];
    }
    out->kernels.push_back(std::move(compiled));
  }
  std::shared_ptr<const LoadedCode> loaded[2];
  double codegen_us = 0;
  auto start = Clock::now();
  if (left) {
    TENON_RETURN_IF_ERROR(Generate(unit, CodegenSession::Output::kObject));
    codegen_us = MicrosSince(start);
    start = Clock::now();
    TENON_ASSIGN_OR_RETURN(loaded[0], LoadedCode::Load({unit->bytes.data(), unit->bytes.size()}));
  }
  if (!pieces.empty()) {
    TENON_ASSIGN_OR_RETURN(loaded[1], LoadedCode::Place(pieces));
  }
  const double load_us = MicrosSince(start);
  for (size_t i = 0; i < kernels.size(); ++i) {
    CompiledKernel& compiled = *out->kernels[i];
    const bool by_llvm = size_of[i] > 0;
    if (!by_llvm) compiled.llvm_reason.clear();
    compiled.memory = loaded[by_llvm ? 0 : 1];
    const LoadedCode::Symbol symbol = loaded[by_llvm ? 0 : 1]->Find(compiled.name);
    if (symbol.address == nullptr) return Internal(fmt::format("the object code lacks '{}'", compiled.name));
    compiled.fn = reinterpret_cast<kir::KernelFn>(symbol.address);
    compiled.code_bytes = symbol.size_bytes;
    if (instructions > 0) compiled.times.codegen_us += codegen_us * size_of[i] / instructions;
    compiled.times.load_us = load_us / static_cast<double>(kernels.size());
  }
  return OkStatus();
}

}  // namespace

std::vector<Result<std::shared_ptr<const CompiledKernel>>> CompileModule(std::span<const kir::Kernel* const> kernels,
                                                                         std::span<const Hash128> hashes,
                                                                         isa::IsaLevel isa, Generator generator) {
  ModuleResult module;
  const Status status = CompileAll(kernels, hashes, isa, generator, &module);
  std::vector<Result<std::shared_ptr<const CompiledKernel>>> results;
  if (status.ok()) {
    for (auto& kernel : module.kernels) results.emplace_back(std::shared_ptr<const CompiledKernel>(std::move(kernel)));
    return results;
  }
  if (kernels.size() == 1) {
    results.emplace_back(status);
    return results;
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    results.push_back(std::move(CompileModule(kernels.subspan(i, 1), hashes.subspan(i, 1), isa, generator)[0]));
  }
  return results;
}

Result<std::string> CompileToText(const kir::Kernel& kernel, isa::IsaLevel isa, TextKind kind) {
  const auto unit = std::make_shared<Unit>(isa);
  TENON_ASSIGN_OR_RETURN(llvm::Function* const function, EmitInto(*unit, kernel, SymbolName(kir::Hash(kernel))));
  TENON_RETURN_IF_ERROR(VerifyIr(*function));
  std::string text;
  if (kind == TextKind::kLlvm) {
    llvm::raw_string_ostream os(text);
    unit->module->print(os, nullptr);
    return text;
  }
  TENON_RETURN_IF_ERROR(Generate(unit, CodegenSession::Output::kAssembly));
  text.assign(unit->bytes.data(), unit->bytes.size());
  return text;
}

}  // namespace tenon::emit_llvm
