#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/channel/link.h"
#include "tenon/proxy/process.h"
#include "tenon/wire/codec.h"

namespace tenon::proxy {

/// How a device process is started.
struct SessionOptions {
  std::string plugin;  // path or name
  Limits limits;
  /// An execution or question that takes longer ends the process; 0: never.
  int64_t hang_timeout_s = 0;
};

/// An execution that a device process has been asked for. Outcomes are told by the session's reply thread.
class PendingExecution {
 public:
  virtual ~PendingExecution() = default;
  /// The outcome on device `device` of the request. DATA_LOSS when the message does not fit the execution.
  virtual Status Complete(const wire::Executed& message) = 0;
  /// The process has died: whatever is not complete fails with `death`.
  virtual void Fail(const Status& death) = 0;
  /// Whether all devices are complete.
  virtual bool complete() const = 0;
  /// For messages: "'jit_f' (launch 3)".
  virtual std::string Name() const = 0;
  /// It was the one that ran when the process died.
  virtual void Blame() {}
  /// What the caller attached to the execution under this type, or null.
  virtual void* UserData(int64_t type_id) const { return nullptr; }
};

/// A device process as the host sees it, from its start to its end; never restarted. Thread-safe. Its two threads, of
/// which one reads replies and one watches over the process, keep it alive until the process is gone.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Starts a process and has it load the plugin.
  static Result<std::shared_ptr<Session>> Start(const SessionOptions& options);
  ~Session();

  const wire::Welcome& welcome() const { return welcome_; }
  /// A number that no other session of this process has.
  uint64_t generation() const { return generation_; }
  int pid() const { return process_.pid; }

  /// OK while the process lives; then what became of it.
  Status state() const;

  /// Asks and waits. The error is the device process's answer, or its death. Not for the reply thread.
  template <class Message>
  Result<std::string> Call(const Message& message) {
    return CallEncoded(Message::kVerb, wire::Encode(message));
  }
  /// Sends without waiting, however full the channel is; nothing happens when the process is gone.
  void Post(wire::Verb verb, uint64_t number, std::string_view message);

  /// A number for an execution that is about to be posted; from now on it is completed or failed.
  uint64_t Register(std::shared_ptr<PendingExecution> execution);
  /// Makes a piece known to the device process before messages that name it.
  void Announce(const std::shared_ptr<channel::Piece>& piece);
  /// The device process need not keep these arrays; told with the next message, or soon.
  void DropLater(uint64_t array, uint64_t size_bytes);

  /// A piece that was announced has gone back to the system: the device process gives it up, too.
  void Forget(uint32_t piece);
  /// Bytes of a place in a piece that either side made known; mapped while they are held.
  struct Bytes {
    std::shared_ptr<channel::Piece> piece;
    char* data = nullptr;
  };
  /// DATA_LOSS when the place leaves its piece.
  Result<Bytes> MemoryAt(const wire::Place& place, uint64_t size_bytes);

  /// Ends the process.
  void End();
  /// Ends the process for the reason given, which is then told as that of its death.
  void Kill(const std::string& reason);

 private:
  struct Question {
    std::condition_variable answered;
    bool done = false;
    Status status;
    std::string body;
  };
  struct Outgoing {
    wire::Verb verb;
    uint64_t number;
    std::string message;
  };

  Session(SessionOptions options, channel::SharedMemory link, channel::Fd control, Process process);
  Result<std::string> CallEncoded(wire::Verb verb, std::string message);
  bool forked() const { return fork_generation_ != ForkGeneration(); }
  void PostLocked(wire::Verb verb, uint64_t number, std::string_view message);
  void ReadReplies();
  Status Handle(const channel::Ring::Frame& frame);
  void Watch();
  void ReadOutput();
  bool Hangs();
  Status Death(const std::string& how);
  void FailAll();
  void WriteOverflow();

  const SessionOptions options_;
  const uint64_t generation_;
  const uint32_t fork_generation_ = ForkGeneration();
  channel::Link link_;
  channel::Fd control_;
  Process process_;
  channel::Pieces pieces_;
  wire::Welcome welcome_;

  // Requests: one writer at a time. What the ring has no room for waits in `overflow_` for a thread that may block.
  std::mutex send_mutex_;
  std::deque<Outgoing> overflow_;
  std::condition_variable overflow_changed_;
  bool writer_started_ = false;
  std::unordered_map<uint32_t, std::weak_ptr<channel::Piece>> announced_;  // our own, which the device process knows
  std::vector<uint64_t> dropped_;
  uint64_t dropped_bytes_ = 0;

  mutable std::mutex mutex_;
  bool dead_ = false;     // the process is gone
  bool failing_ = false;  // and what was under way has been told
  bool ending_ = false;   // by our own wish
  std::string kill_reason_;
  Status death_;
  uint64_t next_question_ = 1;
  std::unordered_map<uint64_t, Question*> questions_;
  // Executions by number, from `first_execution_` on; complete ones are null.
  std::deque<std::shared_ptr<PendingExecution>> executions_;
  uint64_t first_execution_ = 1;
  std::string compiling_;  // what a question under way is about

  std::string output_tail_;  // of the watching thread, until it ends
  uint64_t hang_mark_ = 0;
  int64_t hang_since_ns_ = 0;
  std::atomic<uint64_t> progress_{0};  // replies seen
};

}  // namespace tenon::proxy
