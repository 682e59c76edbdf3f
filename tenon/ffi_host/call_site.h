#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/services.h"

namespace tenon::ffi_host {

/// What one execution offers the handlers that it calls.
struct Invocation {
  /// User data that the client attached under a type id, or null.
  std::function<void*(int64_t type_id)> find_user_data;
  /// Runs the task on some thread, at once or later; empty: tasks run where handlers schedule them.
  std::function<void(std::function<void()>)> schedule;
  int64_t num_threads = 1;
  int64_t run_id = 0;
  int32_t device_ordinal = 0;
};

class AttributeFrame;

/// Objects that the stages of a handler left, freed by their type's deleter. Thread-safe.
class StageStates {
 public:
  StageStates() = default;
  ~StageStates();
  StageStates(const StageStates&) = delete;
  StageStates& operator=(const StageStates&) = delete;

  /// FAILED_PRECONDITION when the stage has one already; the object stays the caller's then.
  Status Set(XLA_FFI_ExecutionStage stage, int64_t type_id, void* object);
  /// Null when the stage left none: callers built from the public headers take it so. INVALID_ARGUMENT for another
  /// type's.
  Result<void*> Get(XLA_FFI_ExecutionStage stage, int64_t type_id) const;

 private:
  struct State {
    XLA_FFI_ExecutionStage stage;
    int64_t type_id;
    void* object;
  };
  mutable std::mutex mutex_;
  std::vector<State> states_;
};

/// A custom-call step bound to its handler: attributes converted once, the state of the instantiate stage kept.
class CallSite {
 public:
  /// Finds the handler of `step` and instantiates it. NOT_FOUND for an unknown target; what the handler's instantiate
  /// stage says. `slots`: the plan's, whose extents stand-ins give way by; without them they never do.
  static Result<std::unique_ptr<CallSite>> Create(const plan::CustomCallStep& step,
                                                  std::span<const plan::Slot> slots = {});
  ~CallSite();

  const Handler& handler() const { return *handler_; }
  /// Whether the handler has a prepare or an initialize stage.
  bool has_begin() const { return handler_->bundle.prepare != nullptr || handler_->bundle.initialize != nullptr; }

  /// Calls the handler's stage, if it has it, before an execution: once each, prepare for all sites of the execution
  /// first. The views' memory has no contents yet. `states` is the execution's for this site and gets what the stage
  /// leaves.
  Status Begin(runtime::CallStage stage, std::span<const runtime::View> operands,
               std::span<const runtime::View> results, const Invocation& invocation, StageStates& states);

  /// Calls the handler's execute stage and waits for a future that it leaves, also after an error. Thread-safe if the
  /// handler is. The views' memory is dense in the layout that the call states, an element in a byte where the handler
  /// is given packed ones (sub_byte.h); tokens are passed as buffers of token type. Handlers run with IEEE-default
  /// floating point; what one throws is INTERNAL, and so is what a task throws that it scheduled. `states`: the
  /// execution's, null when nothing was begun.
  Status Call(std::span<const runtime::View> operands, std::span<const runtime::View> results,
              const Invocation& invocation, StageStates* states = nullptr);

  /// For the API table: what the instantiate stage left.
  StageStates& states() { return states_; }

 private:
  explicit CallSite(std::shared_ptr<const Handler> handler);
  Status CallStage(XLA_FFI_Handler* function, XLA_FFI_ExecutionStage stage, std::span<const runtime::View> operands,
                   std::span<const runtime::View> results, const Invocation& invocation, StageStates* states);
  Status RunStage(XLA_FFI_Handler* function, XLA_FFI_ExecutionStage stage, XLA_FFI_Args args, XLA_FFI_Rets rets,
                  const Invocation& invocation, StageStates* states);

  std::shared_ptr<const Handler> handler_;
  std::unique_ptr<AttributeFrame> attributes_;
  StageStates states_;
};

/// The process's one list of types of state and user data, which the embedder keeps: types that frameworks register and
/// those that handlers register are the same.
struct TypeRegistry {
  /// With id == 0 one is given, any other number must be the name's: INVALID_ARGUMENT when they disagree. What
  /// `deleter` (may be null) frees.
  Result<int64_t> (*add)(std::string_view name, int64_t id, void (*deleter)(void*)) = nullptr;
  /// Null when the id is unknown or has none.
  void (*(*deleter)(int64_t id))(void*) = nullptr;
};
/// Once per process, before the first call; later ones change nothing.
void InstallTypeRegistry(const TypeRegistry& registry);

/// Through the installed registry; UNIMPLEMENTED when there is none.
Result<int64_t> RegisterType(std::string_view name, int64_t id, void (*deleter)(void*));
void DeleteObject(int64_t type_id, void* object);

}  // namespace tenon::ffi_host
