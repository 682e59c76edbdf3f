#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/channel/link.h"
#include "tenon/wire/codec.h"

namespace tenon::session {

class Session;

/// Starts a thread that gets no signals: those are for the host's own threads. What `work` throws ends the thread
/// alone.
Status StartThread(std::function<void()> work);

/// An execution that a device process has been asked for. Outcomes are told by whoever reads replies.
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
  /// Has one of its callbacks send or receive, without keeping the caller waiting; ends it by session->EndCall, unless
  /// it gives an error: DATA_LOSS for what the execution has no callback for.
  virtual Status Transfer(const std::shared_ptr<Session>& session, uint64_t number, wire::Transfer message) {
    return DataLoss("an execution without callbacks sends or receives");
  }
  /// The host's own number of it, which calls of handlers name.
  virtual uint64_t OwnNumber(uint64_t number) const { return number; }
};

/// Who runs the host's handlers of custom calls for device processes.
class HandlerHost {
 public:
  virtual ~HandlerHost() = default;
  /// Tells a new device process of the handlers there are; it hears of later ones, too.
  virtual void Tell(const std::shared_ptr<Session>& session) = 0;
  /// Runs a handler without keeping the caller waiting, and ends the call by session->EndCall.
  /// `execution` may be null.
  virtual void Run(std::shared_ptr<Session> session, uint64_t number, wire::CallHandler call,
                   std::shared_ptr<PendingExecution> execution) = 0;
};

/// A device process as the host sees it, from its start to its end; never restarted. Thread-safe. Where it is and what
/// carries the messages is what subclasses know; their threads keep the session alive until the process is gone.
class Session : public std::enable_shared_from_this<Session> {
 public:
  virtual ~Session();

  const wire::Welcome& welcome() const { return welcome_; }
  /// A number that no other session of this process has.
  uint64_t generation() const { return generation_; }
  /// A number for where its arrays are: those of a device process may be elsewhere and outlive it.
  virtual uint64_t home() const { return generation_; }
  /// OK while the process lives; then what became of it.
  Status state() const;

  /// Longer messages would end the session.
  virtual uint32_t max_message_bytes() const { return wire::kMaxMessageBytes; }
  /// Bytes of messages that the channel has not had room for yet.
  size_t waiting_bytes() const { return overflow_bytes_.load(std::memory_order_relaxed); }

  /// Asks and waits. The error is the device process's answer, or its death. Not while handling a reply.
  template <class Message>
  Result<std::string> Call(const Message& message) {
    return CallEncoded(Message::kVerb, wire::Encode(message));
  }
  /// Asks; `then` gets the answer on the thread that reads it, or what is wrong at once.
  using Then = std::function<void(Result<std::string>)>;
  void CallThen(wire::Verb verb, std::string_view message, Then then);
  /// Sends without waiting, however full the channel is; nothing happens when the process is gone, but where arrays are
  /// elsewhere, what concerns them still goes there.
  void Post(wire::Verb verb, uint64_t number, std::string_view message);

  /// A number for an execution that is about to be posted; from now on it is completed or failed.
  uint64_t Register(std::shared_ptr<PendingExecution> execution);
  /// The device process need not keep these arrays; told with the next message, or soon.
  void DropLater(uint64_t array, uint64_t size_bytes);
  /// The outcome of a call that HandlerHost::Run or PendingExecution::Transfer was given.
  void EndCall(uint64_t number, const wire::HandlerDone& done) {
    Post(wire::Verb::kHandlerDone, number, wire::Encode(done));
    HandlerEnded();
  }
  /// Such a call has ended without an outcome that anybody waits for.
  void HandlerEnded() { handlers_running_.fetch_sub(1, std::memory_order_relaxed); }
  /// The device process may have called and not been answered so often: of those that keep to the rules a thread each
  /// waits.
  static constexpr size_t kMaxCalls = 4096;
  /// Whether its arrays lie in memory of this process, too.
  bool shares_memory() const { return home() == generation(); }

  /// Makes a piece known to the device process before messages that name it.
  virtual void Announce(const std::shared_ptr<channel::Piece>& piece) = 0;
  /// A piece that was announced has gone back to the system: the device process gives it up, too.
  virtual void Forget(uint32_t piece) = 0;
  /// Bytes of a place in a piece that either side made known; mapped while they are held.
  struct Bytes {
    std::shared_ptr<channel::Piece> piece;
    char* data = nullptr;
  };
  /// DATA_LOSS when the place leaves its piece.
  virtual Result<Bytes> MemoryAt(const wire::Place& place, uint64_t size_bytes) = 0;

  /// Handles on this thread what the device process says, for a moment and while `wanted()`, where that spares waiting
  /// for the session's own thread. Does nothing on that thread.
  /// What `rest` then gives, unless it is null, is run on the session's thread before what comes later is handled.
  virtual void ReadFor(const std::function<bool()>& wanted, const std::function<std::function<void()>()>& rest) {}

  /// Ends the process.
  virtual void End() = 0;
  /// Ends the process for the reason given, which is then told as that of its death.
  virtual void Kill(const std::string& reason) = 0;

 protected:
  /// `handlers` may be null: then their calls are refused.
  explicit Session(std::shared_ptr<HandlerHost> handlers);

  // --- What carries the messages.
  /// Sends a frame if there is room for it now; false otherwise.
  virtual bool TrySend(wire::Verb verb, uint64_t number, std::string_view message) = 0;
  /// Sends a frame, waiting for room. Fails once the process is gone.
  virtual Status Send(wire::Verb verb, uint64_t number, std::string_view message) = 0;
  /// Messages that are not every session's. The default refuses them.
  virtual Status HandleOther(const channel::Ring::Frame& frame);

  /// A message of the device process, of one thread at a time. Fails when it breaks the rules.
  Status Deliver(const channel::Ring::Frame& frame);
  /// The process is gone: from now on nothing is begun. FailAll must follow once nobody writes into arrays any more.
  void Die(const Status& death);
  /// Tells everything under way of the death. Nothing is left when it returns, or will come.
  void FailAll();
  /// Says Hello and keeps the answer.
  Status Greet(const std::string& plugin);

  /// Whether this thread is handling what a device process says.
  static bool IsReading();
  bool forked() const { return fork_generation_ != ForkGeneration(); }
  bool dead() const;
  /// As the process calls it; empty until it has said so. From any thread.
  std::string plugin_name() const;
  /// Tells at once of what DropLater kept back.
  void FlushDrops();
  /// Something is owed by the device process, and nothing of ours keeps it from answering.
  bool IsOwed() const;
  /// Replies seen.
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  void PostLocked(wire::Verb verb, uint64_t number, std::string_view message);
  /// Of executions under way: the first of those up to number `begun`, and how many there are; questions likewise.
  struct UnderWay {
    std::shared_ptr<PendingExecution> running;
    size_t executions = 0, questions = 0;
  };
  UnderWay GetUnderWay(uint64_t begun) const;
  /// " while running 'f' (launch 1); 2 executions are lost; ...", and blames what ran.
  static std::string Describe(const UnderWay& lost);
  std::mutex send_mutex_;  // one writer at a time

 private:
  // Somebody who waits for an answer.
  struct Asker {
    std::condition_variable answered;
    bool done = false;
    Result<std::string> answer = std::string();
  };
  struct Outgoing {
    wire::Verb verb;
    uint64_t number;
    std::string message;
  };

  Result<std::string> CallEncoded(wire::Verb verb, std::string message);
  Status Handle(const channel::Ring::Frame& frame);
  Status CountCall();
  void Sent(wire::Verb verb);
  std::shared_ptr<PendingExecution> FindExecution(uint64_t number) const;
  void WriteOverflow();
  void FlushDropsLocked();

  const std::shared_ptr<HandlerHost> handlers_;
  const uint64_t generation_;
  const uint32_t fork_generation_ = ForkGeneration();
  wire::Welcome welcome_;

  // What the channel has no room for waits in `overflow_` for a thread that may block.
  std::deque<Outgoing> overflow_;
  std::atomic<size_t> overflow_bytes_{0};
  std::condition_variable overflow_changed_;
  bool writer_started_ = false;
  std::vector<uint64_t> dropped_;
  uint64_t dropped_bytes_ = 0;

  mutable std::mutex mutex_;
  bool dead_ = false;     // the process is gone
  bool failing_ = false;  // and what was under way has been told
  Status death_;
  uint64_t next_question_ = 1;
  std::unordered_map<uint64_t, Then> questions_;
  // Executions by number, from `first_execution_` on; complete ones are null.
  std::deque<std::shared_ptr<PendingExecution>> executions_;
  uint64_t first_execution_ = 1;

  std::atomic<uint64_t> progress_{0};
  std::atomic<int> handlers_running_{0};
  std::atomic<size_t> calls_{0};  // of the device process whose outcome has not been sent yet
};

}  // namespace tenon::session
