#pragma once

/// KIR -> machine code in memory. The only folder that runs LLVM's code generator; this header names none of its types.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/status.h"
#include "tenon/isa/isa.h"
#include "tenon/kir/kir.h"

namespace tenon::emit_llvm {

/// What a kernel's code depends on besides the kernel itself.
struct EmitOptions {
  isa::IsaLevel isa = isa::IsaLevel::kSse4;  ///< Usually isa::ActiveIsa(). Running code above DetectedIsa() traps.
  /// LLVM's code generator makes all of it, and the cache is passed by: the second opinion.
  bool by_llvm = false;
};

/// Where one kernel's compile time went, in microseconds; zero for what a cache hit did not spend.
struct CompileTimes {
  double emit_us = 0;  ///< KIR -> LLVM IR.
  double codegen_us =
      0;               ///< LLVM IR -> object code; a module's time is shared out over its kernels by instruction count.
  double load_us = 0;  ///< Object code -> executable memory.
};

/// One kernel's machine code. The code lives exactly as long as this object; whoever may still call `fn` holds it.
struct CompiledKernel {
  kir::KernelFn fn = nullptr;
  Hash128 hash;      ///< kir::Hash of the kernel.
  std::string name;  ///< Symbol in perf maps and debuggers: "tenon_" and 16 hex digits.
  int64_t code_bytes = 0;
  /// Where the emitter's own code generator made it: its stack, and how many of its instructions move values that have
  /// no register there, and back or read them there.
  int64_t frame_bytes = 0;
  int64_t spills = 0;
  int64_t reloads = 0;
  std::string llvm_reason;             ///< Why LLVM's code generator made it; empty: the emitter's own did.
  CompileTimes times;                  ///< Of the compile that made the code.
  std::shared_ptr<const void> memory;  ///< Owns the executable pages.
};

/// Counters of the process-wide kernel cache since the process started.
struct CacheCounters {
  int64_t hits = 0;       ///< Kernels found, including those that another thread was compiling.
  int64_t misses = 0;     ///< Kernels that were not there and went through the code generator.
  int64_t evictions = 0;  ///< Kernels that left because the budget was spent.
  int64_t live = 0;       ///< Distinct kernels held now.
  int64_t bytes = 0;      ///< What they take: code, and the kernel itself by which they are found.
};

/// From now on the cache holds at most so many bytes, at least 0; who was asked for longest ago leaves first. Code that
/// is in use stays valid, and counts no more. The environment variable TENON_KERNEL_CACHE_MIB sets what the process
/// starts with.
void SetCacheBudget(int64_t bytes);

/// INVALID_ARGUMENT with the variable's name, its value and what it may be where TENON_KERNEL_CACHE_MIB or
/// TENON_CODEGEN has a value that means nothing. What cannot fail takes such a variable as unset.
Status CheckSettings();

/// The code of each kernel, in order. Kernels must be verified (kir::Verify). Goes through the process-wide cache,
/// which finds by the kernel's value and the level: equal kernels, within one call or over calls and threads, compile
/// once for as long as the cache holds them, and who asks for one that is being compiled waits for it. What is missing
/// is compiled on the calling thread and the codegen pool together. A kernel that the code generator cannot compile
/// gives UNIMPLEMENTED or INTERNAL (and nothing is cached for it); LLVM's fatal errors end here too. Any thread; does
/// not depend on, or change, the thread's floating-point mode.
Result<std::vector<std::shared_ptr<const CompiledKernel>>> CompileKernels(std::span<const kir::Kernel* const> kernels,
                                                                          const EmitOptions& options);
Result<std::shared_ptr<const CompiledKernel>> CompileKernel(const kir::Kernel& kernel, const EmitOptions& options);

/// The kernel's LLVM IR and its assembly, for dumps and tests. Not cached.
Result<std::string> EmitLlvmText(const kir::Kernel& kernel, const EmitOptions& options);
Result<std::string> EmitAssembly(const kir::Kernel& kernel, const EmitOptions& options);

CacheCounters Counters();

/// On so many threads at most, the caller's included, kernels of one call are compiled from now on, in the whole
/// process. Before the first call it is the number of CPUs that the process may run on. At least 1.
void SetCodegenThreads(int threads);

/// For as long as somebody holds one, the codegen pool keeps its threads from one compile to the next; with the last
/// one they are joined. Without any, each compile ends its own.
std::shared_ptr<void> KeepCodegenThreads();

/// Joins the codegen pool's threads and empties the kernel cache (code still referenced stays). Call before the library
/// is unloaded, with no compile in flight; a later CompileKernels starts anew.
void Shutdown();

}  // namespace tenon::emit_llvm
