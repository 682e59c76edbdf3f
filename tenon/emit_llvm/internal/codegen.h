#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "tenon/base/status.h"
#include "tenon/isa/isa.h"

namespace tenon::emit_llvm {

/// LLVM IR -> object code or assembly for one ISA level. What LLVM's code generator needs is expensive to make (a
/// TargetMachine, a pipeline), so it is made when first wanted, and sessions are kept and lent out; one thread uses one
/// at a time.
class CodegenSession {
 public:
  explicit CodegenSession(isa::IsaLevel isa);
  ~CodegenSession();

  /// An empty module with this target's triple and data layout.
  std::unique_ptr<llvm::Module> NewModule(llvm::LLVMContext& context) const;
  /// What every emitted function carries.
  void SetFunctionAttributes(llvm::Function& function) const;

  enum class Output { kObject, kAssembly };
  /// Consumes the module's bodies. INTERNAL with LLVM's own words when it reports an error. May end in one of LLVM's
  /// fatal errors: call it through RunLlvm.
  Status Generate(llvm::Module& module, Output output, llvm::SmallVectorImpl<char>* out);

  isa::IsaLevel isa() const { return isa_; }

 private:
  const isa::IsaLevel isa_;
  struct Pipeline;
  Status MakeMachine();
  Result<std::unique_ptr<Pipeline>> MakePipeline(Output output);

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Pipeline> object_pipeline_;
};

/// Lends a kept session, making one when all are out; it comes back when the pointer goes.
using LentSession = std::unique_ptr<CodegenSession, void (*)(CodegenSession*)>;
LentSession BorrowSession(isa::IsaLevel isa);
/// Frees the sessions that are not out.
void DropSessions();

}  // namespace tenon::emit_llvm
