#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/client/client.h"

namespace tenon::client {

/// Carries user data to the FFI handlers of one execution (0.52). Moves only; must live until the execution completes.
class ExecuteContext {
 public:
  static Result<ExecuteContext> Create(const Plugin& plugin);
  ExecuteContext(ExecuteContext&& other) noexcept
      : api_(other.api_), context_(std::exchange(other.context_, nullptr)) {}
  ExecuteContext& operator=(ExecuteContext&&) = delete;
  ~ExecuteContext();

  /// Adds data of a type that RegisterFfiType gave; `deleter`, when not null, frees it with the context.
  Status AddUserData(int64_t type_id, void* data);

  PJRT_ExecuteContext* get() const { return context_; }

 private:
  ExecuteContext(const Api* api, PJRT_ExecuteContext* context);
  const Api* api_;
  PJRT_ExecuteContext* context_;
};

/// Registers a handler of XLA's typed FFI (an XLA_FFI_Handler*) for custom calls to `target` on `platform` ("cpu",
/// "CUDA" ...). For good and for the whole process. UNIMPLEMENTED without the FFI extension.
Status RegisterFfiHandler(const Plugin& plugin, std::string_view target, std::string_view platform, void* handler,
                          uint32_t traits = 0);

/// Registers a type of user data. Returns its id: a new one when `id` is 0, else `id`, which must match an earlier
/// registration.
Result<int64_t> RegisterFfiType(const Plugin& plugin, std::string_view name, int64_t id = 0,
                                void (*deleter)(void* data) = nullptr);

}  // namespace tenon::client
