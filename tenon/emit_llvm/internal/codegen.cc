#include "tenon/emit_llvm/internal/codegen.h"

#include <fmt/format.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Scalar.h>

#include <mutex>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr const char* kDataLayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

class DiagnosticCollector : public llvm::DiagnosticHandler {
 public:
  explicit DiagnosticCollector(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && errors_->size() < policy::kErrorBytes) {
      llvm::raw_string_ostream os(*errors_);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
      os << "; ";
    }
    return true;
  }

 private:
  std::string* errors_;
};

/// The machine pipeline is LLVM's own less the passes that cost more than they bring to code that the emitter has
/// already laid out: it hoists, unrolls and orders by itself, so what remains to do is selection, register allocation
/// and encoding.
void DisablePasses(llvm::TargetPassConfig& config) {
  for (llvm::AnalysisID id : {static_cast<llvm::AnalysisID>(&llvm::MachineSchedulerID),
                              static_cast<llvm::AnalysisID>(&llvm::PostRASchedulerID),
                              static_cast<llvm::AnalysisID>(&llvm::PostMachineSchedulerID),
                              static_cast<llvm::AnalysisID>(&llvm::EarlyTailDuplicateLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::TailDuplicateLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineBlockPlacementID),
                              static_cast<llvm::AnalysisID>(&llvm::BranchFolderPassID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineCombinerID),
                              static_cast<llvm::AnalysisID>(&llvm::EarlyIfConverterLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineSinkingLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::PostRAMachineSinkingID),
                              static_cast<llvm::AnalysisID>(&llvm::ShrinkWrapID),
                              static_cast<llvm::AnalysisID>(&llvm::StackColoringLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::StackSlotColoringID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineCopyPropagationID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineLateInstrsCleanupID),
                              static_cast<llvm::AnalysisID>(&llvm::OptimizePHIsLegacyID),
                              static_cast<llvm::AnalysisID>(&llvm::LiveRangeShrinkID),
                              static_cast<llvm::AnalysisID>(&llvm::XRayInstrumentationID),
                              static_cast<llvm::AnalysisID>(&llvm::PatchableFunctionID),
                              static_cast<llvm::AnalysisID>(&llvm::FuncletLayoutID),
                              static_cast<llvm::AnalysisID>(&llvm::FEntryInserterID),
                              static_cast<llvm::AnalysisID>(&llvm::StackMapLivenessID),
                              static_cast<llvm::AnalysisID>(&llvm::LiveDebugValuesID),
                              static_cast<llvm::AnalysisID>(&llvm::StackFrameLayoutAnalysisPassID),
                              static_cast<llvm::AnalysisID>(&llvm::RemoveLoadsIntoFakeUsesID),
                              static_cast<llvm::AnalysisID>(&llvm::FixupStatepointCallerSavedID),
                              static_cast<llvm::AnalysisID>(&llvm::MachineSanitizerBinaryMetadataID)}) {
    config.disablePass(id);
  }
}

/// Blocks follow each other as they were emitted; what remains is to drop jumps to the next one.
class FallThroughPass : public llvm::MachineFunctionPass {
 public:
  static char ID;
  FallThroughPass() : llvm::MachineFunctionPass(ID) {}
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock& block : function) {
      llvm::MachineBasicBlock* yes = nullptr;
      llvm::MachineBasicBlock* no = nullptr;
      llvm::SmallVector<llvm::MachineOperand, 4> condition;
      if (instructions.analyzeBranch(block, yes, no, condition) || yes == nullptr) continue;
      if (condition.empty()) {
        if (block.isLayoutSuccessor(yes)) changed |= instructions.removeBranch(block) != 0;
        continue;
      }
      if (no != nullptr && block.isLayoutSuccessor(no)) {
        instructions.removeBranch(block);
        instructions.insertBranch(block, yes, nullptr, condition, llvm::DebugLoc());
        changed = true;
      } else if (no != nullptr && block.isLayoutSuccessor(yes) && !instructions.reverseBranchCondition(condition)) {
        instructions.removeBranch(block);
        instructions.insertBranch(block, no, nullptr, condition, llvm::DebugLoc());
        changed = true;
      }
    }
    return changed;
  }
};
char FallThroughPass::ID = 0;

}  // namespace

struct CodegenSession::Pipeline {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream{bytes};
  llvm::legacy::PassManager passes;
};

CodegenSession::CodegenSession(isa::IsaLevel isa) : isa_(isa) {}

Status CodegenSession::MakeMachine() {
  if (machine_ != nullptr) return OkStatus();
  InitializeLlvm();
  const llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return Internal(fmt::format("LLVM has no x86-64 target: {}", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // what is contracted is a node
  options.EnableFastISel = false;
  options.ExceptionModel = llvm::ExceptionHandling::None;
  const std::string_view cpu = isa::LlvmCpu(isa_);
  std::string features(isa::LlvmFeatures(isa_));
  if (isa::ExtrasFor(isa_).avx512_bf16) features += features.empty() ? "+avx512bf16" : ",+avx512bf16";
  machine_.reset(target->createTargetMachine(triple, llvm::StringRef(cpu.data(), cpu.size()), features, options,
                                             llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default,
                                             /*JIT=*/true));
  if (machine_ == nullptr) return Internal("LLVM made no x86-64 target machine");
  if (machine_->createDataLayout().getStringRepresentation() != kDataLayout)
    return Internal("LLVM lays data out in another way than kernels are emitted for");
  return OkStatus();
}

CodegenSession::~CodegenSession() = default;

std::unique_ptr<llvm::Module> CodegenSession::NewModule(llvm::LLVMContext& context) const {
  auto module = std::make_unique<llvm::Module>("tenon", context);
  module->setTargetTriple(llvm::Triple(kTriple));
  module->setDataLayout(kDataLayout);
  return module;
}

void CodegenSession::SetFunctionAttributes(llvm::Function& function) const {
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr("no-trapping-math", "true");
  function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
  const char* width = isa_ == isa::IsaLevel::kAvx512 ? "512" : "256";
  function.addFnAttr("prefer-vector-width", width);
  function.addFnAttr("min-legal-vector-width", width);
}

Result<std::unique_ptr<CodegenSession::Pipeline>> CodegenSession::MakePipeline(Output output) {
  auto pipeline = std::make_unique<Pipeline>();
  llvm::legacy::PassManager& passes = pipeline->passes;
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
  passes.add(new llvm::TargetLibraryInfoWrapperPass(machine_->getTargetTriple()));
  llvm::TargetPassConfig* config = machine_->createPassConfig(passes);
  config->setDisableVerify(true);
  config->setEnableTailMerge(false);
  DisablePasses(*config);
  passes.add(config);
  auto* mmi = new llvm::MachineModuleInfoWrapperPass(machine_.get());
  passes.add(mmi);
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
  if (config->addInstSelector()) return Internal("LLVM has no instruction selector for this target");
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  config->addMachinePasses();
  config->setInitialized();
  passes.add(new FallThroughPass);
  const auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine_->addAsmPrinter(passes, pipeline->stream, nullptr, type, mmi->getMMI().getContext())) {
    return Internal("LLVM cannot print code for this target");
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  return pipeline;
}

Status CodegenSession::Generate(llvm::Module& module, Output output, llvm::SmallVectorImpl<char>* out) {
  TENON_RETURN_IF_ERROR(MakeMachine());
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<DiagnosticCollector>(&errors));
  // Making a pipeline costs a third of what running it over a small kernel does, so the one for object code is kept.
  std::unique_ptr<Pipeline> fresh;
  Pipeline* pipeline = object_pipeline_.get();
  if (output != Output::kObject || pipeline == nullptr) {
    TENON_ASSIGN_OR_RETURN(fresh, MakePipeline(output));
    pipeline = fresh.get();
    if (output == Output::kObject) object_pipeline_ = std::move(fresh);
  }
  pipeline->bytes.clear();
  pipeline->passes.run(module);
  out->assign(pipeline->bytes.begin(), pipeline->bytes.end());
  if (!errors.empty()) return Internal(fmt::format("LLVM reported: {}", errors));
  return OkStatus();
}

namespace {
struct SessionShelf {
  ForkSafeMutex mutex;
  std::vector<CodegenSession*> kept[isa::kAllIsaLevels.size()];
};
SessionShelf& Shelf() {
  static SessionShelf* shelf = new SessionShelf;  // outlives static destruction, as threads may
  return *shelf;
}
void GiveBack(CodegenSession* session) {
  SessionShelf& shelf = Shelf();
  std::lock_guard lock(shelf.mutex);
  shelf.kept[static_cast<size_t>(session->isa())].push_back(session);
}
}  // namespace

LentSession BorrowSession(isa::IsaLevel isa) {
  {
    SessionShelf& shelf = Shelf();
    std::lock_guard lock(shelf.mutex);
    auto& kept = shelf.kept[static_cast<size_t>(isa)];
    if (!kept.empty()) {
      LentSession session(kept.back(), GiveBack);
      kept.pop_back();
      return session;
    }
  }
  return LentSession(new CodegenSession(isa), GiveBack);
}

void DropSessions() {
  SessionShelf& shelf = Shelf();
  std::lock_guard lock(shelf.mutex);
  for (auto& kept : shelf.kept) {
    for (CodegenSession* session : kept) delete session;
    kept.clear();
  }
}

}  // namespace tenon::emit_llvm
