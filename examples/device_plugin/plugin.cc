// A plugin for a device whose memory the host cannot reach: it lies in another process, blocks of it are known by
// numbers, and everything that touches it is queued and done later.
#include "tenon/plugin/plugin.h"

#include <unistd.h>

#include <map>

#include "device.h"
#include "tenon/plugin/plugin.h"
#include "tenon/plugin/queue.h"
#include "tenon/vhlo/program.h"

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
    return queue_.Enqueue([=, this] {
      const bool ok = Send(socket_, &message, sizeof(message)) &&
                      (data == nullptr || Send(socket_, data, message.size)) && Receive(socket_, reply, reply_size);
      return ok ? OkStatus() : Unavailable("the device does not answer");
    });
  }

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
  }

  int socket_ = -1;
  Queue queue_;
};

// A block of device memory; data() is its number.
class Block final : public Storage {
 public:
  explicit Block(size_t size, uint64_t handle = next_handle++)
      : Storage(reinterpret_cast<void*>(handle), size) {  // NOLINT(performance-no-int-to-ptr): a number, no address.
    in_use += static_cast<int64_t>(size);
    Stream::Get().Enqueue({Command::kAllocate, handle, 0, size});
  }
  ~Block() override {
    in_use -= static_cast<int64_t>(size_bytes());
    Stream::Get().Enqueue({Command::kFree, HandleOf(*this), 0, 0});
  }
  static uint64_t HandleOf(const Storage& storage) { return reinterpret_cast<uint64_t>(storage.data()); }
  static inline std::atomic<uint64_t> next_handle{1};
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
    return Stream::Get().Enqueue({Command::kWrite, Block::HandleOf(to), offset, size}, from);
  }
  EventRef Read(const Storage& from, size_t offset, void* to, size_t size) override {
    return Stream::Get().Enqueue({Command::kRead, Block::HandleOf(from), offset, size}, nullptr, to, size);
  }
};

// A vendor's compiler stands here: of straight elementwise code on f32 and i32 it makes instructions whose handles are
// values of the program. INVALID_ARGUMENT for what is wrong, UNIMPLEMENTED, naming it, for what this device cannot do.
Result<std::vector<Instruction>> CompileFunction(const vhlo::Function& function) {
  static const std::map<std::string_view, Op> ops = {{"stablehlo.add", Op::kAdd},
                                                     {"stablehlo.subtract", Op::kSubtract},
                                                     {"stablehlo.multiply", Op::kMultiply},
                                                     {"stablehlo.broadcast_in_dim", Op::kCopy}};
  for (const vhlo::Type* type : function.types) {
    if (!type->is_plain_tensor() || (type->shape.dtype != DType::kF32 && type->shape.dtype != DType::kS32))
      return Unimplemented("this device has f32 and i32 tensors of fixed shapes, got " + type->ToString());
    if (static_cast<size_t>(SizeBytes(type->shape)) > RemoteMemory::kCapacity)
      return ResourceExhausted("device memory holds no " + type->ToString());
  }
  std::vector<Instruction> code;
  const auto add = [&](Op op, const Shape& shape, uint64_t result, uint64_t left, uint64_t right) {
    code.push_back({op, shape.dtype == DType::kF32, result, left, right, static_cast<uint64_t>(NumElements(shape.dims)),
                    static_cast<uint64_t>(NumElements(function.types[left]->shape.dims))});
  };
  for (const vhlo::Operation& op : function.body.operations) {
    if (op.name == "stablehlo.constant") continue;
    const auto found = ops.find(op.name);
    if (found == ops.end()) return Unimplemented("this device has no op " + std::string(op.name));
    const Shape& result = function.types[op.results[0]]->shape;
    const Shape &left = function.types[op.operands[0]]->shape, &right = function.types[op.operands.back()]->shape;
    if (found->second == Op::kCopy ? left.dtype != result.dtype : left != result || right != result)
      return InvalidArgument(std::string(op.name) + " of " + ToString(left) + " gives no " + ToString(result));
    if (found->second == Op::kCopy && left.rank() != 0) return Unimplemented("this device broadcasts scalars alone");
    add(found->second, result, op.results[0], op.operands[0], op.operands.back());
  }
  // Results are copies, since the same value may be an argument or another result as well.
  uint64_t next = function.types.size();
  for (const vhlo::ValueId v : function.body.results) add(Op::kCopy, function.types[v]->shape, next++, v, v);
  return code;
}

class RemoteExecutable final : public LoadedExecutable {
 public:
  RemoteExecutable(Ref<Client> client, ExecutableInfo info, DeviceAssignment assignment, const vhlo::Function& function,
                   std::vector<Instruction> code)
      : LoadedExecutable(std::move(client), MakeRef<Executable>(std::move(info)), std::move(assignment)),
        code_(std::move(code)),
        num_values_(function.types.size()),
        blocks_(num_values_ + function.body.results.size()) {
    for (const vhlo::Operation& op : function.body.operations) {
      if (op.name != "stablehlo.constant") continue;
      // Constants go to the device once. The queue is in order: no execution overtakes them.
      const auto bytes = std::make_shared<std::string>(op.Find("value")->Expand());
      Ref<Storage> block = MakeRef<Block>(bytes->size());
      Stream::Get()
          .Enqueue({Command::kWrite, Block::HandleOf(*block), 0, bytes->size()}, bytes->data())
          .OnReady([bytes](const Status&) {});
      blocks_[op.results[0]] = std::move(block);
    }
  }

  Status Execute(ExecuteRequest& request) override {
    DeviceExecution& device = request.devices[0];
    auto run = std::make_shared<Run>(Run{code_, blocks_});
    std::vector<EventRef> ready;
    for (size_t i = 0; i < device.arguments.size(); ++i) {  // The parameters are the first values.
      ready.push_back(device.arguments[i].ready);
      run->blocks[i] = device.arguments[i].storage;
    }
    Ref<Event> done = Event::Make();
    Memory* const memory = device.device->default_memory();
    for (Instruction& i : run->code) {
      TENON_ASSIGN_OR_RETURN(run->blocks[i.result], memory->Allocate(device.device, 4 * i.elements));
      for (uint64_t* handle : {&i.result, &i.left, &i.right}) *handle = Block::HandleOf(*run->blocks[*handle]);
    }
    const Ref<Storage>* results = &run->blocks[num_values_];
    for (size_t i = 0; i < device.outputs.size(); ++i)
      device.outputs[i] = Buffer::Make(device.device, memory, info().outputs[i].array, results[i], done);
    device.done = EventRef(done);
    WhenAll(ready).OnReady([run, done](const Status& status) {
      if (!status.ok()) return (void)done->Set(status);
      const Message message{Command::kRun, 0, 0, run->code.size() * sizeof(Instruction)};
      Stream::Get()
          .Enqueue(message, run->code.data(), &run->reply, sizeof(run->reply))
          .OnReady([run, done](const Status& s) { done->Set(s); });
    });
    return OkStatus();
  }

 private:
  struct Run {  // what an execution under way holds
    std::vector<Instruction> code;
    std::vector<Ref<Storage>> blocks;  // by value, then the results
    int32_t reply = 0;
  };
  std::vector<Instruction> code_;
  size_t num_values_;
  std::vector<Ref<Storage>> blocks_;  // constants
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
    TENON_ASSIGN_OR_RETURN(const vhlo::Program program, vhlo::Program::Read(code.code));
    const vhlo::Function* const main = program.Find("main");
    if (main == nullptr) return InvalidArgument("the program has no function main");
    TENON_ASSIGN_OR_RETURN(std::vector<Instruction> instructions, CompileFunction(*main));
    ExecutableInfo info;
    info.name = program.name();
    info.compile_options = options.serialized;
    for (size_t i = 0; i < main->body.arguments.size(); ++i) {
      const vhlo::Attribute* said = main->parameter_attributes[i];
      const bool donated = said != nullptr && said->Find("tf.aliasing_output") != nullptr;
      info.parameters.push_back({.array = {.shape = main->types[i]->shape}, .donated = donated});
    }
    for (const vhlo::ValueId v : main->body.results)
      info.outputs.push_back({.array = {.shape = main->types[v]->shape}});
    return Ref<LoadedExecutable>(
        MakeRef<RemoteExecutable>(Ref<Client>(this), std::move(info), assignment, *main, std::move(instructions)));
  }
  bool AcceptsFormat(std::string_view format) const override { return format == "mlir"; }
};

struct RemotePlugin final : Plugin {
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Ref<Client>(MakeRef<RemoteClient>()); }
};

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static RemotePlugin& plugin = *new RemotePlugin;
  return MakeApi(plugin);
}
