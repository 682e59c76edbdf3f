#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "tenon/session/process.h"
#include "tenon/session/session.h"

namespace tenon::session {

/// How a device process is started.
struct ProcessOptions {
  std::string plugin;  // path or name
  Limits limits{};
  /// Confines the process to its plugin's files and these, without network: see tenon/sandbox.
  std::optional<sandbox::Paths> sandbox{};
  /// An execution or question that takes longer ends the process; 0: never.
  int64_t hang_timeout_s = 0;
  std::shared_ptr<HandlerHost> handlers{};  // null: there are none
  /// Called with the process before it loads its plugin, which may take for ever: who has it can end it meanwhile.
  std::function<void(std::shared_ptr<Session>)> on_start{};
  /// Called once, on the session's thread, when everything that was under way has been told of the death.
  std::function<void(const Status&)> on_death{};
};

/// A device process that is a child of this one: messages and arrays go through shared memory. Two threads, of which
/// one reads replies and one watches over the process, keep the session alive until the process is gone.
class ProcessSession final : public Session {
 public:
  /// Starts a process and has it load the plugin.
  static Result<std::shared_ptr<Session>> Start(const ProcessOptions& given);
  ~ProcessSession() override;

  void Announce(const std::shared_ptr<channel::Piece>& piece) override;
  void Forget(uint32_t piece) override;
  void ReadFor(const std::function<bool()>& wanted, const std::function<std::function<void()>()>& rest) override;
  Result<Bytes> MemoryAt(const wire::Place& place, uint64_t size_bytes) override;
  void End() override;
  void Kill(const std::string& reason) override;

 private:
  // So many times in vain whoever waits looks for replies itself, then at every so many times.
  static constexpr int kMaxLookCredit = 8, kLooksPerTry = 64;
  ProcessSession(ProcessOptions options, channel::SharedMemory link, channel::Fd control, Process process);
  bool TrySend(wire::Verb verb, uint64_t number, std::string_view message) override {
    return link_.requests().TryWrite(verb, number, message);
  }
  Status Send(wire::Verb verb, uint64_t number, std::string_view message) override {
    return link_.requests().Write(verb, number, message);
  }
  Status HandleOther(const channel::Ring::Frame& frame) override;
  void ReadReplies();
  Status TakeReplies();
  void Watch();
  bool ReadOutput();
  bool Hangs();
  Status Death(const std::string& how);

  const ProcessOptions options_;
  channel::Link link_;
  const channel::Fd control_;
  const Process process_;
  channel::Pieces pieces_;  // of the device process
  std::mutex reading_;      // of replies: whoever takes them from the ring and handles them; guards what follows
  channel::Ring::Frame frame_;
  bool broken_ = false;  // by the other side: nothing more is taken
  std::deque<std::function<void()>> rests_;
  int look_credit_ = kMaxLookCredit, looks_ = 0;
  // Our own pieces that the device process knows; under send_mutex_.
  std::unordered_map<uint32_t, std::weak_ptr<channel::Piece>> announced_;
  std::mutex reason_mutex_;
  std::string kill_reason_;

  // Of the watching thread.
  std::string output_tail_;
  uint64_t hang_mark_ = 0;
  int64_t hang_since_ns_ = 0;
};

}  // namespace tenon::session
