#pragma once

#include <cstdint>
#include <memory>

#include "tenon/base/status.h"
#include "tenon/collectives/group.h"
#include "tenon/host/in_flight.h"
#include "tenon/plan/plan.h"
#include "tenon/plugin/client.h"
#include "tenon/plugin/executable.h"
#include "tenon/runtime/services.h"

namespace tenon::host {

/// What a running program needs to know of its execution; RunArguments::user of every run points to one.
struct ExecutionUser {
  plugin::ExecuteContext* context = nullptr;  ///< May be null.
  plugin::Client* client = nullptr;           ///< Its threads run what handlers schedule.
  InFlight* in_flight = nullptr;              ///< The client's.
  int num_threads = 1;                        ///< Of the process's pool.
  int64_t run_id = 0;
  int32_t device_ordinal = 0;
  /// What the handlers' prepare and initialize stages left, by call site.
  std::shared_ptr<void> call_states = nullptr;
  collectives::Launch* launch = nullptr;  ///< Of programs of several processes.
  /// What the caller gave for the program's channels to the host; null for none.
  const plugin::HostTransfers* transfers = nullptr;
};

/// RunArguments::may_end of every run.
bool MayEnd(void* user);

/// Services for the evaluate and custom-call steps of `plan`: loads the evaluator's programs and instantiates the
/// handlers now, so that errors come at compile time. NOT_FOUND for a custom call that nobody serves.
struct PlanServices {
  runtime::Services services;
  /// It calls handlers that did not declare that they never call back, or the functions behind a channel to the host:
  /// for a thread that others do not wait for.
  bool may_call_back = false;
  /// Whoever begins an execution waits for it, where its arguments are there: what callbacks do and print comes before
  /// what their caller does next, and their error is the call's. Not where it may be the caller that serves them.
  bool caller_waits = false;
};
/// Whether it is a call of a program's channel to the host, which MakeServices serves itself.
bool IsHostTransfer(const plan::CustomCallStep& step);

Result<PlanServices> MakeServices(const plan::Plan& plan);

}  // namespace tenon::host
