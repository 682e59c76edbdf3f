#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/status.h"
#include "tenon/vhlo/version.h"

namespace mlir {
class MLIRContext;
class Operation;
}  // namespace mlir

namespace tenon::dialect {

using vhlo::kCurrentVersion;
using vhlo::kMinimumVersion;
using vhlo::Version;

/// A lease of an MLIR context with every dialect of a program loaded (builtin, func, quant, stablehlo, chlo, sdy,
/// check). Making one costs milliseconds, so a process-wide pool keeps them: constructing takes one from the pool or
/// makes one, destroying gives it back, or ends it when it has served enough (attributes live as long as their
/// context). One thread at a time may use a Context; any thread may make one. Every module read in a Context must be
/// gone before it.
class Context {
 public:
  Context();
  ~Context();
  Context(Context&& other) noexcept;
  Context& operator=(Context&& other) noexcept;

  mlir::MLIRContext& mlir() const;

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Makes contexts until `count` lie ready in the pool (or the pool is full), so that a first compile need not wait.
void WarmContexts(size_t count);
/// Ends every context that lies in the pool. Leased ones are not touched.
void DropIdleContexts();

/// Owns one module operation (an mlir::ModuleOp). Must not outlive the Context it was read in.
class OwnedModule {
 public:
  OwnedModule() = default;
  /// Takes over `op`, which must be a builtin.module that nothing else owns.
  explicit OwnedModule(mlir::Operation* op) : op_(op) {}
  ~OwnedModule() { Reset(); }
  OwnedModule(OwnedModule&& other) noexcept : op_(other.Release()) {}
  OwnedModule& operator=(OwnedModule&& other) noexcept;

  mlir::Operation* op() const { return op_; }
  explicit operator bool() const { return op_ != nullptr; }
  /// Gives the operation away.
  mlir::Operation* Release();

 private:
  void Reset();
  mlir::Operation* op_ = nullptr;
};

enum class InputKind {
  kText,              ///< StableHLO assembly, pretty or generic.
  kPortableArtifact,  ///< MLIR bytecode that carries VHLO.
  kBytecode,          ///< MLIR bytecode of the StableHLO dialect itself.
  kHloModuleProto,    ///< Serialized xla.HloModuleProto, also within HloModuleProtoWithConfig or HloProto.
  kHloText,           ///< HLO text: "HloModule name ...".
};

/// What `bytes` hold, judged by content. Portable artifacts are told from other bytecode by their producer string.
InputKind DetectInput(std::string_view bytes);

struct ParseOptions {
  /// Literals of at least this many bytes become dense_resource attributes that point into the input, which must then
  /// outlive the module; smaller ones are copied into the context. Off by default: not every reader of constants knows
  /// both kinds.
  size_t borrow_literals_from = static_cast<size_t>(-1);
};

/// Reads a program of any kind that DetectInput knows and returns verified StableHLO (with func, sdy and chlo as they
/// came; functions end with func.return, also where they came with stablehlo.return). Malformed, ill-typed or too
/// deeply nested input is INVALID_ARGUMENT with the op and its location where they are known, an HLO instruction
/// without StableHLO form UNIMPLEMENTED. Takes up to 1 MiB of the caller's stack, at the deepest nesting that is
/// accepted.
Result<OwnedModule> Parse(Context& context, std::string_view bytes, const ParseOptions& options = {});

/// Writes `module` (a builtin.module of StableHLO) as a portable artifact that readers of `target` accept; the module
/// is left as it is. INVALID_ARGUMENT when an op, attribute or type has no form at `target`, or `target` is outside
/// [kMinimumVersion, kCurrentVersion].
Result<std::string> Serialize(mlir::Operation* module, Version target = kCurrentVersion);

struct TextOptions {
  bool generic = false;    ///< "stablehlo.add"(%0, %1) : ... instead of the pretty form.
  bool locations = false;  ///< Print loc(...).
};

std::string ToText(mlir::Operation* op, const TextOptions& options = {});

/// The first verifier error of `op` with op and location, as INVALID_ARGUMENT.
Status Verify(mlir::Operation* op);

}  // namespace tenon::dialect
