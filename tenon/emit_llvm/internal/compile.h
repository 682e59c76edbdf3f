#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/emit_llvm/emit.h"

namespace tenon::emit_llvm {

/// Whose code: the emitter's own where it can, the same with so few registers that little of it does without memory
/// (for tests), or LLVM's for all.
enum class Generator { kOwn, kOwnInFewRegisters, kLlvm };

/// Compiles the kernels as one module, past the cache. When one of them cannot be compiled, each is tried alone, so
/// that the others still succeed. One result per kernel.
std::vector<Result<std::shared_ptr<const CompiledKernel>>> CompileModule(std::span<const kir::Kernel* const> kernels,
                                                                         std::span<const Hash128> hashes,
                                                                         isa::IsaLevel isa,
                                                                         Generator generator = Generator::kOwn);

enum class TextKind { kLlvm, kAssembly };
Result<std::string> CompileToText(const kir::Kernel& kernel, isa::IsaLevel isa, TextKind kind);

}  // namespace tenon::emit_llvm
