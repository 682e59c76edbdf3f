#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "tenon/base/small_vector.h"
#include "tenon/plugin/executable.h"

namespace tenon::plugin {

/// What a caller may vary between executions.
struct ExecuteOptions {
  int launch_id = 0;
  std::span<const int64_t> non_donatable;
  ExecuteContext* context = nullptr;
  std::string_view call_location;
  /// Callbacks of the program's channels to the host, by device; empty: there are none.
  std::span<PJRT_SendCallbackInfo* const> sends{};
  std::span<PJRT_RecvCallbackInfo* const> recvs{};
  size_t num_sends = 0, num_recvs = 0;
  /// [device][output], see DeviceExecution::places; or empty.
  std::span<void* const> places{};
};

/// One call of PJRT_LoadedExecutable_Execute: checks the arguments, takes the bytes of donated ones, and has the
/// backend run. When the call fails, donated arguments get their bytes back. Lives on the stack of the call; small
/// programs allocate nothing here.
class ExecuteCall {
 public:
  ExecuteCall(LoadedExecutable& executable, const ExecuteOptions& options)
      : executable_(executable), options_(options) {}
  ~ExecuteCall();
  ExecuteCall(const ExecuteCall&) = delete;
  ExecuteCall& operator=(const ExecuteCall&) = delete;

  /// The devices to run on: those of the executable, or `only`.
  Status ChooseDevices(Device* only, size_t num_devices);
  /// `lists` is [num_devices][num_args].
  Status AddArguments(Buffer* const* const* lists, size_t num_args);
  /// Fills outputs and `done` of every device.
  Status Run();

  std::span<DeviceExecution> devices() { return {devices_.data(), devices_.size()}; }

 private:
  class Deferred;
  Status CheckArgument(const Device* device, const Buffer& buffer, size_t index) const;
  Status Donate();
  Status ToExpectedForm(size_t k, const ArraySpec& have);
  void Poison(const Status& error);

  LoadedExecutable& executable_;
  ExecuteOptions options_;
  size_t num_args_ = 0;
  SmallVector<DeviceExecution, 1> devices_;
  SmallVector<Argument, 8> arguments_;    // [device][argument]
  SmallVector<Ref<Buffer>, 8> outputs_;   // [device][output]
  SmallVector<Buffer*, 8> sources_;       // [device][argument]: the caller's handles; null for a changed copy
  SmallVector<Ref<Buffer>, 1> promises_;  // [device][argument] when there is any, else empty
  bool donates_ = false;
  bool defer_ = false;    // an argument's bytes are not known yet
  bool started_ = false;  // the backend has taken over
};

}  // namespace tenon::plugin
