#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/abi/xla_ffi.h"
#include "tenon/channel/arena.h"
#include "tenon/channel/link.h"
#include "tenon/client/client.h"
#include "tenon/client/stream.h"
#include "tenon/wire/codec.h"

namespace tenon::server {

/// The device process: drives one plugin for one host process.
///
/// One thread reads requests and begins executions, so that they keep the host's order. While a plugin that begins one
/// calls the host, or waits for an earlier call, another thread reads on: the answer is among what comes, and the host
/// may ask for more before it answers. What may take long (compiling, questions) has a thread of its own each. Answers
/// and outcomes are written by whatever thread has them.
class Server {
 public:
  Server(channel::Fd control, channel::SharedMemory link);
  ~Server();

  /// Until the host says goodbye (OK) or breaks the rules. When the host is gone, the process ends at once.
  Status Run();

 private:
  // An array that the host knows by number.
  struct Array {
    client::Buffer buffer;
    Status error;                     // instead of the buffer
    std::atomic<bool> is_own{false};  // its memory is known to be the plugin's
  };
  struct Program {
    std::optional<client::LoadedExecutable> loaded;
    std::optional<client::Executable> compiled;  // ahead of time
    wire::Executable record;
    bool may_call = true;  // handlers
    const client::Executable& executable() const { return loaded ? loaded->executable() : *compiled; }
  };
  class Completion;
  // A call of a host's handler that waits for its outcome.
  struct HostCall {
    std::condition_variable answered;
    bool done = false;
    Status status;
  };

  // Requests: these hold the turn's lock.
  void ReadRequests();
  Status CallReader();
  /// Calls the plugin without the turn's lock: it may call the host, and wait.
  template <class Call>
  auto InPlugin(const Call& call);
  void Erase(const std::vector<uint64_t>& arrays);
  void EraseDropped();
  Status Handle(const channel::Ring::Frame& frame);
  /// Answers `number` with what `work` gives, on a thread of its own.
  void Aside(uint64_t number, std::function<Result<std::string>()> work);
  void Answer(uint64_t number, const Result<std::string>& body);
  void AnswerWith(uint64_t number, const std::function<Result<std::string>()>& work);
  void Reply(wire::Verb verb, uint64_t number, std::string_view message);

  Result<std::string> Hello(const wire::Hello& m);
  Result<std::string> CreateClient(const wire::CreateClient& m);
  Result<std::string> Keep(uint64_t number, Result<client::LoadedExecutable> loaded, bool may_call = true);
  Result<std::string> Compile(const wire::Compile& m);
  Result<std::string> Load(const wire::Load& m);
  Result<std::string> LoadCompiled(const wire::LoadCompiled& m);
  Result<std::string> MakeTopology(const wire::MakeTopology& m);
  Result<std::string> CompileForTopology(const wire::CompileForTopology& m);
  Result<std::string> Ask(const wire::Ask& m);
  Result<std::string> AskDevice(const wire::AskDevice& m);

  void Execute(uint64_t number, wire::Execute m);
  void BeginOrFail(uint64_t number, const wire::Execute& m);
  /// Whether an argument is an output of an execution that is being begun or waits for one.
  bool NamesWhatIsToCome(const wire::Execute& m) const;
  Status Begin(uint64_t number, const wire::Execute& m, const std::shared_ptr<Program>& program,
               const wire::Callbacks& callbacks);
  void AddCallbacks(uint64_t number, size_t device, const wire::Channels& channels, client::ExecuteOptions& options);
  Result<std::shared_ptr<Array>> Find(const wire::Argument& argument, const wire::Parameter& parameter, int device);
  Status CopyOut(Array& array, const wire::Parameter& as, const wire::Output& output, wire::Place* place);

  void RegisterHandler(const wire::RegisterHandler& m);
  /// Has the host run handler `index` of those that it registered; on whatever thread the plugin calls it.
  Status CallHost(size_t index, const XLA_FFI_CallFrame& frame);
  /// Sends a call of the host's, which has the number that the message is given, and waits for its outcome.
  template <class Message>
  Status AskHost(const Message& message);
  Status SendToHost(wire::Transfer message, const void* data);
  void ReceiveFromHost(wire::Transfer message, client::CopyToDeviceStream stream);
  void FinishHostCall(uint64_t number, const wire::HandlerDone& m);
  /// Where the bytes at `data` are in shared memory: in place when they are there already, else in a block of our own.
  struct Shared;
  void DropOwnPieces();
  Result<wire::Place> Share(const void* data, uint64_t size_bytes, Shared& keep);
  /// A block of our own; `keep` has its bytes.
  Result<wire::Place> Lend(uint64_t size_bytes, Shared& keep);
  template <int kIndex>
  static XLA_FFI_Error* Stub(XLA_FFI_CallFrame* frame);
  struct Stubs;
  static XLA_FFI_Error* RunStub(size_t index, XLA_FFI_CallFrame* frame);

  Result<client::Client*> TheClient();
  Result<std::shared_ptr<Program>> FindProgram(uint64_t number);

  const channel::Fd control_;
  channel::Link link_;
  channel::Pieces pieces_;
  std::mutex reply_mutex_;

  uint32_t protocol_ = wire::kOldestProtocol;
  std::optional<client::Plugin> plugin_;
  std::optional<client::Client> client_;
  std::map<int, client::Device> devices_;
  std::map<int, client::Memory> memories_;

  std::mutex turn_mutex_;  // before all others; guards what follows
  std::condition_variable turn_, over_changed_;
  bool reading_ = false;
  std::deque<channel::Ring::Frame> read_;  // waits for its turn
  uint64_t calls_into_plugin_ = 0;
  static thread_local uint64_t call_into_plugin_;  // of this thread
  // The call into the plugin that has the turn: what was read waits until it returns, or seems to wait itself. 0: none.
  uint64_t beginning_now_ = 0;
  size_t idle_readers_ = 0;
  std::optional<Status> over_;
  struct Waiting {
    uint64_t number;
    wire::Execute message;
  };
  std::unordered_map<uint64_t, std::shared_ptr<Array>> arrays_;
  std::unordered_map<uint64_t, wire::Callbacks> callbacks_;  // of executions that are to come
  std::vector<const wire::Execute*> beginning_;              // several: a plugin may call the host meanwhile
  std::list<Waiting> waiting_;
  std::vector<uint64_t> dropped_;  // meanwhile
  std::mutex mutex_;               // guards what follows
  std::unordered_map<uint64_t, std::shared_ptr<Program>> programs_;
  std::unordered_map<uint64_t, std::shared_ptr<client::Topology>> topologies_;

  // Handlers of the host. Blocks for their arrays are our own, in pieces with numbers that the host does not give.
  channel::Arena arena_{/*first_piece=*/uint32_t{1} << 31, /*limit_bytes=*/0};
  std::mutex calls_mutex_;
  std::set<uint32_t> own_pieces_;   // that the host knows
  std::vector<uint32_t> handlers_;  // the host's numbers, by stub
  int64_t execution_type_ = 0;      // of the user data that names an execution
  uint64_t next_call_ = 1;
  std::unordered_map<uint64_t, HostCall*> calls_;
};

}  // namespace tenon::server
