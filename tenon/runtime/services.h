#pragma once

#include <functional>
#include <span>

#include "tenon/base/status.h"
#include "tenon/plan/plan.h"

namespace tenon::runtime {

/// A slot resolved for one run: `data` is element (0, ..., 0) of the strided view `slot`. Tokens have neither.
struct View {
  void* data = nullptr;
  const plan::Slot* slot = nullptr;
};

/// What a custom call is asked for before the steps of a run: all calls of the program are prepared, then all are
/// initialised.
enum class CallStage { kPrepare, kInitialize };

/// What a program needs beyond kernels and drivers; the embedder supplies it, so that the runtime knows no StableHLO
/// and no FFI. They are called on the thread that runs the program, may block, and must be thread-safe. `user` is
/// RunArguments::user. Operands are read only.
struct Services {
  std::function<Status(const plan::EvaluateStep& step, std::span<const View> operands, std::span<const View> results,
                       void* user)>
      evaluate;
  std::function<Status(const plan::CustomCallStep& step, std::span<const View> operands, std::span<const View> results,
                       void* user)>
      custom_call;
  /// Called before any step runs, for each custom call of the program wherever it stands, once per stage; the views'
  /// memory has addresses and no contents yet. Null where no call has such stages.
  std::function<Status(const plan::CustomCallStep& step, CallStage stage, std::span<const View> operands,
                       std::span<const View> results, void* user)>
      begin_custom_call;
};

}  // namespace tenon::runtime
