#include "tenon/emit_llvm/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tenon/emit_llvm/internal/codegen.h"
#include "tenon/emit_llvm/internal/compile.h"
#include "tenon/emit_llvm/internal/kernel_cache.h"
#include "tenon/emit_llvm/internal/pool.h"
#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {
namespace {

using Compiled = std::shared_ptr<const CompiledKernel>;

Result<int64_t> InitialBudget() {
  const char* text = std::getenv("TENON_KERNEL_CACHE_MIB");
  if (text == nullptr || *text == '\0') return policy::kCacheBytes;
  char* end = nullptr;
  const long long mib = std::strtoll(text, &end, 10);
  if (*end != '\0' || mib < 0)
    return InvalidArgument(fmt::format("TENON_KERNEL_CACHE_MIB is '{}', wanted a number from 0", text));
  return std::min<int64_t>(mib, int64_t{1} << 40) << 20;  // structural: no overflow
}

KernelCache& TheCache() {
  const Result<int64_t> budget = InitialBudget();
  // Outlives static destruction.
  static KernelCache* cache = new KernelCache(
      budget.ok() ? *budget : policy::kCacheBytes,
      [](std::span<const kir::Kernel* const> kernels, std::span<const Hash128> hashes, isa::IsaLevel isa) {
        return CompileModule(kernels, hashes, isa);
      },
      [](const kir::Kernel& kernel) { return kir::Hash(kernel); });
  return *cache;
}

}  // namespace

Status CheckSettings() {
  TENON_RETURN_IF_ERROR(InitialBudget().status());
  const char* choice = std::getenv("TENON_CODEGEN");
  if (choice == nullptr || *choice == '\0' || std::string_view(choice) == "llvm") return OkStatus();
  return InvalidArgument(fmt::format("TENON_CODEGEN is '{}', wanted llvm or nothing", choice));
}

Result<std::vector<Compiled>> CompileKernels(std::span<const kir::Kernel* const> kernels, const EmitOptions& options) {
  const std::shared_ptr<void> threads = KeepPool();
  if (!options.by_llvm) return TheCache().Get(kernels, options.isa);
  std::vector<Hash128> hashes;
  for (const kir::Kernel* kernel : kernels) hashes.push_back(kir::Hash(*kernel));
  std::vector<Compiled> compiled;
  for (Result<Compiled>& made : CompileModule(kernels, hashes, options.isa, Generator::kLlvm)) {
    TENON_RETURN_IF_ERROR(made.status());
    compiled.push_back(*std::move(made));
  }
  return compiled;
}

Result<Compiled> CompileKernel(const kir::Kernel& kernel, const EmitOptions& options) {
  const kir::Kernel* const one[] = {&kernel};
  TENON_ASSIGN_OR_RETURN(std::vector<Compiled> compiled, CompileKernels(one, options));
  return compiled[0];
}

Result<std::string> EmitLlvmText(const kir::Kernel& kernel, const EmitOptions& options) {
  return CompileToText(kernel, options.isa, TextKind::kLlvm);
}
Result<std::string> EmitAssembly(const kir::Kernel& kernel, const EmitOptions& options) {
  return CompileToText(kernel, options.isa, TextKind::kAssembly);
}

CacheCounters Counters() { return TheCache().Counters(); }

void SetCacheBudget(int64_t bytes) { TheCache().SetBudget(bytes); }

void SetCodegenThreads(int threads) { SetPoolWidth(static_cast<unsigned>(std::max(threads, 1))); }

std::shared_ptr<void> KeepCodegenThreads() { return KeepPool(); }

void Shutdown() {
  StopPool();
  TheCache().Clear();
  DropSessions();
}

}  // namespace tenon::emit_llvm
