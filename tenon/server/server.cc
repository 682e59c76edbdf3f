#include "tenon/server/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tenon/abi/program.h"
#include "tenon/base/contain.h"
#include "tenon/server/describe.h"

namespace tenon::server {

using wire::Decode;
using wire::Encode;
using wire::Verb;

namespace {

// A host that works through many small programs asks again within this.
constexpr int64_t kSpinNs = 20'000;

PJRT_Program ToC(const std::string& format, const std::string& code) {
  return TenonMakeProgram(code.data(), code.size(), format.data(), format.size());
}

}  // namespace

Server::Server(channel::Fd control, channel::SharedMemory link) : control_(std::move(control)), link_(std::move(link)) {
  // Pieces are taken as they come, and the host's end is noticed whatever the other threads do.
  std::thread([this] {
    for (;;) {
      Result<std::optional<channel::PieceNotice>> notice = channel::ReceivePiece(control_.get(), -1);
      if (!notice.ok()) ::_exit(0);
      if (notice->has_value() && !pieces_.Add(std::move(**notice)).ok()) ::_exit(3);
    }
  }).detach();
}

Server::~Server() = default;

void Server::Reply(Verb verb, uint64_t number, std::string_view message) {
  std::lock_guard lock(reply_mutex_);
  (void)link_.replies().Write(verb, number, message);
}

void Server::Answer(uint64_t number, const Result<std::string>& body) {
  wire::Answer answer;
  answer.error = wire::FromStatus(body.status());
  if (body.ok()) answer.body = *body;
  Reply(Verb::kAnswer, number, Encode(answer));
}

void Server::Aside(uint64_t number, std::function<Result<std::string>()> work) {
  const Status started =
      Contain("a request", [&] { std::thread([this, number, work] { AnswerWith(number, work); }).detach(); });
  if (!started.ok()) Answer(number, started);
}

// What is thrown, for want of memory most likely, is the answer.
void Server::AnswerWith(uint64_t number, const std::function<Result<std::string>()>& work) {
  Result<std::string> body = std::string();
  const Status thrown = Contain("a request", [&] { body = work(); });
  Answer(number, thrown.ok() ? body : thrown);
}

Status Server::Run() {
  if (std::thread::hardware_concurrency() > 1) link_.requests().set_spin_ns(kSpinNs);
  std::unique_lock lock(turn_mutex_);
  TENON_RETURN_IF_ERROR(CallReader());
  over_changed_.wait(lock, [this] { return over_.has_value(); });
  return *over_;
}

// There is somebody who reads, or handles what was read. With the turn's lock.
Status Server::CallReader() {
  if (idle_readers_ == 0) {
    TENON_RETURN_IF_ERROR(
        Contain("a thread for requests", [this] { std::thread([this] { ReadRequests(); }).detach(); }));
  }
  turn_.notify_one();
  return OkStatus();
}

void Server::ReadRequests() {
  channel::Ring::Frame frame;
  std::unique_lock lock(turn_mutex_);
  const auto can_handle = [this] { return !read_.empty() && beginning_now_ == 0; };
  for (;;) {
    ++idle_readers_;
    turn_.wait(lock, [&] { return can_handle() || !reading_; });
    --idle_readers_;
    Status status;
    if (can_handle()) {
      frame = std::move(read_.front());
      read_.pop_front();
      status = Handle(frame);
    } else {
      reading_ = true;
      lock.unlock();
      status = link_.requests().Read(frame);
      lock.lock();
      reading_ = false;
      const bool in_turn = frame.verb != Verb::kHandlerDone;
      if (status.ok() && in_turn && (beginning_now_ != 0 || !read_.empty()))
        read_.push_back(std::exchange(frame, {}));
      else if (status.ok())
        status = Handle(frame);
    }
    if (!status.ok()) {
      over_ = status;
      over_changed_.notify_all();
    }
    if (over_) return;
  }
}

Status Server::Handle(const channel::Ring::Frame& frame) {
  const uint64_t number = frame.number;
#define TENON_DECODE(Name) TENON_ASSIGN_OR_RETURN(wire::Name m, Decode<wire::Name>(frame.message))
#define TENON_ASIDE(Name)                                              \
  case Verb::k##Name: {                                                \
    TENON_DECODE(Name);                                                \
    Aside(number, [this, m = std::move(m)] { return this->Name(m); }); \
    return OkStatus();                                                 \
  }
  switch (frame.verb) {
    case Verb::kGoodbye:
      over_ = OkStatus();
      over_changed_.notify_all();
      return OkStatus();
    case Verb::kExecute: {
      TENON_DECODE(Execute);
      Execute(number, std::move(m));
      return OkStatus();
    }
    case Verb::kCallbacks: {
      TENON_DECODE(Callbacks);
      callbacks_.insert_or_assign(number, std::move(m));
      return OkStatus();
    }
    case Verb::kDrop: {
      TENON_DECODE(Drop);
      // What waits may name them, what begins may make them.
      dropped_.insert(dropped_.end(), m.arrays.begin(), m.arrays.end());
      EraseDropped();
      return OkStatus();
    }
    case Verb::kDropExecutable: {
      TENON_DECODE(DropExecutable);
      std::shared_ptr<Program> program;
      std::lock_guard lock(mutex_);
      if (const auto it = programs_.find(m.executable); it != programs_.end()) {
        if (m.deleted) {
          // Where an execution of it waits, it goes when the host drops it.
          const bool waits = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
            return waiting.message.executable == m.executable;
          });
          if (it->second->loaded && !waits) (void)it->second->loaded->Delete();
        } else {
          program = std::move(it->second);
          programs_.erase(it);
        }
      }
      return OkStatus();
    }
    case Verb::kDropPiece: {
      TENON_DECODE(DropPiece);
      pieces_.Remove(m.piece);
      return OkStatus();
    }
    case Verb::kRegisterHandler: {
      TENON_DECODE(RegisterHandler);
      RegisterHandler(m);
      return OkStatus();
    }
    case Verb::kHandlerDone: {
      TENON_DECODE(HandlerDone);
      FinishHostCall(number, m);
      return OkStatus();
    }
    case Verb::kHello: {
      TENON_DECODE(Hello);
      AnswerWith(number, [&] { return Hello(m); });
      return OkStatus();
    }
    case Verb::kCreateClient: {
      TENON_DECODE(CreateClient);
      AnswerWith(number, [&] { return CreateClient(m); });
      return OkStatus();
    }
      TENON_ASIDE(Compile)
      TENON_ASIDE(Load)
      TENON_ASIDE(LoadCompiled)
      TENON_ASIDE(MakeTopology)
      TENON_ASIDE(CompileForTopology)
      TENON_ASIDE(Ask)
      TENON_ASIDE(AskDevice)
    default:
      return DataLoss(fmt::format("the host sent {}", wire::Dump(frame.verb, frame.message)));
  }
#undef TENON_ASIDE
#undef TENON_DECODE
}

Result<std::string> Server::Hello(const wire::Hello& m) {
  if (m.oldest > wire::kNewestProtocol || m.newest < wire::kOldestProtocol) {
    return FailedPrecondition(fmt::format("the host speaks protocols {} to {}, this device process {} to {}", m.oldest,
                                          m.newest, wire::kOldestProtocol, wire::kNewestProtocol));
  }
  if (plugin_) return FailedPrecondition("this device process has a plugin already");
  TENON_ASSIGN_OR_RETURN(client::Plugin plugin, client::Plugin::Load(m.plugin));
  wire::Welcome welcome;
  welcome.protocol = protocol_ = std::min(m.newest, wire::kNewestProtocol);
  welcome.plugin = plugin.name();
  welcome.minor = plugin.minor_version();
  if (Result<std::vector<client::NamedValue>> attributes = plugin.Attributes(); attributes.ok())
    welcome.attributes = Describe(*attributes);
  plugin_ = std::move(plugin);
  return Encode(welcome);
}

Result<std::string> Server::CreateClient(const wire::CreateClient& m) {
  if (!plugin_ || client_) return FailedPrecondition("CreateClient comes once, after Hello");
  TENON_ASSIGN_OR_RETURN(client::Client client, plugin_->CreateClient(ToOptions(m.options)));
  TENON_ASSIGN_OR_RETURN(const wire::ClientText record, Describe(client));
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client.AddressableDevices());
  for (const client::Device& device : devices) {
    TENON_ASSIGN_OR_RETURN(const int id, device.id());
    devices_.emplace(id, device);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Memory> memories, client.AddressableMemories());
  for (const client::Memory& memory : memories) {
    TENON_ASSIGN_OR_RETURN(const int id, memory.id());
    memories_.emplace(id, memory);
  }
  client_ = std::move(client);
  return Encode(record);
}

Result<client::Client*> Server::TheClient() {
  if (!client_) return FailedPrecondition("this device process has no client yet");
  return &*client_;
}

Result<std::shared_ptr<Server::Program>> Server::FindProgram(uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto it = programs_.find(number);
  if (it == programs_.end()) return FailedPrecondition(fmt::format("this device process has no executable {}", number));
  return it->second;
}

Result<std::string> Server::Keep(uint64_t number, Result<client::LoadedExecutable> loaded, bool may_call) {
  if (!loaded.ok()) return loaded.status();
  auto program = std::make_shared<Program>();
  TENON_ASSIGN_OR_RETURN(program->record, Describe(*loaded));
  program->record.number = number;
  program->may_call = may_call;
  program->loaded.emplace(std::move(*loaded));
  std::string body = Encode(program->record);
  std::lock_guard lock(mutex_);
  programs_[number] = std::move(program);
  return body;
}

Result<std::string> Server::Compile(const wire::Compile& m) {
  TENON_ASSIGN_OR_RETURN(client::Client * client, TheClient());
  auto args = client::MakeArgs<PJRT_Client_Compile_Args>();
  const PJRT_Program program = ToC(m.format, m.code);
  args.client = client->get();
  args.program = &program;
  args.compile_options = m.options.data();
  args.compile_options_size = m.options.size();
  // The error is told as the plugin words it: the host's function puts its own name before it.
  const PJRT_Api* const table = client->api().raw();
  TENON_RETURN_IF_ERROR(client->api().TakeError(table->PJRT_Client_Compile(&args)));
  return Keep(m.executable, client::LoadedExecutable::Wrap(client->state(), args.executable),
              wire::HasCustomCalls(m.code));
}

Result<std::string> Server::Load(const wire::Load& m) {
  TENON_ASSIGN_OR_RETURN(client::Client * client, TheClient());
  auto args = client::MakeArgs<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = client->get();
  args.serialized_executable = m.bytes.data();
  args.serialized_executable_size = m.bytes.size();
  if (m.has_options) {
    args.overridden_serialized_compile_options = m.options.data();
    args.overridden_serialized_compile_options_size = m.options.size();
  }
  TENON_RETURN_IF_ERROR(client->api().Call(args));
  return Keep(m.executable, client::LoadedExecutable::Wrap(client->state(), args.loaded_executable));
}

Result<std::string> Server::LoadCompiled(const wire::LoadCompiled& m) {
  TENON_ASSIGN_OR_RETURN(client::Client * client, TheClient());
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Program> program, FindProgram(m.compiled));
  return Keep(m.executable, client->Load(program->executable()));
}

Result<std::string> Server::MakeTopology(const wire::MakeTopology& m) {
  if (!plugin_) return FailedPrecondition("MakeTopology comes after Hello");
  Result<client::Topology> topology =
      m.serialized ? plugin_->DeserializeTopology(m.name) : plugin_->CreateTopology(m.name, ToOptions(m.options));
  if (!topology.ok()) return topology.status();
  TENON_ASSIGN_OR_RETURN(const wire::Topology record, Describe(*topology));
  std::lock_guard lock(mutex_);
  topologies_[m.number] = std::make_shared<client::Topology>(std::move(*topology));
  return Encode(record);
}

Result<std::string> Server::CompileForTopology(const wire::CompileForTopology& m) {
  std::shared_ptr<client::Topology> topology;
  if (m.topology == 0) {
    TENON_ASSIGN_OR_RETURN(client::Client * client, TheClient());
    TENON_ASSIGN_OR_RETURN(client::Topology own, client->GetTopology());
    topology = std::make_shared<client::Topology>(std::move(own));
  } else {
    std::lock_guard lock(mutex_);
    const auto it = topologies_.find(m.topology);
    if (it == topologies_.end()) return FailedPrecondition("this device process has no such topology");
    topology = it->second;
  }
  auto args = client::MakeArgs<PJRT_Compile_Args>();
  const PJRT_Program program = ToC(m.format, m.code);
  args.topology = topology->get();
  args.program = &program;
  args.compile_options = m.options.data();
  args.compile_options_size = m.options.size();
  if (client_) args.client = client_->get();
  TENON_RETURN_IF_ERROR(plugin_->api().Call(args));
  auto compiled = std::make_shared<Program>();
  compiled->compiled.emplace(&plugin_->api(), args.executable, nullptr);
  TENON_ASSIGN_OR_RETURN(compiled->record, Describe(*compiled->compiled));
  compiled->record.number = m.executable;
  std::string body = Encode(compiled->record);
  std::lock_guard lock(mutex_);
  programs_[m.executable] = std::move(compiled);
  return body;
}

Result<std::string> Server::Ask(const wire::Ask& m) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Program> program, FindProgram(m.executable));
  switch (static_cast<wire::Question>(m.what)) {
    case wire::Question::kSerialized:
      return program->executable().Serialize();
    case wire::Question::kOptimizedProgram: {
      TENON_ASSIGN_OR_RETURN(client::Program text, program->executable().OptimizedProgram());
      return Encode(wire::ProgramText{std::move(text.code), std::move(text.format)});
    }
    default:
      return DataLoss(fmt::format("question {} about an executable", m.what));
  }
}

Result<std::string> Server::AskDevice(const wire::AskDevice& m) {
  const auto it = devices_.find(m.device);
  if (it == devices_.end()) return InvalidArgument(fmt::format("there is no device {}", m.device));
  switch (static_cast<wire::Question>(m.what)) {
    case wire::Question::kMemoryStats: {
      TENON_ASSIGN_OR_RETURN(const client::MemoryStats stats, it->second.GetMemoryStats());
      std::string body;
      wire::Encoder(body).Put(Describe(stats));
      return body;
    }
    case wire::Question::kClearMemoryStats:
      TENON_RETURN_IF_ERROR(it->second.ClearMemoryStats());
      return std::string();
    case wire::Question::kPoison: {
      TENON_ASSIGN_OR_RETURN(const bool poisoned, it->second.PoisonExecution(m.launch_id, wire::ToStatus(m.error)));
      return std::string(1, poisoned ? '\1' : '\0');
    }
    default:
      return DataLoss(fmt::format("question {} about a device", m.what));
  }
}

}  // namespace tenon::server
