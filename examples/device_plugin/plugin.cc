// A plugin for a device whose memory the host cannot reach: it lies in another process, blocks of it are known by
// numbers, and everything that touches it is queued and done later.
#include "tenon/plugin/plugin.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "program.h"

using namespace tenon;          // NOLINT(google-build-using-namespace): a plugin, not a library.
using namespace tenon::plugin;  // NOLINT(google-build-using-namespace)

// The device and its queue: opened once, for as long as the process lives. The child ends when the socket closes.
class Stream {
 public:
  static Stream& Get() {
    static Stream& stream = *new Stream;
    return stream;
  }
  // Sends a command with its data when all before it are done; then receives `reply_size` bytes into `reply`. The event
  // fails with UNAVAILABLE when the device is gone. `data` and `reply` live until then.
  EventRef Enqueue(Message message, const void* data = nullptr, void* reply = nullptr, size_t reply_size = 0) {
    Ref<Event> done = Event::Make();
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back([this, message, data, reply, reply_size, done] {
        const bool ok = Send(socket_, &message, sizeof(message)) &&
                        (data == nullptr || Send(socket_, data, message.size)) && Receive(socket_, reply, reply_size);
        done->Set(ok ? OkStatus() : Unavailable("the device does not answer"));
      });
    }
    wake_.notify_one();
    return done;
  }
  uint64_t NewHandle() { return next_handle_++; }

 private:
  Stream() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    if (fork() == 0) {
      dup2(ends[0], 3);
      close_range(4, ~0U, 0);
      RunDevice(3);
      _exit(0);
    }
    close(ends[0]);
    socket_ = ends[1];
    std::thread([this] { Work(); }).detach();
  }
  [[noreturn]] void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !queue_.empty(); });
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // What it holds may free blocks, which wants the lock.
      lock.lock();
    }
  }

  int socket_ = -1;
  std::atomic<uint64_t> next_handle_{1};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
};

// A block of device memory; data() is its number.
class Block final : public Storage {
 public:
  explicit Block(size_t size, uint64_t handle = Stream::Get().NewHandle())
      : Storage(reinterpret_cast<void*>(handle), size) {  // NOLINT(performance-no-int-to-ptr): a number, no address.
    in_use += static_cast<int64_t>(size);
    Stream::Get().Enqueue({.command = Command::kAllocate, .handle = handle, .size = size});
  }
  ~Block() override {
    in_use -= static_cast<int64_t>(size_bytes());
    Stream::Get().Enqueue({.command = Command::kFree, .handle = HandleOf(*this)});
  }
  static uint64_t HandleOf(const Storage& storage) { return reinterpret_cast<uint64_t>(storage.data()); }
  static inline std::atomic<int64_t> in_use{0};
};

class RemoteMemory final : public Memory {
 public:
  using Memory::Memory;
  static constexpr size_t kCapacity = size_t{1} << 30;

  bool host_accessible() const override { return false; }
  Result<Ref<Storage>> Allocate(Device*, size_t size) override {
    if (size > kCapacity - std::min<size_t>(kCapacity, Block::in_use))
      return ResourceExhausted("device memory is full");
    return Ref<Storage>(MakeRef<Block>(size));
  }
  EventRef Write(Storage& to, size_t offset, const void* from, size_t size) override {
    return Stream::Get().Enqueue(
        {.command = Command::kWrite, .handle = Block::HandleOf(to), .offset = offset, .size = size}, from);
  }
  EventRef Read(const Storage& from, size_t offset, void* to, size_t size) override {
    return Stream::Get().Enqueue(
        {.command = Command::kRead, .handle = Block::HandleOf(from), .offset = offset, .size = size}, nullptr, to,
        size);
  }
};

class RemoteExecutable final : public LoadedExecutable {
 public:
  RemoteExecutable(Ref<Client> client, ExecutableInfo info, DeviceAssignment assignment, ::Program program)
      : LoadedExecutable(std::move(client), MakeRef<Executable>(std::move(info)), std::move(assignment)),
        program_(std::move(program)) {
    // Constants go to the device once. The queue is in order: no execution overtakes them.
    for (const auto& [name, bytes] : program_.constants) {
      Ref<Storage> block = MakeRef<Block>(bytes.size());
      Stream::Get().Enqueue({.command = Command::kWrite, .handle = Block::HandleOf(*block), .size = bytes.size()},
                            bytes.data());
      constants_.emplace(name, std::move(block));
    }
  }

  Status Execute(ExecuteRequest& request) override {
    DeviceExecution& device = request.devices[0];
    auto run = std::make_shared<Run>(Run{.executable = Ref<LoadedExecutable>(this), .blocks = constants_});
    std::vector<EventRef> ready;
    for (size_t i = 0; i < device.arguments.size(); ++i) {
      ready.push_back(device.arguments[i].ready);
      run->blocks[program_.parameters[i]] = device.arguments[i].storage;
    }
    Memory* const memory = device.device->default_memory();
    const auto add = [&](Op op, const std::string& result, const Shape& shape, const std::string& a,
                         const std::string& b) {
      TENON_ASSIGN_OR_RETURN(Ref<Storage> block,
                             memory->Allocate(device.device, static_cast<size_t>(SizeBytes(shape))));
      run->code.push_back({op, shape.dtype == DType::kF32, Block::HandleOf(*block), Block::HandleOf(*run->blocks[a]),
                           Block::HandleOf(*run->blocks[b]), static_cast<uint64_t>(NumElements(shape.dims))});
      run->blocks[result] = std::move(block);
      return OkStatus();
    };
    for (const Statement& s : program_.statements)
      TENON_RETURN_IF_ERROR(add(s.op, s.result, s.shape, s.operands[0], s.operands[1]));
    Ref<Event> done = Event::Make();
    for (size_t i = 0; i < program_.results.size(); ++i) {
      // A copy, since the same value may be an argument or another result as well.
      const std::string& name = program_.results[i];
      const std::string copy = "result" + std::to_string(i);
      TENON_RETURN_IF_ERROR(add(Op::kCopy, copy, program_.shapes[name], name, name));
      device.outputs[i] =
          Buffer::Make(device.device, memory, info().outputs[i].array, run->blocks[copy], EventRef(done));
    }
    device.done = EventRef(done);
    WhenAll(ready).OnReady([run, done](const Status& status) {
      if (!status.ok()) {
        done->Set(status);
        return;
      }
      const Message message{.command = Command::kRun, .size = run->code.size() * sizeof(Instruction)};
      Stream::Get()
          .Enqueue(message, run->code.data(), &run->reply, sizeof(run->reply))
          .OnReady([run, done](const Status& s) { done->Set(s); });
    });
    return OkStatus();
  }

 private:
  struct Run {  // what an execution under way holds
    Ref<LoadedExecutable> executable;
    std::map<std::string, Ref<Storage>> blocks;
    std::vector<Instruction> code{};
    int32_t reply = 0;
  };
  ::Program program_;
  std::map<std::string, Ref<Storage>> constants_;
};

class RemoteClient final : public Client {
 public:
  RemoteClient() : Client({.platform_name = "remote", .platform_version = "Tenon's example of a remote device"}) {
    DeviceDescription::Info info;
    info.kind = "remote";
    info.memory_kinds = {MakeMemoryKind(kDeviceMemoryKind)};
    info.default_memory_kind = 0;
    Device* device =
        AddDevice(std::make_unique<Device>(std::make_shared<DeviceDescription>(info), /*local_hardware_id=*/0));
    AddMemory(std::make_unique<RemoteMemory>(0, info.memory_kinds[0]), {&device, 1}, /*is_default=*/true);
    Ready();
  }
  Result<Ref<LoadedExecutable>> Compile(const plugin::Program& code, const CompileOptions& options,
                                        const DeviceAssignment& assignment) override {
    TENON_ASSIGN_OR_RETURN(::Program program, ParseProgram(code.code));
    ExecutableInfo info;
    info.name = "main";
    info.compile_options = options.serialized;
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      info.parameters.push_back(
          {.array = {.shape = program.shapes[program.parameters[i]]}, .donated = program.donated[i]});
    }
    for (const std::string& name : program.results) info.outputs.push_back({.array = {.shape = program.shapes[name]}});
    return Ref<LoadedExecutable>(
        MakeRef<RemoteExecutable>(Ref<Client>(this), std::move(info), assignment, std::move(program)));
  }
  bool AcceptsFormat(std::string_view format) const override { return format == "mlir"; }
};

class RemotePlugin final : public Plugin {
 public:
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Ref<Client>(MakeRef<RemoteClient>()); }
};

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static RemotePlugin& plugin = *new RemotePlugin;
  return MakeApi(plugin);
}
