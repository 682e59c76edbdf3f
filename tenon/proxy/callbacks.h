#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "tenon/plugin/event.h"
#include "tenon/plugin/host_transfers.h"
#include "tenon/session/session.h"

namespace tenon::proxy {

/// The caller's send and receive callbacks of one device of an execution, which the device process has called. They are
/// the caller's until `done` is set: that waits for those that run, and none begins afterwards. Thread-safe.
class DeviceCallbacks : public std::enable_shared_from_this<DeviceCallbacks> {
 public:
  DeviceCallbacks(plugin::Ref<plugin::HostTransfers> transfers, plugin::Ref<plugin::Event> done)
      : transfers_(std::move(transfers)), done_(std::move(done)) {}

  wire::Channels channels() const { return {transfers_->SendChannels(), transfers_->RecvChannels()}; }
  /// Runs a callback aside and answers transfer `number`. DATA_LOSS for what breaks the rules: a part that goes beyond
  /// its whole, or a transfer of what is over.
  Status Run(const std::shared_ptr<session::Session>& session, uint64_t number, wire::Transfer message);
  /// The execution is over with this outcome, which `done` gets.
  void Finish(const Status& outcome);

 private:
  bool Begin();
  void End();
  Status GiveSent(session::Session& session, const wire::Transfer& m);
  Status AskFor(const std::shared_ptr<session::Session>& session, uint64_t number, const wire::Transfer& m);

  const plugin::Ref<plugin::HostTransfers> transfers_;
  const plugin::Ref<plugin::Event> done_;
  std::mutex mutex_;
  int running_ = 0;
  bool over_ = false;
  Status outcome_;
  std::map<int64_t, uint64_t> sent_;  // bytes by channel
};

}  // namespace tenon::proxy
