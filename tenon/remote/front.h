#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/channel/arena.h"
#include "tenon/channel/pipe.h"
#include "tenon/sandbox/sandbox.h"
#include "tenon/session/process_session.h"

namespace tenon::remote {

/// What a client of the server may take.
struct SessionLimits {
  uint64_t array_bytes = 0;                    // 0: no limit
  session::Limits process{};                   // of its device process
  std::optional<sandbox::Paths> sandbox{};     // of its device process
  int64_t hang_timeout_s = 0;                  // for an answer of the device process; 0: no limit
  int64_t session_s = 0;                       // 0: no limit
  uint32_t max_message_bytes = 64U << 20;      // of a message; arrays come in pieces of 1 MiB
  size_t max_arrays = size_t{1} << 22;         // also of those that are empty
  uint64_t ahead_bytes = uint64_t{128} << 20;  // what the client may have asked for that is not answered yet
  int grace_ms = 60000;                        // for a broken connection
  int keep_alive_ms = 5000, silence_ms = 20000;
};

/// A client's session at a server: stands before its device process as a host process does, with the client's arrays in
/// shared memory. Ends when the client says so, breaks the rules, or stays away. Thread-safe.
class Front : public std::enable_shared_from_this<Front> {
 public:
  struct Options {
    std::string plugin;
    SessionLimits limits;
    std::function<void(const std::string&)> log;
    /// Called once, when it is over.
    std::function<void(const std::string& why)> on_end;
    /// Starts a device process, on a thread of its own; for tests of what one may do.
    std::function<Result<std::shared_ptr<session::Session>>(const session::ProcessOptions&)> start =
        &session::ProcessSession::Start;
  };
  static Result<std::shared_ptr<Front>> Start(Options options);
  ~Front();

  /// A connection takes its lane. `answer` is told how many frames were received over the lane and says so to the
  /// client; then frames flow.
  Status Attach(wire::Lane lane, std::unique_ptr<channel::Stream> stream, uint64_t peer_received,
                const std::function<Status(channel::Stream&, uint64_t received)>& answer);
  void Close(const Status& why);
  int64_t started_ms() const { return started_ms_; }

 private:
  struct Array;
  class Run;
  class Relay;
  class Owed;
  // A call of a handler, or of an execution's callback, that the client is at.
  struct HostCall {
    std::shared_ptr<session::Session> process;
    uint64_t number = 0;  // the device process's
    std::vector<wire::Operand> results;
  };
  // Of an execution that is to come; counted as owed meanwhile.
  struct AnnouncedCallbacks {
    wire::Callbacks message;
    std::shared_ptr<Owed> owed;
  };
  // The device process, null when there is none, and which one it is of those that there were.
  struct Current {
    std::shared_ptr<session::Session> process;
    uint64_t epoch = 0;
  };
  struct Reading {
    uint64_t number = 0;
    std::shared_ptr<Array> array;
    uint64_t offset = 0, size = 0, uploaded = 0;
    Status error;
  };

  explicit Front(Options options);
  void ReadControl();
  void ReadBulk();
  void WriteBulk();
  Status SendReadings();
  uint64_t Ahead();
  Status LetProcessCatchUp();
  Status Handle(const channel::Ring::Frame& frame);
  template <class Condition>
  bool WaitForMessages(std::unique_lock<std::mutex>& lock, Condition there);
  Status HandleBulk(const channel::Ring::Frame& frame);
  void End(const Status& why);
  void Reply(uint64_t epoch, wire::Verb verb, uint64_t number, std::string_view message);
  void Answer(uint64_t epoch, uint64_t number, const Result<std::string>& body);

  void Hello(uint64_t number, const wire::Hello& m);
  void StartProcess(uint64_t epoch, uint64_t number);
  Status Upload(const wire::Upload& m);
  Status Execute(uint64_t number, wire::Execute m, uint64_t memory_bytes);
  void Arrive(const std::shared_ptr<Array>& array, uint64_t announced, uint64_t arrived);
  static void TakeReady(Array& array, std::vector<std::shared_ptr<Run>>& ready);
  void Forward(std::vector<std::shared_ptr<Run>> runs);
  void ForwardOne(const std::shared_ptr<Run>& run);
  void Finish(Array& array, const Status& status);
  Status Drop(const wire::Drop& m);
  void CallClient(std::shared_ptr<session::Session> process, uint64_t number, wire::CallHandler call,
                  std::shared_ptr<session::PendingExecution> execution);
  Status Callbacks(uint64_t number, wire::Callbacks m, uint64_t memory_bytes);
  Status Transfer(const std::shared_ptr<session::Session>& process, uint64_t number, wire::Transfer m, uint64_t own);
  bool AskClient(HostCall call, wire::Verb verb, const std::string& message);
  Status HandlerDone(uint64_t number, const wire::HandlerDone& m);
  Current Now() const;
  void ProcessDied(const Status& death);
  Result<std::shared_ptr<Array>> NewArray(uint64_t number, uint64_t size);

  const Options options_;
  const int64_t started_ms_;
  channel::Arena arena_;
  std::array<std::unique_ptr<channel::Pipe>, wire::kLanes> pipes_;
  std::array<std::mutex, wire::kLanes> attaching_;

  std::atomic<uint64_t> owed_bytes_{0};  // what was asked for and not answered, about
  std::atomic<size_t> num_arrays_{0};    // that there are, known to the client or not
  std::atomic<uint64_t> handled_{0};     // twice the messages that were handled; odd while one is

  std::mutex telling_;  // of a device process, before its end is told; before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // arrays, readings, the end
  bool ended_ = false;
  std::shared_ptr<session::Session> process_;  // null: there is none
  std::shared_ptr<session::Session> loading_;  // has been started and loads its plugin
  bool starting_ = false;                      // one is being started
  uint64_t epoch_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<Array>> arrays_;
  std::deque<Reading> readings_;
  std::unordered_map<uint64_t, HostCall> calls_;
  uint64_t next_call_ = 1;
  std::unordered_map<uint64_t, AnnouncedCallbacks> callbacks_;
};

}  // namespace tenon::remote
